"""Where the parts of a request lie in its bytes: found by skipping values, never by decoding them (design 5)."""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Raw

from ullage.core.errors import RequestError

from .conversation import Member
from .jsontext import decode, mask_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")
Span = tuple[int, int]

# Design 5: a body that nests deeper is refused. Readers recurse, so the limit protects them.
DEPTH_LIMIT = 200
# Far beyond any request, and few enough that a body made to fill memory or time with tiny values is refused first.
MEMBERS_LIMIT = 10_000
ELEMENTS_LIMIT = 100_000
VALUES_LIMIT = 2_000_000

_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_ARRAY = msgspec.json.Decoder(list[Raw])
_STRING = msgspec.json.Decoder(str)

_SPACE = b" \t\n\r"
_OPEN = re.compile(rb"[ \t\n\r]*\{[ \t\n\r]*")
_KEY = re.compile(rb'[ \t\n\r]*("[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
_AFTER_VALUE = re.compile(rb"[ \t\n\r]*([,}])")
_SEPARATOR = re.compile(rb"[ \t\n\r]*([,\]])[ \t\n\r]*")
_COMMA = ord(",")
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]|[^"\[\]{},: \t\n\r]+', re.DOTALL)

_NOT_OPENING = bytes(sorted(set(range(256)) - set(b"[{\0")))
_PIECE_BYTES = 65_536


def members(body: bytes, start: int = 0, end: int | None = None) -> tuple[Member, ...]:
    """The members of the object that fills `body[start:end]`, in order, duplicates too. Raises `msgspec.DecodeError`."""
    text = memoryview(body)[start:end]
    values, text = _decode(_OBJECT, text)
    opening = _OPEN.match(text)
    assert opening is not None, "an object was decoded"
    position = opening.end()
    found: list[Member] = []
    while values:
        key, value = _key(text, position)
        close = _value_end(text, value, values[key])
        if len(found) >= MEMBERS_LIMIT:
            raise too_many("members in one object", MEMBERS_LIMIT)
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
    _check_length(values)
    walked = _walk_array(text, 0, values)
    assert walked is not None, "an array was decoded"
    return [(start + begin, start + close) for begin, close in walked[0]]


def members_and_elements(body: bytes, start: int, key: str) -> tuple[tuple[Member, ...], list[Span]] | None:
    """The members of the object from `start` on, and the elements of the array under `key`, looking at its bytes once.

    `None` where that is not straightforward: no such array, its name repeated or written with escapes, lone surrogates, or no
    JSON at all. Then `members` and `elements` tell.
    """
    decoder, opening = _list_reader(key)
    found = opening.search(body, start)
    if found is None:
        return None
    try:
        values = decoder.decode(memoryview(body)[start:]).values
    except msgspec.DecodeError:
        return None
    _check_length(values)
    value = found.end() - 1
    walked = _walk_array(body, value, values)
    if walked is None:
        return None
    spans, close = walked
    # What was found by its name may lie elsewhere than what was decoded: so the bytes are compared, and the rest is read with
    # an empty array in this place. If the name counts there, then these are its elements.
    if not all(body.startswith(bytes(raw), begin) for raw, (begin, _) in zip(values, spans, strict=True)):
        return None
    rest = members(body[:value] + b"[]" + body[close:], start)
    holder = find_member(rest, key)
    if holder is None or holder.value != value:
        return None
    longer = close - holder.end
    return tuple(member if member.end <= value else _stretched(member, value, longer) for member in rest), spans


@cache
def _list_reader(key: str) -> tuple[msgspec.json.Decoder[Any], re.Pattern[bytes]]:
    """A decoder of the one member, and where it may begin."""
    body = msgspec.defstruct("Body", [("values", list[Raw], [])], rename={"values": key})
    return msgspec.json.Decoder(body), re.compile(rb'"' + key.encode() + rb'"[ \t\n\r]*:[ \t\n\r]*\[')


def _walk_array(text: bytes | memoryview, start: int, values: list[Raw]) -> tuple[list[Span], int] | None:
    """The spans of values of these lengths in the array that begins at `start`, and its end; `None` if they do not fit it."""
    spans: list[Span] = []
    position = _skip_space(text, start + 1)
    end = len(text)
    array_end = position + 1 if not values and text[position : position + 1] == b"]" else None
    for value in values:
        close = position + len(value)
        spans.append((position, close))
        if close + 1 < end and text[close] == _COMMA and text[close + 1] not in _SPACE:
            position = close + 1
            continue
        separator = _SEPARATOR.match(text, close)
        if separator is None or array_end is not None:
            return None
        if separator[1] == b"]":
            array_end = separator.end(1)
        position = separator.end()
    return (spans, array_end) if array_end is not None else None


def _stretched(member: Member, value: int, longer: int) -> Member:
    """A member at or behind the array at `value`, once the array is as long as it was."""
    moved = 0 if member.value == value else longer
    return Member(key=member.key, start=member.start + moved, value=member.value + moved, end=member.end + longer)


def _check_length(values: list[Raw]) -> None:
    if len(values) > ELEMENTS_LIMIT:
        raise too_many("elements in one list", ELEMENTS_LIMIT)


def too_many(what: str, limit: int) -> RequestError:
    """The refusal of a body that holds too many of something."""
    return RequestError(
        f"The request body has more than {limit:,} {what}.",
        hint="Send long lists of values as text.",
        code="too_many",
    )


def check_values(body: bytes) -> None:
    """Raises `RequestError` if the body has more values than a request could have. Commas inside strings separate none."""
    suspicious = len(body) > 2 * VALUES_LIMIT and body.count(b",") > VALUES_LIMIT
    if suspicious and _STRINGS.sub(b"", body).count(b",") > VALUES_LIMIT:
        raise too_many("values", VALUES_LIMIT)


def check_utf8(body: bytes) -> None:
    """Raises `UnicodeDecodeError` if a byte is not UTF-8 (also for surrogates written as three bytes)."""
    if body.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(body), _PIECE_BYTES):
        decoder.decode(body[start : start + _PIECE_BYTES])
    decoder.decode(b"", final=True)


def nests_deeper(texts: Iterable[bytes], limit: int) -> bool:
    """Whether one of the JSON texts nests deeper than `limit`.

    Most are settled by counting opening brackets, many texts at a time: too few of them cannot nest too deep.
    """
    return any(
        len(openings) > limit and _value_nests_deeper(text, limit)
        for batch in _batches(texts)
        for text, openings in zip(batch, _openings(batch), strict=True)
    )


def _batches(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size > _PIECE_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _openings(texts: list[bytes]) -> list[bytes]:
    """The opening brackets of each text, those inside strings too. A NUL cannot stand in JSON, so it may stand between texts."""
    return b"\0".join(texts).translate(None, _NOT_OPENING).split(b"\0")


def _value_nests_deeper(text: bytes, limit: int) -> bool:
    value = decode(text)
    # A container that was skipped but cannot be decoded is one that recursion gave up on.
    return _depth(value) > limit or (isinstance(value, str) and not text.startswith(b'"'))


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
    for token in TOKEN.finditer(text, start):
        first = token[0][:1]
        if first in (b"[", b"{"):
            depth += 1
        elif first in (b"]", b"}"):
            depth -= 1
        if depth == 0:
            return token.end()
    raise AssertionError("an object was decoded")


def _skip_space(text: bytes | memoryview, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position
