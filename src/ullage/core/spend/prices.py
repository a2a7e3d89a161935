"""What a token of a call costs, as far as choices go by it: four prices, from a price list or from usual ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from ullage.core.profiles.cache_rules import CacheRule
    from ullage.core.profiles.facts import Prices

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
    listed = prices.input if prices is not None else None
    known = bool(listed)
    unit = listed or 1.0
    read, output = (prices.cache_read, prices.output) if prices is not None and known else (None, None)
    if read is None:
        read = unit * (CAREFUL_READ_RATIO if rule.read_ratio is None else rule.read_ratio)
    return CallPrices(
        input=unit,
        output=output or 0.0,
        cache_read=min(read, unit),
        cache_write=_write_price(prices if known else None, rule, unit, long=long),
        known=known,
    )


def _write_price(prices: Prices | None, rule: CacheRule, unit: float, *, long: bool) -> float:
    """Where writing costs nothing extra, a token that was not read costs what any other does."""
    if rule.write_ratio == 1.0:
        return unit
    listed = None if prices is None else prices.cache_write_1h if long else prices.cache_write
    if listed is not None:
        return listed
    ratio = rule.long_write_ratio if long and rule.long_write_ratio is not None else rule.write_ratio
    return unit * ratio
