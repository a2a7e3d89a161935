"""Estimators that divide characters: by what, for which model, how tools are written out, and the rows that follow."""

from .calls import call_json
from .inspector_rule import InspectorRule
from .numerators import Numerator, find_numerator
from .resolve import TABLES, Denominators, resolve_denominators
from .rules import is_inspector, make_inspector_rule
from .settle import settle

__all__ = [
    "TABLES",
    "Denominators",
    "InspectorRule",
    "Numerator",
    "call_json",
    "find_numerator",
    "is_inspector",
    "make_inspector_rule",
    "resolve_denominators",
    "settle",
]
