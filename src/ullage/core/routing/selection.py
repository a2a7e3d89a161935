"""Which of the scored targets is taken, whether the session stays where it is, and how sure that is.

Routing specification, sections 10.3, 11, 12.4; the doubt is ours (section 33, item 10).
"""

from __future__ import annotations

from math import erf, inf, sqrt
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from .cache_terms import token_prices
from .cost_policy import Choice, CostPolicy, compare
from .scoring import NO_SIGNALS, RouteScore, Situation, outlook_of
from .task import TaskProfile
from .weights import WEIGHTS, Policy

if TYPE_CHECKING:
    from collections.abc import Sequence


Kept = Literal["cache-aware stickiness", "no automatic downgrade", "switch budget spent", "upgrade not sure enough"]
"""Why the session stays at its target although another has the higher utility."""

QUALITY_GAP = 0.15
"""So much better work is never held back by staying (section 12.4)."""

_BAND = 0.05
_BAND_BY_CONTEXT = 0.12
_UNSEEN_SD = 0.15
"""Standard deviation of a term that nothing is known of, around its half: most providers lie between 0.2 and 0.8."""
_STAKES_SD = 0.35
"""Standard deviation of what is at stake in a task whose analysis has no confidence at all."""
_COST_SD = 0.05
"""Standard deviation of a cost term: a task may have half or twice the calls that are expected, for all targets alike."""
_RANGE_SDS = 4  # a range of quality spans two standard deviations on either side
_INTERVAL_SDS = 1.96
_MOST_RIVALS = 5
_MILLION = 1_000_000
_FLIPPING_TERMS = ("quality", "cost", "latency", "reliability", "quota")


class Guards(Struct, frozen=True, kw_only=True):
    """What keeps a session from switching for little: `downgrades` allows that a target of a lower tier takes over;
    `upgrade_confidence` is how sure a dearer one of a higher tier must be to do better; `switch_spend` is what its switches may
    cost for the caches that they leave, as a part of what staying would have cost (section 12.4)."""

    downgrades: bool = False
    upgrade_confidence: float = 0.6
    switch_spend: float = 0.2


class Flip(Struct, frozen=True, kw_only=True):
    """One change that would have turned the choice: the value of a term of the rival, or of the chosen one."""

    rival: str
    term: str
    of: str
    was: float
    needed: float


class Selection(Struct, frozen=True, kw_only=True):
    """The targets in their order, the chosen one first.

    `margin` is how much utility (cost term, for the policy `cost`) the nearest rival lacks to be chosen, `interval` where it lies
    with 95 % confidence, `confidence` how likely the chosen one is ahead, as far as the terms are in doubt. `margin` is `None`
    where no other could have been chosen. `switch` compares staying with leaving for the one that scored best besides.

    `tolerance` is there where it decided whether the session stays, which it does by USD of the next request (section 11): then
    neither margin nor confidence is. None of these are there where the chosen one was not chosen by its score.
    """

    ranked: tuple[RouteScore, ...]
    kept: Kept | None
    margin: float | None
    interval: tuple[float, float] | None
    confidence: float | None
    rival: str | None
    flips: tuple[Flip, ...]
    switch: Switch | None = None
    tolerance: Tolerance | None = None

    @property
    def chosen(self) -> RouteScore:
        return self.ranked[0]


class Tolerance(Struct, frozen=True, kw_only=True):
    """How the next request at the `current` target compares with one at the `other`: `ratio` is what it costs as a multiple,
    `allowed` the highest one at which the session stays."""

    current: str
    other: str
    ratio: float
    allowed: float


class Switch(Struct, frozen=True, kw_only=True):
    """What leaving the current target for another costs in USD, for the `span` that targets are weighed by and for the next
    request (11): all the calls left (12.4), or for `v1` one request without any cache. `cache_loss_usd` is the part of it that
    is for filling the other's cache."""

    current: str
    other: str
    stay_usd: float | None
    switch_usd: float | None
    next_stay_usd: float | None
    next_switch_usd: float | None
    cache_loss_usd: float | None
    span: Literal["task", "request"] = "task"


class Weighing(Struct, frozen=True, kw_only=True):
    """By what is chosen."""

    task: TaskProfile
    policy: Policy
    situation: Situation
    cost: CostPolicy = CostPolicy()
    guards: Guards = Guards()


def select(scores: Sequence[RouteScore], weighing: Weighing) -> Selection:
    """The choice among at least one scored target. The order of the scores does not matter."""
    ordered = _in_order(scores, weighing)
    current = next((one for one in ordered if one.target == weighing.situation.current), None)
    chosen, kept = _choose(ordered, current, weighing)
    rivals = [one for one in ordered if one is not chosen]
    other = next((one for one in ordered if one is not current), None)
    switch = _switch(current, other, weighing) if current is not None and other is not None else None
    tolerance = _tolerance(ordered[0], current, weighing)
    if tolerance is not None:
        return _by_tolerance((chosen, *rivals), kept, switch, tolerance)
    nearest = _nearest(chosen, rivals, current, weighing)
    return Selection(
        ranked=(chosen, *rivals),
        kept=kept,
        margin=nearest.lead if nearest is not None else None,
        interval=nearest.interval if nearest is not None else None,
        confidence=nearest.confidence if nearest is not None else 1.0,
        rival=nearest.rival.target if nearest is not None else None,
        flips=_flips(chosen, nearest, weighing) if nearest is not None else (),
        switch=switch,
    )


def stand_for(selection: Selection, chosen: RouteScore) -> Selection:
    """The selection with another one in place of the chosen one, for a reason that is no score: what is said of that is gone."""
    return replace(
        selection,
        ranked=(chosen, *(one for one in selection.ranked if one is not chosen)),
        kept=None,
        margin=None,
        interval=None,
        confidence=None,
        rival=None,
        flips=(),
        tolerance=None,
    )


def may_stand_for(other: RouteScore, selection: Selection, weighing: Weighing) -> bool:
    """Whether another one could have been chosen, had its score been better: neither a guard nor the floor bars it."""
    chosen = selection.chosen
    if weighing.policy == "cost":
        # Where nobody reaches the floor, it is not fallen below any further.
        return other.terms.quality >= min(weighing.cost.floor, chosen.terms.quality)
    current = next((one for one in selection.ranked if one.target == weighing.situation.current), None)
    return _lead(chosen, other, current, weighing) < inf


def _by_tolerance(
    ranked: tuple[RouteScore, ...], kept: Kept | None, switch: Switch | None, tolerance: Tolerance
) -> Selection:
    flip = Flip(
        rival=tolerance.other,
        term="stay/switch",
        of=tolerance.current,
        was=tolerance.ratio,
        needed=tolerance.allowed,
    )
    return Selection(
        ranked=ranked,
        kept=kept,
        margin=None,
        interval=None,
        confidence=None,
        rival=tolerance.other if kept is not None else tolerance.current,
        flips=(flip,),
        switch=switch,
        tolerance=tolerance,
    )


def _choose(
    ordered: Sequence[RouteScore], current: RouteScore | None, weighing: Weighing
) -> tuple[RouteScore, Kept | None]:
    """The first that may take over from the current target, if any is ahead of it by enough; and what held the first one back."""
    best = ordered[0]
    if current is None or best is current:
        return best, None
    if weighing.policy == "cost":
        return (current, "cache-aware stickiness") if _stays_by_cost(best, current, weighing) else (best, None)
    for one in ordered:
        if one is current:
            break
        if one.utility - current.utility > _hold(one, current, weighing)[0]:
            return one, None
    return current, _hold(best, current, weighing)[1]


def band(context: int, window: int | None) -> float:
    """How much utility a better target must have beyond the current one's (section 10.3); the more, the more of its window the
    context fills. A window that is not known counts as full."""
    filled = min(context / window, 1.0) if window else float(context > 0)
    return _BAND + _BAND_BY_CONTEXT * filled


def likelihood(deviations: float) -> float:
    """How likely a normal value is above zero whose mean is so many standard deviations above it."""
    return 0.5 * (1 + erf(deviations / sqrt(2)))


def _usd(one: RouteScore) -> float:
    return inf if one.cost_usd is None else one.cost_usd


def _in_order(scores: Sequence[RouteScore], weighing: Weighing) -> list[RouteScore]:
    """By utility; under `cost` those that reach the floor first, and all by their cost term. Ties: the cheaper, then by id."""
    if weighing.policy == "cost":
        floor = weighing.cost.floor
        return sorted(scores, key=lambda one: (one.terms.quality < floor, -one.terms.cost, _usd(one), one.target))
    return sorted(scores, key=lambda one: (-one.utility, _usd(one), one.target))


def _hold(other: RouteScore, current: RouteScore, weighing: Weighing) -> tuple[float, Kept | None]:
    """How much more utility another target needs than the current one to take over, and what that is for."""
    situation = weighing.situation
    if situation.cache_model == "v1":
        return (_band_of(other, weighing), "cache-aware stickiness") if situation.staying else (0.0, None)
    if other.rank < current.rank and not weighing.guards.downgrades:
        return inf, "no automatic downgrade"
    if other.terms.quality - current.terms.quality >= QUALITY_GAP or not situation.staying:
        return 0.0, None
    if _overspends(other, current, weighing):
        return inf, "switch budget spent"
    if other.rank <= current.rank:
        return _band_of(other, weighing), "cache-aware stickiness"
    if _usd(other) > _usd(current):
        return _sure_gap(other, current, weighing), "upgrade not sure enough"
    return 0.0, None


def _band_of(best: RouteScore, weighing: Weighing) -> float:
    return band(weighing.situation.context, best.candidate.model.context_window)


def _stays_by_cost(best: RouteScore, current: RouteScore, weighing: Weighing) -> bool:
    """The tolerance of section 11 alone decides (section 32, row 13). Where a price is not known, nothing speaks for staying."""
    choice = _weighed_staying(best, current, weighing)
    return choice is not None and choice.keeps(weighing.cost.stickiness_tolerance)


def _weighed_staying(best: RouteScore, current: RouteScore, weighing: Weighing) -> Choice | None:
    """What the tolerance is held against; `None` where it does not decide."""
    if current.terms.quality < weighing.cost.floor or not weighing.situation.staying:
        return None
    return compare_next(current, best, weighing)


def _tolerance(best: RouteScore, current: RouteScore | None, weighing: Weighing) -> Tolerance | None:
    if weighing.policy != "cost" or current is None or best is current:
        return None
    choice = _weighed_staying(best, current, weighing)
    if choice is None or (choice.stay_usd and not choice.switch_usd):
        return None
    return Tolerance(
        current=current.target,
        other=best.target,
        ratio=choice.ratio if choice.switch_usd else 1.0,
        allowed=1 + weighing.cost.stickiness_tolerance,
    )


def compare_next(current: RouteScore, other: RouteScore, weighing: Weighing) -> Choice | None:
    """Staying against leaving for the next request; `None` where a price is not known."""
    situation, task = weighing.situation, weighing.task
    required = max(situation.context, task.required_context_tokens)
    stay = token_prices(current.candidate.price, required)
    leave = token_prices(other.candidate.price, required)
    if stay is None or leave is None:
        return None
    return compare(
        stay,
        leave,
        context=situation.context,
        required=required,
        output=task.required_output_tokens,
        warm=situation.warmth(current.target) > 0,
    )


def _switch(current: RouteScore, other: RouteScore, weighing: Weighing) -> Switch:
    choice = compare_next(current, other, weighing)
    return Switch(
        current=current.target,
        other=other.target,
        stay_usd=current.cost_usd,
        switch_usd=other.cost_usd,
        next_stay_usd=None if choice is None else choice.stay_usd,
        next_switch_usd=None if choice is None else choice.switch_usd,
        cache_loss_usd=_cache_loss_usd(other, weighing),
        span="request" if weighing.situation.cache_model == "v1" else "task",
    )


def _cache_loss_usd(other: RouteScore, weighing: Weighing) -> float | None:
    """What it costs to fill a target's cache with the context, beyond reading it from there; `None` where no price is known."""
    situation = weighing.situation
    prices = token_prices(other.candidate.price, max(situation.context, weighing.task.required_context_tokens))
    if prices is None:
        return None
    missing = max(0, situation.context - situation.warmth(other.target))
    return missing * (prices.cache_write - prices.cache_read) / _MILLION


def _overspends(other: RouteScore, current: RouteScore, weighing: Weighing) -> bool:
    """Whether a switch would take what the session has lost by switches beyond its part of what staying costs."""
    loss = _cache_loss_usd(other, weighing)
    if loss is None or current.cost_usd is None:
        return False
    situation = weighing.situation
    allowed = weighing.guards.switch_spend * (situation.stayed_usd + current.cost_usd)
    return loss > 0 and situation.switched_usd + loss > allowed


class _Nearest(Struct, frozen=True, kw_only=True):
    """The rival that is likeliest to be the better choice: what it lacks, and the standard deviation of that."""

    rival: RouteScore
    lead: float
    doubt: float

    @property
    def interval(self) -> tuple[float, float]:
        return self.lead - _INTERVAL_SDS * self.doubt, self.lead + _INTERVAL_SDS * self.doubt

    @property
    def confidence(self) -> float:
        return likelihood(self.lead / self.doubt)


def _nearest(
    chosen: RouteScore, rivals: Sequence[RouteScore], current: RouteScore | None, weighing: Weighing
) -> _Nearest | None:
    """Among the first few, and the current one. Whom a guard or the floor bars is no rival."""
    found = []
    for position, one in enumerate(rivals):
        if position >= _MOST_RIVALS and one is not current:
            continue
        lead = _lead(chosen, one, current, weighing)
        if lead < inf:
            found.append(_Nearest(rival=one, lead=lead, doubt=_doubt(chosen, one, weighing)))
    return min(found, key=lambda one: (one.lead / one.doubt, one.rival.target), default=None)


def _lead(chosen: RouteScore, rival: RouteScore, current: RouteScore | None, weighing: Weighing) -> float:
    """How much a rival lacks to be chosen; infinite where no score would do."""
    if weighing.policy == "cost":
        if rival.terms.quality < weighing.cost.floor <= chosen.terms.quality:
            return inf
        return chosen.terms.cost - rival.terms.cost
    ahead = chosen.utility - rival.utility
    if chosen is current:
        return ahead + _hold(rival, current, weighing)[0]
    if rival is current:
        return ahead - _hold(chosen, rival, weighing)[0]
    if current is None:
        return ahead
    return max(ahead, current.utility + _hold(rival, current, weighing)[0] - rival.utility)


def _sure_gap(better: RouteScore, current: RouteScore, weighing: Weighing) -> float:
    """The lead in utility that makes a switch sure enough."""
    return _deviations(weighing.guards.upgrade_confidence) * _doubt(better, current, weighing)


def _deviations(confidence: float) -> float:
    """The inverse of `likelihood`, by halving."""
    low, high = -6.0, 6.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if likelihood(middle) < confidence else (low, middle)
    return (low + high) / 2


def _doubt(one: RouteScore, other: RouteScore, weighing: Weighing) -> float:
    """Standard deviation of the lead of one over the other: by doubtful tiers, unseen terms, and what the task really asks."""
    if weighing.policy == "cost":
        return sqrt(2) * _COST_SD
    weights = WEIGHTS[weighing.policy]
    hurry = weights.latency * (0.5 + 0.5 * weighing.task.latency_sensitivity)
    variance = (weights.cost * _COST_SD) ** 2
    for score in (one, other):
        low, high = score.quality_range
        variance += (weights.quality * (high - low) / _RANGE_SDS) ** 2
        signals = weighing.situation.signals.get(score.target, NO_SIGNALS)
        if signals.reliability is None:
            variance += (weights.reliability * _UNSEEN_SD) ** 2
        if signals.latency_ms is None:
            variance += (hurry * _UNSEEN_SD) ** 2
    apart = (
        outlook_of(one.candidate.capability).careful.overall - outlook_of(other.candidate.capability).careful.overall
    )
    variance += (weights.quality * _STAKES_SD * (1 - weighing.task.confidence) * apart) ** 2
    return sqrt(variance)


def _flips(chosen: RouteScore, nearest: _Nearest, weighing: Weighing) -> tuple[Flip, ...]:
    """Every single term that could have turned the choice within its range, the least change first."""
    rival, lead = nearest.rival, nearest.lead
    if weighing.policy == "cost":
        return (_flip(rival, rival, "cost", lead), _flip(chosen, rival, "cost", -lead))
    weights = WEIGHTS[weighing.policy]
    hurry = 0.5 + 0.5 * weighing.task.latency_sensitivity
    found = []
    for term in _FLIPPING_TERMS:
        change = lead / (getattr(weights, term) * (hurry if term == "latency" else 1.0))
        found += [
            flip
            for flip in (_flip(rival, rival, term, change), _flip(chosen, rival, term, -change))
            if 0 <= flip.needed <= 1
        ]
    return tuple(sorted(found, key=lambda flip: (abs(flip.needed - flip.was), flip.term, flip.of)))


def _flip(of: RouteScore, rival: RouteScore, term: str, change: float) -> Flip:
    was = getattr(of.terms, term)
    return Flip(rival=rival.target, term=term, of=of.target, was=was, needed=was + change)
