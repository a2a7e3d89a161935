"""The server that carries the gateway: one listening socket and a graceful drain; one connection is `protocol.py`.

uvicorn's own `Server` is not used: it re-raises SIGTERM after a clean stop, wakes ten times a second and answers overload in
plain text. Its protocol class is all we need.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.server import ServerState

from .protocol import GatewayProtocol

if TYPE_CHECKING:
    from ullage.settings.records import ServerSettings

_log = logging.getLogger("ullage.gateway")


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
        self._cut = asyncio.Event()
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
        """Stops listening, lets open answers finish for `drain_s` seconds or until `cut`, then cuts what is left."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        ends = [asyncio.create_task(self._drained()), asyncio.create_task(self._cut.wait())]
        limit = self._settings.drain_timeout_s if drain_s is None else drain_s
        await asyncio.wait(ends, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        if self._state.connections:
            _log.warning("%d connections were cut.", len(self._state.connections))
        for connection in list(self._state.connections):
            assert isinstance(connection, GatewayProtocol)
            connection.cut()
        for task in list(self._state.tasks):
            task.cancel()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=5)

    def cut(self) -> None:
        """Ends a drain at once, now or when it comes."""
        self._cut.set()

    async def _drained(self) -> None:
        while tasks := list(self._state.tasks):
            await asyncio.wait(tasks)
        # Transports close in the loop's next turns; what was written is on its way then.
        while self._state.connections:  # noqa: ASYNC110 - the protocol class offers no event for it
            await asyncio.sleep(0.01)
