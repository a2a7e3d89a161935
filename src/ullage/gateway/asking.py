"""What control routes share: numbers and words of a query, and bodies that are JSON objects of a known shape."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from ullage.core.errors import CallError

Query = dict[str, str]

_USUAL_LIMIT, _MOST = 50, 1000
_DIGITS = 10


def now_ms() -> int:
    """The clock of the control routes, epoch milliseconds."""
    return int(time.time() * 1000)


def limit_of(query: Query) -> int:
    """At most so many; what is no number is as none."""
    found = _whole_number(query.get("limit", ""))
    return min(_USUAL_LIMIT if found is None else found, _MOST)


def number_of(query: Query, name: str, usual: int) -> int:
    """Raises `CallError` for what is no whole number from 0 on."""
    if name not in query:
        return usual
    found = _whole_number(query[name])
    if found is None:
        raise CallError(
            f"{name} is {query[name][:40]!r}, a whole number from 0 on is expected",
            hint=f"Leave it out for {usual}.",
            code="bad_number",
        )
    return found


def _whole_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _DIGITS else None


def decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Raises `CallError` for a body of another shape."""
    try:
        return decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise CallError(
            f"the body is not what this route takes: {error}",
            hint="GET /ullage/v1/openapi.json has the shapes.",
            code="bad_body",
        ) from error
