"""Where the parts of a request lie in its bytes: found by skipping values, never by decoding them (design 5)."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Raw

from .conversation import Member
from .jsontext import decode, mask_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")
Span = tuple[int, int]

# Design 5: a body that nests deeper is refused. Readers recurse, so the limit protects them.
DEPTH_LIMIT = 200

_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_ARRAY = msgspec.json.Decoder(list[Raw])
_STRING = msgspec.json.Decoder(str)

_SPACE = b" \t\n\r"
_OPEN = re.compile(rb"[ \t\n\r]*\{[ \t\n\r]*")
_KEY = re.compile(rb'[ \t\n\r]*("[^"\\]*(?:\\.[^"\\]*)*")[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
_AFTER_VALUE = re.compile(rb"[ \t\n\r]*([,}])")
_SEPARATOR = re.compile(rb"[ \t\n\r]*,?[ \t\n\r]*")
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^"\[\]{},: \t\n\r]+', re.DOTALL)

_NOT_OPENING = bytes(sorted(set(range(256)) - set(b"[{")))
_PIECE_BYTES = 65_536
_DEPTH_WINDOW_BYTES = 8_192


def members(body: bytes, start: int = 0, end: int | None = None) -> tuple[Member, ...]:
    """The members of the object that fills `body[start:end]`, in order, duplicates too. Raises `msgspec.DecodeError`."""
    text = memoryview(body)[start:end]
    values, text = _decode(_OBJECT, text)
    opening = _OPEN.match(text)
    assert opening is not None, "an object was decoded"
    position = opening.end()
    found = []
    while values:
        key, value = _key(text, position)
        close = _value_end(text, value, values[key])
        found.append(Member(key=key, start=start + position, value=start + value, end=start + close))
        after = _AFTER_VALUE.match(text, close)
        assert after is not None, "an object was decoded"
        if after[1] == b"}":
            break
        position = _skip_space(text, after.end())
    return tuple(found)


def find_member(found: Sequence[Member], key: str) -> Member | None:
    """The member that counts: the last one of that name."""
    return next((member for member in reversed(found) if member.key == key), None)


def elements(body: bytes, start: int, end: int) -> list[Span]:
    """The spans of the elements of the array that fills `body[start:end]`. Raises `msgspec.DecodeError`."""
    values, text = _decode(_ARRAY, memoryview(body)[start:end])
    spans = []
    position = _skip_space(text, 1)
    last = len(text) - 1
    for value in values:
        close = position + len(value)
        spans.append((start + position, start + close))
        position = close + 1
        if position <= last and (text[close] in _SPACE or text[position] in _SPACE):
            position = _skip_separator(text, close)
    return spans


def check_utf8(body: bytes) -> None:
    """Raises `UnicodeDecodeError` if a byte is not UTF-8 (also for surrogates written as three bytes)."""
    if body.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(body), _PIECE_BYTES):
        decoder.decode(body[start : start + _PIECE_BYTES])
    decoder.decode(b"", final=True)


def nests_deeper(body: bytes, spans: Sequence[Span], limit: int) -> bool:
    """Whether a value among the spans (in order, apart from each other) nests deeper than `limit`.

    Most requests are settled by counting opening brackets a few kilobytes at a time: too few of them cannot nest too deep.
    """
    for window in _windows(spans):
        if _openings(body[window[0][0] : window[-1][1]]) > limit and any(
            _value_nests_deeper(body[start:end], limit) for start, end in window
        ):
            return True
    return False


def _value_nests_deeper(text: bytes, limit: int) -> bool:
    if _openings(text) <= limit:
        return False
    value = decode(text)
    # A container that was skipped but cannot be decoded is one that recursion gave up on.
    return _depth(value) > limit or (isinstance(value, str) and not text.startswith(b'"'))


def _windows(spans: Sequence[Span]) -> Iterator[Sequence[Span]]:
    """Neighbours among the spans whose whole extent is small; a span longer than that stands alone."""
    first = 0
    for index, (_, end) in enumerate(spans):
        if index > first and end - spans[first][0] > _DEPTH_WINDOW_BYTES:
            yield spans[first:index]
            first = index
    if first < len(spans):
        yield spans[first:]


def _openings(text: bytes) -> int:
    return len(text.translate(None, _NOT_OPENING))


def _depth(value: Any) -> int:
    depth = 0
    level = [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return depth


def _decode(decoder: msgspec.json.Decoder[T], text: memoryview) -> tuple[T, memoryview]:
    """The value, and the text it was read from: as long as the one given, with lone surrogates masked if need be."""
    try:
        return decoder.decode(text), text
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        masked = mask_surrogates(bytes(text))
        if masked == text:
            raise
        return decoder.decode(masked), memoryview(masked)


def _key(text: memoryview, position: int) -> tuple[str, int]:
    match = _KEY.match(text, position)
    assert match is not None, "an object was decoded"
    return _STRING.decode(match[1]), match.end()


def _value_end(text: memoryview, start: int, expected: Raw) -> int:
    """Where the value at `start` ends: where the decoded one would, unless an earlier member of the same name stands here."""
    end = start + len(expected)
    if _AFTER_VALUE.match(text, end) and _equal(text[start:end], memoryview(expected)):
        return end
    return _walk_value(text, start)


def _equal(left: memoryview, right: memoryview) -> bool:
    """Piece by piece: a comparison of views goes byte by byte, and copies of megabytes cost more than the comparison."""
    return len(left) == len(right) and all(
        left[start : start + _PIECE_BYTES].tobytes() == right[start : start + _PIECE_BYTES].tobytes()
        for start in range(0, len(left), _PIECE_BYTES)
    )


def _walk_value(text: memoryview, start: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        first = token[0][:1]
        if first in (b"[", b"{"):
            depth += 1
        elif first in (b"]", b"}"):
            depth -= 1
        if depth == 0:
            return token.end()
    raise AssertionError("an object was decoded")


def _skip_space(text: memoryview, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _skip_separator(text: memoryview, position: int) -> int:
    match = _SEPARATOR.match(text, position)
    assert match is not None
    return match.end()
