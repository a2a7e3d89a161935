"""What control routes share: numbers and words of a query, and bodies that are JSON objects of a known shape."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from ullage.core.errors import CallError

Query = dict[str, str]

_USUAL_LIMIT, _MOST = 50, 1000


def now_ms() -> int:
    """The clock of the control routes, epoch milliseconds."""
    return int(time.time() * 1000)


def limit_of(query: Query) -> int:
    """At most so many; what is no number is as none."""
    return min(number_of(query, "limit", _USUAL_LIMIT), _MOST)


def number_of(query: Query, name: str, usual: int) -> int:
    text = query.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else usual


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
