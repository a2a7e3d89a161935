"""Scores, and what a plan says of each part (planner specification, section 13.3)."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ullage.core.calibration import round_ratio

from .parts import Part, PartKind
from .reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .request import PlanInput
    from .walk import Choice

PRIORITIES: dict[PartKind, int] = {
    "system": 1_000,
    "current": 1_000,
    "pin": 900,
    "recent": 100,
    "summary": 75,
    "history": 40,
}

NotRescued = Literal["not-immediate-predecessor", "tail-disabled", "disabled", "input-budget"]


class Row(Struct, frozen=True, kw_only=True, gc=False):
    """A part of a request as a plan reports it. `tokens` are those of its messages, before any trim; `score` tells what it was
    chosen by: its priority, and after the point how new it is."""

    id: str
    kind: PartKind
    tokens: int
    score: float
    selected: bool
    reason: Reason


class Exclusion(Struct, frozen=True, kw_only=True, gc=False):
    """A part of the native history that is left out. `oversized`: no smaller than the recent tail. `predecessor`: the turn
    right before the current one. `not_rescued` says why the option to keep it did not help; `None` for what is no turn."""

    id: str
    last: int
    tokens: int
    reason: Reason
    oversized: bool
    predecessor: bool
    not_rescued: NotRescued | None


class Scale(Struct, frozen=True, gc=False):
    """How scores are counted: `places` are the messages that supplements stand before, in rising order, chosen or not."""

    messages: int
    places: tuple[int, ...] = ()

    def score(self, kind: PartKind, last: int) -> float:
        """The score of a part that ends with the message `last`, to six decimals."""
        end = last + bisect_right(self.places, last)
        return round_ratio(PRIORITIES[kind] + (end + 1) / (self.messages + len(self.places) + 1))


def make_rows(choices: Sequence[Choice], scale: Scale) -> tuple[Row, ...]:
    """A row for each part, in the order of their last messages. The mandatory parts of the current turn are one row, and if
    nothing of it is left out, the whole turn is."""
    whole = all(choice.selected for choice in choices if choice.part.current)
    current: list[Part] = []
    rows: list[tuple[int, Row]] = []
    for choice in choices:
        part = choice.part
        if part.current and (whole or (part.kind == "current" and choice.selected)):
            current.append(part)
        else:
            score = scale.score(part.kind, part.last)
            row = Row(
                id=part.id,
                kind=part.kind,
                tokens=part.tokens,
                score=score,
                selected=choice.selected,
                reason=choice.reason,
            )
            rows.append((part.last, row))
    if current:
        last = max(part.last for part in current)
        row = Row(
            id=f"group:{min(part.first for part in current)}-{last}",
            kind="current",
            tokens=sum(part.tokens for part in current),
            score=scale.score("current", last),
            selected=True,
            reason="current",
        )
        rows.append((last, row))
    return tuple(row for _, row in sorted(rows, key=_place))


def make_exclusions(left: Iterable[Choice], given: PlanInput, predecessor: Part | None) -> list[Exclusion]:
    """What is left out of the parts of a request."""
    tail = given.caps.recent_tail
    return [
        Exclusion(
            id=part.id,
            last=part.last,
            tokens=part.tokens,
            reason=choice.reason,
            oversized=is_turn(part) and part.tokens >= tail > 0,
            predecessor=part is predecessor,
            not_rescued=_not_rescued(given, part is predecessor) if is_turn(part) else None,
        )
        for choice in left
        for part in (choice.part,)
    ]


def most_telling(exclusions: Iterable[Exclusion], most: int) -> tuple[Exclusion, ...]:
    """Some of what is left out: oversized turns, then the predecessor, then the newest."""
    return tuple(sorted(exclusions, key=lambda one: (not one.oversized, not one.predecessor, -one.last))[:most])


def is_turn(part: Part) -> bool:
    """Whether a part is an older turn."""
    return part.kind == "recent" and not part.current


def _not_rescued(given: PlanInput, is_predecessor: bool) -> NotRescued:
    if not is_predecessor:
        return "not-immediate-predecessor"
    if given.caps.recent_tail <= 0:
        return "tail-disabled"
    if not given.rescue or given.tail is not None:
        return "disabled"
    return "input-budget"


def _place(row: tuple[int, Row]) -> int:
    return row[0]
