"""Which texts of a piece of JSON may hold a marker or a secret, found without reading the others.

Everything that is looked for holds a few fixed letters, and JSON can write a letter in one other way only, as an escape. So one
pass over the bytes, for those letters and for escapes of printable ones, finds every text that has to be read.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick

from ullage.core.wire.jsontext import decode

from . import markers
from .rules import is_secret_name
from .secrets import secret_anchors

if TYPE_CHECKING:
    from collections.abc import Iterator

# `\u0020` to `\u007e`: every printable letter of ASCII.
_ESCAPES = tuple(rb"\u00%d" % digit for digit in range(2, 8))
_ESCAPED_SLASHES = rb":\/\/"
_ESCAPED_LETTER = re.compile(r"\\++u00([2-7][0-9a-fA-F])")  # in texts inside of texts, backslashes double
_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NAME_BEFORE = re.compile(rb'"((?:[^"\\]|\\.){1,80})"[ \t\n\r]*:[ \t\n\r]*\Z', re.DOTALL)
_NAME_REACH_BYTES = 256
_COLON = re.compile(rb"[ \t\n\r]*:")
_VALUE_AFTER_NAME = re.compile(rb'[ \t\n\r]*:[ \t\n\r]*("[^"\\]*+(?:\\.[^"\\]*+)*+"|-?[0-9][0-9.eE+-]*)', re.DOTALL)
# What stands in no string is no JSON, and judged by its neighbourhood.
_REACH_BYTES = 1024


class Suspect(NamedTuple):
    """A text that has to be read. `name` is that of the member whose value it is; `is_name` if it is one itself."""

    start: int
    end: int
    text: str
    name: str
    is_name: bool


def find_suspects(body: bytes, *, secrets: bool, start: int = 0) -> Iterator[Suspect]:
    """The texts from `start` on that hold what markers, and with `secrets` credentials, cannot do without."""
    search = _search(secrets)
    done = 0
    for anchor, first, last in search.automaton.find_matches_as_indexes(body[start:].lower(), overlapping=True):
        if start + first < done or not search.is_sign(anchor, body, start + first):
            continue
        suspect = _around(body, start + first, start + last)
        done = suspect.end
        yield suspect
        if secrets and suspect.is_name and is_secret_name(suspect.text):
            value = _value_after(body, suspect)
            if value is not None:
                done = value.end
                yield value


def readings(text: str) -> tuple[str, ...]:
    """The text, and the text as whoever reads escapes would read it."""
    plain = _ESCAPED_LETTER.sub(lambda found: chr(int(found[1], 16)), text) if "\\u00" in text else text
    return (text,) if plain == text else (text, plain)


class _Search(NamedTuple):
    """All anchors, and what must stand there if one is to count; nothing for one that always does."""

    automaton: BytesAhoCorasick
    signs: tuple[tuple[re.Pattern[bytes], ...], ...]

    def is_sign(self, anchor: int, body: bytes, position: int) -> bool:
        signs = self.signs[anchor]
        return not signs or any(sign.match(body, position) is not None for sign in signs)


@cache
def _search(secrets: bool) -> _Search:
    anchors: dict[bytes, tuple[re.Pattern[bytes], ...]] = dict.fromkeys((*markers.ANCHORS, *_ESCAPES), ())
    if secrets:
        anchors[_ESCAPED_SLASHES] = ()
        for anchor, rules in secret_anchors().items():
            signs = tuple(rule.sign for rule in rules if rule.sign is not None)
            anchors[anchor] = signs if len(signs) == len(rules) else ()
    return _Search(BytesAhoCorasick(tuple(anchors)), tuple(anchors.values()))


def _around(body: bytes, first: int, last: int) -> Suspect:
    """The string around a hit; where there is none, its neighbourhood as it is."""
    opening = _opening_quote(body, first)
    closing = _REST_OF_STRING.match(body, opening + 1) if opening >= 0 else None
    if closing is None or closing.end() <= first:
        begin, end = max(0, first - _REACH_BYTES), min(len(body), last + _REACH_BYTES)
        return Suspect(begin, end, body[begin:end].decode("utf-8", "replace"), "", False)
    end = closing.end()
    is_name = _COLON.match(body, end) is not None
    before = _NAME_BEFORE.search(body, max(0, opening - _NAME_REACH_BYTES), opening) if not is_name else None
    name = decode(b'"' + before[1] + b'"') if before is not None else ""
    return Suspect(opening, end, decode(body[opening:end]), name, is_name)


def _value_after(body: bytes, name: Suspect) -> Suspect | None:
    """The text or the number that a name is given, if it is one."""
    found = _VALUE_AFTER_NAME.match(body, name.end)
    if found is None:
        return None
    text = decode(found[1]) if found[1].startswith(b'"') else found[1].decode()
    return Suspect(found.start(1), found.end(1), text, name.text, False)


def _opening_quote(body: bytes, position: int) -> int:
    """The quote that opens the string around a position; -1 without one. Quotes inside the string are escaped."""
    quote = body.rfind(b'"', 0, position)
    while quote > 0 and _is_escaped(body, quote):
        quote = body.rfind(b'"', 0, quote)
    return quote


def _is_escaped(body: bytes, position: int) -> bool:
    before = position
    while before > 0 and body[before - 1] == _BACKSLASH:
        before -= 1
    return (position - before) % 2 == 1


_BACKSLASH = ord("\\")
