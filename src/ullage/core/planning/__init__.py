"""Limits of a prompt and of its parts, drawn from what is known of a model and what was learned of it."""

from .awareness import Anchored, Awareness, Policy, become_aware, report_awareness, report_profile
from .budget import Budget, Limits, draw_budget
from .categories import Adaptive, Category, Overrides, Tier, find_tier, resolve_categories
from .report import report_adaptive, report_budget

__all__ = [
    "Adaptive",
    "Anchored",
    "Awareness",
    "Budget",
    "Category",
    "Limits",
    "Overrides",
    "Policy",
    "Tier",
    "become_aware",
    "draw_budget",
    "find_tier",
    "report_adaptive",
    "report_awareness",
    "report_budget",
    "report_profile",
    "resolve_categories",
]
