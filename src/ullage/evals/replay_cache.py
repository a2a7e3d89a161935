"""The prompt cache of a provider, played: what of each request it would read, by the rules that live traffic is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.caching import Expectation, Mark, expect, leave, make_chain
from ullage.core.content import Usage
from ullage.core.profiles.pricing import prices_at
from ullage.core.spend import call_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.caching import Footprint
    from ullage.core.profiles.cache_rules import CacheRule
    from ullage.core.profiles.facts import Prices

_HARNESS = 1
_MILLION = 1_000_000


class PrefixCache:
    """One line of requests to one target. Nothing that was recorded of its cache goes in: what is read follows from what
    was sent.

    Marks are where clients set them: behind prompt and tools, and at the newest message. A provider of which nothing is
    known is taken to cache nothing.
    """

    def __init__(self, rule: CacheRule, minimum_tokens: int | None = None) -> None:
        self._rule = rule
        self._minimum = minimum_tokens
        self._last: Footprint | None = None

    def send(
        self, hashes: Sequence[int], tokens: Sequence[int], fixed: int, *, now_ms: int, long: bool = False
    ) -> Expectation:
        """What the provider reads of a request; it holds the request from then on."""
        chain = make_chain(
            [_HARNESS, *hashes],
            [fixed, *tokens],
            system=_HARNESS,
            marks=[Mark(_HARNESS, long), Mark(_HARNESS + len(hashes), long)],
            long=long,
        )
        if not self._rule.sure:
            return Expectation(disposition="unknown", tokens=0)
        found = expect(self._rule, chain, now_ms=now_ms, own=self._last, minimum_tokens=self._minimum)
        read = found.tokens or 0
        usage = Usage(input_fresh=0, cache_read=read, cache_write=chain.tokens - read)
        position = found.position if self._last is not None else 0
        self._last = leave(self._rule, chain, usage, sent_ms=now_ms, ended_ms=now_ms, before=self._last, found=position)
        return found


def prompt_usd(prices: Prices | None, rule: CacheRule, *, prompt: int, read: int, long: bool = False) -> float:
    """What a prompt costs of which so many tokens are read from the cache. Without known prices a million tokens of input
    is 1."""
    at = call_prices(prices_at(prices, prompt) if prices is not None else None, rule, long=long)
    return (read * at.cache_read + (prompt - read) * at.cache_write) / _MILLION
