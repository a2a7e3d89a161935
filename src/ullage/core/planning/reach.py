"""What is beyond the reach of a plan: old turns of a long list that are left out whatever else is chosen.

The recent tail ends somewhere, and sound turns before its end are left out without a look at any of them. So those far behind it
are left out together here, at a small part of what it costs to take them apart: sessions grow to a hundred windows. A turn is
sound here only if its own calls and results prove it; whatever is less plain is taken apart like the rest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, compress
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from .facts import SYSTEM_ROLES
from .reasons import Reason
from .rows import Exclusion, Row, Scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .facts import SliceFacts
    from .request import PlanInput

# Turns behind the tail that are taken apart all the same, so that one of them shows how all before it are left out.
_SPARE = 3

_opens_turn = attrgetter("opens_turn")
_role = attrgetter("role")


class OldTurns(NamedTuple):
    """Turns of a list, the oldest first: of each the first message, the last one, and its tokens."""

    firsts: Sequence[int]
    lasts: Sequence[int]
    tokens: Sequence[int]


class Reach(NamedTuple):
    """How far a plan may reach: `indices` are the messages to be taken apart, `beyond` the turns that are not."""

    indices: Sequence[int]
    beyond: OldTurns


class Older(Struct, frozen=True, kw_only=True):
    """Old turns that a plan leaves out together, and how it counts scores."""

    turns: OldTurns
    reason: Reason
    scale: Scale

    def rows(self) -> list[Row]:
        """A row for each."""
        return [self._row(number) for number in range(len(self.turns.firsts))]

    def row_of(self, message: int) -> Row | None:
        """The row of the turn that a message is in; `None` for one behind all of them."""
        if message > self.turns.lasts[-1]:
            return None
        return self._row(bisect_right(self.turns.firsts, message) - 1)

    def _row(self, number: int) -> Row:
        last = self.turns.lasts[number]
        return Row(
            id=f"group:{self.turns.firsts[number]}-{last}",
            kind="recent",
            tokens=self.turns.tokens[number],
            score=self.scale.score("recent", last),
            selected=False,
            reason=self.reason,
        )

    def count_oversized(self, tail: int) -> int:
        """How many are no smaller than the recent tail."""
        return sum(map(tail.__le__, self.turns.tokens)) if tail > 0 else 0

    def exclusions(self, most: int, tail: int) -> list[Exclusion]:
        """The newest, and the newest of those that are no smaller than the recent tail."""
        tokens = self.turns.tokens
        newest = range(max(0, len(tokens) - most), len(tokens))
        oversized = [number for number, size in enumerate(tokens) if size >= tail > 0]
        return [
            Exclusion(
                id=f"group:{self.turns.firsts[number]}-{self.turns.lasts[number]}",
                last=self.turns.lasts[number],
                tokens=tokens[number],
                reason=self.reason,
                oversized=tokens[number] >= tail > 0,
                predecessor=False,
                not_rescued="not-immediate-predecessor",
            )
            for number in sorted({*newest, *oversized[-most:]})
        ]

    def messages(self, apart: Sequence[int]) -> Iterable[int]:
        """Their messages; `apart` are those that a plan has taken apart, rising numbers, some of them maybe between."""
        messages = range(self.turns.firsts[0], self.turns.lasts[-1] + 1)
        between = apart[bisect_left(apart, messages.start) : bisect_left(apart, messages.stop)]
        if not between:
            return messages
        without = frozenset(between)
        return (index for index in messages if index not in without)


def find_reach(given: PlanInput) -> Reach | None:
    """How far a plan may reach; `None` where nothing is certain to be beyond. System messages and turns with pins are taken apart
    wherever they are.

    That it did not reach further shows in the plan: the oldest turn that it took apart must be left out.
    """
    edge = _find_edge(given)
    facts = given.facts[:edge]
    systems = list(compress(range(edge), map(SYSTEM_ROLES.__contains__, map(_role, facts))))
    openers = list(compress(range(edge), map(_opens_turn, facts)))
    if not openers or systems[: openers[0]] != list(range(openers[0])) or not _are_sound(facts):
        return None
    turns = _measure_turns(openers, edge, given.tokens, systems)
    apart = systems
    if pinned := {bisect_right(openers, index) - 1 for index in given.pinned if openers[0] <= index < edge}:
        apart = sorted({*systems, *(index for number in pinned for index in range(*_bounds(turns, number)))})
        others = [number not in pinned for number in range(len(openers))]
        turns = OldTurns(*(list(compress(column, others)) for column in turns))
    return Reach((*apart, *range(edge, len(given.facts))), turns) if turns.firsts else None


def _bounds(turns: OldTurns, number: int) -> tuple[int, int]:
    return turns.firsts[number], turns.lasts[number] + 1


def _find_edge(given: PlanInput) -> int:
    """The message that opens the first turn to be taken apart; 0 where the whole list is."""
    start = given.tail or 0
    room = given.budget.hard - given.fixed_tokens + sum(max(0, trim.saved) for trim in given.trims)
    spare = _SPARE
    for index in range(len(given.facts) - 1, -1, -1):
        room -= given.tokens[index]
        if (index < start if start else room < 0) and given.facts[index].opens_turn:
            spare -= 1
            if spare == 0:
                return index
    return 0


def _are_sound(facts: Iterable[SliceFacts]) -> bool:
    """Whether each call has its result in the same turn, each result its call, all reasoning what came of it; and whether nothing
    stands for more than itself."""
    waiting: set[str] = set()
    leads = False
    for fact in facts:
        if fact.summary or fact.compaction or (leads and fact.role != "assistant") or (waiting and fact.opens_turn):
            return False
        leads = fact.leads
        if fact.calls and not _add(waiting, fact.calls):
            return False
        for key in fact.answers:
            if key in waiting:
                waiting.remove(key)
            elif waiting or key not in fact.hosted:
                return False
    return not waiting and not leads


def _add(waiting: set[str], calls: tuple[str, ...]) -> bool:
    """Whether each of the calls is a new one."""
    before = len(waiting)
    waiting.update(calls)
    return len(waiting) == before + len(calls)


def _measure_turns(openers: Sequence[int], edge: int, tokens: Sequence[int], systems: Iterable[int]) -> OldTurns:
    """The turns that these messages open before the edge, without system messages in them."""
    weights = list(tokens[:edge])
    lasts = list(range(edge))
    for index in systems:
        weights[index] = 0
        lasts[index] = lasts[index - 1]
    sums = list(accumulate(weights, initial=0))
    ends = [*openers[1:], edge]
    sizes = [sums[end] - sums[first] for first, end in zip(openers, ends, strict=True)]
    return OldTurns(openers, [lasts[end - 1] for end in ends], sizes)
