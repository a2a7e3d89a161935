"""Prices of a call from lists and ratios."""

from __future__ import annotations

from ullage.core.profiles.cache_rules import UNKNOWN_CACHE, find_cache_rule
from ullage.core.profiles.facts import Prices
from ullage.core.spend import CAREFUL_READ_RATIO, CallPrices, call_prices

CLAUDE = find_cache_rule("anthropic", "claude-opus-4-5")
OPENAI = find_cache_rule("openai", "gpt-5.4")


def test_listed_prices_are_used_as_they_are() -> None:
    listed = Prices(input=5, output=25, cache_read=0.5, cache_write=6.25, cache_write_1h=10)
    assert call_prices(listed, CLAUDE) == CallPrices(input=5, output=25, cache_read=0.5, cache_write=6.25)
    assert call_prices(listed, CLAUDE, long=True).cache_write == 10


def test_what_the_list_lacks_is_its_usual_part_of_the_input_price() -> None:
    assert call_prices(Prices(input=4), CLAUDE) == CallPrices(input=4, output=0, cache_read=0.4, cache_write=5)
    assert call_prices(Prices(input=4), CLAUDE, long=True).cache_write == 8


def test_where_writing_costs_nothing_extra_an_unread_token_costs_the_input_price() -> None:
    assert call_prices(Prices(input=2.5, cache_read=0.25), OPENAI).cache_write == 2.5


def test_without_an_input_price_there_are_ratios_and_no_money() -> None:
    assert call_prices(None, CLAUDE) == CallPrices(input=1, output=0, cache_read=0.1, cache_write=1.25, known=False)
    assert call_prices(Prices(output=7, cache_read=0.3), CLAUDE) == call_prices(None, CLAUDE)


def test_a_free_model_is_compared_by_ratios_too() -> None:
    assert call_prices(Prices(input=0, output=0, cache_read=0), OPENAI) == call_prices(None, OPENAI)


def test_where_nothing_is_known_of_caching_a_read_is_not_taken_to_be_cheap() -> None:
    assert call_prices(None, UNKNOWN_CACHE).cache_read == CAREFUL_READ_RATIO


def test_a_read_is_never_taken_to_cost_more_than_input() -> None:
    assert call_prices(Prices(input=1, cache_read=3), OPENAI).cache_read == 1
