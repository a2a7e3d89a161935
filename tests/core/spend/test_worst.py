"""The most that a call may cost."""

from __future__ import annotations

import pytest

from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.profiles.facts import Prices, PriceTier
from ullage.core.spend.worst import UNKNOWN_OUTPUT_TOKENS, likely_most, output_allowance, worst_cost

OPENAI = find_cache_rule("openai", "gpt-5")
ANTHROPIC = find_cache_rule("anthropic", "claude-sonnet-4-5")


def test_prompt_and_answer_are_counted_at_their_prices() -> None:
    """A prompt of 100,000 tokens at 3 USD a million, an answer of 8,000 at 15."""
    prices = Prices(input=3.0, output=15.0)
    assert worst_cost(prices, OPENAI, input_tokens=100_000, output_tokens=8_000) == 420_000_000


def test_where_writing_to_a_cache_costs_more_the_prompt_is_written() -> None:
    prices = Prices(input=4.0, output=20.0, cache_write=5.0, cache_write_1h=8.0)
    assert worst_cost(prices, ANTHROPIC, input_tokens=1_000_000, output_tokens=0) == 5_000_000_000
    assert worst_cost(prices, ANTHROPIC, input_tokens=1_000_000, output_tokens=0, long=True) == 8_000_000_000


def test_a_tier_holds_for_the_whole_of_a_long_prompt() -> None:
    prices = Prices(input=1.0, output=2.0, tiers=(PriceTier(above=200_000, input=2.0, output=4.0),))
    assert worst_cost(prices, OPENAI, input_tokens=200_000, output_tokens=0) == 200_000_000
    assert worst_cost(prices, OPENAI, input_tokens=200_001, output_tokens=1_000_000) == 4_400_002_000


@pytest.mark.parametrize("prices", [None, Prices(), Prices(input=1.0), Prices(output=1.0)])
def test_without_a_price_nobody_knows(prices: Prices | None) -> None:
    assert worst_cost(prices, OPENAI, input_tokens=1, output_tokens=1) is None


def test_what_is_free_costs_nothing() -> None:
    assert worst_cost(Prices(input=0.0, output=0.0), OPENAI, input_tokens=10**6, output_tokens=10**6) == 0


@pytest.mark.parametrize(
    ("requested", "most", "allowed"),
    [
        (100, 8_000, 100),
        (9_000, 8_000, 8_000),
        (None, 8_000, 8_000),
        (9_000, None, 9_000),
        (None, None, UNKNOWN_OUTPUT_TOKENS),
    ],
)
def test_an_answer_may_be_as_long_as_it_was_asked_for_and_as_the_model_can(
    requested: int | None, most: int | None, allowed: int
) -> None:
    assert output_allowance(requested, most) == allowed


@pytest.mark.parametrize(("tokens", "most"), [(0, 0), (100, 115), (1, 2)])
def test_an_estimate_may_be_too_low(tokens: int, most: int) -> None:
    assert likely_most(tokens) == most
