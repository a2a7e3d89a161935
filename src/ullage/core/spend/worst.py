"""The most that a call may cost, in nano-USD: what is reserved for it (routing specification, section 17.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.profiles.pricing import prices_at

from .ledger import to_nano
from .prices import call_prices

if TYPE_CHECKING:
    from ullage.core.profiles.cache_rules import CacheRule
    from ullage.core.profiles.facts import Prices

UNKNOWN_OUTPUT_TOKENS = 16_384
"""The longest answer of a model of which nobody says it, asked for by a request that does not say it either (ours)."""

_MILLION = 1_000_000
_DOUBT_PERCENT = 115


def likely_most(tokens: int) -> int:
    """An estimate of a prompt with 15 % for its errors, as where a prompt must fit a window (section 6)."""
    return -(-_DOUBT_PERCENT * tokens // 100)


def output_allowance(requested: int | None, most: int | None) -> int:
    """The tokens that an answer may have: what the request asks for, capped by the model's limit, or that limit."""
    if requested is None:
        return UNKNOWN_OUTPUT_TOKENS if most is None else most
    return requested if most is None else min(requested, most)


def worst_cost(
    prices: Prices | None, rule: CacheRule, *, input_tokens: int, output_tokens: int, long: bool = False
) -> int | None:
    """What a call costs whose prompt is held by no cache and whose answer is as long as it may be.

    Where the provider charges for writing to its cache, by `rule`, the whole prompt counts as written, for the `long` time if
    that was asked for. `None` where a price is not known.
    """
    if prices is None or prices.input is None or prices.output is None:
        return None
    there = prices_at(prices, input_tokens)
    unread = max(there.input or 0.0, call_prices(there, rule, long=long).cache_write) if there.input else 0.0
    return to_nano((input_tokens * unread + output_tokens * (there.output or 0.0)) / _MILLION)
