"""What the remaining calls of a task cost, a prompt cache taken into account (routing specification, section 12.4).

One function for every choice that changes a prefix: keep or shorten the tail, stay with a model or leave it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from .prices import CallPrices

DEFAULT_CALLS = 12
"""Calls of a task that nothing is known of (section 12.4)."""

_MILLION = 1_000_000


class Horizon(Struct, frozen=True, kw_only=True, gc=False):
    """The calls ahead, in tokens: a `context` of which `warm` tokens are held by the provider, `fresh` ones that come with the
    next call, an answer of `output` tokens, `growth` per call, and how many `calls` are left, the next one among them."""

    context: float
    warm: float = 0
    fresh: float = 0
    output: float = 0
    growth: float = 0
    calls: int = 1


def first_usd(horizon: Horizon, prices: CallPrices) -> float:
    """The next call: what is warm is read, all else is written."""
    written = horizon.context - horizon.warm + horizon.fresh
    cost = horizon.warm * prices.cache_read + written * prices.cache_write + horizon.output * prices.output
    return cost / _MILLION


def later_usd(horizon: Horizon, prices: CallPrices, call: int) -> float:
    """The call that follows the next one by `call`, at least 1: what was sent before is read, the growth is written."""
    read = horizon.context + horizon.fresh + (call - 1) * horizon.growth
    cost = read * prices.cache_read + horizon.growth * prices.cache_write + horizon.output * prices.output
    return cost / _MILLION


def total_usd(horizon: Horizon, prices: CallPrices) -> float:
    """All calls that are left; where none is left, nothing."""
    if horizon.calls < 1:
        return 0.0
    later = horizon.calls - 1
    grown = horizon.growth * later * (later - 1) / 2  # what the later calls read beyond the first of them, added up
    return first_usd(horizon, prices) + later * later_usd(horizon, prices, 1) + grown * prices.cache_read / _MILLION
