"""What a small model may say of a task that the words of its prompt leave open (routing specification, section 5).

Only whether to ask, and what becomes of an answer: asking is done elsewhere, within limits of time and money.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct, structs

from .signals import KINDS, MIXED
from .task import TaskProfile, Term

CONFIDENCE_THRESHOLD = 0.5
"""Below this confidence a task is worth asking about, unless it is configured otherwise."""
_CONFIDENCE_AFTER = 0.65
_REASONING, _NO_REASONING = 0.7, 0.3
_HIGH_RISK, _LOW_RISK = 0.6, 0.3
_FENCED = re.compile(r"\s*+```(?:json)?[ \t]*+\n(.*?)```\s*+", re.DOTALL)
_TIERS = ("unknown", "light", "mid", "strong", "frontier")
_FRONTIER = "frontier"
_COMPLEX_ENOUGH = 0.6
"""From this complexity on an answer is granted the frontier tier: it was read from a text that may want to cost money."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What an answer says, field by field; `None` where it says nothing valid."""

    complexity: float | None = None
    kind: str | None = None
    kinds: tuple[str, ...] | None = None
    minimum_tier: str | None = None
    requires_reasoning: bool | None = None
    requires_vision: bool | None = None
    high_risk: bool | None = None


def is_uncertain(task: TaskProfile, threshold: float = CONFIDENCE_THRESHOLD) -> bool:
    """Whether to ask about a task. One that goes on with another is known from that one."""
    return task.confidence < threshold and not task.inherited


def read_verdict(answer: str) -> Verdict | None:
    """The valid fields of an answer that is one JSON object, bare or in one fence; `None` if there are none."""
    fenced = _FENCED.fullmatch(answer)
    try:
        fields = msgspec.json.decode(fenced[1] if fenced else answer)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    verdict = Verdict(
        complexity=_share(fields.get("complexity")),
        kind=_one_of((*KINDS, MIXED), fields.get("kind")),
        kinds=_kinds(fields.get("kinds")),
        minimum_tier=_one_of(_TIERS, fields.get("minTier")),
        requires_reasoning=_flag(fields.get("requiresReasoning")),
        requires_vision=_flag(fields.get("requiresVision")),
        high_risk=_flag(fields.get("highRisk")),
    )
    return None if verdict == Verdict() else verdict


def merge_verdict(task: TaskProfile, verdict: Verdict) -> TaskProfile:
    """A task with what an answer said of it. What it said nothing of stays."""
    complexity = task.complexity if verdict.complexity is None else verdict.complexity
    vision = task.requires_vision or verdict.requires_vision is True
    demand = structs.replace(
        task.demand,
        reasoning=_at_least_or_most(task.demand.reasoning, verdict.requires_reasoning, _REASONING, _NO_REASONING),
        vision=1.0 if verdict.requires_vision else task.demand.vision,
    )
    return structs.replace(
        task,
        kinds=_merged_kinds(task, verdict),
        complexity=complexity,
        demand=demand,
        risk=_at_least_or_most(task.risk, verdict.high_risk, _HIGH_RISK, _LOW_RISK),
        requires_vision=vision,
        minimum_tier=_granted_tier(verdict.minimum_tier, complexity) or task.minimum_tier,
        confidence=max(task.confidence, _CONFIDENCE_AFTER),
        terms=task.terms if verdict.complexity is None else (Term("classifier", complexity),),
    )


def _merged_kinds(task: TaskProfile, verdict: Verdict) -> tuple[str, ...]:
    if verdict.kinds is None and verdict.kind is None:
        return task.kinds
    named = verdict.kinds or (task.kinds if verdict.kind in (None, MIXED) else (verdict.kind,))
    return (*(kind for kind in named if kind not in (None, MIXED)), MIXED)


def _granted_tier(tier: str | None, complexity: float) -> str | None:
    return "strong" if tier == _FRONTIER and complexity < _COMPLEX_ENOUGH else tier


def _at_least_or_most(value: float, said: bool | None, least: float, most: float) -> float:
    if said is None:
        return value
    return max(value, least) if said else min(value, most)


def _share(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    return None


def _kinds(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(kind for kind in KINDS if kind in value) or None


def _one_of(names: tuple[str, ...], value: Any) -> str | None:
    return value if isinstance(value, str) and value in names else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
