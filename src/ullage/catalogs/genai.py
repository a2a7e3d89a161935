"""The data of genai-prices, distilled: its import costs 30 MB and a fifth of a second, so a short child process does it."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from ullage.core.errors import InputError
from ullage.core.profiles import ModelFacts, Prices, PriceTier

from .files import CatalogueFile, make_file
from .values import a_price, a_token_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PACKAGE: Final = "genai-prices"
"""The package, and the name of this source."""

_PARTS = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
_HOURS = 24


class Distilled(Struct, frozen=True, kw_only=True):
    """The facts by provider and model id; by provider the ids that are priced as another one; and until when prices hold."""

    providers: dict[str, dict[str, ModelFacts]]
    aliases: dict[str, dict[str, str]]
    valid_until_ms: int | None


def find_version() -> str | None:
    """The version of the installed package; `None` without it. Imports nothing of it."""
    from importlib.metadata import PackageNotFoundError, version  # slow to load, and seldom needed

    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return None


def make_genai(now_ms: int) -> CatalogueFile:
    """What the installed package says today, as a file. Raises `InputError` if it is not there or not as it was."""
    found = distil_genai(now_ms)
    return make_file(
        found.providers,
        aliases=found.aliases,
        as_of=find_version() or "",
        checked_ms=now_ms,
        valid_until_ms=found.valid_until_ms,
    )


def distil_genai(now_ms: int) -> Distilled:
    """What the installed package says today. Raises `InputError` if it is not there or not as it was."""
    try:
        from genai_prices.data import providers

        return _distil(providers, datetime.fromtimestamp(now_ms / 1000, tz=UTC))
    except (ImportError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{PACKAGE} cannot be used: {error}.", hint=f"Install {PACKAGE} again.") from error


def _distil(providers: Sequence[Any], moment: datetime) -> Distilled:
    found: dict[str, dict[str, ModelFacts]] = {}
    aliases: dict[str, dict[str, str]] = {}
    for provider in providers:
        rows = {model.id: _facts(model, moment) for model in provider.models if model.is_match(model.id)}
        found[provider.id] = {model: facts for model, facts in rows.items() if facts != ModelFacts()}
        aliases[provider.id] = _aliases(provider.models, found[provider.id])
    starts = [start for start in _starts(providers) if start > moment]
    until = round(min(starts).timestamp() * 1000) if starts else None
    return Distilled(providers=found, aliases=aliases, valid_until_ms=until)


def _facts(model: Any, moment: datetime) -> ModelFacts:
    prices = Prices() if model.prices == [] else _prices(_dearest(model, moment))
    return ModelFacts(context_window=a_token_count(model.context_window), prices=prices if prices != Prices() else None)


def _dearest(model: Any, moment: datetime) -> Any:
    """The prices in force. Where they go by the hour, the dearest: a limit on money must not rest on a cheap night."""
    entries = _entries(model)
    if not any(hasattr(entry.constraint, "start_time") for entry in entries):
        return model.get_prices(moment)
    day = datetime.combine(moment.date(), time(), tzinfo=UTC)
    return max((model.get_prices(day + timedelta(hours=hour)) for hour in range(_HOURS)), key=_input_price)


def _entries(model: Any) -> Sequence[Any]:
    """The prices that hold under a condition each; none where one price always holds."""
    return model.prices if isinstance(model.prices, list) else ()


def _input_price(prices: Any) -> float:
    return _base(prices.input_mtok) or 0.0


def _prices(prices: Any) -> Prices:
    fields = {part: getattr(prices, f"{part}_mtok") for part in _PARTS}
    above: dict[int, dict[str, float]] = {}
    for part, field in fields.items():
        for tier in getattr(field, "tiers", ()):
            price = a_price(float(tier.price), 1)
            if price is not None:
                above.setdefault(tier.start, {})[part] = price
    tiers = tuple(PriceTier(above=start, **above[start]) for start in sorted(above))
    return Prices(**{part: _base(field) for part, field in fields.items()}, tiers=tiers)


def _base(field: Any) -> float | None:
    field = getattr(field, "base", field)
    return None if field is None else a_price(float(field), 1)


def _aliases(models: Iterable[Any], rows: dict[str, ModelFacts]) -> dict[str, str]:
    """Ids that the package files under another one's price, written out in full there; the first model wins, as it does there."""
    aliases: dict[str, str] = {}
    for model in models:
        for name in _spelled(model.match):
            if name not in rows and model.id in rows:
                aliases.setdefault(name, model.id)
    return aliases


def _spelled(clause: Any) -> Iterator[str]:
    equals = getattr(clause, "equals", None)
    if isinstance(equals, str):
        yield equals
    for part in getattr(clause, "or_", ()):
        yield from _spelled(part)


def _starts(providers: Iterable[Any]) -> Iterator[datetime]:
    """When prices change on a day that is known."""
    for provider in providers:
        for model in provider.models:
            for entry in _entries(model):
                day = getattr(entry.constraint, "start_date", None)
                if day is not None:
                    yield datetime.combine(day, time(), tzinfo=UTC)
