"""What a provider reported to have read, against what it should have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.core.profiles.pricing import fill_prices, unread_price

from .chains import Place
from .expecting import Cause
from .footprints import is_read

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.profiles.cache_rules import CacheRule
    from ullage.core.profiles.facts import Prices

    from .expecting import Expectation

KNOWN_CAUSES: frozenset[Cause] = frozenset(
    {
        "below_minimum",
        "expired",
        "history_replaced",
        "model_switch",
        "not_reported",
        "not_shared",
        "reasoning_dropped",
    }
)
"""Causes that no one is to be alarmed by: they were known before the answer came, or lie in the nature of the thing."""

_MILLION = 1_000_000


class Miss(Struct, frozen=True, kw_only=True):
    """Tokens that were warm, or had been, and were not read. `unexpected` ones are worth an alert."""

    cause: Cause
    place: Place | None
    missed_tokens: int

    @property
    def unexpected(self) -> bool:
        return self.cause not in KNOWN_CAUSES


def check(expectation: Expectation, usage: Usage) -> Miss | None:
    """The miss, if the provider read clearly less than was expected, or than the line's last request had left it.

    Clearly less is by more than a hit may lie below (`is_read`) and the expectation may be off.
    """
    if expectation.tokens is None:
        return None
    wanted = max(expectation.tokens, min(expectation.held_tokens, usage.prompt or 0))
    if usage.cache_read is None:
        return Miss(cause="not_reported", place=None, missed_tokens=0) if wanted else None
    if is_read(wanted - expectation.error_tokens, usage.cache_read):
        return None
    missed = wanted - usage.cache_read
    return Miss(cause=_cause(expectation, usage.cache_read), place=expectation.place, missed_tokens=missed)


def _cause(expectation: Expectation, read: int) -> Cause:
    if expectation.cause is not None:
        return expectation.cause
    if not expectation.own:
        return "not_shared"
    if expectation.turn_tokens is not None and is_read(expectation.turn_tokens, read):
        return "reasoning_dropped"
    return "evicted"


def report_cache(rule: CacheRule, expectation: Expectation, read: int | None, miss: Miss | None) -> dict[str, Any]:
    """What is kept of a call: tokens and milliseconds. `read` is what the provider reported, `None` if it did not."""
    return {
        "expected": expectation.tokens,
        "read": read,
        "held": expectation.held_tokens,
        "ttl_ms": expectation.ttl_ms,
        "age_ms": expectation.age_ms,
        "disposition": expectation.disposition,
        "rule": rule.id,
        "miss": report_miss(miss) if miss is not None else None,
    }


def report_miss(miss: Miss) -> dict[str, Any]:
    """A miss as plain data."""
    return {
        "cause": miss.cause,
        "slice": {"kind": miss.place.kind, "index": miss.place.index} if miss.place is not None else None,
        "missed_tokens": miss.missed_tokens,
        "unexpected": miss.unexpected,
    }


def miss_cost_usd(miss: Miss, rule: CacheRule, prices: Prices | None, *, long: bool = False) -> float | None:
    """What the missed tokens cost above what reading them would have; `None` where the prices are not known.

    They are paid as fresh ones, or as written ones where the provider charges for writing. A price that the list does not have
    is its usual part of the input price.
    """
    if prices is None:
        return None
    filled = fill_prices(prices, rule)
    paid, read = unread_price(filled, rule, long=long), filled.cache_read
    if paid is None or read is None:
        return None
    return round(miss.missed_tokens * (paid - read) / _MILLION, 9)
