"""HTTP on one client connection: uvicorn's protocol with what a relay needs beyond it.

Added are time limits on headers and bodies, a bound on headers, word of a client that leaves, and patience with real clients:
upgrades are ignored, HTTP/1.0 gets no chunks, nonsense after a request does not spoil its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    App = Callable[[Any, Any, Any], Awaitable[None]]

_HEAD_LIMIT_BYTES = 256 * 1024

# How long a client that was refused in mid-sentence may still talk. To close at once would reset the connection, and the
# client's kernel would throw our answer away.
_LINGER_S = 2.0

_NO_HTTP = b"400 Bad Request", b"This is no HTTP that ullage understands."
_HEAD_TOO_LARGE = b"431 Request Header Fields Too Large", b"The headers are larger than 256 KiB."


class GatewayProtocol(HttpToolsProtocol):
    """One connection. `on_leave` is set by the app while it answers, and called if the client leaves meanwhile: a task per
    request that waits for that would cost as much as a small relay."""

    header_timeout_s = 30.0
    body_timeout_s = 60.0

    on_leave: Callable[[], None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _last_data = 0.0
    _in_head = True
    _head_bytes = 0
    _unended_bytes = 0
    _requests = 0
    _answering: RequestResponseCycle | None = None
    _upgrade: bytes | None = None
    _refusal = _NO_HTTP
    _is_deaf = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.pipeline.clear()
        super().connection_lost(exc)
        if self._answering is not None:  # uvicorn tells the newest request alone
            self._answering.disconnected = True
            self._answering.message_event.set()
        if self.on_leave is not None:
            self.on_leave()

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        self._last_data = self.loop.time()
        self._unset_keepalive_if_required()
        requests = self._requests
        self._parse(data)
        if self._in_head and requests == self._requests:
            self._bound_unended_line(len(data))
        if self._timer is None and self.timeout_keep_alive_task is None and not self._is_answering:
            self._await_head()  # line ends between requests begin none

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["ullage.connection"] = self  # type: ignore[typeddict-unknown-key]
        self._requests += 1
        self._head_bytes = self._unended_bytes = 0
        self._await_head()

    def on_url(self, url: bytes) -> None:
        self._bound_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._bound_head(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._upgrade = self._get_upgrade() or b""
            return
        if self._upgrade is not None:
            self.headers.append((b"upgrade", self._upgrade))
            self._upgrade = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_timer()
        if self._upgrade is not None:
            return
        super().on_message_complete()
        if not self.pipeline:
            # Reading pauses while much of a body waits to be taken. A client that leaves is seen by reading alone.
            self.flow.resume_reading()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._last_data = self.loop.time()

    def cut(self) -> None:
        """Ends the connection at once. It is us who leave then, not the client."""
        self.on_leave = None
        self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: App) -> None:
        self._answering = cycle
        old = cycle.scope["http_version"] == "1.0"
        super()._start_asgi_task(cycle, InOnePiece(app) if old else app)

    @property
    def _is_answering(self) -> bool:
        return self._answering is not None and not self._answering.response_complete

    def _parse(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._head_without_upgrade() + data[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
            except httptools.HttpParserError:
                self._refuse()
                return
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        """The head of a request that asks for an upgrade, to be parsed anew as what it is without (RFC 9110, section 7.8):
        the parser takes the body for the first words of the other protocol."""
        lines = [b"%s %s HTTP/1.1" % (self.parser.get_method(), self.url)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _bound_head(self, more_bytes: int) -> None:
        self._head_bytes += more_bytes
        if self._head_bytes > _HEAD_LIMIT_BYTES:
            self._refusal = _HEAD_TOO_LARGE
            raise ValueError("the head of the request is too large")

    def _bound_unended_line(self, more_bytes: int) -> None:
        """The parser hands over whole lines only, and would collect one without end."""
        self._unended_bytes += more_bytes
        if self._unended_bytes > _HEAD_LIMIT_BYTES and not self._is_deaf:
            self._refusal = _HEAD_TOO_LARGE
            self._refuse()

    def _refuse(self) -> None:
        """Ends a connection whose bytes make no sense, after the answer to what came before them."""
        self._is_deaf = True
        self._stop_timer()
        answering = self._answering
        if answering is not None and not answering.response_complete and not answering.more_body:
            answering.keep_alive = False
            self.pipeline.clear()
            return
        status, text = self._refusal
        head = b"HTTP/1.1 %s\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, len(text)) + text)
        self.transport.write_eof()
        self._timer = self.loop.call_later(_LINGER_S, self.transport.abort)

    def _await_head(self) -> None:
        self._in_head = True
        self._last_data = self.loop.time()
        self._stop_timer()
        self._timer = self.loop.call_later(self.header_timeout_s, self._check_pace)

    def _check_pace(self) -> None:
        """A head has one deadline in all; a body may take its time as long as it moves. Neither counts while an earlier
        request is answered: we do not read then."""
        self._timer = None
        idle = self.loop.time() - self._last_data
        if self._is_answering and (self._in_head or self.pipeline):
            self._timer = self.loop.call_later(self.header_timeout_s, self._check_pace)
        elif self._in_head or idle >= self.body_timeout_s:
            self.transport.close()
        else:
            self._timer = self.loop.call_later(self.body_timeout_s - idle, self._check_pace)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class InOnePiece:
    """An app for clients of HTTP/1.0, which know no chunks: an answer of unknown length is sent when it is whole."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        start: dict[str, Any] = {}
        parts: list[bytes] = []

        async def collect(message: dict[str, Any]) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                if _has_length(message["headers"]):
                    await send(message)
            elif _has_length(start["headers"]):
                await send(message)
            else:
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    body = b"".join(parts)
                    length = (b"content-length", str(len(body)).encode())
                    await send({**start, "headers": [*start["headers"], length]})
                    await send({"type": "http.response.body", "body": body, "more_body": False})

        await self._app(scope, receive, collect)


def _has_length(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"content-length" for name, _ in headers)
