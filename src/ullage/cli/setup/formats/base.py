"""What every format can do with one key of a file, as text in and text out."""

from __future__ import annotations

from typing import Any, Protocol

Key = tuple[str, ...]
Value = str | bool
"""What setup can write; only JSON and TOML have truth values."""


class UnfitError(Exception):
    """A file cannot be edited: it is broken, or written in a way that a careful edit cannot follow. `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class Format(Protocol):
    """One configuration format. A value's *source* is its text in the file, so that it can be put back to the letter.

    All methods but `quote` raise `UnfitError`. An empty text is an empty file in every format.
    """

    name: str

    def find(self, text: str, key: Key) -> str | None:
        """The source of the key's value."""
        ...

    def depth(self, text: str, key: Key) -> int:
        """How many leading parts of the key are there."""
        ...

    def put(self, text: str, key: Key, source: str) -> str:
        """The text with the key set to a source."""
        ...

    def remove(self, text: str, key: Key, keep: int) -> str:
        """The text without the key, and without the parents beyond the first `keep` parts if nothing else is in them."""
        ...

    def is_empty(self, text: str) -> bool:
        """Whether nothing is set in a text."""
        ...

    def quote(self, value: Value) -> str:
        """The source that stands for a value."""
        ...

    def value(self, source: str) -> Any:
        """What a source stands for."""
        ...


def shown(value: Any) -> str:
    """A value on a screen: truth values as files write them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def newline_of(text: str) -> str:
    """The line end that a text uses."""
    return "\r\n" if "\r\n" in text else "\n"


def with_line(text: str, line: str) -> str:
    """A text with one more line at its end."""
    newline = newline_of(text)
    return text + ("" if text.endswith("\n") or not text else newline) + line + newline
