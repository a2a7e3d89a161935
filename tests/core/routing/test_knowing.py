"""Candidates of what profiles know: routing specification, sections 6 and 8.1."""

from __future__ import annotations

import pytest

from ullage.core.profiles import Layer, ModelFacts, ModelOverride, ModelProfile, Prices, resolve_profile
from ullage.core.routing.knowing import prepare_known
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pricing import PriceOverride
from ullage.core.routing.route import RouteConfig

MODEL = ModelRecord(provider="anthropic", id="claude-opus-5")
FACTS = ModelFacts(context_window=200_000, max_output_tokens=32_000, images=False, prices=Prices(input=1.25, output=10))


def profile(*, exact: bool = True, **said: float) -> ModelProfile:
    layer = Layer(source="litellm", facts=FACTS, exact=exact, matched="claude-opus-5", as_of=None)
    overrides = {MODEL.target: ModelOverride(**said)} if said else {}
    return resolve_profile(MODEL.provider, MODEL.id, layers=(layer,), overrides=overrides)


def test_a_profile_completes_the_record_and_keeps_whose_word_its_prices_are() -> None:
    found = prepare_known(MODEL, profile())
    assert (found.model.context_window, found.model.max_output_tokens, found.model.inputs) == (
        200_000,
        32_000,
        ("text",),
    )
    assert (found.price.prices.input, found.price.prices.output, found.price.source) == (1.25, 10, "litellm")
    assert (found.capability.overall, found.price.approximate) == ("frontier", False)


def test_prices_of_a_similar_model_are_marked() -> None:
    assert prepare_known(MODEL, profile(exact=False)).price.approximate


@pytest.mark.parametrize("target", [MODEL.target, MODEL.id])
def test_a_coefficient_alone_makes_it_a_users_word_and_changes_no_price(target: str) -> None:
    """Section 8.1: {costCoef 0.2}, global 0.5 is coefficient 0.2 and an override."""
    config = RouteConfig(price_overrides={target: PriceOverride(cost_coefficient=0.2)}, cost_coefficient=0.5)
    price = prepare_known(MODEL, profile(), config).price
    assert (price.prices.input, price.prices.output) == (1.25, 10)
    assert (price.source, price.coefficient) == ("override", 0.2)


def test_the_general_coefficient_leaves_the_source() -> None:
    price = prepare_known(MODEL, profile(), RouteConfig(cost_coefficient=0.5)).price
    assert (price.source, price.coefficient) == ("litellm", 0.5)


def test_a_price_of_the_configuration_wins_part_by_part() -> None:
    config = RouteConfig(price_overrides={MODEL.target: PriceOverride(input=0.5)})
    price = prepare_known(MODEL, profile(), config).price
    assert (price.prices.input, price.prices.output, price.source) == (0.5, 10, "override")


def test_a_price_of_nothing_that_a_user_says_is_free() -> None:
    price = prepare_known(MODEL, profile(input_price=0.0, output_price=0.0)).price
    assert (price.known, price.prices.input, price.source) == (True, 0, "override")
