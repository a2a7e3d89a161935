"""JSON files edited in place: order, indentation and every other value keep their bytes."""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from .base import Key, UnfitError, Value, newline_of

if TYPE_CHECKING:
    from collections.abc import Sequence

# The standard library's decoder, because it tells where a value ends, which msgspec does not.
DECODER = JSONDecoder()
SPACE = re.compile(r"[ \t\r\n\ufeff]*")

# A string, which is kept, or a comment or trailing comma, which JSON does not have.
EXTRAS = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


class Member(Struct, frozen=True):
    """One member of an object: where its name starts, where its value starts and ends."""

    name: str
    start: int
    value_start: int
    value_end: int


class Object(Struct, frozen=True):
    """An object in a text: the place of its braces (`end` is past the closing one) and its members."""

    start: int
    end: int
    members: tuple[Member, ...]

    def find(self, name: str) -> Member | None:
        """The member of that name; of several the last, as JSON readers do."""
        return next((member for member in reversed(self.members) if member.name == name), None)


class Json:
    """Strict JSON whose top level is an object."""

    name = "json"

    def find(self, text: str, key: Key) -> str | None:
        path = walk(text, key)
        if len(path) < len(key):
            return None
        member = path[-1]
        return text[member.value_start : member.value_end]

    def depth(self, text: str, key: Key) -> int:
        return len(walk(text, key))

    def put(self, text: str, key: Key, source: str) -> str:
        text = "{}\n" if blank(text) else text
        path = walk(text, key)
        if len(path) == len(key):
            return text[: path[-1].value_start] + source + text[path[-1].value_end :]
        parent = top(text) if not path else object_at(text, path[-1].value_start, key[: len(path)])
        return insert(text, parent, key[len(path) :], source, depth=len(path) + 1)

    def remove(self, text: str, key: Key, keep: int) -> str:
        for length in range(len(key), keep, -1):
            path = walk(text, key[:length])
            if len(path) < length:
                break
            parent = object_at(text, path[-2].value_start, key) if length > 1 else top(text)
            text = cut(text, parent, path[-1])
            if len(parent.members) > 1:
                break
        return text

    def is_empty(self, text: str) -> bool:
        return blank(text) or not top(text).members

    def quote(self, value: Value) -> str:
        return quote(value)

    def value(self, source: str) -> Any:
        return msgspec.json.decode(source)


def blank(text: str) -> bool:
    return skip(text, 0) == len(text)


def walk(text: str, key: Key) -> list[Member]:
    """The members along a key, as far as they are there."""
    path: list[Member] = []
    if blank(text):
        return path
    here = top(text)
    for part in key:
        member = here.find(part)
        if member is None:
            break
        path.append(member)
        if len(path) < len(key):
            here = object_at(text, member.value_start, key[: len(path)])
    return path


def top(text: str) -> Object:
    """The object that is the whole text."""
    found = object_at(text, skip(text, 0), ())
    if skip(text, found.end) != len(text):
        raise unfit(text, found.end)
    return found


def object_at(text: str, start: int, key: Sequence[str]) -> Object:
    """The object whose opening brace is at `start`; `key` names it in the error if there is something else."""
    if text[start : start + 1] != "{":
        decode(text, start)  # says so if it is nothing at all
        raise UnfitError(f"{'.'.join(key) or 'the file'} is not an object", line_of(text, start))
    members: list[Member] = []
    at = skip(text, start + 1)
    while text[at : at + 1] != "}":
        if members:
            at = skip(text, expect(text, at, ","))
        name, name_end = decode(text, at)
        value_start = skip(text, expect(text, skip(text, name_end), ":"))
        _, value_end = decode(text, value_start)
        members.append(Member(name=str(name), start=at, value_start=value_start, value_end=value_end))
        at = skip(text, value_end)
    return Object(start=start, end=at + 1, members=tuple(members))


def insert(text: str, parent: Object, names: Key, source: str, *, depth: int) -> str:
    """A new last member of an object, nested where `names` has more than one part. `depth` is that of the member."""
    inline = bool(parent.members) and "\n" not in text[parent.start : parent.end]

    def gap(level: int) -> str:
        return "" if inline else newline_of(text) + indent_of(text) * level

    for level in range(len(names) - 1, 0, -1):
        source = f"{{{gap(depth + level)}{quote(names[level])}: {source}{gap(depth + level - 1)}}}"
    member = f"{quote(names[0])}: {source}"
    if not parent.members:
        return f"{text[: parent.start]}{{{gap(depth)}{member}{gap(depth - 1)}}}{text[parent.end :]}"
    last = parent.members[-1].value_end
    return f"{text[:last]},{gap(depth) or ' '}{member}{text[last:]}"


def cut(text: str, parent: Object, member: Member) -> str:
    """The text without one member of an object."""
    place = parent.members.index(member)
    if len(parent.members) == 1:
        return text[: parent.start] + "{}" + text[parent.end :]
    if place + 1 < len(parent.members):
        return text[: member.start] + text[parent.members[place + 1].start :]
    return text[: parent.members[place - 1].value_end] + text[member.value_end :]


def quote(value: Value) -> str:
    return msgspec.json.encode(value).decode()


def indent_of(text: str) -> str:
    """One level of indentation as the text has it; two spaces where nothing tells."""
    found = re.search(r"\{\r?\n([ \t]+)\"", text)
    return found[1] if found else "  "


def skip(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


def expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise unfit(text, at)
    return at + 1


def decode(text: str, at: int) -> tuple[Any, int]:
    """The value that starts at `at`, and where it ends."""
    try:
        return DECODER.raw_decode(text, at)
    except JSONDecodeError as error:
        raise unfit(text, error.pos) from error
    except RecursionError as error:
        raise unfit(text, at) from error


def unfit(text: str, at: int) -> UnfitError:
    """Why a text that cannot be read at `at` cannot be edited: broken, or only not strict."""
    strict = EXTRAS.sub(lambda found: found[1] or "", text)
    try:
        msgspec.json.decode(strict.strip("\ufeff"))
    except (msgspec.DecodeError, RecursionError):
        return UnfitError("is not valid JSON", line_of(text, at))
    return UnfitError("has comments or trailing commas, which an edit could not keep", line_of(text, at))


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
