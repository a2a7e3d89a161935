"""Where a tail may begin, and what it then holds: before a turn, or before an exchange inside one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, compress
from operator import attrgetter
from typing import TYPE_CHECKING

from .groups import outline, split_exchanges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .request import PlanInput

_SYSTEM = frozenset({"system", "developer"})

_opens_turn = attrgetter("opens_turn")
_role = attrgetter("role")


class Cuts:
    """The places at which the messages of a request may be cut. They are found when first asked for: a request whose tail
    stays where it is asks for few.

    `opener` is the message that opened the current turn. `room` is what a plan has for messages: its target less what is
    sent anyway, and less what its pins and memory need; `most` is what the hard limit would leave.
    """

    def __init__(self, given: PlanInput, known: int = 0, opener: int | None = None) -> None:
        """`opener` may be known of the first `known` messages."""
        self._given = given
        self._found: _Found | None = None
        facts = given.facts
        newer = (index for index in range(len(facts) - 1, known - 1, -1) if facts[index].opens_turn)
        self.opener = next(newer, opener)
        aside = given.fixed_tokens + _set_aside(given)
        self.room = max(0, given.budget.active - aside)
        self.most = max(0, given.budget.hard - aside)

    def kept(self, start: int) -> int:
        """Tokens of the messages from `start` on, of system messages before it, and of the words of the user that open the
        turn it lies in."""
        return sum(self._given.tokens) if start == 0 else self._places.kept(start)

    @property
    def turns(self) -> list[int]:
        """The starts of turns in order; 0 is always one, the current turn's the last. Messages of the user in a row open
        one turn together."""
        return self._places.turns

    @property
    def _places(self) -> _Found:
        if self._found is None:
            self._found = _Found(self._given)
        return self._found

    @property
    def current(self) -> int:
        """The start of the current turn."""
        return self.turns[-1]

    def newest_turns(self, tokens: float) -> int:
        """The oldest start of a turn behind which no more than `tokens` are kept; the current turn's if even that has more."""
        return self.turns[min(self._count_larger(tokens), len(self.turns) - 1)]

    def walk(self, tokens: float) -> int:
        """Where a tail of no more than `tokens` begins that is walked anew (planner specification, section 13.2, step 7)."""
        if self.kept(self.current) > self.room:
            return self.oldest_fitting()
        start = self.newest_turns(tokens)
        # A message of the user right before the request is the turn before it, and needs no rescue.
        if start == self.current == self.opener and len(self.turns) > 1 and self._given.rescue and tokens > 0:
            before = self.turns[-2]
            return before if self.kept(before) <= self.room else start
        return start

    def begin(self, tokens: float) -> int:
        """Where a tail of no more than `tokens` begins that nothing was sent of before: as it is walked, but inside the turn
        before the current one where that is too large to be whole. What the user says next mostly answers its end."""
        start = self.walk(tokens)
        if start != self.current or len(self.turns) < 2:
            return start
        most = min(tokens, self.room)
        return next((place for place in self._inside(self.turns[-2]) if self.kept(place) <= most), start)

    def whole_turn(self, tokens: float, share: float) -> int:
        """`at_least`, but the start of a turn where one keeps no more than `share` times as much."""
        start = self._newest_with(tokens)
        return start if tokens <= self.kept(start) <= share * tokens else self.at_least(tokens)

    def at_least(self, tokens: float) -> int:
        """The newest start within the room behind which `tokens` or more are kept; if there is none, the one behind which
        most are."""
        turn = self._newest_with(tokens)
        start = max((start for start in self._inside(turn) if self.kept(start) >= tokens), default=turn)
        return max(start, self.oldest_fitting())

    def oldest_fitting(self) -> int:
        """The oldest start whose messages fit the room; the newest exchange if none does."""
        over = self._count_larger(self.room)
        if not over:
            return 0
        inside = list(self._inside(self.turns[over - 1]))
        behind = self.turns[over : over + 1]
        return next((start for start in (*inside, *behind) if self.kept(start) <= self.room), inside[-1])

    def _newest_with(self, tokens: float) -> int:
        """The newest start of a turn behind which `tokens` or more are kept; 0 if there is none."""
        count = bisect_right(self.turns, -tokens, key=self._negative)
        return self.turns[max(0, count - 1)]

    def _count_larger(self, tokens: float) -> int:
        """Behind the starts of how many turns, the oldest first, more than `tokens` are kept: the later one is, the less."""
        return bisect_left(self.turns, -tokens, key=self._negative)

    def _negative(self, start: int) -> int:
        return -self.kept(start)

    def _inside(self, turn: int) -> Iterable[int]:
        """The starts of a turn and of its exchanges, in order."""
        given, turns = self._given, self.turns
        number = bisect_left(turns, turn) + 1
        end = turns[number] if number < len(turns) else len(given.facts)
        made = outline(given.facts[turn:end], given.tokens[turn:end])
        exchanges = split_exchanges(made, (group for group in made.groups if group.kind == "turn"))
        return sorted({turn, *(turn + one.first for one in exchanges if not one.said)})


class _Found:
    """One pass over the messages: the starts of turns, and what is kept before any place."""

    def __init__(self, given: PlanInput) -> None:
        facts, tokens = given.facts, given.tokens
        self.turns = [0]
        self._behind = list(accumulate(reversed(tokens), initial=0))
        self._openers = list(compress(range(len(facts)), map(_opens_turn, facts)))
        self._systems = list(compress(range(len(facts)), map(_SYSTEM.__contains__, map(_role, facts))))
        self._opening = list(accumulate(map(tokens.__getitem__, self._openers), initial=0))
        self._fixed = list(accumulate(map(tokens.__getitem__, self._systems), initial=0))
        before = -1
        for opener in self._openers:
            between = opener - before - 1
            if between and self._systems and before >= 0:
                between -= self._count_systems(before, opener)
            if opener and (before < 0 or between > 0):
                self.turns.append(opener)
            before = opener

    def _count_systems(self, start: int, stop: int) -> int:
        return bisect_left(self._systems, stop) - bisect_left(self._systems, start)

    def kept(self, start: int) -> int:
        """Tokens kept by a tail that begins at `start`."""
        turn = self.turns[bisect_left(self.turns, start + 1) - 1]
        opening = self._opening[bisect_left(self._openers, start)] - self._opening[bisect_left(self._openers, turn)]
        fixed = self._fixed[bisect_left(self._systems, start)]
        return self._behind[-1 - start] + opening + fixed


def _set_aside(given: PlanInput) -> int:
    """Room that pins, memory and what the turn has sent before take from the tail."""
    certain = sum(one.tokens for one in given.supplements if one.kind == "pin" or one.held)
    certain += sum(given.tokens[index] for index in given.alone)
    memory = sum(one.tokens for one in given.supplements if one.kind == "memory" and not one.held)
    return certain + min(memory, given.caps.memory)
