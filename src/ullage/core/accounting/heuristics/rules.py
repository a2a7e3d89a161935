"""The rule of an inspector for one model, with what a user and a project have set about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .inspector_rule import InspectorRule
from .numerators import find_numerator
from .resolve import TABLES, resolve_denominators

if TYPE_CHECKING:
    from ullage.core.profiles.heuristics import Heuristics

# What `openai-cookbook` stands for: the seed's summary of a schema, the repository's declaration.
_COOKBOOK = {"inspector-v1": "openai-tools-v1", "inspector-v2": "openai-tools-v3"}


def is_inspector(estimator: str) -> bool:
    """Whether an estimator divides characters by a table."""
    return estimator in TABLES


def make_inspector_rule(
    estimator: str, heuristics: Heuristics, *, provider: str | None, model: str | None, dialect: str | None
) -> InspectorRule:
    """The rule that counts for a model on a dialect; each may be unknown."""
    denominators = resolve_denominators(estimator, heuristics, provider=provider, model=model, dialect=dialect)
    numerator = find_numerator(
        denominators.tool_numerator,
        denominators.tool_denominator,
        heuristics.tool_shapes,
        cookbook=_COOKBOOK[estimator],
    )
    return InspectorRule(denominators, numerator)
