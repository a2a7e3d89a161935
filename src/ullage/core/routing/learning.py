"""What past calls and their users say of targets: how reliably they deliver, and how well tasks went (routing specification, 23).

The two are kept apart. A delivery is the provider's doing: it moves the term `reliability` and nothing else. Votes and judged
tasks speak of the model: they move the utility itself, by at most a tenth. What is learned does not depend on the order in which
it arrives, and half of it is forgotten in thirty days.
"""

from __future__ import annotations

from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct

from .scoring import PREFERENCE_WEIGHT
from .signals import MIXED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HALF_LIFE_MS = 30 * 24 * 60 * 60 * 1000
"""Milliseconds in which half of what was learned is forgotten (section 23.1)."""
VOTE = 0.02
MOST = 0.1
"""What one vote adds to or takes from an offset, and the most that an offset may be (section 23.1)."""
EXPLORATION = 0.08
"""What is added to the reliability of a target that nothing is known of, where exploring is asked for (section 23.2)."""

_DOUBT = 4
"""Attempts at which half of what they say is believed (section 23.2)."""
_LIKENESS = 50
"""Judged tasks of a kind that say as much of it as all tasks together: single outcomes vary by 0.5, a model's share of successes
among kinds by some 0.07, and the square of their ratio is 50."""
_PROVIDER_PART = 0.5
# What is the fault of the request, or of whose key it is, says nothing of how reliably a provider delivers (section 18).
_PROVIDER_FAULTS = frozenset({408, 425, 429})

Key = tuple[str, ...]
"""Whom something is known of: a target, a provider, or a kind of task with a target."""


class Delivery(Struct, frozen=True, kw_only=True, gc=False):
    """One attempt that a provider delivered or failed to. `kinds` are those of its task, where it was routed. Times are epoch
    milliseconds, here and below."""

    at_ms: int
    target: str
    delivered: bool
    kinds: tuple[str, ...] = ()


class Vote(Struct, frozen=True, kw_only=True, gc=False):
    """A user's word for or against a target, at tasks of these kinds: `mixed` where none are named."""

    id: str
    at_ms: int
    target: str
    good: bool
    kinds: tuple[str, ...] = ()


class Judged(Struct, frozen=True, kw_only=True, gc=False):
    """What a user says of a task that a target ended; `None` takes back what was said. Of one task the newest holds."""

    id: str
    at_ms: int
    task: str
    target: str
    success: bool | None
    kinds: tuple[str, ...] = ()


class Prior(Struct, frozen=True, kw_only=True, gc=False):
    """What was counted elsewhere, as `stores.TallyRecord` has it: deliveries, or the offset that votes have left. Of what one
    source has counted of the same the newest holds."""

    id: str
    at_ms: int
    source: str
    provider: str
    target: str | None = None
    kind: str | None = None
    attempts: float = 0.0
    successes: float = 0.0
    offset: float | None = None


class Count(Struct, frozen=True, gc=False):
    """Attempts and successes as they weighed at a time."""

    at_ms: int
    attempts: float
    successes: float

    def at(self, now_ms: int) -> Count:
        """What they weigh now."""
        left = decay(now_ms - self.at_ms)
        return Count(max(now_ms, self.at_ms), self.attempts * left, self.successes * left)

    @property
    def rate(self) -> float:
        """The part of successes, one success and one failure added, so that few attempts say little."""
        return (self.successes + 1) / (self.attempts + 2)

    @property
    def confidence(self) -> float:
        """How far the rate is believed, 0 to 1."""
        return self.attempts / (self.attempts + _DOUBT)


NO_COUNT = Count(0, 0.0, 0.0)


class Offset(Struct, frozen=True, gc=False):
    """What votes have left at a time, in utility."""

    at_ms: int
    value: float

    def at(self, now_ms: int) -> float:
        """What is left of it now."""
        return self.value * decay(now_ms - self.at_ms)


NO_OFFSET = Offset(0, 0.0)


class Reliability(Struct, frozen=True, kw_only=True, gc=False):
    """How reliably a target delivers, 0 to 1, and how far that is known.

    `attempts` and `successes` are the target's own, decayed; 0 where only its provider is known.
    """

    score: float
    confidence: float
    attempts: float
    successes: float


class Quality(Struct, frozen=True, kw_only=True, gc=False):
    """What users make of a target's work, in utility: `offset` is what votes (`voted`) and judged tasks (`assessed`) come to
    together, -0.1 to 0.1. `judged` is the decayed number of judged tasks."""

    offset: float
    voted: float
    assessed: float
    judged: float

    @property
    def preference(self) -> float:
        """The offset as scoring takes it, which weighs preferences by a half."""
        return self.offset / PREFERENCE_WEIGHT


class Learned(Struct, frozen=True, kw_only=True):
    """Everything that was learned up to now."""

    deliveries: dict[Key, Count] = {}
    judged: dict[Key, Count] = {}
    offsets: dict[Key, Offset] = {}

    def reliability(
        self, target: str, kinds: Sequence[str], now_ms: int, *, exploration: float = 0.0
    ) -> Reliability | None:
        """How reliably a target delivers (section 23.2); `None` where nothing is known of it nor of its provider.

        `exploration` is what is added where nothing is known, less the more is.
        """
        own = _best(self.deliveries, target, kinds, now_ms)
        provider = _weight(self.deliveries, _provider_key(target), now_ms)
        is_known = own.attempts or provider.attempts or exploration
        return _reliability(own, provider, exploration) if is_known else None

    def quality(self, target: str, kinds: Sequence[str], now_ms: int) -> Quality:
        """What votes and judged tasks say of a target at tasks of these kinds."""
        keys = _kinds_and_target(kinds, target)
        voted = sum(self.offsets.get(key, NO_OFFSET).at(now_ms) for key in keys) / len(keys)
        whole = _weight(self.judged, _target_key(target), now_ms)
        rates = [_near(whole.rate, _weight(self.judged, key, now_ms)) for key in keys[:-1]] or [whole.rate]
        assessed = 2 * MOST * (sum(rates) / len(rates) - 0.5) * whole.confidence
        return Quality(
            offset=_clamp(voted + assessed, -MOST, MOST), voted=voted, assessed=assessed, judged=whole.attempts
        )


def learn(
    deliveries: Iterable[Delivery] = (),
    votes: Iterable[Vote] = (),
    judged: Iterable[Judged] = (),
    priors: Iterable[Prior] = (),
) -> Learned:
    """What all of it comes to, in whatever order it is given; of two of one id the same comes as of one."""
    known = _newest_priors(priors)
    attempted = [(one.at_ms, 1.0, float(one.delivered), _keys_of(one)) for one in deliveries]
    attempted += [(one.at_ms, one.attempts, one.successes, [_prior_key(one)]) for one in known if one.attempts]
    said = [
        (one.at_ms, 1.0, float(one.success), _judged_keys(one)) for one in _newest(judged) if one.success is not None
    ]
    return Learned(deliveries=_add_up(attempted), judged=_add_up(said), offsets=_vote(votes, known))


def delivered(outcome: str, status: int | None) -> bool | None:
    """Whether a provider delivered, by the outcome and the HTTP status of a call.

    `None` where that says nothing of it: the client left, we answered ourselves, or the request or its key was at fault.
    """
    if outcome in ("ok", "unparsed"):
        return True
    if outcome == "cut":
        return False
    if outcome == "error":
        is_fault = status is None or status < 400 or status >= 500 or status in _PROVIDER_FAULTS
        return False if is_fault else None
    return None


def decay(age_ms: float) -> float:
    """The part that is left after so many milliseconds; what comes from the future is not older than now."""
    return float(0.5 ** (max(0.0, age_ms) / HALF_LIFE_MS))


def tell(reliability: Reliability | None, quality: Quality) -> str | None:
    """Both in a few words, for the reasons of a route; `None` where there is nothing to tell."""
    told = []
    if reliability is not None and reliability.attempts:
        told.append(f"reliability {reliability.score:.2f}")
    if abs(quality.offset) >= MOST / 20:
        told.append(f"task quality {quality.offset:+.2f}")
    return ", ".join(told) or None


def _reliability(own: Count, provider: Count, exploration: float) -> Reliability:
    if own.attempts:
        base = own.rate * own.confidence + provider.rate * (1 - own.confidence)
        confidence = max(own.confidence, _PROVIDER_PART * provider.confidence)
    else:
        base, confidence = provider.rate, provider.confidence
    score = base * confidence + 0.5 * (1 - confidence) + exploration * (1 - confidence)
    return Reliability(
        score=_clamp(score, 0.0, 1.0), confidence=confidence, attempts=own.attempts, successes=own.successes
    )


def _near(usual: float, count: Count) -> float:
    """The part of successes at one kind of tasks, as far as there are enough of them to tell it from the usual one."""
    return (count.successes + _LIKENESS * usual) / (count.attempts + _LIKENESS)


def _best(counts: dict[Key, Count], target: str, kinds: Sequence[str], now_ms: int) -> Count:
    """What is known of a target: of the task's kinds that with the most attempts, else all together."""
    found = [_weight(counts, _kind_key(kind, target), now_ms) for kind in _named(kinds)]
    best = max(found, key=lambda count: (count.attempts, count.successes), default=NO_COUNT)
    return best if best.attempts else _weight(counts, _target_key(target), now_ms)


def _weight(counts: dict[Key, Count], key: Key, now_ms: int) -> Count:
    count = counts.get(key)
    return NO_COUNT if count is None else count.at(now_ms)


Event = tuple[int, float, float, list[Key]]
"""A time, attempts and successes, and whom they count for."""


def _add_up(events: list[Event]) -> dict[Key, Count]:
    """The counts of each key as they weigh at the newest of all events.

    Events of one time are added by their figures, so that sums come out the same to the last digit, whatever came first.
    """
    events.sort(key=itemgetter(0, 1, 2))
    newest_ms = events[-1][0] if events else 0
    attempts: defaultdict[Key, float] = defaultdict(float)
    successes: defaultdict[Key, float] = defaultdict(float)
    for at_ms, attempted, succeeded, keys in events:
        left = decay(newest_ms - at_ms)
        for key in keys:
            attempts[key] += attempted * left
            successes[key] += succeeded * left
    return {key: Count(newest_ms, weight, successes[key]) for key, weight in attempts.items()}


def _vote(votes: Iterable[Vote], priors: Iterable[Prior]) -> dict[Key, Offset]:
    events = [
        (vote.at_ms, vote.id, key, VOTE if vote.good else -VOTE)
        for vote in {vote.id: vote for vote in votes}.values()
        for key in _kinds_and_target(vote.kinds or (MIXED,), vote.target)
    ]
    events += [(prior.at_ms, prior.id, _prior_key(prior), prior.offset) for prior in priors if prior.offset is not None]
    offsets: dict[Key, Offset] = {}
    for at_ms, _, key, amount in sorted(events):
        before = offsets.get(key, NO_OFFSET).at(at_ms)
        offsets[key] = Offset(at_ms, _clamp(before + amount, -MOST, MOST))
    return offsets


def _newest_priors(priors: Iterable[Prior]) -> list[Prior]:
    in_time = sorted(priors, key=lambda prior: (prior.at_ms, prior.id))
    newest = {(one.source, _prior_key(one), one.offset is None): one for one in in_time}
    return list(newest.values())


def _newest(judged: Iterable[Judged]) -> Iterable[Judged]:
    """What was said last of each task."""
    newest: dict[str, Judged] = {}
    for one in judged:
        before = newest.get(one.task)
        if before is None or (before.at_ms, before.id) <= (one.at_ms, one.id):
            newest[one.task] = one
    return newest.values()


def _keys_of(one: Delivery) -> list[Key]:
    return [*_kinds_and_target(one.kinds, one.target), _provider_key(one.target)]


def _judged_keys(one: Judged) -> list[Key]:
    return _kinds_and_target(one.kinds or (MIXED,), one.target)


def _kinds_and_target(kinds: Iterable[str], target: str) -> list[Key]:
    return [*(_kind_key(kind, target) for kind in _named(kinds)), _target_key(target)]


def _named(kinds: Iterable[str]) -> list[str]:
    """The kinds of a task, each once. That it has several is no kind beside them: it would have the most attempts of all."""
    each = list(dict.fromkeys(kinds))
    return [kind for kind in each if kind != MIXED] or each


def _prior_key(prior: Prior) -> Key:
    if prior.target is None:
        return "provider", prior.provider
    return _target_key(prior.target) if prior.kind is None else _kind_key(prior.kind, prior.target)


def _target_key(target: str) -> Key:
    return "target", target


def _kind_key(kind: str, target: str) -> Key:
    return "kind", kind, target


def _provider_key(target: str) -> Key:
    return "provider", target.partition("/")[0]


def _clamp(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))
