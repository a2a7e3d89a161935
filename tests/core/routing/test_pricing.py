"""Prices by layer and what a request costs (routing specification, sections 8 and 9)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.profiles import Layer, ModelFacts, Prices, PriceTier
from ullage.core.profiles.pricing import prices_at
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pricing import Price, PriceOverride, price_label, request_cost_usd, resolve_price


def model(prices: Prices | None = None) -> ModelRecord:
    return ModelRecord(provider="openai", id="gpt-5", prices=prices or Prices())


def layer(*, exact: bool = True, source: str = "litellm", **prices: Any) -> Layer:
    facts = ModelFacts(prices=Prices(**prices))
    return Layer(source=source, facts=facts, exact=exact, matched="openai/gpt-5", as_of="2026-09-01")  # type: ignore[arg-type]


CATALOGUE = layer(input=1.25, output=10.0)
REGISTRY = Prices(input=1.0, output=1.0)


@pytest.mark.parametrize(
    ("overrides", "layers", "registry", "expected", "source"),
    [
        ({"openai/gpt-5": PriceOverride(input=0.5, output=2)}, [CATALOGUE], REGISTRY, (0.5, 2), "override"),
        ({"gpt-5": PriceOverride(input=0.25)}, [], REGISTRY, (0.25, 1), "override"),
        ({}, [CATALOGUE], REGISTRY, (1.25, 10), "litellm"),
        ({}, [], Prices(input=0.5, output=1.5), (0.5, 1.5), "catalog"),
        ({}, [], Prices(input=0.0, output=0.0), (None, None), "unknown"),
        ({}, [], Prices(), (None, None), "unknown"),
        ({"openai/gpt-5": PriceOverride(cost_coefficient=0.2)}, [], REGISTRY, (1, 1), "override"),
    ],
)
def test_each_price_is_that_of_the_first_layer_that_has_it(
    overrides: dict[str, PriceOverride],
    layers: list[Layer],
    registry: Prices,
    expected: tuple[float | None, float | None],
    source: str,
) -> None:
    found = resolve_price(model(registry), overrides=overrides, layers=layers)
    assert (found.prices.input, found.prices.output) == expected
    assert found.source == source


def test_overrides_of_target_and_bare_id_are_not_merged() -> None:
    said = {"openai/gpt-5": PriceOverride(input=2), "gpt-5": PriceOverride(input=3, output=4)}
    found = resolve_price(model(REGISTRY), overrides=said)
    assert (found.prices.input, found.prices.output) == (2, 1)


def test_a_models_own_coefficient_replaces_the_general_one() -> None:
    own = {"openai/gpt-5": PriceOverride(cost_coefficient=0.2)}
    assert resolve_price(model(REGISTRY), overrides=own, cost_coefficient=0.5).coefficient == 0.2
    assert resolve_price(model(REGISTRY), cost_coefficient=0.5).coefficient == 0.5
    assert resolve_price(model(REGISTRY)).coefficient == 1.0
    assert resolve_price(model(REGISTRY), cost_coefficient=-2).coefficient == 0.0
    assert resolve_price(model(REGISTRY), overrides={"gpt-5": PriceOverride(cost_coefficient=0)}).coefficient == 0.0


def test_every_price_tells_where_it_is_from() -> None:
    """Complaint C31: provenance per price."""
    found = resolve_price(
        model(Prices(input=1.0, output=1.0, cache_read=0.1)),
        overrides={"openai/gpt-5": PriceOverride(output=2)},
        layers=[layer(input=1.25)],
    )
    assert found.prices == Prices(input=1.25, output=2.0, cache_read=0.1)
    assert {part: origin.source for part, origin in found.sources.items()} == {
        "input": "litellm",
        "output": "override",
        "cache_read": "provider",
        "cache_write": "unknown",
        "cache_write_1h": "unknown",
    }
    assert found.sources["cache_read"].detail == "the record of the model"


def test_an_input_price_that_is_set_alone_takes_the_prices_of_the_cache_with_it() -> None:
    """Reading from the cache cost eight times what reading anew does, and a warm session left for nothing."""
    haiku = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25, cache_write_1h=2.0)
    found = resolve_price(model(haiku), overrides={"gpt-5": PriceOverride(input=0.01)})
    assert found.prices.cache_read == pytest.approx(0.001)
    assert found.prices.cache_write == pytest.approx(0.0125)
    assert found.prices.cache_write_1h == pytest.approx(0.02)
    assert found.prices.output == 5.0
    told = found.sources["cache_read"]
    assert told.source == "override"
    assert told.detail == "openai/gpt-5: 0.1 of its input_price, as in provider the record of the model"
    free = resolve_price(model(haiku), overrides={"gpt-5": PriceOverride(input=0)}).prices
    assert (free.input, free.cache_read, free.cache_write) == (0, 0, 0)


def test_prices_of_the_cache_that_are_set_stay_and_those_of_nobodys_part_are_not_known() -> None:
    haiku = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
    said = PriceOverride(input=0.01, cache_read=0.5)
    assert resolve_price(model(haiku), overrides={"gpt-5": said}).prices.cache_read == 0.5
    alone = Prices(output=5.0, cache_read=0.1)
    found = resolve_price(model(alone), overrides={"gpt-5": PriceOverride(input=0.01)})
    assert (found.prices.cache_read, found.sources["cache_read"].source) == (None, "unknown")


def test_tiers_of_a_price_that_is_set_have_none_of_the_cache_either() -> None:
    tiers = (PriceTier(above=200_000, input=2.0, output=9.0, cache_read=0.2),)
    long = layer(input=1.0, output=5.0, cache_read=0.1, tiers=tiers)
    found = resolve_price(model(Prices()), overrides={"gpt-5": PriceOverride(input=0.01)}, layers=[long])
    assert prices_at(found.prices, 300_000).cache_read == pytest.approx(0.001)
    assert prices_at(found.prices, 300_000).output == 9.0


def test_a_known_zero_is_free_and_a_records_zero_is_unknown() -> None:
    free = resolve_price(model(), overrides={"openai/gpt-5": PriceOverride(input=0, output=0)})
    assert request_cost_usd(free, input_tokens=1_000, output_tokens=1_000) == 0.0
    listed = resolve_price(model(), layers=[layer(input=0.0, output=0.0)])
    assert (listed.source, request_cost_usd(listed, input_tokens=1_000, output_tokens=1_000)) == ("litellm", 0.0)
    unknown = resolve_price(model(Prices(input=0.0, output=0.0)))
    assert request_cost_usd(unknown, input_tokens=1_000, output_tokens=1_000) is None


def test_a_coefficient_alone_makes_nothing_free() -> None:
    found = resolve_price(model(), overrides={"openai/gpt-5": PriceOverride(cost_coefficient=0.2)})
    assert (found.source, found.known) == ("override", False)
    assert request_cost_usd(found, input_tokens=1_000, output_tokens=1_000) is None


def test_a_records_zero_for_caching_does_not_make_caching_free() -> None:
    """Section 12.2d."""
    found = resolve_price(model(Prices(input=3.0, output=15.0, cache_read=0.0, cache_write=0.0)))
    assert (found.prices.cache_read, found.prices.cache_write) == (None, None)


def test_the_price_of_cache_writes_is_read() -> None:
    """Weakness 4: it never was."""
    found = resolve_price(model(), layers=[layer(input=3.0, output=15.0, cache_write=3.75, cache_write_1h=6.0)])
    assert (found.prices.cache_write, found.prices.cache_write_1h) == (3.75, 6.0)


def test_each_model_has_cache_prices_of_its_own() -> None:
    """Complaint C33: one provider's ratio was applied to all."""
    one = resolve_price(model(Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)))
    other = resolve_price(model(Prices(input=3.0, output=15.0, cache_read=1.5)))
    assert (one.prices.cache_read, one.prices.cache_write) == (0.3, 3.75)
    assert (other.prices.cache_read, other.prices.cache_write) == (1.5, None)


def test_a_similar_models_prices_are_marked() -> None:
    found = resolve_price(model(REGISTRY), layers=[layer(exact=False, input=1.25, output=2.0)])
    assert (found.prices.input, found.prices.output, found.approximate) == (1.25, 2.0, True)
    assert price_label(found) == "price $1.25/$2 per 1M (litellm, approximate)"


@pytest.mark.parametrize(
    ("listed", "used"), [((3.0, 3.0), True), ((3.01, 1.0), False), ((1.0, 0.33), False), ((0.34, 1.0), True)]
)
def test_a_similar_models_prices_are_not_used_if_they_are_far_from_the_records(
    listed: tuple[float, float], used: bool
) -> None:
    found = resolve_price(model(REGISTRY), layers=[layer(exact=False, input=listed[0], output=listed[1])])
    assert found.source == ("litellm" if used else "catalog")
    assert found.approximate is used
    assert (found.prices.input, found.prices.output) == (listed if used else (1.0, 1.0))


def test_an_exact_source_without_prices_silences_nobody() -> None:
    limits = Layer(source="provider", facts=ModelFacts(context_window=8_192), exact=True, matched="gpt-5")
    found = resolve_price(model(REGISTRY), layers=[limits, layer(exact=False, input=1.25, output=2.0)])
    assert (found.source, found.prices.input) == ("litellm", 1.25)


def test_an_exact_source_has_the_word_whatever_the_record_says() -> None:
    found = resolve_price(model(REGISTRY), layers=[layer(input=100.0, output=500.0)])
    assert (found.prices.input, found.approximate) == (100.0, False)


def test_an_exact_source_of_lower_rank_has_the_word_before_a_similar_one() -> None:
    layers = [layer(exact=False, input=1.5, output=2.0), layer(source="genai-prices", input=1.2, output=1.1)]
    found = resolve_price(model(REGISTRY), layers=layers)
    assert (found.source, found.prices.input, found.approximate) == ("genai-prices", 1.2, False)


@pytest.mark.parametrize(
    ("overrides", "layers", "expected"),
    [({"gpt-5": PriceOverride(input=1)}, [CATALOGUE], 7), ({}, [CATALOGUE], 5), ({}, [], 0)],
)
def test_a_price_is_as_old_as_its_source(
    overrides: dict[str, PriceOverride], layers: list[Layer], expected: int
) -> None:
    found = resolve_price(model(REGISTRY), overrides=overrides, layers=layers, now_ms=7, catalogue_ms=5)
    assert found.updated_ms == expected


@pytest.mark.parametrize(
    ("input_tokens", "output_tokens", "prices", "coefficient", "usd"),
    [
        (1_000_000, 2_000_000, (3, 15), 0.5, 16.5),
        (1_024, 2_048, (15, 75), 1, 0.16896),
        (41_024, 2_048, (3, 15), 1, 0.153792),
        (41_024, 2_048, (0.8, 4), 1, 0.0410112),
    ],
)
def test_a_request_costs_what_the_specification_says(
    input_tokens: int, output_tokens: int, prices: tuple[float, float], coefficient: float, usd: float
) -> None:
    price = Price(prices=Prices(input=prices[0], output=prices[1]), source="catalog", coefficient=coefficient)
    found = request_cost_usd(price, input_tokens=input_tokens, output_tokens=output_tokens)
    assert found == pytest.approx(usd, abs=1e-6)


def test_money_that_is_held_back_is_not_scaled() -> None:
    price = Price(prices=Prices(input=3, output=15), source="catalog", coefficient=0.5)
    assert request_cost_usd(price, input_tokens=1_000_000, output_tokens=0, scaled=False) == 3.0


def test_a_long_prompt_pays_the_prices_of_its_tier() -> None:
    tiers = (PriceTier(above=200_000, input=6.0, output=30.0),)
    price = resolve_price(model(Prices(input=3.0, output=15.0, tiers=tiers)))
    assert request_cost_usd(price, input_tokens=200_000, output_tokens=0) == pytest.approx(0.6)
    assert request_cost_usd(price, input_tokens=300_000, output_tokens=1_000) == pytest.approx(1.83)
    by_hand = resolve_price(
        model(Prices(input=3.0, output=15.0, tiers=tiers)), overrides={"gpt-5": PriceOverride(input=1)}
    )
    assert request_cost_usd(by_hand, input_tokens=300_000, output_tokens=1_000) == pytest.approx(0.33)


@pytest.mark.parametrize(
    ("price", "label"),
    [
        (
            Price(prices=Prices(input=1.25, output=10.0), source="litellm"),
            "price $1.25/$10 per 1M (litellm)",
        ),
        (
            Price(prices=Prices(input=1.25, output=10.0), source="litellm", coefficient=0.5),
            "price $1.25/$10 per 1M (litellm ×0.5)",
        ),
        (
            Price(prices=Prices(input=0.123456, output=0.0), source="override"),
            "price $0.1235/$0 per 1M (override)",
        ),
        (Price(prices=Prices(input=1.25), source="litellm"), None),
        (Price(prices=Prices(), source="unknown"), None),
    ],
)
def test_a_label_has_price_source_and_coefficient(price: Price, label: str | None) -> None:
    assert price_label(price) == label


some_usd = st.none() | st.floats(0, 1_000)


@given(
    st.tuples(some_usd, some_usd, some_usd),
    st.lists(st.tuples(st.booleans(), some_usd, some_usd), max_size=3),
    st.tuples(some_usd, some_usd),
)
def test_no_price_is_made_up(
    said: tuple[float | None, ...],
    listed: list[tuple[bool, float | None, float | None]],
    registry: tuple[float | None, ...],
) -> None:
    """Each price stands in one of the layers, and that of the user wins."""
    layers = [
        Layer(
            source="litellm",
            facts=ModelFacts(prices=Prices(input=one, output=two)),
            exact=exact,
            matched="m",
        )
        for exact, one, two in listed
    ]
    overrides = {"gpt-5": PriceOverride(input=said[0], output=said[1], cost_coefficient=said[2])}
    found = resolve_price(model(Prices(input=registry[0], output=registry[1])), overrides=overrides, layers=layers)
    for part, position in (("input", 0), ("output", 1)):
        price = getattr(found.prices, part)
        if said[position] is not None:
            assert price == said[position]
        assert price in (None, said[position], registry[position], *(row[position + 1] for row in listed))
