"""What was published of the same data, found again: first of all, so that nothing is built on data that was read wrongly."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from msgspec import Struct

from .routing_data import GSM8K, LLMROUTER, STRONG, SWE_BENCH, WEAK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .routing_data import AiderRun, Item, RoutingSet

_SURE = 3  # standard errors that the rate in a part of a set may be off


class Check(Struct, frozen=True, kw_only=True):
    """A published figure and ours. Where a file holds only a part of the published tasks, a rate agrees if it is as near as that
    part lets it be; the sums of a part cannot be compared, and `agrees` is `None`."""

    name: str
    what: str
    published: float
    found: float
    tasks: int
    published_tasks: int
    agrees: bool | None


class _Figure(Struct, frozen=True):
    """A published figure. `places` are its decimals; `rate` says that it is a share of tasks."""

    what: str
    value: float
    places: int
    rate: bool


_SWE_TASKS, _LLMROUTER_TASKS, _GSM8K_TASKS, _AIDER_RUNS = 500, 5_608, 1_319, 69
_SWE_RATES = {"gpt-5": 0.650, "gpt-5-mini": 0.598, "sonnet-4": 0.648, "sonnet-4-5": 0.706}
_SWE_USD = {"gpt-5": 140.19, "gpt-5-mini": 17.74, "sonnet-4": 185.73, "sonnet-4-5": 279.17}
_SWE_CALLS = {"gpt-5": 13.2, "gpt-5-mini": 14.5, "sonnet-4": 37.2, "sonnet-4-5": 51.0}
_GSM8K_RATES = {STRONG: 0.8567, WEAK: 0.6384}
_AIDER = {"gpt-5 (high)": (88.0, 29.0829), "DeepSeek-V3.2-Exp (Reasoner)": (74.2, 1.3045)}


def check_set(data: RoutingSet) -> list[Check]:
    """The published figures of a set beside ours (routing specification, section 34.4)."""
    checks = {SWE_BENCH: _check_swe_bench, LLMROUTER: _check_llmrouter, GSM8K: _check_gsm8k}
    return list(checks[data.name](data)) if data.name in checks else []


def check_aider(runs: Sequence[AiderRun]) -> list[Check]:
    """The runs of Aider's leaderboard: their number, and two that the specification names."""
    found = {run.model: run for run in runs}
    checks = [_check("aider", _Figure("runs", _AIDER_RUNS, 0, rate=False), len(runs), len(runs), _AIDER_RUNS)]
    for model, (rate, cost) in _AIDER.items():
        if model in found:
            run = found[model]
            checks.append(
                _check("aider", _Figure(f"{model}, pass rate in %", rate, 1, rate=False), run.pass_rate, 1, 1)
            )
            checks.append(_check("aider", _Figure(f"{model}, USD", cost, 4, rate=False), run.cost_usd or 0.0, 1, 1))
    return checks


def _check_swe_bench(data: RoutingSet) -> Iterator[Check]:
    tasks = len(data.items)
    for place, model in enumerate(data.models):
        if model not in _SWE_RATES:
            continue
        outcomes = [item.outcomes[place] for item in data.items]
        figures = (
            (_Figure(f"{model}, resolved", _SWE_RATES[model], 3, rate=True), _mean([one.quality for one in outcomes])),
            (_Figure(f"{model}, USD", _SWE_USD[model], 2, rate=False), sum(one.spend for one in outcomes)),
            (
                _Figure(f"{model}, calls a task", _SWE_CALLS[model], 1, rate=False),
                _mean([float(one.calls or 0) for one in outcomes]),
            ),
        )
        for figure, found in figures:
            yield _check(data.name, figure, found, tasks, _SWE_TASKS)
    best = [_best(item) for item in data.items]
    yield _check(
        data.name,
        _Figure("cheapest oracle, resolved", 0.794, 3, rate=True),
        _mean([one[0] for one in best]),
        tasks,
        _SWE_TASKS,
    )
    yield _check(
        data.name, _Figure("cheapest oracle, USD", 43.89, 2, rate=False), sum(one[1] for one in best), tasks, _SWE_TASKS
    )


def _check_llmrouter(data: RoutingSet) -> Iterator[Check]:
    tasks = len(data.items)
    best = max(_mean([item.outcomes[place].quality for item in data.items]) for place in range(len(data.models)))
    oracle = _mean([_best(item)[0] for item in data.items])
    for what, published, found in (("best single model", 0.6213, best), ("oracle", 0.8017, oracle)):
        yield _check(data.name, _Figure(what, published, 4, rate=True), found, tasks, _LLMROUTER_TASKS)


def _check_gsm8k(data: RoutingSet) -> Iterator[Check]:
    for place, model in enumerate(data.models):
        found = _mean([item.outcomes[place].quality for item in data.items])
        yield _check(data.name, _Figure(model, _GSM8K_RATES[model], 4, rate=True), found, len(data.items), _GSM8K_TASKS)


def _best(item: Item) -> tuple[float, float]:
    """The best score, and the least that one of those who reach it spends."""
    quality = max(outcome.quality for outcome in item.outcomes)
    return quality, min(outcome.spend for outcome in item.outcomes if outcome.quality == quality)


def _check(name: str, figure: _Figure, found: float, tasks: int, published_tasks: int) -> Check:
    agrees: bool | None
    if tasks == published_tasks:
        agrees = round(found, figure.places) == figure.value
    elif figure.rate and tasks:
        agrees = abs(found - figure.value) <= _SURE * sqrt(figure.value * (1 - figure.value) / tasks)
    else:
        agrees = None
    return Check(
        name=name,
        what=figure.what,
        published=figure.value,
        found=found,
        tasks=tasks,
        published_tasks=published_tasks,
        agrees=agrees,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
