"""The data of genai-prices, distilled from records made by hand and from the installed package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from ullage.catalogs import genai
from ullage.catalogs.genai import distil_genai, find_version, make_genai
from ullage.core.errors import InputError
from ullage.core.profiles import ModelFacts, Prices, PriceTier

NOON_MS = int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp() * 1000)

Publish = Callable[..., None]


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Puts models of one provider in the place of the package's data."""
    from genai_prices import data
    from genai_prices.types import ClauseEquals, ModelInfo, Provider

    def publish(*models: Any) -> None:
        infos = [ModelInfo(**{"match": ClauseEquals(equals=model["id"]), **model}) for model in models]
        monkeypatch.setattr(
            data, "providers", [Provider(id="acme", name="Acme", api_pattern="https://acme", models=infos)]
        )

    return publish


def price(**fields: Any) -> Any:
    from genai_prices.types import ModelPrice

    return ModelPrice(**{f"{part}_mtok": amount for part, amount in fields.items()})


def when(constraint: Any, **fields: Any) -> Any:
    from genai_prices.types import ConditionalPrice

    return ConditionalPrice(constraint=constraint, prices=price(**fields))


def test_a_model_is_read_with_its_window_and_prices(publish: Publish) -> None:
    prices = price(input=Decimal("0.15"), output=Decimal("0.6"), cache_read=Decimal("0.075"), cache_write_1h=Decimal(1))
    publish({"id": "m", "context_window": 128_000, "prices": prices})
    expected = Prices(input=0.15, output=0.6, cache_read=0.075, cache_write_1h=1.0)
    assert distil_genai(NOON_MS).providers == {"acme": {"m": ModelFacts(context_window=128_000, prices=expected)}}


def test_tiers_of_all_parts_are_put_together(publish: Publish) -> None:
    from genai_prices.types import Tier, TieredPrices

    def tiered(base: int, above: int) -> Any:
        return TieredPrices(base=Decimal(base), tiers=[Tier(start=200_000, price=Decimal(above))])

    publish({"id": "m", "prices": price(input=tiered(3, 6), output=tiered(15, 30), cache_read=Decimal(1))})
    assert distil_genai(NOON_MS).providers["acme"]["m"].prices == Prices(
        input=3.0, output=15.0, cache_read=1.0, tiers=(PriceTier(above=200_000, input=6.0, output=30.0),)
    )


def test_the_price_of_today_holds_until_the_next_one_begins(publish: Publish) -> None:
    from genai_prices.types import StartDateConstraint

    history = [
        when(None, input=Decimal(10)),
        when(StartDateConstraint(start_date=date(2026, 6, 1)), input=Decimal(2)),
        when(StartDateConstraint(start_date=date(2026, 12, 24)), input=Decimal(1)),
    ]
    publish({"id": "m", "prices": history})
    found = distil_genai(NOON_MS)
    assert found.providers["acme"]["m"].prices == Prices(input=2.0)
    assert found.valid_until_ms == int(datetime(2026, 12, 24, tzinfo=UTC).timestamp() * 1000)
    assert found.valid_until_ms is not None
    later = distil_genai(found.valid_until_ms)
    assert later.providers["acme"]["m"].prices == Prices(input=1.0)
    assert later.valid_until_ms is None


def test_of_prices_by_the_hour_the_dearest_is_taken(publish: Publish) -> None:
    from genai_prices.types import TimeOfDateConstraint

    night = TimeOfDateConstraint(start_time=time(16, 30, tzinfo=UTC), end_time=time(0, 30, tzinfo=UTC))
    publish({"id": "m", "prices": [when(None, input=Decimal(3)), when(night, input=Decimal(1))]})
    assert distil_genai(NOON_MS).providers["acme"]["m"].prices == Prices(input=3.0)


def test_ids_that_are_spelled_out_are_kept_as_priced_alike_and_patterns_are_not(publish: Publish) -> None:
    from genai_prices.types import ClauseEquals, ClauseOr, ClauseStartsWith

    match = ClauseOr(
        or_=[ClauseEquals(equals="m"), ClauseEquals(equals="m-latest"), ClauseStartsWith(starts_with="m-2")]
    )
    publish({"id": "m", "context_window": 1, "match": match, "prices": price(input=Decimal(1))})
    assert distil_genai(NOON_MS).aliases == {"acme": {"m-latest": "m"}}


def test_a_model_of_which_nothing_is_said_is_left_out(publish: Publish) -> None:
    publish({"id": "m", "prices": price()}, {"id": "n", "prices": []})
    assert distil_genai(NOON_MS).providers == {"acme": {}}


def test_the_installed_package_is_distilled_whole() -> None:
    file = make_genai(NOON_MS)
    assert file.as_of == find_version()
    assert len(file.providers) > 20
    assert b'"gpt-4o":{"context_window":128000' in bytes(file.providers["openai"])


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data", None)
    with pytest.raises(InputError, match="genai-prices cannot be used"):
        distil_genai(NOON_MS)


def test_a_package_that_has_changed_is_no_crash(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    from genai_prices import data

    monkeypatch.setattr(data, "providers", [object()])
    with pytest.raises(InputError, match="genai-prices cannot be used"):
        distil_genai(NOON_MS)


def test_without_the_package_there_is_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(genai, "PACKAGE", "no-such-package-of-ours")
    assert find_version() is None
