"""How well each eligible target suits a task, term by term (routing specification, sections 10.1 and 10.2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from .cache_terms import CacheModel, Habits, calls_left, horizon_usd, stay_bonus, switch_tax, token_prices
from .capability import score_range, tier_rank
from .filtering import Candidate
from .pools import Pool, PoolModel, pool_scores
from .pricing import request_cost_usd
from .weights import WEIGHTS, Policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.spend.prices import CallPrices

    from .capability import Capability
    from .capability_rows import Confidence, Tier
    from .task import TaskProfile

NEUTRAL = 0.5
"""The value of a term that nothing is known of."""
PREFERENCE_WEIGHT = 0.5
RULE_PREFERENCE = 0.1
"""What the preference of a rule adds to a utility."""

_QUOTA_SPENT = frozenset({"blocked", "cooldown"})
_FREE = "/free"


class Signals(Struct, frozen=True, kw_only=True, gc=False):
    """What past attempts and the provider's quota say of a target; `None` is not known.

    `latency_ms` is what an answer of the usual length takes (section 25.4), and `read_ms` what each token of the prompt adds that
    no cache holds. `learning` tells in a few words what was learned. `uvi` is the part of a quota that is used, 1 all of it.
    """

    latency_ms: float | None = None
    read_ms: float | None = None
    reliability: float | None = None
    learning: str | None = None
    quota: Literal["unknown", "healthy", "warning", "blocked", "cooldown"] = "unknown"
    uvi: float | None = None


NO_SIGNALS = Signals()


class Situation(Struct, frozen=True, kw_only=True):
    """What a task meets: the session's context in tokens of the prompt, the target it is at, and what is known of all.

    `warm` has the tokens of the context that each target's cache holds; the current target holds all of it unless it stands
    there, and nobody holds any where the session is `cold`. Nothing keeps the session at a target that is `failing`.
    `preferences` are learned: half of them is added to a utility. `preferred` are those that a rule names. `switched_usd` is
    what the session has paid for caches that its switches left, `stayed_usd` what its calls would have cost without any switch.
    """

    context: int = 0
    current: str | None = None
    cold: bool = False
    failing: bool = False
    warm: Mapping[str, int] = field(default_factory=dict)
    habits: Habits = Habits()
    signals: Mapping[str, Signals] = field(default_factory=dict)
    preferences: Mapping[str, float] = field(default_factory=dict)
    preferred: frozenset[str] = frozenset()
    pool: Pool | None = None
    pool_model: PoolModel = "deficit"
    attempts: Mapping[str, int] = field(default_factory=dict)
    cache_model: CacheModel = "horizon"
    switched_usd: float = 0.0
    stayed_usd: float = 0.0

    @property
    def staying(self) -> str | None:
        """The target that has the advantage of its warm cache."""
        return None if self.cold or self.failing else self.current

    def warmth(self, target: str) -> int:
        """Tokens of the context that a target's cache holds."""
        if self.cold:
            return 0
        return self.warm.get(target, self.context if target == self.current else 0)

    def reading_ms(self, target: str, tokens: int) -> float:
        """What reading a prompt of so many tokens takes at a target, as far as its cache does not hold it (complaint C18).

        0 where nobody knows.
        """
        read_ms = self.signals.get(target, NO_SIGNALS).read_ms
        return read_ms * max(0, tokens - self.warmth(target)) if read_ms else 0.0


class Terms(Struct, frozen=True, kw_only=True, gc=False):
    """The terms of a utility, each 0 to 1, 1 the best."""

    quality: float
    cost: float
    stickiness: float
    latency: float
    reliability: float
    quota: float
    pool: float


class RouteScore(Struct, frozen=True, kw_only=True):
    """How well a target suits a task.

    `utility` is the sum of the weighted terms, half the `preference`, and the `adjustment` for the cache that only `v1` has.
    `quality_range` is what quality may be by the doubt about the model's tiers. `cost_usd` is what the utility goes by: all calls
    left, or for `v1` one request; `request_usd` is the next request without any cache. Both are `None` where no price is known.
    """

    target: str
    candidate: Candidate
    terms: Terms
    utility: float
    preference: float
    adjustment: float
    rank: int
    quality_range: tuple[float, float]
    cost_usd: float | None
    request_usd: float | None


class Abilities(Struct, frozen=True, gc=False):
    """Scores of a model's tiers, 0 to 1."""

    overall: float
    coding: float
    reasoning: float
    tool_use: float
    instruction_following: float


def quality_of(task: TaskProfile, abilities: Abilities) -> float:
    """What a model of these abilities makes of a task, 0 to 1: less for each demand that it falls short of, and the more complex
    and the riskier the task is, for all that it lacks over all."""
    demand = task.demand
    coding, reasoning = demand.coding, demand.reasoning
    tool_use, instructions = demand.tool_use, demand.instruction_following
    demanded = coding + reasoning + tool_use + instructions
    if not demanded:
        return abilities.overall
    short = (
        coding * max(0.0, coding - abilities.coding) ** 2
        + reasoning * max(0.0, reasoning - abilities.reasoning) ** 2
        + tool_use * max(0.0, tool_use - abilities.tool_use) ** 2
        + instructions * max(0.0, instructions - abilities.instruction_following) ** 2
    )
    stakes = 0.7 * task.complexity + 0.5 * task.risk
    return max(0.0, 1 - short / demanded - stakes * (1 - abilities.overall))


class Outlook(Struct, frozen=True, gc=False):
    """Abilities that a choice goes by, the least and the highest they may be."""

    careful: Abilities
    low: Abilities
    high: Abilities


def outlook_of(capability: Capability) -> Outlook:
    """What a model's tiers say of its abilities; models of the same tiers have the very same outlook.

    What is unknown counts as the least it may be, so that nobody is chosen over a light model for not being known
    (sections 7 and 33.2).
    """
    return _outlook(
        capability.overall,
        capability.coding,
        capability.reasoning,
        capability.tool_use,
        capability.instruction_following,
        capability.confidence,
    )


@lru_cache(maxsize=4_096)
def _outlook(
    overall: Tier, coding: Tier, reasoning: Tier, tool_use: Tier, instructions: Tier, confidence: Confidence
) -> Outlook:
    tiers = (overall, coding, reasoning, tool_use, instructions)
    ranges = [score_range(tier, confidence) for tier in tiers]
    return Outlook(
        Abilities(*(one.low if tier == "unknown" else one.likely for one, tier in zip(ranges, tiers, strict=True))),
        Abilities(*(one.low for one in ranges)),
        Abilities(*(one.high for one in ranges)),
    )


def score(
    candidates: Sequence[Candidate], task: TaskProfile, policy: Policy, situation: Situation
) -> tuple[RouteScore, ...]:
    """A score for each of the eligible candidates, in their order. Terms compare the candidates with each other."""
    targets = [candidate.target for candidate in candidates]
    tokens = max(situation.context, task.required_context_tokens)
    prices = {
        target: token_prices(candidate.price, tokens) for target, candidate in zip(targets, candidates, strict=True)
    }
    request = [_request_usd(candidate, tokens, task.required_output_tokens) for candidate in candidates]
    costs = request if situation.cache_model == "v1" else _horizon_costs(prices.values(), targets, task, situation)
    cost_terms = _cheapness(targets, costs)
    latency = _quickness([_answer_ms(target, tokens, situation) for target in targets])
    pool = pool_scores(situation.pool, targets, situation.attempts, model=situation.pool_model)
    adjustments = _adjustments(candidates, situation, prices) if situation.cache_model == "v1" else {}
    weights = WEIGHTS[policy]
    hurry = weights.latency * (0.5 + 0.5 * task.latency_sensitivity)
    staying = situation.staying
    qualities = _Qualities(task)
    scores = []
    for position, (target, candidate) in enumerate(zip(targets, candidates, strict=True)):
        signals = situation.signals.get(target, NO_SIGNALS)
        quality, low, high = qualities.of(candidate.capability)
        terms = Terms(
            quality=quality,
            cost=cost_terms[position],
            stickiness=1.0 if target == staying else 0.0,
            latency=latency[position],
            reliability=NEUTRAL if signals.reliability is None else signals.reliability,
            quota=quota_term(signals),
            pool=pool[target],
        )
        preference = situation.preferences.get(target, 0.0)
        adjustment = adjustments.get(target, 0.0)
        utility = (
            weights.quality * terms.quality
            + weights.cost * terms.cost
            + weights.stickiness * terms.stickiness
            + weights.quota * terms.quota
            + weights.pool * terms.pool
            + hurry * terms.latency
            + weights.reliability * terms.reliability
            + PREFERENCE_WEIGHT * preference
            + (RULE_PREFERENCE if target in situation.preferred else 0.0)
            + adjustment
        )
        scores.append(
            RouteScore(
                target=target,
                candidate=candidate,
                terms=terms,
                utility=utility,
                preference=preference,
                adjustment=adjustment,
                rank=tier_rank(candidate.capability.overall),
                quality_range=(low, high),
                cost_usd=costs[position],
                request_usd=request[position],
            )
        )
    return tuple(scores)


class _Qualities:
    """Qualities for one task, computed once for models of the same tiers: likely, least and highest."""

    __slots__ = ("_known", "_task")

    def __init__(self, task: TaskProfile) -> None:
        self._task = task
        self._known: dict[int, tuple[float, float, float]] = {}

    def of(self, capability: Capability) -> tuple[float, float, float]:
        outlook = outlook_of(capability)
        found = self._known.get(id(outlook))
        if found is None:
            task = self._task
            found = (
                quality_of(task, outlook.careful),
                quality_of(task, outlook.low),
                quality_of(task, outlook.high),
            )
            self._known[id(outlook)] = found
        return found


def quota_term(signals: Signals) -> float:
    """1 for an untouched quota, 0 for one that is spent."""
    if signals.quota in _QUOTA_SPENT:
        return 0.0
    if signals.quota == "unknown" or signals.uvi is None:
        return NEUTRAL
    return min(1.0, max(0.0, 1 - signals.uvi))


def _request_usd(candidate: Candidate, tokens: int, output: int) -> float | None:
    return request_cost_usd(candidate.price, input_tokens=tokens, output_tokens=output)


def expect_usd(candidates: Sequence[Candidate], task: TaskProfile, situation: Situation) -> dict[str, float | None]:
    """What each candidate is expected to cost in USD, as `RouteScore.cost_usd` has it."""
    targets = [candidate.target for candidate in candidates]
    tokens = max(situation.context, task.required_context_tokens)
    if situation.cache_model == "v1":
        usd = [_request_usd(candidate, tokens, task.required_output_tokens) for candidate in candidates]
    else:
        usd = _horizon_costs([token_prices(one.price, tokens) for one in candidates], targets, task, situation)
    return dict(zip(targets, usd, strict=True))


def _horizon_costs(
    prices: Iterable[CallPrices | None], targets: Sequence[str], task: TaskProfile, situation: Situation
) -> list[float | None]:
    context, habits = situation.context, situation.habits
    fresh = max(0, task.required_context_tokens - context)
    calls = calls_left(task, habits)
    return [
        None
        if known is None
        else horizon_usd(known, context=context, warm=situation.warmth(target), fresh=fresh, calls=calls, habits=habits)
        for target, known in zip(targets, prices, strict=True)
    ]


def _cheapness(targets: Sequence[str], costs: Sequence[float | None]) -> list[float]:
    """1 for the cheapest and for what calls itself free, 0 for the dearest, by USD between; a half where no price is known."""
    known = [cost for cost in costs if cost is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    terms = []
    for target, cost in zip(targets, costs, strict=True):
        if _FREE in target:
            terms.append(1.0)
        elif cost is None or high == low:
            terms.append(NEUTRAL)
        else:
            terms.append(1 - (cost - low) / (high - low))
    return terms


def _answer_ms(target: str, tokens: int, situation: Situation) -> float | None:
    """When an answer of the usual length to this prompt is there, in milliseconds; `None` where the target has no time."""
    usual = situation.signals.get(target, NO_SIGNALS).latency_ms
    return None if usual is None else usual + situation.reading_ms(target, tokens)


def _quickness(times: Sequence[float | None]) -> list[float]:
    """1 for the quickest, 0 for the slowest; a half for one without a time, and for all where fewer than two differ."""
    known = [time for time in times if time is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low == high:
        return [NEUTRAL] * len(times)
    return [NEUTRAL if time is None else 1 - (time - low) / (high - low) for time in times]


def _adjustments(
    candidates: Sequence[Candidate], situation: Situation, prices: Mapping[str, CallPrices | None]
) -> dict[str, float]:
    """`v1`: the bonus of the current target and the taxes of those that are no stronger (section 12.1)."""
    current = next((one for one in candidates if one.target == situation.staying), None)
    if current is None or not situation.context:
        return {}
    found: dict[str, float] = {}
    rank = tier_rank(current.capability.overall)
    inputs = [known.input for target, known in prices.items() if known is not None and target != current.target]
    for candidate in candidates:
        known = prices[candidate.target]
        if known is None:
            continue
        if candidate.target == current.target:
            found[candidate.target] = stay_bonus(known, min(inputs), situation.context) if inputs else 0.0
        elif tier_rank(candidate.capability.overall) <= rank:
            found[candidate.target] = -switch_tax(known, situation.context)
    return found
