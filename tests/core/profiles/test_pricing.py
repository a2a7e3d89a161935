"""The prices of a prompt of some length."""

from __future__ import annotations

import pytest

from ullage.core.profiles import Prices, PriceTier
from ullage.core.profiles.cache_rules import UNKNOWN_CACHE, find_cache_rule
from ullage.core.profiles.pricing import fill_prices, prices_at, unread_price

CLAUDE = find_cache_rule("anthropic", "claude-opus-4-5")
OPENAI = find_cache_rule("openai", "gpt-5.4")

STEPPED = Prices(
    input=2.0,
    output=10.0,
    cache_read=0.5,
    tiers=(PriceTier(above=200_000, input=4.0, cache_read=1.0), PriceTier(above=400_000, input=8.0)),
)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (200_000, Prices(input=2.0, output=10.0, cache_read=0.5)),
        (200_001, Prices(input=4.0, output=10.0, cache_read=1.0)),
        (400_001, Prices(input=8.0, output=10.0, cache_read=1.0)),
    ],
)
def test_a_price_that_a_tier_does_not_name_stays_as_the_tier_before_has_it(prompt: int, expected: Prices) -> None:
    assert prices_at(STEPPED, prompt) == expected


def test_prices_without_tiers_hold_for_any_length() -> None:
    prices = Prices(input=2.0, output=10.0)
    assert prices_at(prices, 10_000_000) is prices


def test_what_a_list_lacks_is_its_usual_part_of_the_input_price() -> None:
    assert fill_prices(Prices(input=4.0, output=20.0), CLAUDE) == Prices(
        input=4.0, output=20.0, cache_read=0.4, cache_write=5.0, cache_write_1h=8.0
    )
    assert fill_prices(Prices(input=2.0), OPENAI) == Prices(
        input=2.0, cache_read=0.2, cache_write=2.0, cache_write_1h=2.0
    )


def test_what_a_list_says_stays() -> None:
    listed = Prices(input=4.0, cache_read=0.0, cache_write=9.0, cache_write_1h=9.5)
    assert fill_prices(listed, CLAUDE) == listed


def test_writing_for_longer_costs_what_writing_does_where_nobody_says_more() -> None:
    assert fill_prices(Prices(input=4.0, cache_write=9.0), UNKNOWN_CACHE).cache_write_1h == 9.0
    assert fill_prices(Prices(input=4.0, cache_write=9.0), CLAUDE).cache_write_1h == 8.0


def test_where_nobody_says_what_reading_costs_the_caller_does() -> None:
    assert fill_prices(Prices(input=4.0), UNKNOWN_CACHE).cache_read == 4.0
    assert fill_prices(Prices(input=4.0), UNKNOWN_CACHE, unknown_read_ratio=0.5).cache_read == 2.0
    assert fill_prices(Prices(input=4.0), CLAUDE, unknown_read_ratio=0.5).cache_read == 0.4


def test_without_an_input_price_there_is_nothing_to_take_a_part_of() -> None:
    assert fill_prices(Prices(output=1.0), CLAUDE) == Prices(output=1.0)
    assert fill_prices(Prices(cache_write=3.0), UNKNOWN_CACHE) == Prices(cache_write=3.0, cache_write_1h=3.0)


def test_a_token_that_was_not_read_is_paid_as_written_where_writing_is_charged_for() -> None:
    listed = Prices(input=4.0, cache_write=9.0, cache_write_1h=9.5)
    assert (unread_price(listed, CLAUDE, long=False), unread_price(listed, CLAUDE, long=True)) == (9.0, 9.5)
    assert unread_price(listed, OPENAI, long=True) == 4.0
