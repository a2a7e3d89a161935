"""The fake provider: a real HTTP server on a loopback address that answers like the four APIs."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from aiohttp import web

from .answering import Answerer
from .cache import POLICIES
from .delivery import deliver
from .dialects import catalogue
from .recording import Received, Recorder
from .routes import find_route
from .script import Reply, Rule, Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from aiohttp.web_protocol import RequestHandler

    from ullage.core.wire import Dialect

    from .cache import CachePolicy
    from .faults import Fault

_LINE_LIMIT_BYTES = 256 * 1024
"""Longest header or request line let in: clients put whole JSON documents into headers."""

_ACCEPT_TURNS = 3
"""Turns of the event loop from a connection's being accepted to its being known to the server."""


class _CountingServer(web.Server):
    """Gives each connection a number, from 1."""

    def __init__(self, handler: Callable[[web.BaseRequest], object]) -> None:
        super().__init__(
            handler,  # type: ignore[arg-type]
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            max_line_size=_LINE_LIMIT_BYTES,
            max_field_size=_LINE_LIMIT_BYTES,
        )
        self.opened = 0
        self.numbers: dict[RequestHandler, int] = {}

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        self.opened += 1
        self.numbers[handler] = self.opened
        super().connection_made(handler, transport)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        self.numbers.pop(handler, None)
        super().connection_lost(handler, exc)


class FakeProvider:
    """A provider of all four dialects for tests, demonstrations and benchmarks.

    Use it as `async with FakeProvider() as provider: …` and point clients at `provider.url`. `script` holds rules that are tried
    in order before the default behaviour; a bare reply or fault serves once. `models` are the names that `GET /v1/models` lists;
    any name is answered. `clock` gives epoch seconds to caches and answers. Received requests are in `requests`. `strict` refuses
    requests that real providers refuse, with status 400: a call without its result, say, or a word that its model does not know.
    """

    def __init__(
        self,
        script: Iterable[Rule | Reply | Fault] = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        models: Iterable[str] = catalogue.MODELS,
        clock: Callable[[], float] = time.time,
        policies: Mapping[Dialect, CachePolicy] = POLICIES,
        recorder: Recorder | None = None,
        strict: bool = False,
    ) -> None:
        self.script = Script(script)
        self.requests = recorder if recorder is not None else Recorder()
        self._host = host
        self._port = port
        self._clock = clock
        self._answerer = Answerer(self.script, models=tuple(models), clock=clock, policies=policies, strict=strict)
        self._server: _CountingServer | None = None
        self._runner: web.ServerRunner | None = None
        self._listening: socket.socket | None = None
        self._stopping = False

    @property
    def url(self) -> str:
        """The root, without a trailing slash and without `/v1`."""
        return f"http://{self._host}:{self._port}"

    @property
    def connections_opened(self) -> int:
        """TCP connections ever accepted."""
        return self._server.opened if self._server else 0

    @property
    def connections_open(self) -> int:
        """TCP connections open now."""
        return len(self._server.numbers) if self._server else 0

    async def start(self) -> Self:
        """Listens; with port 0 the system picks one, which later starts keep."""
        self._stopping = False
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        self._listening = socket.create_server((self._host, self._port), family=family, backlog=1024)
        self._server = _CountingServer(self._handle)
        self._runner = web.ServerRunner(self._server, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.SockSite(self._runner, self._listening, backlog=1024).start()
        self._port = self._listening.getsockname()[1]
        return self

    async def stop(self) -> None:
        """Stops listening and drops open connections."""
        self._stopping = True
        if self._runner is not None and self._listening is not None:
            # asyncio before 3.12 leaks a connection that is accepted in the very turn in which its server is closed.
            asyncio.get_running_loop().remove_reader(self._listening)
            for _ in range(_ACCEPT_TURNS):
                await asyncio.sleep(0)
            await self._runner.cleanup()
            self._runner = self._listening = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        received = await self._receive(request)
        outgoing = self._answerer.respond(find_route(received), received)
        received.status, received.usage = outgoing.status, outgoing.usage
        try:
            return await deliver(request, outgoing, received)
        except (asyncio.CancelledError, ConnectionError):
            received.cancelled = not self._stopping
            raise

    async def _receive(self, request: web.BaseRequest) -> Received:
        assert self._server is not None
        connection = self._server.numbers.get(request.protocol, 0)
        if request.headers.get("expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await request.content.read()
        received = Received(
            number=self.requests.total + 1,
            connection=connection,
            method=request.method,
            target=request.raw_path,
            headers=request.raw_headers,
            body=body,
            received_s=self._clock(),
        )
        self.requests.add(received)
        return received


@contextmanager
def run_in_thread(provider: FakeProvider) -> Iterator[FakeProvider]:
    """Serves from a thread with an event loop of its own: for clients that block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="ullage-fake-provider", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(provider.start(), loop).result()
        yield provider
    finally:
        asyncio.run_coroutine_threadsafe(provider.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
