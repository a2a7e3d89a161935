"""What of a request is sent, newest first within its limits (planner specification, section 13.2, steps 5 to 10).

In the order of the seed, memory is fitted before the recent tail (contradiction C5): the reference fits it behind, where a full
tail starves it. Here room for it is set aside before the walk and filled after, so that a tail never grows because memory
dropped out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from .parts import SENT, Part, without_pieces
from .reasons import Reason
from .request import Trim
from .supplement import ORDER, Supplement, SupplementKind
from .walk import Bounds, Choice, count_fitting, walk_tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .parts import Parts
    from .request import PlanInput


# The rest of pinned turns may take a quarter of the room before the tail does, since somebody cares for it; and what the tail
# leaves even if it reaches everything.
_RESTS_SHARE = 4


class Offer(Struct, frozen=True, gc=False):
    """A supplement, whether it is sent, and why."""

    supplement: Supplement
    selected: bool
    reason: Reason


class Selection(Struct, frozen=True, kw_only=True):
    """What was chosen of a request. `trims` are those that are made; `tokens` is the sum of all that is sent beside the fixed
    part; `rescued` is the turn that was taken although it is larger than the tail."""

    choices: tuple[Choice, ...]
    offers: tuple[Offer, ...]
    trims: tuple[Trim, ...]
    tokens: int
    rescued: Part | None = None


def pin_tokens(parts: Parts, offered: Iterable[Supplement]) -> int:
    """What the pins of the list and those that are offered take of their cap."""
    return _sum(parts.pins) + sum(pin.tokens for pin in offered if pin.kind == "pin")


def mandatory_tokens(parts: Parts, offered: Iterable[Supplement]) -> int:
    """What must be sent beside the fixed part."""
    return _sum(parts.mandatory) + sum(pin.tokens for pin in offered if pin.kind == "pin")


def select(parts: Parts, given: PlanInput, offered: Sequence[Supplement]) -> Selection:
    """Chooses among the parts of a request and the supplements `offered`, whose pins are mandatory like those of the list. The
    caller has seen to it that the mandatory part fits."""
    making = _Making(parts, given, offered)
    making.take_mandatory()
    making.take_foremost()
    making.take_tail()
    making.take_supplements()
    making.take_summaries()
    return making.close()


class _Making:
    """A selection in the making. `_committed` counts the foremost parts and held supplements whether they fit or not: the tail
    does not get the room of one that fits no more."""

    def __init__(self, parts: Parts, given: PlanInput, offered: Sequence[Supplement]) -> None:
        self._parts = parts
        self._given = given
        self._offered = offered
        self._hard = max(0, given.budget.hard - given.fixed_tokens)
        # A tail that was chosen by what it costs has heeded the target, and may outgrow it until it is chosen anew.
        target = max(0, given.budget.active - given.fixed_tokens) if given.tail is None else self._hard
        self._limit = min(target, self._hard)
        self._tokens = 0
        self._committed = 0
        self._choices: list[Choice] = []
        self._offers: list[Offer] = []
        self._trims: tuple[Trim, ...] = ()
        self._rescued: Part | None = None
        self._caps: dict[SupplementKind, int] = {
            "memory": given.caps.memory,
            "retrieval": given.caps.history,
            "project": given.caps.project,
        }

    def take_mandatory(self) -> None:
        for part in self._parts.mandatory:
            self._choose(part, SENT[part.kind])
        for pin in self._offered:
            if pin.kind == "pin":
                self._accept(pin, "pin")
        self._committed = self._tokens

    def take_foremost(self) -> None:
        """What comes before the tail, under the hard limit like the mandatory part: what stands for everything before it, and
        supplements that this user turn has sent before."""
        for part in self._parts.foremost:
            if part.broken:
                self._choices.append(Choice(part, False, "broken-exchange"))
            else:
                self._committed += part.tokens
                self._choose_if_it_fits(part)
        for supplement in self._ranked(held=True):
            self._committed += supplement.tokens
            self._fit(supplement, self._hard)

    def take_tail(self) -> None:
        """The recent tail, within what the foremost leave, and memory and pinned turns need."""
        free = max(0, self._limit - self._committed)
        free -= self._memory_share(free)
        given = self._given
        chosen = given.tail is not None
        free -= self._take_rests(free)
        walked = walk_tail(
            self._parts,
            Bounds(
                free=free,
                cap=None if chosen else max(0, given.caps.recent_tail),
                current=_sum(self._parts.current) + _sum(self._parts.spoken),
                start=given.tail or 0,
                rescue=given.rescue and not chosen,
            ),
        )
        self._choices += walked.choices
        self._tokens += walked.tokens
        self._trims = walked.trims
        self._rescued = walked.rescued

    def _take_rests(self, free: int) -> int:
        """Takes pieces of pinned turns, and says how much of the room is theirs, taken or not: so the tail never shrinks where
        the room grows. What is left of them stays in its place, like a turn without pins."""
        parts = self._parts
        rests = [part for part in parts.pinned_rests if part.pieces]
        if not rests:
            return 0
        pieces = [piece for rest in rests for piece in rest.pieces]
        # All that may be sent beside, also what is beyond reach and not among the parts.
        others = sum(self._given.tokens) - _sum((*parts.mandatory, *parts.foremost, *rests))
        share = min(_sum(pieces), max(free // _RESTS_SHARE, free - others))
        taken = pieces[: count_fitting((piece.tokens for piece in pieces), share)]
        for piece in taken:
            self._choose(piece, SENT["pin"])
        ids = frozenset(piece.id for piece in taken)
        turns = (without_pieces(part, ids) if part.pieces else part for part in parts.turns)
        self._parts = structs.replace(parts, turns=tuple(part for part in turns if part is not None))
        return share

    def _memory_share(self, free: int) -> int:
        """What memory would take by its cap alone, but never more than half of the room."""
        wanted = _fitting((one.tokens for one in self._ranked() if one.kind == "memory"), self._caps["memory"])
        return min(wanted, free // 2)

    def take_supplements(self) -> None:
        """Memory, history and project, each within its own cap; one that does not fit is skipped."""
        for supplement in self._ranked():
            if supplement.tokens > self._caps[supplement.kind]:
                self._offers.append(Offer(supplement, False, "category-budget"))
            else:
                self._fit(supplement, self._limit)

    def take_summaries(self) -> None:
        room = self._given.caps.summary
        for part in self._parts.summaries:
            if part.tokens <= room and self._tokens + part.tokens <= self._limit:
                room -= part.tokens
                self._choose(part, "summary")
            else:
                self._choices.append(Choice(part, False, "summary-policy-or-budget"))

    def _ranked(self, *, held: bool = False) -> list[Supplement]:
        """Supplements but for pins, the best of each kind first, of equals the one that would be sent later (section 13.2, step
        8)."""
        found = [one for one in reversed(self._offered) if one.kind != "pin" and one.held == held]
        return sorted(found, key=lambda one: (ORDER.index(one.kind), -one.score))

    def _fit(self, supplement: Supplement, limit: int) -> None:
        if self._tokens + supplement.tokens <= limit:
            self._caps[supplement.kind] -= supplement.tokens
            self._accept(supplement, "supplement")
        else:
            self._offers.append(Offer(supplement, False, "input-budget"))

    def _accept(self, supplement: Supplement, reason: Reason) -> None:
        self._tokens += supplement.tokens
        self._offers.append(Offer(supplement, True, reason))

    def _choose_if_it_fits(self, part: Part) -> None:
        if self._tokens + part.tokens <= self._hard:
            self._choose(part, "foremost")
        else:
            self._choices.append(Choice(part, False, "input-budget"))

    def _choose(self, part: Part, reason: Reason) -> None:
        self._tokens += part.tokens
        self._choices.append(Choice(part, True, reason))

    def close(self) -> Selection:
        return Selection(
            choices=tuple(self._choices),
            offers=tuple(self._offers),
            trims=self._trims,
            tokens=self._tokens,
            rescued=self._rescued,
        )


def _sum(parts: Iterable[Part]) -> int:
    return sum(part.tokens for part in parts)


def _fitting(sizes: Iterable[int], room: int) -> int:
    """The sum of sizes taken in order as far as each still fits."""
    taken = 0
    for size in sizes:
        if taken + size <= room:
            taken += size
    return taken
