"""Ratios and shares as they are reported: half up to six decimals (planner specification, section 0)."""

from __future__ import annotations

import math


def round_ratio(value: float) -> float:
    """`value`, which is not negative, to six decimals. Halves go up: Python's own `round` sends them to the even neighbour."""
    return math.floor(value * 1e6 + 0.5) / 1e6
