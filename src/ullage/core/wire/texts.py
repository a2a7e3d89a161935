"""The texts inside a piece of JSON, edited where they stand: every byte of what is not edited stays as it came.

A text that is JSON itself, as the arguments of a call are in two dialects, is edited inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec
from msgspec import Raw, Struct

from .edits import apply
from .jsontext import decode, decode_as
from .slicing import DEPTH_LIMIT, TOKEN, Span, nests_deeper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .edits import Edit

# JSON inside a text inside JSON …: each level escapes what is below, so that real ones have two or three.
_LEVELS = 8
_RAW: msgspec.json.Decoder[Raw] = msgspec.json.Decoder(Raw)


class Place(Struct, frozen=True, gc=False):
    """Where a value stands: the names that lead to it, and how many texts lie around it (elements have their list's path)."""

    path: tuple[str, ...] = ()
    level: int = 0

    @property
    def key(self) -> str:
        """The nearest name; empty for a value that has none."""
        return self.path[-1] if self.path else ""

    def under(self, name: str) -> Place:
        """The place of the member of that name."""
        return Place((*self.path, name), self.level)

    def inside(self) -> Place:
        """The place of what a text holds as JSON."""
        return Place(self.path, self.level + 1)


FLAT = Place(level=_LEVELS)
"""The place to begin at where texts that are JSON are to be edited as the texts they are."""


class Value(Struct, gc=False):
    """One value as a span of its text. `names` are the spans of an object's names, quotes included, `items` what lies inside."""

    kind: Literal["object", "array", "text", "other"]
    start: int
    end: int
    names: list[Span] = []
    items: list[Value] = []

    def member(self, raw: bytes, name: str) -> bytes | None:
        """The bytes of an object's member; `None` without one."""
        for (start, end), item in zip(reversed(self.names), reversed(self.items), strict=False):
            if decode(raw[start:end]) == name:
                return raw[item.start : item.end]
        return None


class Editor(Protocol):
    """What `rewrite` asks. Whoever returns what was given changes nothing."""

    def whole(self, place: Place, raw: bytes, value: Value) -> bytes | None:
        """JSON in place of a value of any kind; `None` to go on inside of it. `raw` is the text that `value` is a span of."""

    def text(self, place: Place, text: str) -> str:
        """The text in place of one that is not JSON itself."""

    def name(self, place: Place, name: str) -> str:
        """The name in place of an object's member's. `place` is the object's."""


def rewrite(raw: bytes, editor: Editor, place: Place = Place()) -> bytes:  # noqa: B008 - immutable
    """The JSON with the editor's changes. Names that would collide get a number. `raw` is known to be JSON."""
    edits = find_edits(raw, editor, place)
    return apply(raw, edits) if edits else raw


def find_edits(raw: bytes, editor: Editor, place: Place = Place()) -> list[Edit]:  # noqa: B008 - immutable
    """The changes that `rewrite` makes."""
    return list(_edits(raw, read_value(raw), place, editor))


def read_value(raw: bytes) -> Value:
    """The outermost value with all that lies in it, as spans."""
    root = Value("array", 0, len(raw))
    open_: list[Value] = [root]
    named = False
    for token in TOKEN.finditer(raw):
        start, end = token.span()
        first = raw[start : start + 1]
        holder = open_[-1]
        if first in (b"]", b"}"):
            open_.pop().end = end
            named = False
        elif holder.kind == "object" and not named:
            holder.names.append((start, end))
            named = True
        else:
            named = False
            value = Value(_KINDS.get(first, "other"), start, end, [], [])
            holder.items.append(value)
            if value.kind in ("object", "array"):
                open_.append(value)
    return root.items[0]


_KINDS: dict[bytes, Literal["object", "array", "text"]] = {b"{": "object", b"[": "array", b'"': "text"}


def _edits(raw: bytes, value: Value, place: Place, editor: Editor) -> Iterator[Edit]:
    whole = editor.whole(place, raw, value)
    if whole is not None:
        if whole != raw[value.start : value.end]:
            yield value.start, value.end, whole
    elif value.kind == "text":
        yield from _text_edits(raw, value, place, editor)
    elif value.kind == "object":
        yield from _member_edits(raw, value, place, editor)
    else:
        for item in value.items:
            yield from _edits(raw, item, place, editor)


def _text_edits(raw: bytes, value: Value, place: Place, editor: Editor) -> Iterator[Edit]:
    text = decode(raw[value.start : value.end])
    inside = _json_of(text, place)
    edited = editor.text(place, text) if inside is None else rewrite(inside, editor, place.inside()).decode()
    if edited != text:
        yield value.start, value.end, msgspec.json.encode(edited)


def _member_edits(raw: bytes, value: Value, place: Place, editor: Editor) -> Iterator[Edit]:
    names = [decode(raw[start:end]) for start, end in value.names]
    taken = set(names)
    for (start, end), name, item in zip(value.names, names, value.items, strict=True):
        renamed = editor.name(place, name)
        if renamed != name:
            unique = _unlike(renamed, taken)
            taken.add(unique)
            yield start, end, msgspec.json.encode(unique)
        yield from _edits(raw, item, place.under(name), editor)


def _unlike(name: str, taken: set[str]) -> str:
    number = 1
    unique = name
    while unique in taken:
        number += 1
        unique = f"{name} {number}"
    return unique


def _json_of(text: str, place: Place) -> bytes | None:
    """The bytes of a text that is an object or a list itself; `None` for any other."""
    if place.level >= _LEVELS or text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return None
    raw = text.encode()
    try:
        decode_as(_RAW, raw)
        return None if nests_deeper([raw], DEPTH_LIMIT) else raw
    except (msgspec.DecodeError, RecursionError):
        return None
