"""Answers of our own: whole, with their length, and errors in the words of the client's dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.errors import UllageError, UpstreamError

from .errors import error_body

if TYPE_CHECKING:
    from ullage.engine import Endpoint
    from ullage.upstream import Headers

    from .relay import Send

_STATUS = {
    "upstream_timeout": 504,
    "request_timeout": 504,
    "body_too_large": 413,
    "no_route": 404,
    "websocket": 426,
    "privacy_refused": 403,
    "privacy_failed": 403,
    "routing_failed": 503,
    "budget_exceeded": 402,
    "budget_failed": 503,
    "circuits-open": 503,
    "too_many_connections": 503,
}
JSON = "application/json"


async def answer(
    send: Send, status: int, body: bytes, extra: Headers = (), *, head: bool = False, content_type: str = JSON
) -> None:
    """Sends an answer, in JSON if nothing else is said; to a HEAD request only what is said of it."""
    kind = (b"content-type", content_type.encode())
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [kind, length, *extra]})
    await send({"type": "http.response.body", "body": b"" if head else body, "more_body": False})


def status_of(error: UllageError) -> int:
    """The status that an error has."""
    return _STATUS.get(error.code, 502 if isinstance(error, UpstreamError) else 400)


async def refuse(
    send: Send,
    endpoint: Endpoint | None,
    error: UllageError,
    request_id: str,
    *,
    close: bool = False,
    told: Headers = (),
    status: int | None = None,
) -> None:
    """Sends an error, with the status that its code has unless another one is given."""
    status = status or status_of(error)
    extra = [(b"x-ullage-request", request_id.encode()), *told]
    if close:
        extra.append((b"connection", b"close"))
    await answer(send, status, error_body(endpoint.dialect if endpoint else None, status, error, request_id), extra)
