"""Server-sent events and the pieces that streamed answers are made of."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import msgspec
import xxhash

if TYPE_CHECKING:
    from collections.abc import Iterator

encode = msgspec.json.Encoder().encode


def event(data: Any, name: str | None = None) -> bytes:
    """One server-sent event with JSON data, named where the dialect names its events."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + encode(data) + b"\n\n"


def fragments(text: str, size_chars: int) -> Iterator[str]:
    """The text in deltas of `size_chars` code points."""
    for start in range(0, len(text), size_chars):
        yield text[start : start + size_chars]


def seal(text: str) -> str:
    """An opaque token that stands for hidden reasoning: a signature or encrypted content. The same text gives the same token."""
    return base64.b64encode(xxhash.xxh3_128_digest(text.encode("utf-8", "replace")) * 12).decode()
