"""What can go wrong with an answer on purpose: its content, its timing, its connection."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HTML_PAGE = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    b"<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"
)
_BROKEN_EVENT = b'data: {"broken": "this text never en\n\n'
_COMMENT = b": ping\n\n"


class Fault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an answer fails. Sizes are bytes of the body as it goes over the wire, compressed if it is.

    Instead of the answer: `status` an error in the dialect's shape (with `message`, `code`, and for 429 the vendor's headers
    that tell the wait `retry_after_s`), `html` an HTML page (502 unless `status` says else), `empty` no body at all,
    `hang_up` a closed connection.
    Timing: `delay_ms` before the status line, `first_byte_ms` between headers and body, `chunk_bytes` the size of the writes
    (which then end anywhere in an event), `pause_ms` after each.
    End: the connection is closed after `cut_after` bytes, reset after `reset_after`, silent after `stall_after` until the client
    leaves.
    Content of streams: `comments` puts a `: ping` comment before each event, `only_pings` sends that many and no answer,
    `malformed_event` and `error_event` insert a broken line or the dialect's error (`error_event_status`) before that event
    (a stream ends with its error), `end_after_events` ends the stream cleanly but too early, `huge_event_bytes` says that much
    text in one event. On a JSON answer `malformed_event` leaves out its second half.
    `encoding` compresses the answer if the client accepts that.
    """

    status: int | None = None
    message: str | None = None
    code: str | None = None
    retry_after_s: float | None = None
    html: bool = False
    empty: bool = False
    hang_up: bool = False
    delay_ms: float = 0
    first_byte_ms: float = 0
    chunk_bytes: int | None = None
    pause_ms: float = 0
    cut_after: int | None = None
    reset_after: int | None = None
    stall_after: int | None = None
    comments: bool = False
    only_pings: int | None = None
    malformed_event: int | None = None
    error_event: int | None = None
    error_event_status: int = 500
    end_after_events: int | None = None
    huge_event_bytes: int | None = None
    encoding: Literal["gzip", "deflate"] | None = None

    @property
    def ends_at(self) -> int | None:
        """The number of body bytes after which the connection fails; `None` if it does not."""
        return min(
            (size for size in (self.cut_after, self.reset_after, self.stall_after) if size is not None),
            default=None,
        )


def spoil_events(events: list[bytes], fault: Fault, *, error: bytes, ping: bytes, end: list[bytes]) -> list[bytes]:
    """The events of a stream with the content faults applied. `error`, `ping` and `end` are the dialect's own events."""
    if fault.only_pings is not None:
        return [ping or _COMMENT] * fault.only_pings + end
    spoiled = list(events)
    if fault.end_after_events is not None:
        spoiled = spoiled[: fault.end_after_events]
    if fault.malformed_event is not None:
        spoiled.insert(fault.malformed_event, _BROKEN_EVENT)
    if fault.error_event is not None:
        spoiled = [*spoiled[: fault.error_event], error]
    if fault.comments:
        spoiled = [part for event in spoiled for part in (_COMMENT, event)]
    return spoiled


def spoil_body(body: bytes, fault: Fault) -> bytes:
    """A JSON body with the content faults applied."""
    return body[: len(body) // 2] if fault.malformed_event is not None else body


def accepts(accept_encoding: str, encoding: str) -> bool:
    """Whether an `Accept-Encoding` header lets the encoding in; quality zero forbids it."""
    for offer in accept_encoding.lower().split(","):
        name, _, quality = offer.partition(";")
        if name.strip() in (encoding, "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0")
    return False


def compress(parts: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Each part compressed and flushed, so that a stream stays a stream."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16 if encoding == "gzip" else zlib.MAX_WBITS)
    for part in parts:
        yield packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


def rechunk(parts: list[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in writes of `size`, wherever that cuts them."""
    whole = b"".join(parts)
    for start in range(0, len(whole), size):
        yield whole[start : start + size]
