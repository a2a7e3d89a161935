"""`epoch-v1`: the tail of the reference, which may be longer where prefixes are cached (planner specification, section
10.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from .tail_cuts import Cuts
from .tail_records import Rejected, TailChoice, TailMemory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.spend import CallPrices

    from .request import PlanInput
    from .tail_records import TailContext

_MILLION = 1_000_000


class EpochRules(Struct, frozen=True, kw_only=True):
    """The reference's settings and their defaults (planner specification, section 2.2)."""

    minimum_samples: int = 3
    minimum_cache_share: float = 0.5
    minimum_miss_hit_ratio: float = 20.0
    improvement: float = 0.1
    tail_share: float = 0.5
    requests_per_turn: int = 4
    turns_per_epoch: int = 4
    stickiness: int = 2


EPOCH_RULES = EpochRules()


class Eligibility(NamedTuple):
    """Whether a longer tail is tried at all, how long it would be, and why, as reason codes."""

    eligible: bool
    tail: int
    notes: tuple[str, ...]


def judge_eligibility(
    *, prices: CallPrices, share: float | None, samples: int, nominal: int, active: int, rules: EpochRules = EPOCH_RULES
) -> Eligibility:
    """Step 1 and 2 of section 10.2: `share` is the part of prompts that was read from cache, `active` the whole input
    target."""
    notes = list(_objections(prices, share, samples, rules))
    if notes:
        return Eligibility(False, nominal, tuple(notes))
    tail = max(nominal, math.floor(active * rules.tail_share))
    return Eligibility(True, tail, (f"cache-aware-tail:{tail}",))


def _objections(prices: CallPrices, share: float | None, samples: int, rules: EpochRules) -> Iterator[str]:
    if not prices.known or prices.cache_read <= 0:
        yield "cache-pricing-incomplete"
    elif (ratio := prices.input / prices.cache_read) < rules.minimum_miss_hit_ratio:
        yield f"miss-hit-ratio-below-threshold:{ratio:.2f}"
    if share is None:
        yield "cache-share-unobserved"
    elif share < rules.minimum_cache_share:
        yield f"cache-read-share-below-threshold:{share:.4f}"
    if samples < rules.minimum_samples:
        yield f"insufficient-samples:{samples}"


def reusable_tokens(before: Sequence[int], now: Sequence[int], tokens: Sequence[int]) -> int:
    """Tokens of the leading messages that stood at the beginning of the last request, too."""
    shared = 0
    for old, new, weight in zip(before, now, tokens, strict=False):
        if old != new:
            break
        shared += weight
    return shared


def request_usd(tokens: int, reusable: int, prices: CallPrices) -> float:
    """One request: what can be reused is read from the cache, the rest is input (step 4)."""
    cached = min(tokens, reusable)
    return ((tokens - cached) * prices.input + cached * prices.cache_read) / _MILLION


def epoch_usd(
    tokens: int, reusable: int, prices: CallPrices, *, stable: bool, rules: EpochRules = EPOCH_RULES
) -> float:
    """An epoch of requests like this one: where the tail is `stable` only the first is cold, else the first of each turn."""
    cold, warm = request_usd(tokens, reusable, prices), request_usd(tokens, tokens, prices)
    if stable:
        return cold + (rules.requests_per_turn * rules.turns_per_epoch - 1) * warm
    return (cold + (rules.requests_per_turn - 1) * warm) * rules.turns_per_epoch


def choose_epoch(
    given: PlanInput, context: TailContext, memory: TailMemory | None, rules: EpochRules = EPOCH_RULES
) -> tuple[TailChoice | None, TailMemory]:
    """The longer tail if it is in use, `None` where the tail is walked as ever; and what this request leaves to the next
    one.

    An epoch is `turns_per_epoch` turns of the user: a tail in use is judged once in each.
    """
    return _Epoch(given, context, memory, rules).choose()


class _Tail(NamedTuple):
    start: int
    tokens: int
    reusable: int
    usd: float


class _Epoch:
    def __init__(self, given: PlanInput, context: TailContext, memory: TailMemory | None, rules: EpochRules) -> None:
        self._given = given
        self._context = context
        self._rules = rules
        self._cuts = Cuts(given)
        opener = self._cuts.opener
        self._turn = context.hashes[opener] if opener is not None else None
        # Another model has cached nothing of it, and what was learned of the last one says nothing of this one.
        same = memory is not None and memory.target == context.target
        self._memory = memory if same else None

    def choose(self) -> tuple[TailChoice | None, TailMemory]:
        nominal = max(0, self._given.caps.recent_tail)
        found = judge_eligibility(
            prices=self._context.prices,
            share=self._context.cache_share,
            samples=self._context.samples,
            nominal=nominal,
            active=self._given.budget.active,
            rules=self._rules,
        )
        short, long = self._weigh(nominal), self._weigh(found.tail)
        memory = self._judge(found.eligible and long.usd < short.usd * (1 - self._rules.improvement))
        use_long = found.eligible and memory.extended
        used, other = (long, short) if use_long else (short, long)
        memory = replace(
            memory,
            first=self._context.hashes[used.start] if self._context.hashes else 0,
            index=used.start,
            sent=self._context.hashes[used.start :],
        )
        return (self._choice(used, other, found.notes) if use_long else None), memory

    def _weigh(self, limit: int) -> _Tail:
        given, context = self._given, self._context
        start = self._cuts.walk(limit)
        kept = self._cuts.kept(start) if given.tokens else 0
        sent = self._memory.sent if self._memory is not None else ()
        reusable = reusable_tokens(sent, context.hashes[start:], given.tokens[start:])
        tokens = given.fixed_tokens + kept
        stable = sum(given.tokens) <= limit
        return _Tail(
            start, kept, reusable, epoch_usd(tokens, reusable, context.prices, stable=stable, rules=self._rules)
        )

    def _judge(self, better: bool) -> TailMemory:
        """Takes the longer tail up when it is clearly better, and gives it up after enough losses in a row."""
        context, before = self._context, self._memory
        hashes = context.hashes
        memory = TailMemory(
            target=context.target,
            first=0,
            index=0,
            last=hashes[-1] if hashes else 0,
            count=len(hashes),
            turn=self._turn,
            opener=self._cuts.opener,
            used_ms=context.now_ms,
        )
        if before is None:
            return replace(memory, extended=better, judged_turn=memory.turns)
        turns = before.turns + ((before.turn, before.opener) != (self._turn, self._cuts.opener))
        memory = replace(memory, calls=before.calls + 1, turns=turns, grown=before.grown)
        if better or not before.extended:
            return replace(memory, extended=better, judged_turn=turns)
        if turns - before.judged_turn < self._rules.turns_per_epoch:
            return replace(memory, extended=True, losses=before.losses, judged_turn=before.judged_turn)
        losses = before.losses + 1
        return replace(memory, extended=losses < self._rules.stickiness, losses=losses, judged_turn=turns)

    def _choice(self, used: _Tail, other: _Tail, notes: tuple[str, ...]) -> TailChoice:
        rules = self._rules
        return TailChoice(
            mode="epoch-v1",
            first=used.start,
            tokens=used.tokens,
            reason="held",
            moved=self._memory is None or self._memory.first != self._context.hashes[used.start],
            warm_prefix_tokens=used.reusable,
            calls=rules.requests_per_turn * rules.turns_per_epoch,
            expected_usd=used.usd,
            rejected=Rejected(first=other.start, tokens=other.tokens, expected_usd=other.usd),
            notes=notes,
        )
