"""Lines of a fixed width: how wide a text is on a terminal, how it is cut, how it is painted."""

from __future__ import annotations

import unicodedata
from typing import Literal

Paint = Literal["plain", "title", "strong", "dim", "note", "bar"]

_CODES: dict[Paint, str] = {"title": "1;36", "strong": "1", "dim": "2", "note": "33", "bar": "36"}


class Painter:
    """Puts colours on pieces of a line, or leaves them as they are."""

    def __init__(self, *, color: bool) -> None:
        self._color = color

    def __call__(self, text: str, paint: Paint) -> str:
        code = _CODES.get(paint)
        return f"\x1b[{code}m{text}\x1b[0m" if self._color and code and text else text


def width_of(text: str) -> int:
    """Columns that a text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def cut(text: str, columns: int) -> str:
    """The text if it fits, else its beginning with `…` at the end."""
    if width_of(text) <= columns:
        return text
    room = columns - 1
    kept = []
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…" if columns > 0 else ""


def pad(text: str, columns: int) -> str:
    """The text cut or filled up to that many columns."""
    shown = cut(text, columns)
    return shown + " " * (columns - width_of(shown))


def spread(left: str, right: str, columns: int) -> str:
    """Two texts at the ends of a line; two spaces between them at least."""
    return left + " " * max(2, columns - width_of(left) - width_of(right)) + right


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
