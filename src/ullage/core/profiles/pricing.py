"""The prices of a target, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from .choosing import UNKNOWN, Found, Provenance, Said, credit
from .facts import Prices, PriceTier

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from .cache_rules import CacheRule
    from .facts import Layer

PARTS = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
"""The parts of a usage that have a price."""
_CACHE_PARTS = ("cache_read", "cache_write", "cache_write_1h")


def resolve_prices(said: Said, ordered: Sequence[Layer]) -> tuple[Prices, dict[str, Provenance]]:
    """Each price from the first source that has it, and where each comes from (`input_price`, …, `price_tiers`).

    Prices of a similar model are used only if no exact source has any: half of one price list and half of another would be
    nobody's. Tiers stay with the input price they are steps of; a price that an override sets holds for any length. Where it sets
    that of input alone, the cache keeps its part of it: reading is never dearer than it was meant to be.
    """
    stated = [layer for layer in ordered if layer.facts.prices is not None]
    if any(layer.exact for layer in stated):
        stated = [layer for layer in stated if layer.exact]
    found = {part: said.find(f"{part}_price") or _first(part, stated) for part in PARTS}
    found |= _derive_cache(found, stated)
    set_by_hand = [part for part, chosen in found.items() if chosen.origin.source == "override"]
    tiers = _tiers(stated, set_by_hand)
    prices = Prices(tiers=tiers.value, **{part: chosen.value for part, chosen in found.items()})
    origins = {f"{part}_price": chosen.origin for part, chosen in found.items()}
    return prices, origins | {"price_tiers": tiers.origin}


def prices_at(prices: Prices, prompt_tokens: int) -> Prices:
    """The prices of a request whose prompt has so many tokens: those of a tier hold for the whole of it."""
    told: dict[str, float] = {}
    for tier in prices.tiers:
        if prompt_tokens > tier.above:
            told |= {part: price for part in PARTS if (price := getattr(tier, part)) is not None}
    return replace(prices, tiers=(), **told) if prices.tiers else prices


def fill_prices(prices: Prices, rule: CacheRule, *, unknown_read_ratio: float = 1.0) -> Prices:
    """The same with the prices of caching that the list lacks: their usual part of the input price, as `rule` has it.

    Where neither says what reading costs, it is `unknown_read_ratio` of the input price; by default a token costs as much as a
    fresh one, since nobody says that it is cheaper (routing specification, section 12.1). Without an input price there is nothing
    to take a part of.
    """
    read_ratio = unknown_read_ratio if rule.read_ratio is None else rule.read_ratio
    write = _or_part(prices.cache_write, prices.input, rule.write_ratio)
    long = prices.cache_write_1h
    if rule.long_write_ratio is not None:
        long = _or_part(long, prices.input, rule.long_write_ratio)
    return replace(
        prices,
        cache_read=_or_part(prices.cache_read, prices.input, read_ratio),
        cache_write=write,
        cache_write_1h=write if long is None else long,
    )


def unread_price(filled: Prices, rule: CacheRule, *, long: bool) -> float | None:
    """What a token costs that could have been read from the cache and was not, and is held from then on.

    It is a written one where the provider charges for writing, for the `long` time if that was asked for; else it costs what any
    other does.
    """
    if rule.write_ratio == 1.0:
        return filled.input
    return filled.cache_write_1h if long else filled.cache_write


def _or_part(listed: float | None, unit: float | None, ratio: float) -> float | None:
    return unit * ratio if listed is None and unit is not None else listed


def _derive_cache(found: Mapping[str, Found], stated: Sequence[Layer]) -> dict[str, Found]:
    """Prices of the cache that nobody has set, beside an input price that somebody has: the same part of it as before. What has
    no part that is known is not known."""
    by_hand = found["input"]
    if by_hand.origin.source != "override":
        return {}
    listed = _first("input", stated)
    derived: dict[str, Found] = {}
    for part in _CACHE_PARTS:
        value, origin = found[part]
        if value is None or origin.source == "override":
            continue
        if not listed.value:
            derived[part] = UNKNOWN
            continue
        ratio = value / listed.value
        told = f"{by_hand.origin.detail}: {ratio:.4g} of its input_price, as in {origin.source} {origin.detail}"
        derived[part] = Found(by_hand.value * ratio, Provenance(source="override", detail=told, exact=origin.exact))
    return derived


def _first(part: str, stated: Sequence[Layer]) -> Found:
    for layer in stated:
        value = getattr(layer.facts.prices, part)
        if value is not None:
            return Found(value, credit(layer))
    return UNKNOWN


def _tiers(stated: Sequence[Layer], set_by_hand: Collection[str]) -> Found:
    for layer in stated:
        prices = layer.facts.prices
        if prices is not None and prices.input is not None:
            tiers = prices.tiers
            if set_by_hand:
                tiers = tuple(tier for tier in (_without(tier, set_by_hand) for tier in tiers) if _says_anything(tier))
            return Found(tiers, credit(layer))
    return Found((), UNKNOWN.origin)


def _without(tier: PriceTier, parts: Collection[str]) -> PriceTier:
    return replace(tier, **dict.fromkeys(parts))


def _says_anything(tier: PriceTier) -> bool:
    return any(getattr(tier, part) is not None for part in PARTS)
