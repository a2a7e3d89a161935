"""The JSON text that stands for a value wherever a provider or a formula counts JSON: minified, non-ASCII kept."""

from __future__ import annotations

from typing import Any

import msgspec

from .surrogates import replace_lone_surrogates


def compact_json(value: object) -> str:
    """Minified JSON in insertion order (`J(x)` of the accounting specification). Lone surrogates become U+FFFD."""
    return _encode(value, sort_keys=False)


def stable_json(value: object) -> str:
    """Minified JSON with object keys sorted at every depth (planner specification, conventions)."""
    return _encode(value, sort_keys=True)


def _encode(value: object, *, sort_keys: bool) -> str:
    order: Any = "sorted" if sort_keys else None
    try:
        return msgspec.json.encode(value, order=order).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_mended(value), order=order).decode()


def _mended(value: object) -> object:
    match value:
        case str():
            return replace_lone_surrogates(value)
        case dict():
            return {_mended(key): _mended(member) for key, member in value.items()}
        case list() | tuple():
            return [_mended(member) for member in value]
        case _:
            return value
