"""The server that carries the gateway: one listening socket, uvicorn's HTTP protocol with our limits, a graceful drain.

uvicorn's own `Server` is not used: it re-raises SIGTERM after a clean stop, wakes ten times a second and answers overload in
plain text. Its protocol class is all we need.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.settings.records import ServerSettings

_HEADER_LIMIT_BYTES = 256 * 1024
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class GatewayProtocol(HttpToolsProtocol):
    """uvicorn's protocol with three things it lacks: header and body timeouts, a bound on headers, and word of a client
    that leaves (`on_leave`, set by the app while it answers), without a task per request that waits for it."""

    header_timeout_s = 30.0
    body_timeout_s = 60.0

    on_leave: Callable[[], None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _last_data = 0.0
    _header_bytes = 0
    _in_headers = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)
        if self.on_leave is not None:
            self.on_leave()

    def data_received(self, data: bytes) -> None:
        self._last_data = self.loop.time()
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["ullage.connection"] = self  # type: ignore[typeddict-unknown-key]
        self._header_bytes = 0
        self._await_headers()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > _HEADER_LIMIT_BYTES:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
            return
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_headers = False
        if self._header_bytes <= _HEADER_LIMIT_BYTES:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_timer()
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """A refused WebSocket upgrade is business as usual: the client goes on with HTTP."""

    def _await_headers(self) -> None:
        self._in_headers = True
        self._last_data = self.loop.time()
        self._stop_timer()
        self._timer = self.loop.call_later(self.header_timeout_s, self._check_pace)

    def _check_pace(self) -> None:
        """Headers have one deadline in all; a body may take its time as long as it moves."""
        self._timer = None
        idle = self.loop.time() - self._last_data
        if self._in_headers or idle >= self.body_timeout_s:
            self.transport.close()
            return
        self._timer = self.loop.call_later(self.body_timeout_s - idle, self._check_pace)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class GatewayServer:
    """Listens, serves one ASGI app, drains. `start` returns when connections are accepted."""

    def __init__(self, app: Any, settings: ServerSettings) -> None:
        self._settings = settings
        self._config = uvicorn.Config(
            app,
            http=GatewayProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=int(settings.keep_alive_s),
        )
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    @property
    def connections(self) -> int:
        """Client connections open now."""
        return len(self._state.connections)

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None, "start() comes first"
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def start(self) -> None:
        """Binds and listens. Raises `OSError` if the address cannot be had."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # a cut answer is recorded by the gateway itself
        self._config.load()
        settings = self._settings
        protocol = type(
            "BoundProtocol",
            (GatewayProtocol,),
            {"header_timeout_s": settings.header_timeout_s, "body_timeout_s": settings.body_timeout_s},
        )
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: protocol(config=self._config, server_state=self._state, app_state={}),
            host=settings.host,
            port=settings.port,
            backlog=1024,
        )

    async def stop(self, drain_s: float | None = None) -> None:
        """Stops listening, lets open answers finish for `drain_s` seconds, then cuts what is left."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        limit = self._settings.drain_timeout_s if drain_s is None else drain_s
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._drained()
        for connection in list(self._state.connections):
            connection.transport.abort()
        for task in list(self._state.tasks):
            task.cancel()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=5)

    async def _drained(self) -> None:
        while tasks := list(self._state.tasks):
            await asyncio.wait(tasks)
        # Transports close in the loop's next turns; what was written is on its way then.
        while self._state.connections:  # noqa: ASYNC110 - the protocol class offers no event for it
            await asyncio.sleep(0.01)
