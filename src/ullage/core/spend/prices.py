"""What a token of a call costs, as far as choices go by it: four prices, from a price list or from usual ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.profiles.facts import Prices
from ullage.core.profiles.pricing import fill_prices, unread_price

if TYPE_CHECKING:
    from ullage.core.profiles.cache_rules import CacheRule

CAREFUL_READ_RATIO = 0.5
"""A cached token's price as a part of the input price where nobody says it: the dearest of any provider in `cache_rules`, so that
a long prefix is not held for savings that may not be there."""


class CallPrices(Struct, frozen=True, kw_only=True, gc=False):
    """USD per million tokens. `cache_write` is what a token costs that was not read from the cache and is held from then on.

    `known` is false where the input price is not, or is nothing: then these are parts of it, to compare by, and no money. Where a
    provider costs nothing, reading anew still costs time.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    known: bool = True


def call_prices(prices: Prices | None, rule: CacheRule, *, long: bool = False) -> CallPrices:
    """The prices of a target whose provider caches by `rule`; those that the list lacks are their usual part of the input price.

    `long` says that the request asks for the longer time to live, which costs more to write.
    """
    known = prices is not None and bool(prices.input)
    listed = prices if prices is not None and known else Prices(input=1.0)
    filled = fill_prices(listed, rule, unknown_read_ratio=CAREFUL_READ_RATIO)
    unit = filled.input or 1.0  # it is known by now, and with it every part but the output's
    return CallPrices(
        input=unit,
        output=filled.output or 0.0,
        cache_read=min(filled.cache_read or 0.0, unit),
        cache_write=unread_price(filled, rule, long=long) or 0.0,
        known=known,
    )
