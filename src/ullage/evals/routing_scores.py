"""Methods of routing compared on the same tasks, with paired intervals.

Two lots stand against each method. *The same shares*: a lot that sends as many tasks to each model, whichever they are; who does
no better has not told one task from another. *Equal spend*: the lot between two models that does most for the same money. It
knows what each model does on all tasks together, and nothing of a single one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .resampling import Interval, interval_of, resample
from .routing_data import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .routing_data import RoutingSet
    from .routing_methods import Method

DRAWS = 2_000
"""Draws of the bootstrap over thousands of tasks with dozens of columns."""


class Difference(Struct, frozen=True, kw_only=True):
    """How much better a method is than something else on the same tasks, in parts of a whole score, with a 95 % interval."""

    mean: float
    interval: Interval

    @property
    def sure(self) -> bool:
        """Whether the interval excludes zero."""
        return self.interval.excludes_zero


class MethodScore(Struct, frozen=True, kw_only=True):
    """What a method comes to on all tasks of a set.

    `quality` is the mean score, 0 to 1; `spend` the sum, in the unit of the set. `shares` are those of the models that it names,
    the largest first. `constant` says that every task went to the same one. `beside_best` is what it spends as a multiple of the
    best single model, with an interval; `None` where that spends nothing.
    """

    method: str
    kind: str
    quality: float
    spend: float
    shares: dict[str, float]
    constant: bool
    against_best: Difference
    against_shares: Difference
    against_spend: Difference
    beside_best: float | None
    beside_best_interval: Interval | None


class SetScore(Struct, frozen=True, kw_only=True):
    """All methods on one set. `best` is the single model that does best on all of it, seen afterwards."""

    name: str
    source: str
    licence: str
    unit: Unit
    tasks: int
    best: str
    methods: tuple[MethodScore, ...]

    @property
    def best_quality(self) -> float:
        """The score of the best single model."""
        return next(one.quality for one in self.methods if one.method == f"always {self.best}")


def score_methods(
    data: RoutingSet,
    methods: Sequence[Method],
    *,
    draws: int = DRAWS,
    watch: Callable[[range], Iterable[int]] = iter,
) -> SetScore:
    """Every method of a set, all of them resampled together. `watch` is given the draws, to show how far they are."""
    table = _Columns(data, methods)
    whole = table.read(table.totals())
    found: list[list[_Figures]] = [[] for _ in methods]
    for sums in resample(table.rows, draws=draws, watch=watch):
        for figures, one in zip(found, table.read(sums), strict=True):
            figures.append(one)
    scores = [
        _summarize(data, method, whole[place], found[place], table.shares[place])
        for place, method in enumerate(methods)
    ]
    return SetScore(
        name=data.name,
        source=data.source,
        licence=data.licence,
        unit=data.unit,
        tasks=len(data.items),
        best=data.models[table.best],
        methods=tuple(scores),
    )


def best_mix(points: Sequence[tuple[float, float]], spend: float) -> float:
    """The highest score that a lot between any two of these (spend, score) points may be expected to reach for this spend.

    Of less than the cheapest costs, it is the cheapest one's score; of more than is needed, the best one's.
    """
    affordable = [point for point in points if point[0] <= spend]
    best = max((score for _, score in affordable), default=None)
    if best is None:
        return min(points, key=lambda point: (point[0], -point[1]))[1]
    for low, low_score in affordable:
        for high, high_score in points:
            if high > spend:
                best = max(best, low_score + (high_score - low_score) * (spend - low) / (high - low))
    return best


class _Figures(Struct, frozen=True, gc=False):
    """The figures of one method in one sample."""

    quality: float
    spend: float
    over_best: float
    over_shares: float
    over_spend: float
    beside_best: float | None


class _Columns:
    """A row for each task: score and spend of each model, then of each method, with the score of a lot of the same shares."""

    def __init__(self, data: RoutingSet, methods: Sequence[Method]) -> None:
        self._models = len(data.models)
        self._methods = len(methods)
        self.shares = [_mean_shares(method) for method in methods]
        self.rows = [
            (
                *(outcome.quality for outcome in item.outcomes),
                *(outcome.spend for outcome in item.outcomes),
                *(
                    value
                    for method, shares in zip(methods, self.shares, strict=True)
                    for value in (
                        method.answers[place].quality,
                        method.answers[place].spend,
                        sum(
                            share * outcome.quality
                            for share, outcome in zip(shares, item.outcomes, strict=True)
                            if share
                        ),
                    )
                ),
            )
            for place, item in enumerate(data.items)
        ]
        qualities = self.totals()[: self._models]
        self.best = qualities.index(max(qualities))

    def totals(self) -> tuple[float, ...]:
        return tuple(map(sum, zip(*self.rows, strict=True)))

    def read(self, sums: tuple[float, ...]) -> list[_Figures]:
        """The figures of every method by the sums of the columns."""
        models, tasks = self._models, len(self.rows)
        points = list(zip(sums[models : 2 * models], sums[:models], strict=True))
        best_spend, best_quality = points[self.best]
        figures = []
        for start in range(2 * models, 2 * models + 3 * self._methods, 3):
            quality, spend, lot = sums[start : start + 3]
            figures.append(
                _Figures(
                    quality / tasks,
                    spend,
                    (quality - best_quality) / tasks,
                    (quality - lot) / tasks,
                    (quality - best_mix(points, spend)) / tasks,
                    spend / best_spend if best_spend else None,
                )
            )
        return figures


def _mean_shares(method: Method) -> list[float]:
    tasks = len(method.answers)
    return [sum(column) / tasks for column in zip(*(answer.shares for answer in method.answers), strict=True)]


def _summarize(
    data: RoutingSet, method: Method, whole: _Figures, found: Sequence[_Figures], shares: Sequence[float]
) -> MethodScore:
    named = sorted(zip(data.models, shares, strict=True), key=lambda each: -each[1])
    ratios = [one.beside_best for one in found if one.beside_best is not None]
    return MethodScore(
        method=method.name,
        kind=method.kind,
        quality=whole.quality,
        spend=whole.spend,
        shares={model: share for model, share in named if share},
        constant=max(shares) == 1,
        against_best=Difference(mean=whole.over_best, interval=interval_of([one.over_best for one in found])),
        against_shares=Difference(mean=whole.over_shares, interval=interval_of([one.over_shares for one in found])),
        against_spend=Difference(mean=whole.over_spend, interval=interval_of([one.over_spend for one in found])),
        beside_best=whole.beside_best,
        beside_best_interval=interval_of(ratios) if ratios else None,
    )
