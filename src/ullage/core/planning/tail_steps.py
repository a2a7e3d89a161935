"""The tail that moves in steps: where a request keeps its beginning, so that its provider's cache holds (design, section
7).

A tail that is walked anew begins later from request to request, and each time all that it keeps is written to the cache
again, at ten times and more what reading it costs. Here the beginning stays, also beyond the tail's limit, until moving it
is cheap: at a new turn, when the turns before matter least, or when the cache has gone cold anyway. Then so much is left
out that the next steps are far apart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ullage.core.spend import DEFAULT_CALLS, Horizon, total_usd

from .tail_cuts import Cuts
from .tail_records import Rejected, TailChoice, TailMemory, continues, find_start

if TYPE_CHECKING:
    from .request import PlanInput
    from .tail_records import TailContext, TailReason

# The constants below were chosen on recorded sessions (docs/explanation/cache-honest-tail.md), which say what hangs on
# each.
LEAST_SHARE = 0.25
"""Of the tail's limit at least so much stays when it is shortened, if there is as much."""
STEP = 3.0
"""How much longer a step at a new turn is than one in its middle: old turns matter less to what comes than the turn at
hand."""
WHOLE_TURN = 2.0
"""A tail begins with a turn rather than in the middle of one if that keeps no more than so many times what is to stay."""
PATIENCE = 2.0
"""How many times the cost of shortening is paid for holding before a tail is shortened in the middle of a turn."""

# What is usual, and how many turns and calls of a session it takes until the session itself counts as much.
_PRIOR_TURNS = 4
_PRIOR_CALLS = 12
_PRIOR_GROWTH = 2_000  # tokens a call, the middle of recorded sessions

_MILLION = 1_000_000


class _Course(NamedTuple):
    """How a session has gone so far: calls of a turn, and tokens that a call adds."""

    calls: int
    growth: float


class _Move(NamedTuple):
    """A new start of the tail, and why."""

    start: int
    reason: TailReason


def choose_step(given: PlanInput, context: TailContext, memory: TailMemory | None) -> tuple[TailChoice, TailMemory]:
    """The tail of a request whose session left `memory`, and what it leaves to the next one."""
    stepping = _Stepping(given, context, memory)
    move = stepping.decide()
    return stepping.close(move)


class _Stepping:
    def __init__(self, given: PlanInput, context: TailContext, memory: TailMemory | None) -> None:
        self._given = given
        self._context = context
        self._memory = memory
        continued = memory is not None and continues(memory, context.hashes)
        self._cuts = Cuts(given, memory.count, memory.opener) if memory is not None and continued else Cuts(given)
        self._limit = max(0, min(given.caps.recent_tail, self._cuts.room))
        # The user may say the same twice, so where it stands counts as well.
        self._new_turn = (
            memory is None or memory.turn != self._turn or (continued and memory.opener != self._cuts.opener)
        )
        self._at = find_start(memory, context.hashes)
        self._warm = (
            memory is not None and memory.target == context.target and context.now_ms - memory.used_ms <= context.ttl_ms
        )
        self._course = _course(memory)
        self._rent = memory.rent_usd if memory is not None else 0.0
        self._other: int | None = None

    @property
    def _turn(self) -> int | None:
        opener = self._cuts.opener
        return self._context.hashes[opener] if opener is not None else None

    def decide(self) -> _Move:
        """Where the tail begins now."""
        if self._at is None:
            over = self._cuts.kept(self._cuts.current) > self._cuts.room
            start = self._forced() if over else self._cuts.begin(self._limit)
            return _Move(start, "first-request" if self._memory is None else "history-replaced")
        size = self._cuts.kept(self._at)
        if self._context.steady and not self._new_turn and self._limit < size <= self._cuts.most:
            return _Move(self._at, "held")
        if size > self._cuts.room:
            return _Move(max(self._at, self._forced()), "over-limit")
        if size <= self._limit:
            return _Move(self._at, "fits")
        return self._shorten(size) or self._end_of_patience(size) or _Move(self._at, "held")

    def _shorten(self, size: int) -> _Move | None:
        """Shortens the tail where it may go far: when the user says something new, or when nothing is cached any more."""
        if self._warm and not self._new_turn:
            return None
        start = self._deep()
        if not self._shortens(start, size):
            return None
        self._other = start
        if self._warm and not self._is_cheaper(start, size):
            return None
        return _Move(start, "new-turn" if self._warm else "cold-cache")

    def _deep(self) -> int:
        """Where a short tail begins; never inside the current turn unless the input limit demands it."""
        return min(self._cuts.whole_turn(self._least(self._limit, STEP), WHOLE_TURN), self._cuts.current)

    def _end_of_patience(self, size: int) -> _Move | None:
        """Shortens the tail to what would be kept without a cache, once holding more has cost as much as that, and more."""
        start = self._cuts.walk(self._limit)
        if not self._shortens(start, size):
            return None
        self._other = start if self._other is None else self._other
        prices, kept = self._context.prices, self._cuts.kept(start)
        self._rent += (size - kept) * prices.cache_read / _MILLION
        if self._rent < PATIENCE * kept * (prices.cache_write - prices.cache_read) / _MILLION:
            return None
        return _Move(start, "dear")

    def _forced(self) -> int:
        """What the input limit leaves: as much as is best in the long run, and no more than what shortening would have
        left."""
        start = self._cuts.at_least(min(self._limit, self._least(self._cuts.room, 1.0)))
        if self._new_turn or not self._warm:
            start = max(start, self._deep())
        return start

    def _least(self, most: float, step: float) -> float:
        """How many tokens to keep of a tail that may have `most`.

        If the tail grows by g a call and is cut from H to C tokens, a call costs r(H + C)/2 for reading it and (w -
        r)C·g/(H - C) for writing it anew, on average; with H free that is least where H - C is √(2·C·g·(w - r)/r). `step`
        is how many times longer it shall be. Here H is given, and C is what solves it.
        """
        prices = self._context.prices
        if prices.cache_read <= 0:
            return LEAST_SHARE * most
        ratio = max(0.0, prices.cache_write - prices.cache_read) / prices.cache_read
        half = step * math.sqrt(2 * self._course.growth * ratio) / 2
        root = math.sqrt(half * half + most) - half
        return max(LEAST_SHARE * most, root * root)

    def _is_cheaper(self, start: int, size: int) -> bool:
        return self._cost(self._cuts.kept(start), 0) < self._cost(size, self._warm_tokens(size))

    def _cost(self, kept: int, warm: int) -> float:
        """What the calls ahead cost with a tail of so many tokens, of which so many are warm. Prompt and tools stay warm
        anyway."""
        fixed = self._given.fixed_tokens
        horizon = Horizon(
            context=fixed + kept,
            warm=(fixed if self._warm else 0) + warm,
            growth=self._course.growth,
            calls=self._course.calls,
        )
        return total_usd(horizon, self._context.prices)

    def _warm_tokens(self, size: int) -> int:
        """What of the tail as it stands was sent before."""
        if not self._warm or self._memory is None:
            return 0
        return max(0, size - sum(self._given.tokens[self._memory.count :]))

    def _shortens(self, start: int, size: int) -> bool:
        return self._at is not None and start > self._at and self._cuts.kept(start) < size

    def close(self, move: _Move) -> tuple[TailChoice, TailMemory]:
        start = move.start
        moved = start != self._at
        kept = self._cuts.kept(start) if self._given.tokens else 0
        warm = 0 if moved else self._warm_tokens(kept)
        known = self._context.prices.known
        choice = TailChoice(
            mode="auto",
            first=start,
            tokens=kept,
            reason=move.reason,
            moved=moved,
            warm_prefix_tokens=warm + (self._given.fixed_tokens if self._warm else 0),
            calls=self._course.calls,
            expected_usd=self._cost(kept, warm) if known else None,
            rejected=self._rejected(start),
        )
        return choice, self._remember(start, moved=moved)

    def _rejected(self, start: int) -> Rejected | None:
        """Beside a tail that stays the shorter one that was weighed, beside a shorter one that which would have stayed."""
        other = self._other if start == self._at else self._at
        if other is None or other == start:
            return None
        kept = self._cuts.kept(other)
        warm = self._warm_tokens(kept) if other == self._at else 0
        usd = self._cost(kept, warm) if self._context.prices.known else None
        return Rejected(first=other, tokens=kept, expected_usd=usd)

    def _remember(self, start: int, *, moved: bool) -> TailMemory:
        context, before = self._context, self._memory
        hashes = context.hashes
        memory = TailMemory(
            target=context.target,
            first=hashes[start] if start < len(hashes) else 0,
            index=start,
            last=hashes[-1] if hashes else 0,
            count=len(hashes),
            turn=self._turn,
            opener=self._cuts.opener,
            used_ms=context.now_ms,
            rent_usd=0.0 if moved else self._rent,
        )
        if before is None:
            return memory
        return replace(
            memory,
            calls=before.calls + 1,
            turns=before.turns + self._new_turn,
            grown=before.grown + self._grown(before),
        )

    def _grown(self, before: TailMemory) -> int:
        """What came since the last request."""
        continued = continues(before, self._context.hashes)
        return sum(self._given.tokens[before.count :]) if continued else 0


def _course(memory: TailMemory | None) -> _Course:
    """Calls and growth of the session so far, leaning on what is usual as long as there is little of it."""
    calls, turns, grown = (memory.calls, memory.turns, memory.grown) if memory is not None else (0, 0, 0)
    return _Course(
        calls=max(1, round((_PRIOR_TURNS * DEFAULT_CALLS + calls) / (_PRIOR_TURNS + turns))),
        growth=(_PRIOR_CALLS * _PRIOR_GROWTH + grown) / (_PRIOR_CALLS + calls),
    )
