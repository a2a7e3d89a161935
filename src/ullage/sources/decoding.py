"""Decoding JSON that other programs wrote: fast and strict where it is sound, lenient where it is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec

from ullage.core.wire.jsontext import mask_surrogates

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PADDING = b"\0 \t\r\n"
_LENIENT = json.JSONDecoder(strict=False)
_SECONDS_END = 100_000_000_000
"""Numbers below are seconds, above milliseconds: as seconds it is the year 5138, as milliseconds March 1973."""


def content_of(line: bytes) -> bytes:
    """A line without what may surround its JSON: a byte-order mark, white space, and NUL bytes that a crash left."""
    return line.removeprefix(_BYTE_ORDER_MARK).strip(_PADDING)


def decode_json(data: bytes) -> tuple[Any, bool]:
    """The value of a JSON text, and whether it had to be read leniently. Raises `ValueError` if it is no JSON at all.

    msgspec refuses what session files do hold: lone surrogate escapes, raw control characters, bytes that are no UTF-8
    and numbers beyond all floats. Such a text goes through the standard library, with U+FFFD for a lone surrogate (accounting
    specification, section 24) and for a byte that is no UTF-8.
    """
    data = content_of(data)
    try:
        return msgspec.json.decode(data), False
    except msgspec.MsgspecError:
        return _LENIENT.decode(mask_surrogates(data).decode("utf-8", "replace")), True
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def decode_object(data: bytes) -> dict[str, Any]:
    """The object that a JSON text holds, empty if it holds something else. Raises `ValueError` if it is no JSON."""
    return mapping(decode_json(data)[0])


def mapping(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def string(value: object) -> str | None:
    """The value if it is a string with content, else `None`."""
    return value if isinstance(value, str) and value else None


def whole(value: object) -> int | None:
    """The value as a count of something, `None` unless it is a number of zero or more."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return int(value)


def epoch_ms(value: object) -> int | None:
    """A time as clients write it (ISO 8601, or a number of seconds or milliseconds) in epoch milliseconds.

    A time without a zone is taken as UTC: OpenHands writes such, and no file says better.
    """
    number = whole(value)
    if number is not None:
        return number if number >= _SECONDS_END else number * 1000
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
