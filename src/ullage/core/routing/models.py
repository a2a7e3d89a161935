"""Models as a router knows them, and the file that lists them (routing specification, sections 1 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ullage.core.errors import InputError
from ullage.core.profiles import Prices
from ullage.core.profiles.thinking import THINKING_LEVELS

from .identity import split_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.core.profiles import ModelProfile

Input = Literal["text", "image"]

_TEXT: tuple[Input, ...] = ("text",)
_TEXT_AND_IMAGES: tuple[Input, ...] = ("text", "image")
_MOST_TOKENS = 1_000_000_000
_MOST_USD = 1_000_000.0
_MOST_PROBLEMS = 5  # of a file, told at once


class ModelRecord(Struct, frozen=True, kw_only=True):
    """One model at one provider. Limits are in the provider's tokens, prices in USD per million; `None` is unknown.

    `thinking_levels` maps a level to what the provider calls it; a level that it maps to `None` is not supported. `api` names the
    dialect. `authenticated` says whether there is a credential for the provider.
    """

    provider: str
    id: str
    reasoning: bool | None = None
    inputs: tuple[Input, ...] | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    prices: Prices = Prices()
    thinking_levels: Mapping[str, str | None] | None = None
    api: str | None = None
    authenticated: bool = True

    @property
    def target(self) -> str:
        """`provider/model`."""
        return f"{self.provider}/{self.id}"


class ModelList(Struct, frozen=True, kw_only=True):
    """What a file lists. `warnings` tell of fields that it has and nobody reads."""

    models: tuple[ModelRecord, ...]
    warnings: tuple[str, ...] = ()


def complete_model(model: ModelRecord, profile: ModelProfile) -> ModelRecord:
    """The record with limits and abilities from the profile of its target, where it says nothing of them itself.

    Prices are left to `resolve_price`, which tells where each is from.
    """
    reads = None if profile.images is None else _TEXT_AND_IMAGES if profile.images else _TEXT
    return replace(
        model,
        reasoning=profile.reasoning if model.reasoning is None else model.reasoning,
        inputs=reads if model.inputs is None else model.inputs,
        context_window=profile.context_window if model.context_window is None else model.context_window,
        max_output_tokens=profile.max_output_tokens if model.max_output_tokens is None else model.max_output_tokens,
    )


class _FieldError(Exception):
    """A field that cannot be read: its name, and what it should have been."""


def read_models(data: bytes) -> ModelList:
    """The models of a JSON list of records, in the order of the file; `{"models": [...]}` is read as well.

    Fields may be spelled as here, or as a host writes its registry (`contextWindow`, `maxTokens`, `input`, `cost.cacheRead`,
    `thinkingLevelMap`). A record may have `target` for `provider` and `id`.

    Raises `InputError` with line and field of what cannot be read, up to five problems at once.
    """
    models: dict[str, ModelRecord] = {}
    problems: list[str] = []
    warnings: list[str] = []
    for number, (line, raw) in enumerate(_records(data), start=1):
        place = f"record {number}, line {line}"
        try:
            model, unread = _read_record(raw)
            if model.target in models:
                raise _FieldError(f"`{model.target}` is listed twice")
        except _FieldError as error:
            problems.append(f"{place}: {error}")
            continue
        models[model.target] = model
        warnings += [f"{place} ({model.target}): `{name}` is no field of a model, ignored" for name in unread]
    if problems:
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        message = f"The list of models cannot be used: {'; '.join(problems[:_MOST_PROBLEMS])}{more}."
        raise InputError(message, hint="Correct these fields.", code="bad_models")
    return ModelList(models=tuple(models.values()), warnings=tuple(warnings))


def _records(data: bytes) -> Iterator[tuple[int, Raw]]:
    """Each record as it stands in the file, with the line that it begins on."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    listed: bytes = data
    try:
        if data.lstrip()[:1] == b"{":
            outer = msgspec.json.decode(data, type=dict[str, Raw])
            if "models" not in outer:
                raise _not_a_list('an object without "models"')
            listed = bytes(outer["models"])
        records = msgspec.json.decode(listed, type=list[Raw])
    except msgspec.ValidationError as error:
        raise _not_a_list(str(error)) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"The list of models is not JSON: {_tell_line(data, str(error))}.", code="bad_models"
        ) from error
    position = data.find(listed)
    for raw in records:
        text = bytes(raw)
        position = data.find(text, position)
        yield _line_of(data, position), raw
        position += len(text)


def _not_a_list(found: str) -> InputError:
    return InputError(
        f"A list of models was expected: {found}.",
        hint='Write [{"provider": "anthropic", "id": "claude-opus-5", "context_window": 200000, …}, …].',
        code="bad_models",
    )


def _tell_line(data: bytes, message: str) -> str:
    """The message of the decoder with a line in place of its byte."""
    before, found, rest = message.rpartition(" (byte ")
    if not found:
        return message
    return f"{before}, line {_line_of(data, int(rest.removesuffix(')')))}"


def _line_of(data: bytes, position: int) -> int:
    return 1 + data.count(b"\n", 0, position)


def _read_record(raw: Raw) -> tuple[ModelRecord, list[str]]:
    """A record, and its fields that nobody reads."""
    try:
        record = msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise _FieldError(f"it cannot be read as an object: {error}") from error
    found: dict[str, Any] = {}
    unread = []
    for name, value in record.items():
        field = _FIELDS.get(name)
        if field is None:
            if name not in _PASSED_OVER:
                unread.append(name)
            continue
        if field in found:
            raise _FieldError(f"`{name}` says again what `{field}` says")
        if value is not None:
            found[field] = _READERS[field](name, value)
    provider, model = _name(found.pop("target", None), found.pop("provider", None), found.pop("id", None))
    return ModelRecord(provider=provider, id=model, **found), unread


def _name(target: str | None, provider: str | None, model: str | None) -> tuple[str, str]:
    """Provider and id: each by itself, or as the parts of a target."""
    if target is not None and (provider, model) != (None, None):
        raise _FieldError("`target` stands in place of `provider` and `id`, not beside them")
    if target is None and model is not None and provider is not None:
        if "/" in provider:
            raise _FieldError(f"`provider` has no slash, unlike {provider!r}")
        return provider, model
    whole = target or (model if provider is None else None)
    parts = split_target(whole) if whole is not None else None
    if parts is None:
        raise _FieldError('`provider` and `id` are needed, or `target` as "provider/model"')
    return parts


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _FieldError(f"`{name}` must be a text that is not empty, not {value!r}")
    return value.strip()


def _yes_or_no(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _FieldError(f"`{name}` must be true or false, not {value!r}")
    return value


def _tokens(name: str, value: Any) -> int:
    whole = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1
    if not whole or not 1 <= value <= _MOST_TOKENS:
        raise _FieldError(f"`{name}` must be a whole number of tokens from 1 to {_MOST_TOKENS:,}, not {value!r}")
    return int(value)


def _inputs(name: str, value: Any) -> tuple[Input, ...]:
    if not isinstance(value, list) or not value or any(item not in _TEXT_AND_IMAGES for item in value):
        raise _FieldError(f'`{name}` must be a list of "text" and "image", not {value!r}')
    return tuple(kind for kind in _TEXT_AND_IMAGES if kind in value)


def _prices(name: str, value: Any) -> Prices:
    if not isinstance(value, dict):
        raise _FieldError(f"`{name}` must be an object of prices in USD per million tokens, not {value!r}")
    found: dict[str, Any] = {}
    for part, price in value.items():
        field = _PRICES.get(part)
        if field is None:
            raise _FieldError(f"`{name}.{part}` is no price: there are {', '.join(_PRICE_FIELDS)}")
        if price is None:
            continue
        number = isinstance(price, (int, float)) and not isinstance(price, bool) and isfinite(price)
        if not number or not 0 <= price <= _MOST_USD:
            raise _FieldError(
                f"`{name}.{part}` must be USD per million tokens from 0 to {_MOST_USD:,.0f}, not {price!r}"
            )
        found[field] = float(price)
    return Prices(**found)


def _levels(name: str, value: Any) -> dict[str, str | None]:
    if not isinstance(value, dict):
        raise _FieldError(f"`{name}` must map levels of thinking to names, not {value!r}")
    for level, called in value.items():
        if level not in THINKING_LEVELS:
            raise _FieldError(f"`{name}.{level}` is no level: there are {', '.join(THINKING_LEVELS)}")
        if called is not None and not isinstance(called, str):
            raise _FieldError(f"`{name}.{level}` must be a text, or null where it is not supported, not {called!r}")
    return value


_PRICE_FIELDS = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
_PRICES = {name: name for name in _PRICE_FIELDS} | {
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
    "cacheWrite1h": "cache_write_1h",
}
_SPELLINGS = {
    "target": (),
    "provider": (),
    "id": ("model",),
    "reasoning": (),
    "inputs": ("input",),
    "context_window": ("contextWindow",),
    "max_output_tokens": ("maxOutputTokens", "maxTokens", "max_tokens"),
    "prices": ("cost", "pricing"),
    "thinking_levels": ("thinkingLevels", "thinkingLevelMap"),
    "api": (),
    "authenticated": (),
}
_FIELDS = {name: field for field, others in _SPELLINGS.items() for name in (field, *others)}
_PASSED_OVER = frozenset({"name", "baseUrl", "headers", "compat"})  # of a host's registry: how to call a model
_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "target": _text,
    "provider": _text,
    "id": _text,
    "reasoning": _yes_or_no,
    "inputs": _inputs,
    "context_window": _tokens,
    "max_output_tokens": _tokens,
    "prices": _prices,
    "thinking_levels": _levels,
    "api": _text,
    "authenticated": _yes_or_no,
}
