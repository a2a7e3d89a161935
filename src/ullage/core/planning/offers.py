"""Pins and memories as supplements of a plan (planner specification, section 1, step 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.calibration.rounding import round_ratio
from ullage.core.evidence.evidence_text import pin_text

from .supplement import Supplement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ullage.core.evidence.mutations import Item
    from ullage.core.evidence.ranking import Ranked

_PIN_SCORE = 950.0
_MEMORY_SCORE = 90.0
_MOST = 0.999999
"""What its own score adds to that of a memory at most, so that none reaches the next kind."""


def offer_pins(pins: Iterable[Item], count: Callable[[str], int]) -> tuple[Supplement, ...]:
    """The pins of a request; `count` gives the tokens of a message with a text. Equal pins give equal bytes."""
    return tuple(
        Supplement(
            id=pin.id,
            kind="pin",
            text=text,
            tokens=count(text),
            score=_PIN_SCORE,
            source_ids=(pin.id,),
            reason=f"pinned for this {pin.scope}",
            classification=pin.classification,
            created_ms=pin.created_ms,
        )
        for pin, text in ((pin, pin_text(pin)) for pin in pins)
    )


def offer_memories(
    memories: Iterable[Ranked], count: Callable[[str], int], *, steady: bool = False
) -> tuple[Supplement, ...]:
    """The memories that a request gets, as `offer_pins` has it. `steady`: without what changes with the question, for a place
    that prompt caches are to hold; they are weighed as if they had it, so that the place changes nothing of the choice."""
    return tuple(
        Supplement(
            id=one.item.id,
            kind="memory",
            text=one.steady_text if steady else one.text,
            tokens=count(one.text),
            score=round_ratio(_MEMORY_SCORE + min(_MOST, one.score / 1_000)),
            source_ids=(one.item.id,),
            reason=one.reason,
            classification=one.item.classification,
            created_ms=one.item.created_ms,
        )
        for one in memories
    )
