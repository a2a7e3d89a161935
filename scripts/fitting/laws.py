"""Fitting of linear laws by least absolute deviations, robustly and always with the same result."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scripts.fitting.plan import Free

_ROUNDS = 40
_FIRST_SMOOTHING, _LAST_SMOOTHING = 8.0, 0.05
_POLISHING_ROUNDS = 6
_RATIO_STEP = 0.005
_TINY = 1e-9
_FEW = 150

Place = tuple[str, str]
"""A group and the place of a constant in it."""


class Row(NamedTuple):
    """One request: what it costs without the constants, what each of them adds a unit, the truth, and its weight a token."""

    fixed: float
    slopes: Mapping[Place, float]
    truth: int
    weight: float

    def estimate(self, values: Mapping[Place, float]) -> float:
        return self.fixed + sum(slope * values[place] for place, slope in self.slopes.items())


def fit(rows: Sequence[Row], free: Mapping[Place, Free]) -> dict[Place, float]:
    """The values that miss the rows least. Those that no row depends on stay where they start."""
    values = {place: one.start for place, one in free.items()}
    used = sorted({place for row in rows for place in row.slopes})
    if not used:
        return values
    for number in range(_ROUNDS):
        share = number / (_ROUNDS - 1)
        smoothing = _FIRST_SMOOTHING ** (1 - share) * _LAST_SMOOTHING**share
        values.update(_step(rows, free, used, values, smoothing))
    for place in used:
        values[place] = float(round(values[place])) if free[place].whole else round(values[place], 3)
    return _polished(rows, free, used, values)


def _step(
    rows: Sequence[Row],
    free: Mapping[Place, Free],
    used: Sequence[Place],
    values: Mapping[Place, float],
    smoothing: float,
) -> dict[Place, float]:
    """One round of least squares, each row weighted down by how far it is off."""
    index = {place: number for number, place in enumerate(used)}
    size = len(used)
    matrix = [[0.0] * (size + 1) for _ in range(size)]
    for row in rows:
        off = abs(row.truth - row.estimate(values))
        weight = row.weight / max(off, smoothing)
        members = [(index[place], slope) for place, slope in row.slopes.items()]
        target = row.truth - row.fixed
        for one, slope in members:
            line = matrix[one]
            for other, slope_of_other in members:
                line[other] += weight * slope * slope_of_other
            line[size] += weight * slope * target
    for number, place in enumerate(used):
        pull = _pull(free[place], abs(values[place] - free[place].start), smoothing)
        matrix[number][number] += pull
        matrix[number][size] += pull * free[place].start
    solved = _solve(matrix)
    return {place: min(max(solved[index[place]], free[place].low), free[place].high) for place in used}


def _pull(one: Free, off: float, smoothing: float) -> float:
    """The weight of the start, which counts as a few rows of its own that depend on the constant alone."""
    unit = 1.0 if one.whole else 0.02
    return one.trust / _FEW / (max(off, smoothing * unit) * unit)


def _solve(matrix: list[list[float]]) -> list[float]:
    """Gauss with pivots; a direction that nothing determines stays at 0, which the pull of the starts prevents."""
    size = len(matrix)
    for column in range(size):
        pivot = max(range(column, size), key=lambda number: abs(matrix[number][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        head = matrix[column]
        if abs(head[column]) < _TINY:
            head[column] = 1.0
        for number in range(column + 1, size):
            line = matrix[number]
            factor = line[column] / head[column]
            if factor:
                for other in range(column, size + 1):
                    line[other] -= factor * head[other]
    solved = [0.0] * size
    for column in reversed(range(size)):
        line = matrix[column]
        rest = line[size] - sum(line[other] * solved[other] for other in range(column + 1, size))
        solved[column] = rest / line[column]
    return solved


def _polished(
    rows: Sequence[Row], free: Mapping[Place, Free], used: Sequence[Place], values: dict[Place, float]
) -> dict[Place, float]:
    """Steps of one token, or of the least digit of a ratio, as long as they miss less."""
    rests = [row.truth - row.estimate(values) for row in rows]
    touched = {
        place: [(number, row.slopes[place]) for number, row in enumerate(rows) if place in row.slopes] for place in used
    }
    for _ in range(_POLISHING_ROUNDS):
        moved = False
        for place in used:
            step = 1.0 if free[place].whole else _RATIO_STEP
            for change in (step, -step):
                while _gains(rows, rests, touched[place], free[place], values[place], change):
                    values[place] = round(values[place] + change, 3)
                    for number, slope in touched[place]:
                        rests[number] -= slope * change
                    moved = True
        if not moved:
            break
    return values


def _gains(
    rows: Sequence[Row],
    rests: Sequence[float],
    touched: Sequence[tuple[int, float]],
    one: Free,
    value: float,
    change: float,
) -> bool:
    if not one.low <= value + change <= one.high:
        return False
    unit = 1.0 if one.whole else 0.02
    pull = one.trust / _FEW / unit
    gained = sum(
        rows[number].weight * (abs(rests[number]) - abs(rests[number] - slope * change)) for number, slope in touched
    )
    gained += pull * (abs(value - one.start) - abs(value + change - one.start))
    return gained > _TINY
