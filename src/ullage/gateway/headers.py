"""Which headers pass through a relay: all but those of the single hop (RFC 9110, section 7.6.1) and our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.engine.engine import MODE_HEADER, MODES
from ullage.engine.routing import RouteStopped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.core.errors import UllageError
    from ullage.core.translation import Loss
    from ullage.core.wire import Dialect
    from ullage.engine.departure import Departure
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
_PLAIN_CONNECTION = (b"keep-alive", b"close")
_WITHOUT_BODY = (204, 304)
_OURS = b"x-ullage-"
TRACE_HEADER = "x-ullage-trace"
"""A request that carries it with the value 1 is answered with the explanation of its plan."""

_LONGEST_VALUE = 2_000
_LONGEST_QUOTE = 40

# Headers that carry a key, and which of them each provider reads. A client that sets several keys at once must not show
# one provider the key of another.
_KEYS = frozenset({b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key"})
# All that a provider which is not the client's own needs of its headers: what is sent, what is wanted back, by which edition
# of the protocol. Anything else may say who the client is, or hold a secret of any name.
_TOLD_STRANGERS = frozenset({b"content-type", b"content-encoding", b"accept", b"accept-encoding", b"user-agent"})
_EDITIONS: dict[Dialect, frozenset[bytes]] = {
    "openai-chat": frozenset({b"openai-beta"}),
    "openai-responses": frozenset({b"openai-beta"}),
    "anthropic": frozenset({b"anthropic-version", b"anthropic-beta"}),
    "gemini": frozenset(),
}
_OWN_KEYS: dict[Dialect, frozenset[bytes]] = {
    "openai-chat": frozenset({b"authorization", b"api-key"}),
    "openai-responses": frozenset({b"authorization", b"api-key"}),
    "anthropic": frozenset({b"authorization", b"x-api-key"}),
    "gemini": frozenset({b"authorization", b"x-goog-api-key"}),
}
_NOT_SENT_TO = {dialect: _NOT_SENT_ON | (_KEYS - own) for dialect, own in _OWN_KEYS.items()}


def request_headers(headers: Headers, dialect: Dialect) -> list[tuple[bytes, bytes]]:
    """What goes on to the provider of `dialect`, in the order it came. Names arrive in lower case."""
    dropped = _NOT_SENT_TO[dialect]
    if named := _named_by_connection(headers):
        dropped |= named
    return [pair for pair in headers if pair[0] not in dropped and not pair[0].startswith(_OURS)]


def without_encoding(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers of a body that is no longer compressed."""
    return [pair for pair in headers if pair[0] != b"content-encoding"]


def for_stranger(headers: Headers, dialect: Dialect) -> list[tuple[bytes, bytes]]:
    """What a provider that is not the client's own is told of its headers."""
    told = _TOLD_STRANGERS | _EDITIONS[dialect]
    return [pair for pair in headers if pair[0] in told]


def told_headers(departure: Departure, *, trace: bool, attempts: int = 1) -> list[tuple[bytes, bytes]]:
    """What the client is told of a request that was looked at before it was sent (interface, section 2), so many times."""
    if departure.untouched:
        return _budget_header(departure)
    route = departure.route
    why = "; ".join(text for text in (route.why if route is not None else "", departure.why) if text)
    told = {
        b"x-ullage-session": departure.session,
        b"x-ullage-target": departure.target,
        b"x-ullage-attempts": "0" if departure.refusal is not None else str(attempts),
        b"x-ullage-input-estimate": "" if departure.estimate is None else str(departure.estimate),
        b"x-ullage-plan": departure.status or "",
        b"x-ullage-route": route.line if route is not None else "",
        b"x-ullage-thinking": route.thinking if route is not None else "",
        b"x-ullage-why": why if trace else "",
    }
    if route is not None and departure.translated is None:  # else they are told with those of the answer
        told[b"x-ullage-losses"] = _codes(route.losses)
    return [(name, _header_value(text)) for name, text in told.items() if text] + _budget_header(departure)


def _budget_header(departure: Departure) -> list[tuple[bytes, bytes]]:
    return [(b"x-ullage-budget", _header_value(departure.budget))] if departure.budget else []


def waiting_header(refusal: UllageError, now_ms: int) -> list[tuple[bytes, bytes]]:
    """When to come back, where a route was stopped until a certain time."""
    reopens_ms = refusal.reopens_ms if isinstance(refusal, RouteStopped) else None
    if reopens_ms is None:
        return []
    return [(b"retry-after", str(max(1, -(-(reopens_ms - now_ms) // 1000))).encode())]


def losses_header(losses: Iterable[Loss]) -> list[tuple[bytes, bytes]]:
    """What a translation has left out or said otherwise, each once, by its code; none where it is nothing."""
    codes = _codes(losses)
    return [(b"x-ullage-losses", _header_value(codes))] if codes else []


def _codes(losses: Iterable[Loss]) -> str:
    return ", ".join(dict.fromkeys(loss.code for loss in losses))


def warning_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """What the client is told of a header of ours that says nothing we know, and so is ignored."""
    mode = headers.get(MODE_HEADER, "").strip()
    if not mode or mode.lower() in MODES:
        return []
    text = f"{MODE_HEADER} {mode[:_LONGEST_QUOTE]!r} is unknown and ignored; known are {', '.join(MODES)}"
    return [(b"x-ullage-warning", _header_value(text))]


def _header_value(text: str) -> bytes:
    """ASCII that no header can be broken with: ids and names of models come from clients."""
    return "".join(sign if " " <= sign <= "~" else "?" for sign in text[:_LONGEST_VALUE]).encode()


def answer_headers(headers: Headers, status: int = 200) -> list[tuple[bytes, bytes]]:
    """What goes back to the client. The content length stays, so that a cut answer shows as cut; an answer that has no body
    by its status (RFC 9110, section 6.4.1) may name the length of another one, which our server must not wait for."""
    lowered = [(name.lower(), value) for name, value in headers]
    dropped = _HOP_BY_HOP if status not in _WITHOUT_BODY else _HOP_BY_HOP | {b"content-length"}
    if named := _named_by_connection(lowered):
        dropped |= named
    return [pair for pair in lowered if pair[0] not in dropped]


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    """What the Connection headers name; most often there is one that names nothing else."""
    named = [value for name, value in headers if name == b"connection" and value.lower() not in _PLAIN_CONNECTION]
    return frozenset(token.strip().lower() for value in named for token in value.split(b","))
