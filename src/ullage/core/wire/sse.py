"""Server-sent events out of bytes cut anywhere, in time linear in their number (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

from msgspec import Struct

_BOM = b"\xef\xbb\xbf"
# One event of a stream may carry a whole picture; what is longer is dropped and counted, so memory stays bounded.
EVENT_LIMIT_BYTES = 64 * 1024 * 1024


class ServerSentEvent(Struct, frozen=True):
    """One event: its name, if it has one, and its data lines joined by newlines."""

    event: str | None
    data: bytes


class SSEDecoder:
    """Feed it chunks as they come; it gives back the events that they complete.

    Lines end with LF, CR or CRLF. Comments (`: ping`), `id` and `retry` are skipped. Bytes are looked at once: an event that
    comes in many small chunks is not scanned again. `dropped` counts events over the limit.
    """

    def __init__(self, *, limit_bytes: int = EVENT_LIMIT_BYTES) -> None:
        self.dropped = 0
        self._limit = limit_bytes
        self._partial = bytearray()
        self._after_cr = False
        self._first_line = True
        self._name: str | None = None
        # One text that grows, not a list of lines: a million short ones take no more memory than their bytes.
        self._data: bytes | bytearray | None = None
        self._oversize = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that this chunk completes, in order."""
        if not chunk:
            return []
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        events: list[ServerSentEvent] = []
        for line in chunk.splitlines(keepends=True):
            if line.endswith((b"\n", b"\r")):
                self._end_line(line, events)
            else:
                self._keep(line)
        self._after_cr = chunk.endswith(b"\r")
        return events

    def close(self) -> list[ServerSentEvent]:
        """The last event, where the stream ended without the blank line that should close it."""
        events: list[ServerSentEvent] = []
        if self._partial:
            self._end_line(b"\n", events)
        self._dispatch(events)
        return events

    def _keep(self, fragment: bytes) -> None:
        if self._joined_bytes() + len(self._partial) + len(fragment) > self._limit:
            self._give_up()
        # One byte at least stays, so that the line does not look blank when it ends.
        self._partial += fragment if not self._oversize else fragment[: 1 - len(self._partial)]

    def _give_up(self) -> None:
        self._oversize = True
        self._data = None
        del self._partial[1:]

    def _end_line(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if self._partial:
            self._partial += line
            line = bytes(self._partial)
            self._partial.clear()
        text = line.rstrip(b"\r\n")
        if self._first_line:
            self._first_line = False
            text = text.removeprefix(_BOM)
        if not text:
            self._dispatch(events)
        elif not self._oversize:
            self._field(text)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._add(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace") or None

    def _add(self, value: bytes) -> None:
        if self._joined_bytes() + len(value) > self._limit:
            self._give_up()
        elif self._data is None:
            self._data = value
        else:
            if isinstance(self._data, bytes):
                self._data = bytearray(self._data)
            self._data += b"\n"
            self._data += value

    def _joined_bytes(self) -> int:
        """What the data so far takes of the limit, with the newline that would join the next line to it."""
        return 0 if self._data is None else len(self._data) + 1

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if self._oversize:
            self.dropped += 1
        elif self._data is not None:
            events.append(ServerSentEvent(self._name, bytes(self._data)))
        self._name = None
        self._data = None
        self._oversize = False
