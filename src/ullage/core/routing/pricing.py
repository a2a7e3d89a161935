"""The price of a target, part by part with its source, and what a request would cost (routing specification, sections 8 and 9).

Prices are USD per million tokens. A price that is not known stays `None`: nothing is free that nobody says is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from ullage.core.profiles import Layer, ModelFacts, ModelOverride, Prices, Provenance
from ullage.core.profiles.choosing import Said, in_order
from ullage.core.profiles.pricing import PARTS, prices_at, resolve_prices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .models import ModelRecord

PriceSource = Literal["override", "litellm", "genai-prices", "provider", "catalog", "unknown"]
"""Whose word the price is: a user's, a catalogue's, or that of the record of the model (`catalog`)."""

MOST_APART = 3.0
"""A similar model's prices are not used if they are more than so many times those of the record (section 8.2)."""

RECORD = "the record of the model"
"""Detail of the provenance of a price that stands in the model's record."""

_MILLION = 1_000_000
_Usd = Annotated[float, Meta(ge=0, le=1_000_000)]


class PriceOverride(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a user says of a model's price. `cost_coefficient` scales its cost where routes are weighed, and nowhere else."""

    input: _Usd | None = None
    output: _Usd | None = None
    cache_read: _Usd | None = None
    cache_write: _Usd | None = None
    cost_coefficient: float | None = None


class Price(Struct, frozen=True, kw_only=True):
    """The price of a target. `source` is the first that says anything of it, `sources` the one of each part.

    `approximate` marks prices of a similar model. `coefficient` scales the cost where routes are weighed. `updated_ms` is when
    the source was last renewed, as far as it says; 0 for a record, and where that is not known.
    """

    prices: Prices
    source: PriceSource
    coefficient: float = 1.0
    updated_ms: int = 0
    approximate: bool = False
    sources: Mapping[str, Provenance] = MappingProxyType({})

    @property
    def known(self) -> bool:
        """Whether input and output have a price, so that a request has a cost."""
        return self.prices.input is not None and self.prices.output is not None


NO_OVERRIDES: Mapping[str, PriceOverride] = MappingProxyType({})


def resolve_price(
    model: ModelRecord,
    *,
    overrides: Mapping[str, PriceOverride] = NO_OVERRIDES,
    layers: Iterable[Layer] = (),
    cost_coefficient: float | None = None,
    now_ms: int = 0,
    catalogue_ms: int = 0,
) -> Price:
    """Each part of the price from the first that has it: the override of the target, or of the bare id; the catalogues; the
    record (section 8.1).

    `overrides` of target and bare id are not merged. `cost_coefficient` is that of all models that have none of their own.
    `catalogue_ms` is when the catalogues were renewed, `now_ms` the moment; both epoch milliseconds.
    """
    said = overrides.get(model.target) or overrides.get(model.id)
    price = _resolve(model.target, model.prices, said, tuple(layers))
    coefficient = _coefficient(said, cost_coefficient)
    updated_ms = {"override": now_ms, "catalog": 0, "unknown": 0}.get(price.source, catalogue_ms)
    if coefficient == 1 and not updated_ms:
        return price
    return replace(price, coefficient=coefficient, updated_ms=updated_ms)


@lru_cache(maxsize=4_096)
def _resolve(target: str, record: Prices, said: PriceOverride | None, layers: tuple[Layer, ...]) -> Price:
    """The price by what is said of it; the same for every request until somebody says something else."""
    by_hand = {target: _as_override(said)} if said is not None else {}
    prices, found = resolve_prices(Said(target, by_hand), _stated(record, layers))
    sources = {part: _without_doubt(found[f"{part}_price"]) for part in PARTS}
    return Price(
        prices=prices,
        source=_source(said, prices, sources),
        approximate=any(not origin.exact for origin in sources.values()),
        sources=sources,
    )


def request_cost_usd(price: Price, *, input_tokens: int, output_tokens: int, scaled: bool = True) -> float | None:
    """What a request would cost with its whole prompt fresh, in USD; `None` where input or output have no price (section 9).

    That is careful where a prompt is cached, and so for money that is held back. `scaled` off leaves the coefficient out, as
    reservations do (section 8.1). A longer prompt pays its tier's prices.
    """
    prices = prices_at(price.prices, input_tokens)
    if prices.input is None or prices.output is None:
        return None
    cost = (input_tokens * prices.input + output_tokens * prices.output) / _MILLION
    return cost * price.coefficient if scaled else cost


def price_label(price: Price) -> str | None:
    """`price $1.25/$10 per 1M (litellm)`, with the coefficient where it is not 1; `None` where there is no price."""
    if not price.known:
        return None
    scale = f" ×{_short(price.coefficient)}" if price.coefficient != 1 else ""
    doubt = ", approximate" if price.approximate else ""
    shown = f"${_short(price.prices.input or 0)}/${_short(price.prices.output or 0)}"
    return f"price {shown} per 1M ({price.source}{scale}{doubt})"


def _stated(prices: Prices, layers: Iterable[Layer]) -> list[Layer]:
    """What catalogues say, without similar models whose prices are far from the record's; then the record itself."""
    record = _record_prices(prices)
    listed = [
        layer
        for layer in in_order(layers)
        if layer.facts.prices is not None and (layer.exact or not _far(layer.facts.prices, record))
    ]
    # Exact sources silence similar ones: a record must not, for the similar ones that are left are near it and newer.
    exact = any(layer.exact for layer in listed) or not listed
    last = Layer(source="provider", facts=ModelFacts(prices=record), exact=exact, matched=RECORD)
    return [*listed, last]


def _record_prices(prices: Prices) -> Prices:
    """The record's prices, of which a zero says nothing: neither that a model is free, nor that caching is (section 12.2d)."""
    return replace(prices, **{part: getattr(prices, part) or None for part in PARTS})


def _far(prices: Prices, record: Prices) -> bool:
    pairs = ((prices.input, record.input), (prices.output, record.output))
    return any(
        one is not None and other is not None and max(one, other) > MOST_APART * min(one, other) for one, other in pairs
    )


def _as_override(said: PriceOverride) -> ModelOverride:
    return ModelOverride(
        input_price=said.input,
        output_price=said.output,
        cache_read_price=said.cache_read,
        cache_write_price=said.cache_write,
    )


def _without_doubt(origin: Provenance) -> Provenance:
    """The origin; a record's word is of the very model, beside whatever it stands."""
    return replace(origin, exact=True) if origin.detail == RECORD else origin


def _source(said: PriceOverride | None, prices: Prices, sources: Mapping[str, Provenance]) -> PriceSource:
    """An override if there is one, even of a coefficient only; else the first catalogue with a part; else the record."""
    if said is not None:
        return "override"
    for origin in sources.values():
        if origin.detail != RECORD and origin.source in ("litellm", "genai-prices", "provider"):
            return origin.source
    return "catalog" if (prices.input or 0) + (prices.output or 0) > 0 else "unknown"


def _coefficient(said: PriceOverride | None, general: float | None) -> float:
    """A model's own coefficient replaces the general one; they do not multiply (section 8.1)."""
    own = said.cost_coefficient if said is not None else None
    chosen = own if own is not None else general
    return max(0.0, chosen) if chosen is not None else 1.0


def _short(number: float) -> str:
    """At most four decimals, and none that say nothing."""
    return f"{number:.4f}".rstrip("0").rstrip(".")
