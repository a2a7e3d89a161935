"""A linear law fitted by least absolute deviations, drawn to a prior: robust, deterministic, no matter the order of the rows."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SWEEPS = 12
"""Rounds over the directions, at most. On recorded sessions most fits rest after three to six."""

_AT_REST = 1e-4


def fit_law(
    rows: Sequence[tuple[float, ...]],
    targets: Sequence[float],
    *,
    prior: Sequence[float],
    trust: Sequence[float],
    bounds: Sequence[tuple[float, float]],
) -> tuple[float, ...]:
    """Coefficients that miss the targets least, summed over the rows without squaring. The last one is the constant's: it is
    multiplied with 1 in every row.

    The prior counts as a row of its own for each coefficient, of the size `trust`: with trust 2,000 in tokens of text, the prior
    weighs as much as 2,000 tokens of text that grew exactly by it. The law moves along one direction after the other, each time
    to where it misses least, which is a weighted median; so no round makes the fit worse. Every result lies within `bounds`.
    """
    law = [_within(value, limits) for value, limits in zip(prior, bounds, strict=True)]
    rests = [target - _dot(law, row) for row, target in zip(rows, targets, strict=True)]
    ways = list(_ways(list(zip(*rows, strict=True)), len(law)))
    for _ in range(SWEEPS):
        before = tuple(law)
        for direction, sizes in ways:
            wanted = [(rest / size, abs(size)) for rest, size in zip(rests, sizes, strict=True) if size]
            wanted += _prior_rows(law, direction, prior, trust)
            step = _within(weighted_median(wanted), _room(law, direction, bounds))
            if step:
                law = [
                    _within(value + step * part, limits)
                    for value, part, limits in zip(law, direction, bounds, strict=True)
                ]
                rests = [rest - step * size for rest, size in zip(rests, sizes, strict=True)]
        if all(
            math.isclose(now, once, rel_tol=_AT_REST, abs_tol=_AT_REST) for now, once in zip(law, before, strict=True)
        ):
            break
    return tuple(law)


def weighted_median(values: list[tuple[float, float]]) -> float:
    """The value at which half of the weight is reached, of pairs of value and weight; some weight must be positive.

    Where everything between two values halves the weight, the one nearest to zero is taken.
    """
    ordered = sorted(values)
    half = sum([weight for _, weight in ordered]) / 2
    reached = 0.0
    for index, (value, weight) in enumerate(ordered):
        reached += weight
        if reached > half:
            return value
        if reached == half:
            return _within(0.0, (value, ordered[min(index + 1, len(ordered) - 1)][0]))
    return ordered[-1][0]


def _ways(columns: Sequence[Sequence[float]], size: int) -> Iterator[tuple[tuple[float, ...], Sequence[float]]]:
    """Directions, each with how far every row goes along it: a coefficient alone, and one with the constant against it, so that
    rows of middling size stay where they are. A slope and a constant that are both off would else need many rounds to come
    right together."""
    for index, column in enumerate(columns):
        yield tuple(float(index == other) for other in range(size)), column
    for index, column in enumerate(columns[:-1]):
        middle = statistics.median(column)
        if middle:
            direction = (*(float(index == other) for other in range(size - 1)), -middle)
            yield direction, [value - middle for value in column]


def _prior_rows(
    law: Sequence[float], direction: Sequence[float], prior: Sequence[float], trust: Sequence[float]
) -> list[tuple[float, float]]:
    return [
        ((wanted - value) / part, weight * abs(part))
        for value, part, wanted, weight in zip(law, direction, prior, trust, strict=True)
        if part
    ]


def _room(
    law: Sequence[float], direction: Sequence[float], bounds: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """How far the law can go back and forth along a direction."""
    ends = [
        sorted(((low - value) / part, (high - value) / part))
        for value, part, (low, high) in zip(law, direction, bounds, strict=True)
        if part
    ]
    return max(low for low, _ in ends), min(high for _, high in ends)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def _within(value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    return min(max(value, low), high)
