"""Denominators of characters to tokens: the records that people fill in, and the two built-in tables of the inspector."""

from .matching import fits, is_understood
from .records import (
    NO_HEURISTICS,
    Defaults,
    Heuristics,
    Match,
    Profile,
    Row,
    Rule,
    Table,
    ToolShape,
)
from .tables import OPENAI_IDS, REPO_TABLE, SEED_TABLE

__all__ = [
    "NO_HEURISTICS",
    "OPENAI_IDS",
    "REPO_TABLE",
    "SEED_TABLE",
    "Defaults",
    "Heuristics",
    "Match",
    "Profile",
    "Row",
    "Rule",
    "Table",
    "ToolShape",
    "fits",
    "is_understood",
]
