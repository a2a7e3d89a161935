"""The body of one request: read whole within the limit, or thrown away where the request is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.errors import RequestError

from .relay import ClientLeft

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Receive = Callable[[], Awaitable[dict[str, Any]]]

DISCARD_BYTES = 256 * 1024 * 1024
"""What a refused client may still send before it is cut. Many send all before they read, and a connection that is closed with
unread bytes is reset: the answer would be lost."""


class RequestBody:
    """Reads one body by `receive`. Both methods raise `ClientLeft`."""

    def __init__(self, headers: Mapping[str, str], receive: Receive) -> None:
        self._receive = receive
        announced = headers.get("content-length", "")
        self._announced = int(announced) if announced.isdecimal() else 0
        self._waits_to_be_asked = headers.get("expect", "").lower() == "100-continue"
        self.is_read = False
        """Whether nothing of it is left."""

    async def read(self, limit_bytes: int) -> bytes:
        """All of it. Raises `RequestError` if it is larger than the limit."""
        if self._announced > limit_bytes:
            raise _too_large(limit_bytes)
        parts: list[bytes] = []
        size = 0
        while not self.is_read:
            parts.append(await self._next())
            size += len(parts[-1])
            if size > limit_bytes:
                raise _too_large(limit_bytes)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def discard(self) -> None:
        """Takes what is left, within reason."""
        size = 0
        while not (self.is_read or self._waits_to_be_asked) and size <= DISCARD_BYTES:
            size += len(await self._next())

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        self._waits_to_be_asked = False
        self.is_read = not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part


def _too_large(limit_bytes: int) -> RequestError:
    return RequestError(
        f"the request body is larger than {limit_bytes:,} bytes",
        code="body_too_large",
        hint="`server.body_limit_bytes` sets the limit.",
    )
