"""The played prompt cache."""

from __future__ import annotations

import pytest

from ullage.core.profiles.cache_rules import UNKNOWN_CACHE, find_cache_rule
from ullage.core.profiles.facts import Prices, PriceTier
from ullage.evals.replay_cache import PrefixCache, prompt_usd

CLAUDE = find_cache_rule("anthropic", "claude-sonnet-4-5")
OPENAI = find_cache_rule("openai", "gpt-5.4")
LATEST = find_cache_rule("openai", "gpt-5.6-sol")
MINUTE = 60_000


def test_the_first_request_reads_nothing_and_the_next_all_of_it() -> None:
    cache = PrefixCache(CLAUDE)
    assert cache.send([1, 2], [1_000, 500], 2_000, now_ms=0).tokens == 0
    assert cache.send([1, 2, 3], [1_000, 500, 700], 2_000, now_ms=MINUTE).tokens == 3_500
    assert cache.send([1, 2, 3, 4], [1_000, 500, 700, 9], 2_000, now_ms=2 * MINUTE).tokens == 4_200


def test_a_request_that_begins_otherwise_reads_what_stands_before_its_messages() -> None:
    cache = PrefixCache(CLAUDE)
    cache.send([1, 2], [1_000, 500], 2_000, now_ms=0)
    assert cache.send([2, 3], [500, 700], 2_000, now_ms=1).tokens == 2_000


def test_where_only_whole_requests_are_held_nothing_is_read_then() -> None:
    cache = PrefixCache(LATEST)
    cache.send([1, 2], [1_000, 500], 2_000, now_ms=0)
    assert cache.send([2, 3], [500, 700], 2_000, now_ms=1).tokens == 0


def test_whole_blocks_are_read() -> None:
    cache = PrefixCache(OPENAI)
    cache.send([1, 2], [1_000, 500], 2_000, now_ms=0)
    assert cache.send([1, 3], [1_000, 700], 2_000, now_ms=1).tokens == 2_944


def test_what_is_idle_too_long_is_gone_and_what_is_held_longer_is_not() -> None:
    for long, read in ((False, 0), (True, 3_500)):
        cache = PrefixCache(CLAUDE)
        cache.send([1, 2], [1_000, 500], 2_000, now_ms=0, long=long)
        assert cache.send([1, 2, 3], [1_000, 500, 7], 2_000, now_ms=6 * MINUTE, long=long).tokens == read


def test_a_prefix_that_is_too_short_is_not_held() -> None:
    cache = PrefixCache(CLAUDE)
    cache.send([1], [10], 900, now_ms=0)
    assert cache.send([1, 2], [10, 10], 900, now_ms=1).tokens == 0
    cache = PrefixCache(CLAUDE, minimum_tokens=512)
    cache.send([1], [10], 900, now_ms=0)
    assert cache.send([1, 2], [10, 10], 900, now_ms=1).tokens == 910


def test_an_unknown_provider_is_taken_to_hold_nothing() -> None:
    cache = PrefixCache(UNKNOWN_CACHE)
    cache.send([1], [5_000], 5_000, now_ms=0)
    assert cache.send([1, 2], [5_000, 10], 5_000, now_ms=1).tokens == 0


def test_a_prompt_costs_what_is_read_and_what_is_written() -> None:
    prices = Prices(input=3, cache_read=0.3, cache_write=3.75)
    assert prompt_usd(prices, CLAUDE, prompt=100_000, read=80_000) == pytest.approx(0.024 + 0.075)
    assert prompt_usd(Prices(input=2, cache_read=0.2), OPENAI, prompt=100_000, read=80_000) == pytest.approx(0.056)


def test_a_long_prompt_costs_more_as_a_whole() -> None:
    tiers = (PriceTier(above=1_000, input=4, cache_read=1), PriceTier(above=9_000, input=8))
    prices = Prices(input=2, cache_read=0.5, tiers=tiers)
    costs = [prompt_usd(prices, OPENAI, prompt=prompt, read=500) * 1_000_000 for prompt in (1_000, 1_001, 9_001)]
    assert costs == pytest.approx([500 * 0.5 + 500 * 2, 500 * 1 + 501 * 4, 500 * 1 + 8_501 * 8])


def test_without_prices_a_million_tokens_is_one() -> None:
    assert prompt_usd(None, CLAUDE, prompt=1_000_000, read=0) == pytest.approx(1.25)
    assert prompt_usd(None, CLAUDE, prompt=1_000_000, read=1_000_000) == pytest.approx(0.1)
