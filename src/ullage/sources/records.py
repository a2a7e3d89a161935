"""Where each record of a session file lies, so that a text is read when it is asked for and not kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from typing import TYPE_CHECKING, Any

from ullage.core.errors import SessionError

from .decoding import content_of, decode_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

MAX_LINE_BYTES = 256 * 2**20
"""A longer line is no entry of a session; it is skipped without being held. Ours: four of the largest request bodies."""

_TOO_LONG = b"(too long)\n"
_PROGRESS_EVERY_BYTES = 2**20


class Records:
    """The records of one file by number. Two numbers each, so that an index of a million lines takes 16 MB."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets = array("q")
        self._lengths = array("q")

    def add(self, offset: int, length: int) -> int:
        """Notes a record and returns its number."""
        self._offsets.append(offset)
        self._lengths.append(length)
        return len(self._offsets) - 1

    def read(self, groups: Iterable[Sequence[int]]) -> Iterator[list[bytes]]:
        """The records of each group of numbers, in the order asked for. Raises `SessionError` if the file no longer
        holds them."""
        with open_session(self.path) as file:
            for numbers in groups:
                yield [self._read(file, number) for number in numbers]

    def _read(self, file: BinaryIO, number: int) -> bytes:
        file.seek(self._offsets[number])
        data = file.read(self._lengths[number])
        if len(data) < self._lengths[number]:
            raise changed(self.path)
        return data


def open_session(path: Path) -> BinaryIO:
    """Opens a file for reading bytes. Raises `SessionError` where the system does not let us."""
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> SessionError:
    """The error of a file that the system does not let us read, or of something that is no file."""
    return SessionError(
        f"{path} cannot be read: {error.strerror or error}.",
        hint="Give the path of one session file that is yours to read.",
        code="unreadable_session",
    )


def changed(path: Path) -> SessionError:
    """The error of a file that was shortened or replaced after it was indexed."""
    return SessionError(
        f"{path} has changed since it was read.", hint="Read the session again.", code="session_changed"
    )


class Rows(ABC):
    """One pass over a file: yields the number and content of each record, and counts on the way what it could not read.

    `members` are those of a document that stand beside its records, known when the pass is over.
    """

    def __init__(self, records: Records, progress: Callable[[int, int], None] | None = None) -> None:
        self._records = records
        self._progress = progress
        self.members: dict[str, Any] = {}
        self.malformed_lines = 0
        self.repaired_lines = 0
        self.truncated_last_line = False
        self.further_documents = 0

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]: ...

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, max(done, total))


class LineScan(Rows):
    """The lines of a JSON Lines file.

    Lines end at `\\n` and nowhere else; other line separators are legal inside JSON strings. The pass ends where the
    file ended when it began, or with the line that lay there, so a file that grows is read to a definite point; or
    else behind `first_bytes`.
    """

    def __init__(
        self,
        records: Records,
        progress: Callable[[int, int], None] | None = None,
        *,
        first_bytes: int | None = None,
    ) -> None:
        super().__init__(records, progress)
        self._first_bytes = first_bytes

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        with open_session(self._records.path) as file:
            size = file.seek(0, 2)
            if self._first_bytes is not None:
                size = min(size, self._first_bytes)
            file.seek(0)
            reported = 0
            for start, stop, line in _lines(file):
                if stop - reported >= _PROGRESS_EVERY_BYTES:
                    self._report(stop, size)
                    reported = stop
                row = self._decode(line)
                if row is not None:
                    yield self._records.add(start, len(line)), row
                if stop >= size:
                    break
            self._report(size, size)

    def _decode(self, line: bytes) -> dict[str, Any] | None:
        if not content_of(line):
            return None
        try:
            row, repaired = decode_json(line)
        except ValueError:
            row, repaired = None, False
        if isinstance(row, dict):
            self.repaired_lines += repaired
            return row
        if line.endswith(b"\n"):
            self.malformed_lines += 1
        else:
            self.truncated_last_line = True
        return None


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Start, stop and content of each line. One that is too long is passed over, and something that is no JSON stands
    for it."""
    stop = 0
    while line := file.readline(MAX_LINE_BYTES):
        start = stop
        stop += len(line)
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            while rest := file.readline(_PROGRESS_EVERY_BYTES):
                stop += len(rest)
                if rest.endswith(b"\n"):
                    break
            line = _TOO_LONG
        yield start, stop, line
