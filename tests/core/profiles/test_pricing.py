"""The prices of a prompt of some length."""

from __future__ import annotations

import pytest

from ullage.core.profiles import Prices, PriceTier
from ullage.core.profiles.pricing import prices_at

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
