"""Why a target was taken, in a few words each (routing specification, section 10.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pricing import price_label
from .scoring import NO_SIGNALS

if TYPE_CHECKING:
    from .selection import Selection, Weighing
    from .task import TaskProfile

_MIXED = "mixed"
_LONG_READING_MS = 10_000


def tell_reasons(selection: Selection, weighing: Weighing, *, scored: bool = True) -> tuple[str, ...]:
    """The reasons of a choice, in the order of section 10.4. `scored`: it was made by the scores, so a warm cache may have held
    the session where it is."""
    chosen, task = selection.chosen, weighing.task
    signals = weighing.situation.signals.get(chosen.target, NO_SIGNALS)
    terms = chosen.terms
    cheap = terms.cost >= 0.9
    reasons = _tell_task(task)
    if cheap:
        reasons.append("low cost")
    label = price_label(chosen.candidate.price)
    if label is not None and (cheap or weighing.policy == "cost"):
        reasons.append(label)
    if terms.latency >= 0.8 and task.latency_sensitivity >= 0.6:
        reasons.append("low latency")
    reading = _tell_reading(chosen.target, weighing)
    if reading is not None:
        reasons.append(reading)
    if signals.learning is not None:
        reasons.append(signals.learning)
    if terms.quota < 0.3:
        reasons.append("quota pressure")
    if signals.uvi is not None:
        reasons.append(f"quota {signals.quota} UVI {signals.uvi:.2f}")
    if terms.pool < 0.3 and weighing.situation.pool is not None:
        reasons.append("pool allocation above target")
    if selection.kept is not None:
        reasons.append(selection.kept)
    elif scored and chosen.target == weighing.situation.staying:
        reasons.append("cache-aware stickiness")
    reasons.append(chosen.candidate.capability.describe())
    return tuple(reasons)


def _tell_reading(target: str, weighing: Weighing) -> str | None:
    """How long the model reads before it answers, where that is long."""
    situation = weighing.situation
    tokens = max(situation.context, weighing.task.required_context_tokens)
    reading_ms = situation.reading_ms(target, tokens)
    if reading_ms < _LONG_READING_MS:
        return None
    return f"reads {tokens - situation.warmth(target):,} tokens anew, about {reading_ms / 1_000:.0f} s"


def _tell_task(task: TaskProfile) -> list[str]:
    reasons = [kind for kind in task.kinds if kind != _MIXED][:2]
    if task.complexity >= 0.6:
        reasons.append("high complexity")
    if task.requires_vision:
        reasons.append("vision required")
    return reasons
