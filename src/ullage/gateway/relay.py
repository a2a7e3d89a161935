"""Moves the bytes of one answer from the provider to the client, as they come.

Back pressure works by itself: the next chunk is read only when the client's socket took the last. A broken answer is cut,
never ended as if whole. A client that leaves cancels the provider's call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from ullage.core.errors import UpstreamError

from .headers import answer_headers, without_encoding

if TYPE_CHECKING:
    from ullage.upstream import Headers, UpstreamResponse

Send = Callable[[dict[str, Any]], Awaitable[None]]
End = Literal["whole", "cut"]


class Tap(Protocol):
    """Looks on while an answer passes. Must be quick: it stands in the relay's way."""

    def answer_began(self, status: int, headers: list[tuple[bytes, bytes]]) -> None: ...

    def answer_chunk(self, chunk: bytes) -> None: ...


class Incoming(Protocol):
    """An answer that comes from a provider, as `UpstreamResponse` has it."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Headers: ...

    async def read(self) -> bytes: ...

    def release(self) -> None: ...

    def abort(self) -> None: ...


class ClientLeft(Exception):  # noqa: N818 - a fact, not a fault
    """The client closed its connection before the answer ended."""


class Leaving:
    """Turns the word of a client that leaves into the cancellation of the task that serves it.

    Used as a context manager around everything that is done for one request; raises `ClientLeft` out of it.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._task: asyncio.Task[Any] | None = None
        self._left = False

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        self._connection.on_leave = self._on_leave
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._connection.on_leave = None
        if self._left and self._task is not None:
            # A cancellation that was not delivered yet must not hit what comes after.
            self._task.uncancel()
            if kind is None or issubclass(kind, asyncio.CancelledError):
                raise ClientLeft from error

    def _on_leave(self) -> None:
        self._left = True
        if self._task is not None:
            self._task.cancel()


async def relay(response: Incoming, send: Send, tap: Tap, extra: list[tuple[bytes, bytes]], begun: bytes = b"") -> End:
    """Relays one answer whose head has arrived; `extra` headers are added, `begun` is what was read of its body already.

    Says how it ended.
    """
    headers = answer_headers(response.headers, response.status)
    tap.answer_began(response.status, headers)
    try:
        await send({"type": "http.response.start", "status": response.status, "headers": headers + extra})
        chunk = begun or await response.read()
        while chunk:
            tap.answer_chunk(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = await response.read()
    except UpstreamError:
        response.abort()
        return "cut"
    except BaseException:
        response.abort()
        raise
    response.release()
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return "whole"


async def send_list(
    response: UpstreamResponse, send: Send, tap: Tap, extra: list[tuple[bytes, bytes]], listed: bytes, merged: bytes
) -> End:
    """Sends `merged` in place of the list of models that was `listed`; the observer sees what the provider said."""
    response.release()
    headers = answer_headers(response.headers, response.status)
    tap.answer_began(response.status, headers)
    tap.answer_chunk(listed)
    changed = [pair for pair in without_encoding(headers) if pair[0] not in (b"content-length", b"etag")]
    changed.append((b"content-length", str(len(merged)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": changed + extra})
    await send({"type": "http.response.body", "body": merged, "more_body": False})
    return "whole"
