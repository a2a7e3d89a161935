"""Round numbers for axes."""

from __future__ import annotations

import math

_GRID_LINES = 5
"""About so many lines across a picture."""


def ticks_to(most: float) -> list[int]:
    """Whole round numbers from zero to above the highest."""
    step = _round_step(max(1.0, most) / _GRID_LINES)
    return [round(step * index) for index in range(math.ceil(most / step) + 1)] if step >= 1 else [0, 1]


def ratio_ticks_to(most: float) -> list[float]:
    """Round numbers from zero to above the highest ratio, with two decimals at most."""
    step = _round_step(most / _GRID_LINES)
    return [round(step * index, 2) for index in range(math.ceil(most / step) + 1)]


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
