"""Estimators that divide characters: which ratio counts for a model, how tools are written out, and the rows that follow."""

from .calls import call_json
from .numerators import Numerator, find_numerator
from .ratio_rule import RatioRule
from .resolve import TABLES, Ratios, resolve_ratios
from .rules import is_inspector, make_ratio_rule
from .settle import settle

__all__ = [
    "TABLES",
    "Numerator",
    "RatioRule",
    "Ratios",
    "call_json",
    "find_numerator",
    "is_inspector",
    "make_ratio_rule",
    "resolve_ratios",
    "settle",
]
