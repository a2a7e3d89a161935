"""How able a model is, as far as anybody says: a tier for each ability, where it is from, and how sure it is.

Routing specification, section 7. What nobody says stays unknown, as a range over all tiers.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from .capability_rows import (
    BENCHMARKS,
    DAYS,
    DETAILED,
    ORIGINS,
    PRIORS,
    THRESHOLDS,
    BenchmarkSource,
    Confidence,
    Prior,
    Tier,
)
from .identity import match_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .models import ModelRecord

Ability = Literal["overall", "coding", "reasoning", "tool_use", "instruction_following"]

ABILITIES: tuple[Ability, ...] = ("overall", "coding", "reasoning", "tool_use", "instruction_following")

TIERS: tuple[Tier, ...] = ("frontier", "strong", "mid", "light", "unknown")

_SCORES: Mapping[str, float] = MappingProxyType(
    {"frontier": 1.0, "strong": 0.82, "mid": 0.64, "light": 0.45, "unknown": 0.55}
)
_RANKS: Mapping[str, int] = MappingProxyType({"frontier": 4, "strong": 3, "mid": 2, "light": 1, "unknown": 0})
_KNOWN_SCORES = (0.45, 0.64, 0.82, 1.0)
_STEPS: Mapping[Confidence, float] = MappingProxyType({"high": 0.5, "medium": 1.0, "low": 2.0})
_LESS: Mapping[Confidence, Confidence] = MappingProxyType({"high": "medium", "medium": "low", "low": "low"})


class ScoreRange(NamedTuple):
    """What a tier stands for as a score, 0 to 1: what is taken, and between what it may lie."""

    low: float
    likely: float
    high: float


class BenchmarkOverride(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a user says of a model's scores, each on the scale of its source."""

    ramp: Annotated[float, Meta(ge=0, le=1)] | None = None
    aa: Annotated[float, Meta(ge=0, le=100)] | None = None
    aider: Annotated[float, Meta(ge=0, le=100)] | None = None


class Capability(Struct, frozen=True, kw_only=True):
    """Tiers of a model, overall and by ability.

    `source` says whose rows decide. `matched` is the row's key and `exact` whether it is this very model's, else that of the same
    name with another version. `score` is the benchmark's figure, and `as_of` the day of the row; a user's own has none.
    """

    overall: Tier
    coding: Tier
    reasoning: Tier
    tool_use: Tier
    instruction_following: Tier
    confidence: Confidence
    source: Literal["catalog", "ramp", "aa", "aider", "unknown"]
    matched: str | None = None
    exact: bool = True
    score: float | None = None
    as_of: str | None = None

    def score_range(self, ability: Ability = "overall") -> ScoreRange:
        """The score of an ability with its doubt."""
        return score_range(getattr(self, ability), self.confidence)

    def describe(self) -> str:
        """The reason `capability strong (catalog, medium confidence)` (section 10.4)."""
        return f"capability {self.overall} ({self.source}, {self.confidence} confidence)"


NO_OVERRIDES: Mapping[str, BenchmarkOverride] = MappingProxyType({})


def tier_rank(tier: str) -> int:
    """The rank of a tier, 4 to 0; unknown is the least (section 1)."""
    return _RANKS[tier]


@lru_cache(maxsize=64)
def score_range(tier: Tier, confidence: Confidence) -> ScoreRange:
    """The score of a tier with its doubt: high confidence goes half way to the neighbours, medium all the way, low two tiers.

    Unknown may be any, so that it is neither above nor below light.
    """
    if tier == "unknown":
        return ScoreRange(_KNOWN_SCORES[0], _SCORES["unknown"], _KNOWN_SCORES[-1])
    position, steps = _RANKS[tier] - 1, _STEPS[confidence]
    return ScoreRange(_at(position - steps), _SCORES[tier], _at(position + steps))


def _at(position: float) -> float:
    """The score between tiers, counted from light upward."""
    position = min(max(position, 0.0), len(_KNOWN_SCORES) - 1.0)
    below = int(position)
    share = position - below
    return _KNOWN_SCORES[below] if share == 0 else _KNOWN_SCORES[below] * (1 - share) + _KNOWN_SCORES[below + 1] * share


def capability_of(
    model: ModelRecord,
    *,
    source: BenchmarkSource | None = None,
    overrides: Mapping[str, BenchmarkOverride] = NO_OVERRIDES,
) -> Capability:
    """What is known of a model's ability.

    `source` is the benchmark that decides where it has a score; without one, and where it has none, priors decide, then Aider's
    leaderboard. `overrides` are scores by target, in place of the rows of their source only.
    """
    found = (source and _by_benchmark(model, source, overrides)) or _by_prior(model)
    if found is not None:
        return found
    found = _by_benchmark(model, "aider", overrides)
    return replace(found, confidence=_LESS[found.confidence]) if found is not None else _unknown(model)


def tier_of(source: BenchmarkSource, score: float) -> Tier:
    """The tier of a score by this source's thresholds."""
    return next((tier for least, tier in THRESHOLDS[source] if score >= least), "light")


def _by_prior(model: ModelRecord) -> Capability | None:
    found = _find_row("catalog", model.provider, model.id)
    if found is None:
        return None
    key, exact = found
    prior = PRIORS[key]
    return Capability(
        overall=prior.overall,
        coding=prior.coding,
        reasoning=prior.reasoning,
        tool_use=prior.tool_use,
        instruction_following=prior.instruction_following,
        confidence=prior.confidence if exact else _LESS[prior.confidence],
        source="catalog",
        matched=key,
        exact=exact,
        as_of=ORIGINS["catalog"].as_of,
    )


def _by_benchmark(
    model: ModelRecord, source: BenchmarkSource, overrides: Mapping[str, BenchmarkOverride]
) -> Capability | None:
    """Overall by the score; abilities of the detailed prior where there is one, else as overall (section 7)."""
    said = overrides.get(model.target)
    score = getattr(said, source) if said is not None else None
    key, exact, as_of = model.target, True, None
    if score is None:
        found = _find_row(source, model.provider, model.id)
        if found is None:
            return None
        key, exact = found
        score = BENCHMARKS[source][key]
        as_of = DAYS.get(source, {}).get(key, ORIGINS[source].as_of)
    overall = tier_of(source, score)
    detailed = _detailed(model)
    return Capability(
        overall=overall,
        coding=detailed.coding if detailed else overall,
        reasoning="light" if model.reasoning is False else detailed.reasoning if detailed else overall,
        tool_use=detailed.tool_use if detailed else overall,
        instruction_following=detailed.instruction_following if detailed else overall,
        confidence="high" if exact else "medium",
        source=source,
        matched=key,
        exact=exact,
        score=score,
        as_of=as_of,
    )


def _detailed(model: ModelRecord) -> Prior | None:
    found = _find_row("catalog", model.provider, model.id)
    return PRIORS[found[0]] if found is not None and found[0] in DETAILED else None


def _unknown(model: ModelRecord) -> Capability:
    return Capability(
        overall="unknown",
        coding="unknown",
        reasoning="light" if model.reasoning is False else "unknown",
        tool_use="unknown",
        instruction_following="unknown",
        confidence="low",
        source="unknown",
    )


@lru_cache(maxsize=4_096)
def _find_row(source: Literal["catalog"] | BenchmarkSource, provider: str, model: str) -> tuple[str, bool] | None:
    """The key of a model's row, and whether that is exactly its own; another provider's row of a like name does not count."""
    keys = dict.fromkeys(PRIORS if source == "catalog" else BENCHMARKS[source])
    match = match_key(provider, model, keys)
    return (match.key, match.exact) if match is not None and match.agrees else None
