"""The composition root: settings become a store, a transport, an engine and one ASGI app that listens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import sys
import time
from typing import TYPE_CHECKING

from ullage.engine import Engine
from ullage.gateway import Gateway, GatewayServer
from ullage.gateway.control import Control
from ullage.settings import resolve_upstreams
from ullage.settings.proxies import find_proxies
from ullage.stores.opening import open_store
from ullage.upstream import UpstreamClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from ullage.settings import Settings
    from ullage.stores import Store

_log = logging.getLogger("ullage")

# How long a thread may hold the interpreter before another gets it. The default of 5 ms is what a relay would wait for the
# observer's thread at the most; this makes it half a millisecond.
_SWITCH_INTERVAL_S = 0.0005


class Daemon:
    """A running daemon. `url` is where it listens."""

    def __init__(self, server: GatewayServer, engine: Engine, store: Store, token_file: Path) -> None:
        self._server = server
        self.engine = engine
        self.store = store
        self.token_file = token_file

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._server.url

    @property
    def connections(self) -> int:
        """Client connections open now."""
        return self._server.connections


@contextlib.asynccontextmanager
async def running(settings: Settings, data_dir: Path) -> AsyncIterator[Daemon]:
    """Runs a daemon inside the current event loop until the block is left; then it drains.

    Raises `OSError` if the address cannot be had. A database that cannot be used is replaced by memory, with a warning.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    store = open_store(settings.store.url, data_dir, _clock_ms, keep_days=settings.store.keep_days)
    for problem in store.problems():
        _log.warning("%s", problem)
    engine = Engine(
        store=store, settings=settings.accounting, clock_ms=_clock_ms, clock=time.perf_counter, new_id=_new_id
    )
    upstreams = resolve_upstreams(settings)
    proxies = find_proxies(upstreams.values()) if settings.upstream.use_proxy_environment else {}
    upstream = UpstreamClient(settings.upstream, proxies)
    token_file = data_dir / "token"
    server: GatewayServer | None = None
    gateway = Gateway(
        engine=engine,
        upstream=upstream,
        upstreams=upstreams,
        limits=settings.server,
        control=Control(store, engine, _token(token_file)),
        connections=lambda: server.connections if server is not None else 0,
    )
    server = GatewayServer(gateway, settings.server)
    try:
        await server.start()
        yield Daemon(server, engine, store, token_file)
    finally:
        await server.stop()
        await upstream.close()
        await asyncio.to_thread(engine.close)
        await asyncio.to_thread(store.close)


async def serve(settings: Settings, data_dir: Path, announce: Callable[[str], None]) -> None:
    """Runs the daemon until SIGTERM or SIGINT; `announce` gets its address when it is ready."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(settings, data_dir) as daemon:
        announce(daemon.url)
        await stop.wait()
        _log.info("draining %d connections", daemon.connections)


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000


def _new_id() -> str:
    """64 random bits: the first eight digits already tell records apart on a screen."""
    return secrets.token_hex(8)


def _token(file: Path) -> str:
    """The control token, made on first use, readable by its owner only."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_urlsafe(32))
    return file.read_text().strip()
