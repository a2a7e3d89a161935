"""Request bodies as clients send them: perhaps compressed, perhaps with a mark at the front, perhaps odd but valid JSON."""

from __future__ import annotations

import json
import zlib
from typing import Any

import msgspec
from msgspec import Struct

_BOM = b"\xef\xbb\xbf"


class StreamOptions(Struct, frozen=True):
    """The option that decides whether a streamed Chat answer ends with its usage."""

    include_usage: bool = False


class Head(Struct, frozen=True):
    """The few keys of a body that decide the form of its answer."""

    model: str = ""
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()


_decode_head = msgspec.json.Decoder(Head).decode


def decode_head(body: bytes) -> Head:
    """The head of a body; an empty one if the body is no such object."""
    try:
        return _decode_head(body)
    except msgspec.MsgspecError:
        return Head()


def decode_body(body: bytes, encoding: str | None = None) -> dict[str, Any]:
    """The JSON object in a request body. Raises `ValueError` if there is none."""
    if encoding in ("gzip", "deflate"):
        # 32 above the window size lets zlib find out by itself which of the two it is.
        body = _decompress(body)
    body = body.removeprefix(_BOM)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _decode_leniently(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _decompress(body: bytes) -> bytes:
    try:
        return zlib.decompress(body, wbits=zlib.MAX_WBITS | 32)
    except zlib.error as error:
        raise ValueError(str(error)) from error


def _decode_leniently(body: bytes) -> Any:
    """Lone surrogates and numbers beyond 64 bits are valid JSON that msgspec refuses."""
    try:
        return _without_surrogates(json.loads(body))  # noqa: TID251 - what msgspec refuses
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
