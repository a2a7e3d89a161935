"""Staying or switching by the rule of 12.4 and by the rule of one request, on made-up sessions with the calls of real runs.

A session stands at a context that the current model's cache holds, and a new task begins. A rule stays or switches by what it may
know: prices, the context, and what tasks before took. What the task then costs goes by the calls that the chosen model really
took on that task; prompts, answers and growth are those of the specification's example. Money only: that another model solves
more or fewer tasks plays no part.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from ullage.core.routing.cost_policy import CostPolicy, compare
from ullage.core.spend.horizon import DEFAULT_CALLS, Horizon, total_usd

from .resampling import Interval, interval_of, resample
from .routing_learning import FOLDS, fold_by_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ullage.core.spend.prices import CallPrices

    from .routing_data import RoutingSet

Rule = Literal["stay", "switch", "one request", "horizon, 12 calls", "horizon, usual calls", "horizon, calls by model"]

RULES: dict[Rule, str] = {
    "stay": "never switches",
    "switch": "always switches",
    "one request": "compares the next request alone, with a tenth of tolerance",
    "horizon, 12 calls": "compares all calls of the task, twelve while nothing is known: the default",
    "horizon, usual calls": "the same with the median of the current model's calls in other repositories",
    "horizon, calls by model": "the same with a median of each model's own: a proposal",
}
"""What each does: the rule of one request is that of section 11 of the routing specification, the horizon that of 12.4."""

CONTEXTS = (5_000, 20_000, 50_000, 100_000)
"""Tokens that a session holds when the task begins."""
FRESH, OUTPUT, GROWTH = 1_024, 800, 1_500
"""Tokens of a new prompt, of an answer, and by which a call grows the context (section 12.4, the example)."""

DRAWS = 2_000


class Situation(NamedTuple):
    """The current model and another, by their places, and the tokens that the session holds."""

    current: int
    other: int
    context: int


class RuleScore(Struct, frozen=True, kw_only=True):
    """What a rule comes to over all situations and tasks. `usd` is the mean of a task; `switched` the share of tasks for which it
    left the current model, `right` that for which no other choice was cheaper; `beside_one_request` its cost as a multiple of
    that rule's, with a paired interval over tasks."""

    rule: str
    usd: float
    switched: float
    right: float
    beside_one_request: float
    interval: Interval


class SwitchScore(Struct, frozen=True, kw_only=True):
    """The rules over every pair of models and every context. `tasks` counts tasks, `situations` pairs with contexts; `least_usd`
    is what a task costs if each choice is the cheaper one, seen afterwards."""

    tasks: int
    situations: int
    models: tuple[str, ...]
    calls: tuple[float, ...]
    least_usd: float
    rules: tuple[RuleScore, ...]


def play_switches(
    data: RoutingSet,
    prices: Sequence[CallPrices | None],
    *,
    draws: int = DRAWS,
    watch: Callable[[range], Iterable[int]] = iter,
) -> SwitchScore | None:
    """Every rule in every situation; `None` where the calls or the prices of the models are not known."""
    known = [price for price in prices if price is not None]
    calls = [[outcome.calls for outcome in item.outcomes] for item in data.items]
    counts = [[one for one in task if one is not None] for task in calls]
    if len(known) != len(data.models) or len(known) < 2 or any(len(task) != len(known) for task in counts):
        return None
    played = _Play(counts, known, fold_by_group(data))
    rows = [played.row(task) for task in range(len(counts))]
    return _score(data, counts, rows, draws, watch)


def situations(models: int) -> list[Situation]:
    """Every ordered pair of models, at every context."""
    return [
        Situation(current, other, context)
        for current in range(models)
        for other in range(models)
        if other != current
        for context in CONTEXTS
    ]


class _Row(NamedTuple):
    """One task over all situations: what each rule costs, how often it switches and is right, and the least cost."""

    usd: tuple[float, ...]
    switched: tuple[int, ...]
    right: tuple[int, ...]
    least: float


class _Play:
    """Tasks with their calls by model, and what the rules know of the other folds."""

    def __init__(self, calls: Sequence[Sequence[int]], prices: Sequence[CallPrices], folds: Sequence[int]) -> None:
        self._calls = calls
        self._prices = prices
        self._folds = folds
        self._usual = {fold: _medians(calls, folds, fold) for fold in range(FOLDS)}
        self._choices: dict[tuple[Situation, int], tuple[bool, ...]] = {}

    def row(self, task: int) -> _Row:
        rules = len(RULES)
        usd, switched, right, least = [0.0] * rules, [0] * rules, [0] * rules, 0.0
        for one in situations(len(self._prices)):
            stay = self._cost(one.current, one.context, warm=True, calls=self._calls[task][one.current])
            leave = self._cost(one.other, one.context, warm=False, calls=self._calls[task][one.other])
            least += min(stay, leave)
            for place, switches in enumerate(self._choose(one, self._folds[task])):
                paid = leave if switches else stay
                usd[place] += paid
                switched[place] += switches
                right[place] += paid <= min(stay, leave)
        return _Row(tuple(usd), tuple(switched), tuple(right), least)

    def _choose(self, one: Situation, fold: int) -> tuple[bool, ...]:
        """Whether each rule leaves the current model, by what is known before the task."""
        found = self._choices.get((one, fold))
        if found is None:
            usual = self._usual[fold]
            current, other = usual[one.current], usual[one.other]
            found = (
                False,
                True,
                self._by_request(one),
                self._by_horizon(one, DEFAULT_CALLS, DEFAULT_CALLS),
                self._by_horizon(one, current, current),
                self._by_horizon(one, current, other),
            )
            self._choices[one, fold] = found
        return found

    def _by_request(self, one: Situation) -> bool:
        choice = compare(
            self._prices[one.current],
            self._prices[one.other],
            context=one.context,
            required=one.context + FRESH,
            output=OUTPUT,
            warm=True,
        )
        return not choice.keeps(CostPolicy().stickiness_tolerance)

    def _by_horizon(self, one: Situation, calls: int, others_calls: int) -> bool:
        stay = self._cost(one.current, one.context, warm=True, calls=calls)
        return self._cost(one.other, one.context, warm=False, calls=others_calls) < stay

    def _cost(self, model: int, context: int, *, warm: bool, calls: int) -> float:
        horizon = Horizon(
            context=context,
            warm=context if warm else 0,
            fresh=FRESH,
            output=OUTPUT,
            growth=GROWTH,
            calls=calls,
        )
        return total_usd(horizon, self._prices[model])


def _medians(calls: Sequence[Sequence[int]], folds: Sequence[int], fold: int) -> list[int]:
    """The median of each model's calls in the other folds; where there are none, the default."""
    others = [task for task, place in zip(calls, folds, strict=True) if place != fold]
    if not others:
        return [DEFAULT_CALLS] * len(calls[0])
    return [max(1, round(statistics.median(column))) for column in zip(*others, strict=True)]


def _score(
    data: RoutingSet,
    calls: Sequence[Sequence[int]],
    rows: Sequence[_Row],
    draws: int,
    watch: Callable[[range], Iterable[int]],
) -> SwitchScore:
    base = list(RULES).index("one request")
    count = len(situations(len(data.models)))
    choices = count * len(rows)
    ratios: list[list[float]] = [[] for _ in RULES]
    for sums in resample([row.usd for row in rows], draws=draws, watch=watch):
        for place, paid in enumerate(sums):
            ratios[place].append(paid / sums[base])
    totals = [sum(row.usd[place] for row in rows) for place in range(len(RULES))]
    return SwitchScore(
        tasks=len(rows),
        situations=count,
        models=data.models,
        calls=tuple(statistics.fmean(column) for column in zip(*calls, strict=True)),
        least_usd=sum(row.least for row in rows) / choices,
        rules=tuple(
            RuleScore(
                rule=rule,
                usd=totals[place] / choices,
                switched=sum(row.switched[place] for row in rows) / choices,
                right=sum(row.right[place] for row in rows) / choices,
                beside_one_request=totals[place] / totals[base],
                interval=interval_of(ratios[place]),
            )
            for place, rule in enumerate(RULES)
        ),
    )
