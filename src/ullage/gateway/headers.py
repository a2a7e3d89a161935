"""Which headers pass through a relay: all but those of the single hop (RFC 9110, section 7.6.1) and our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ullage.upstream import Headers

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# Set anew for the next hop, or already answered by our own server.
_NOT_SENT_ON = _HOP_BY_HOP | {b"host", b"content-length", b"expect"}
_OURS = b"x-ullage-"


def request_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """What goes on to the provider, in the order it came. Names arrive in lower case."""
    dropped = _NOT_SENT_ON
    if named := _named_by_connection(headers):
        dropped |= named
    return [pair for pair in headers if pair[0] not in dropped and not pair[0].startswith(_OURS)]


def answer_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """What goes back to the client. The content length stays, so that a cut answer shows as cut."""
    lowered = [(name.lower(), value) for name, value in headers]
    dropped = _HOP_BY_HOP
    if named := _named_by_connection(lowered):
        dropped |= named
    return [pair for pair in lowered if pair[0] not in dropped]


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    for name, value in headers:
        if name == b"connection" and value.lower() not in (b"keep-alive", b"close"):
            return frozenset(token.strip().lower() for token in value.split(b","))
    return frozenset()
