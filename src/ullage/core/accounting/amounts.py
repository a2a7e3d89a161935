"""One number with its interval and the rule that made it."""

from __future__ import annotations

import math
from typing import NamedTuple


class Amount(NamedTuple):
    """Tokens with the bounds of the rule's stated error; `low == tokens == high` is exact. `method` names the rule."""

    tokens: int
    low: int
    high: int
    method: str

    def plus(self, tokens: int) -> Amount:
        """The amount with a fixed number of tokens added."""
        return Amount(self.tokens + tokens, self.low + tokens, self.high + tokens, self.method)


def exactly(tokens: int, method: str) -> Amount:
    """An amount without error."""
    return Amount(tokens, tokens, tokens, method)


def within(tokens: float, error: float, method: str) -> Amount:
    """A rounded amount whose bounds lie the relative `error` away; a positive one never falls to zero."""
    middle = round_half_up(tokens)
    slack = abs(tokens) * error
    return Amount(middle, min(middle, math.floor(tokens - slack)), max(middle, math.ceil(tokens + slack)), method)


def between(low: int, tokens: int, high: int, method: str) -> Amount:
    """An amount with bounds of its own."""
    return Amount(tokens, min(low, tokens), max(high, tokens), method)


def round_half_up(value: float) -> int:
    """The nearest whole number, halves upwards for positive and negative values alike."""
    return math.floor(value + 0.5)


def total(amounts: list[Amount], method: str) -> Amount:
    """The sum. Bounds add up, because the error of one rule has one direction."""
    return Amount(sum(a.tokens for a in amounts), sum(a.low for a in amounts), sum(a.high for a in amounts), method)
