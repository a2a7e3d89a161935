"""What one source says: small records that leave out what is not said."""

from __future__ import annotations

import msgspec

from ullage.core.profiles import ModelFacts, Prices, PriceTier


def test_what_a_source_does_not_say_is_not_written() -> None:
    facts = ModelFacts(context_window=8_192, prices=Prices(input=0.0, tiers=(PriceTier(above=200_000, input=1.0),)))
    assert msgspec.to_builtins(facts) == {
        "context_window": 8_192,
        "prices": {"input": 0.0, "tiers": ({"above": 200_000, "input": 1.0},)},
    }


def test_a_source_that_says_nothing_is_an_empty_record() -> None:
    assert msgspec.json.encode(ModelFacts()) == b"{}"
    assert msgspec.json.decode(b"{}", type=ModelFacts) == ModelFacts()
