"""One pass over a session that is a single JSON document, in the memory of its largest event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .decoding import decode_json
from .records import Rows, open_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

EVENTS = "history"
"""The member that holds the events where the document is an object."""

_KEPT = frozenset({"instance_id", "metadata", "metrics"})
_PIECE_BYTES = 2**20
_SPACE = " \t\r\n\0"
_BYTE_ORDER_MARK = "\xef\xbb\xbf"
_LONGEST_TOKEN = 16
"""An error this close to the end of the window may be due to a literal, a number or an escape that is cut there."""


class DocumentScan(Rows):
    """The events of a document: an array, or an object that holds one under `history`.

    A document that breaks off or breaks is read up to there. Documents behind the first are only counted.
    """

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        with open_session(self._records.path) as file:
            window = _Window(file, self._report)
            try:
                yield from self._document(window)
                self.further_documents = window.further_lines()
            except EOFError:
                self.truncated_last_line = True
            except ValueError:
                self.malformed_lines += 1
            self._report(window.size, window.size)

    def _document(self, window: _Window) -> Iterator[tuple[int, dict[str, Any]]]:
        if window.peek() == "[":
            yield from self._events(window)
            return
        for key in _keys(window):
            if key == EVENTS and window.peek() == "[":
                yield from self._events(window)
            elif key in _KEPT:
                self.members[key] = decode_json(window.bytes_of(*window.value()))[0]

    def _events(self, window: _Window) -> Iterator[tuple[int, dict[str, Any]]]:
        for _ in window.members("[", "]"):
            start, stop = window.value()
            event, repaired = decode_json(window.bytes_of(start, stop))
            self.repaired_lines += repaired
            if isinstance(event, dict):
                yield self._records.add(start, stop - start), event


def holds_events(path: Path) -> bool:
    """Whether a file is a document of this kind by its form: an array, or an object with an array under `history`."""
    with open_session(path) as file:
        window = _Window(file, lambda done, total: None)
        try:
            return window.peek() == "[" or any(key == EVENTS and window.peek() == "[" for key in _keys(window))
        except (EOFError, ValueError):
            return False


def _keys(window: _Window) -> Iterator[str]:
    """The keys of an object; stops before each value, and passes it when it is asked for the next."""
    for _ in window.members("{", "}"):
        key, _ = decode_json(window.bytes_of(*window.value()))
        window.take(":")
        window.peek()
        start = window.position
        yield key
        if window.position == start:
            window.value()


class _Window:
    """A part of the file from where the reading stands, which grows until the next value fits in it.

    Its text has one character for each byte: what gives a JSON text its form is ASCII, so the bounds of values come out as
    offsets, and the scanner of the standard library finds them at the speed of C.
    """

    _scan = json.JSONDecoder(strict=False).raw_decode

    def __init__(self, file: BinaryIO, report: Callable[[int, int], None]) -> None:
        self.size = file.seek(0, 2)
        file.seek(0)
        self._file = file
        self._report = report
        self._text = ""
        self._start = 0
        self._at = 0
        self._grow()
        self._at = len(_BYTE_ORDER_MARK) if self._text.startswith(_BYTE_ORDER_MARK) else 0

    @property
    def position(self) -> int:
        """The offset where the reading stands."""
        return self._start + self._at

    def peek(self) -> str:
        """The next character that is no space. Raises `EOFError` at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._grow():
                raise EOFError

    def take(self, character: str) -> None:
        """Passes this character. Raises `ValueError` if another stands there."""
        if self.peek() != character:
            raise ValueError(f"expected {character} at byte {self._start + self._at}")
        self._at += 1

    def members(self, opening: str, closing: str) -> Iterator[None]:
        """Stops before each member of an array or object, whose bounds are these; the caller takes the member."""
        self.take(opening)
        if self.peek() == closing:
            self.take(closing)
            return
        while True:
            yield
            if self.peek() == closing:
                self.take(closing)
                return
            self.take(",")

    def value(self) -> tuple[int, int]:
        """Passes a value and returns its offsets. Raises `EOFError` if it breaks off, `ValueError` if it is no JSON."""
        self.peek()
        while True:
            try:
                _, stop = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._may_be_cut(error):
                    raise
            except RecursionError as error:
                raise ValueError("nested too deeply") from error
            else:
                if stop < len(self._text) or not self._grow():
                    break
                continue
            if not self._grow():
                raise EOFError
        start, self._at = self._at, stop
        return self._start + start, self._start + stop

    def bytes_of(self, start: int, stop: int) -> bytes:
        """The bytes of the value that was just passed."""
        return self._text[start - self._start : stop - self._start].encode("latin-1")

    def further_lines(self) -> int:
        """Lines with content behind the document: other documents, for all we know."""
        self._file.seek(self._start + self._at)
        return sum(1 for line in self._file if line.strip())

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or len(self._text) - error.pos < _LONGEST_TOKEN

    def _grow(self) -> bool:
        """Reads on and drops what was passed. A value that does not fit doubles the window, so it is scanned a few
        times at most."""
        piece = self._file.read(max(_PIECE_BYTES, len(self._text) - self._at))
        self._text = self._text[self._at :] + piece.decode("latin-1")
        self._start += self._at
        self._at = 0
        if piece:
            self._report(self._start, self.size)
        return bool(piece)
