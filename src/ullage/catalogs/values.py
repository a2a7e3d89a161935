"""Values as sources write them, made ours: what cannot be meant is not said."""

from __future__ import annotations

import math
from typing import Any

MOST_TOKENS = 20_000_000
"""No model takes or gives more; larger numbers stand for "no limit" or for a mistake."""

MOST_USD = 1_000_000
"""Most that a million tokens may cost; as in overrides."""

_DECIMALS = 6


def a_token_count(value: Any) -> int | None:
    """A positive whole number of tokens, also written as a float or as text; `None` for anything else."""
    number = _number(value)
    return int(number) if number is not None and 1 <= number <= MOST_TOKENS and number == int(number) else None


def a_price(value: Any, factor: float) -> float | None:
    """USD per million tokens, the source's number times `factor`; `None` for what is no price, as a negative one is none."""
    number = _number(value)
    if number is None or not 0 <= number * factor <= MOST_USD:
        return None
    return round(number * factor, _DECIMALS)


def a_bool(value: Any) -> bool | None:
    """Yes or no, where it is said."""
    return value if isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
