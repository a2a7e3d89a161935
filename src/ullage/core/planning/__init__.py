"""Limits of a prompt and of its parts, drawn from what is known of a model and what was learned of it."""

from .budget import Budget, Limits, draw_budget
from .categories import Adaptive, Category, Overrides, Tier, find_tier, resolve_categories
from .report import report_adaptive, report_budget

__all__ = [
    "Adaptive",
    "Budget",
    "Category",
    "Limits",
    "Overrides",
    "Tier",
    "draw_budget",
    "find_tier",
    "report_adaptive",
    "report_budget",
    "resolve_categories",
]
