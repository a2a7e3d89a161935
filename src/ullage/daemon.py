"""The composition root: settings become a store, a transport, an engine and one ASGI app that listens."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import random
import secrets
import signal
import sys
import time
from typing import TYPE_CHECKING

from ullage.catalogs import open_catalogs
from ullage.catalogs.keeping import keep_fresh
from ullage.catalogs.orders import LITELLM_ADDRESS
from ullage.core.errors import CallError
from ullage.engine import Engine
from ullage.engine.collecting import keep_collected
from ullage.engine.key_names import keep_key_names
from ullage.engine.knowledge import Nothing
from ullage.engine.naming import name_sources
from ullage.engine.quota import keep_saved
from ullage.engine.targets import ConfiguredTargets
from ullage.gateway import Gateway, GatewayServer
from ullage.gateway.control import Control
from ullage.gateway.token import load_token, make_token, token_path
from ullage.pi import PiDoor
from ullage.pi.address import Address, write_address
from ullage.settings import environment, resolve_upstreams
from ullage.settings.proxies import find_proxies
from ullage.stores.opening import open_store
from ullage.telemetry.standing import Standing
from ullage.telemetry.watching import Telemetry
from ullage.upstream import UpstreamClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from ullage.catalogs import Catalogs
    from ullage.settings import Settings, Source
    from ullage.settings.records import ServerSettings
    from ullage.stores import Store

_log = logging.getLogger("ullage")

# How long a thread may hold the interpreter before another gets it. The default of 5 ms is what a relay would wait for the
# observer's thread at the most; this makes it half a millisecond.
_SWITCH_INTERVAL_S = 0.0005

# New objects until those that refer to each other are looked for. With the default of 700 a request of 1,000 messages has all
# its lists walked through once or twice, which took a tenth of its time (measured); so many are looked at in a millisecond.
_YOUNG_OBJECTS = 5_000

# Open files that are no connections: the databases of projects above all, log, event loop.
_OTHER_FILES = 160


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

    def cut(self) -> None:
        """Ends a drain at once."""
        self._server.cut()

    @property
    def connections(self) -> int:
        """Client connections open now."""
        return self._server.connections


@contextlib.asynccontextmanager
async def running(
    settings: Settings,
    data_dir: Path,
    cache_dir: Path | None = None,
    *,
    sources: Mapping[str, Source] | None = None,
) -> AsyncIterator[Daemon]:
    """Runs a daemon inside the current event loop until the block is left; then it drains.

    Catalogues of models are kept in `cache_dir`; without one, nothing is known of models but what the settings say. `sources` say
    where each setting is from, for whoever asks. Raises `CallError` if the address cannot be had. A database that cannot be used
    is replaced by memory, with a warning.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    async with contextlib.AsyncExitStack() as stack:
        store = open_store(
            settings.store.url, data_dir, _clock_ms, keep_days=settings.store.keep_days, scope=settings.store.scope
        )
        stack.push_async_callback(asyncio.to_thread, store.close)
        catalogs = _open_catalogs(settings, cache_dir) if cache_dir is not None else None
        targets = await asyncio.to_thread(_find_targets, settings, catalogs)  # a keyring may ask its user to unlock it
        telemetry = Telemetry(settings, environment())
        stack.push_async_callback(asyncio.to_thread, telemetry.close)
        engine = Engine(
            store=store,
            settings=settings,
            clock_ms=_clock_ms,
            clock=time.perf_counter,
            new_id=_make_ids(),
            sources=name_sources(catalogs, settings) if catalogs is not None else None,
            data_dir=data_dir,
            targets=targets,
            watchers=telemetry.watchers,
        )
        stack.push_async_callback(asyncio.to_thread, engine.close)
        keep_key_names(store, targets.providers, _clock_ms())
        upstreams = resolve_upstreams(settings)
        roots = {*upstreams.values(), *(provider.root for provider in targets.providers)}
        proxies = find_proxies(roots) if settings.upstream.use_proxy_environment else {}
        upstream = UpstreamClient(settings.upstream, proxies)
        stack.push_async_callback(upstream.close)
        token_file = token_path(data_dir)
        server: GatewayServer | None = None
        gateway = Gateway(
            engine=engine,
            upstream=upstream,
            upstreams=upstreams,
            limits=settings.server,
            failover=settings.routing.failover,
            control=Control(
                store,
                engine,
                _token(token_file),
                settings,
                published=catalogs or Nothing(),
                sources=sources,
                scrape=telemetry.scrape(
                    Standing(engine, store, settings, lambda: server.connections if server is not None else 0)
                ),
                doors={"pi": PiDoor(engine, store, settings, upstream)},
            ),
            connections=lambda: server.connections if server is not None else 0,
        )
        server = GatewayServer(gateway, settings.server)
        await _listen(server, settings.server)
        here = Address(url=server.url, token_file=str(token_file), privacy=settings.privacy.enabled, mode=settings.mode)
        write_address(data_dir, here)
        stack.push_async_callback(server.stop)
        if catalogs is not None:
            keeping = asyncio.create_task(keep_fresh(catalogs, proxy=_catalog_proxy(settings)))
            stack.push_async_callback(_end, keeping)
        collecting = asyncio.create_task(keep_collected(store, data_dir, _clock_ms))
        stack.push_async_callback(_end, collecting)
        saving = asyncio.create_task(keep_saved(engine.quotas))
        stack.push_async_callback(_end, saving)
        yield Daemon(server, engine, store, token_file)


async def serve(
    settings: Settings,
    data_dir: Path,
    cache_dir: Path | None,
    announce: Callable[[str], None],
    *,
    sources: Mapping[str, Source] | None = None,
) -> None:
    """Runs the daemon until SIGTERM or SIGINT, then drains; a second signal cuts what is still open.

    `announce` gets its address when it is ready.
    """
    _allow_connections(settings.server.max_connections + settings.upstream.connections)
    stop = asyncio.Event()
    cut = stop.set

    def on_signal() -> None:
        if stop.is_set():
            cut()
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    async with running(settings, data_dir, cache_dir, sources=sources) as daemon:
        cut = daemon.cut
        gc.freeze()  # what lives until the end: to look at all of it would stall every relay for some 20 ms
        gc.set_threshold(_YOUNG_OBJECTS)
        announce(daemon.url)
        await stop.wait()
        _log.info("draining %d connections", daemon.connections)


async def _listen(server: GatewayServer, settings: ServerSettings) -> None:
    try:
        await server.start()
    except OSError as error:
        raise CallError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}",
            hint="Is another ullage running? `ullage doctor` tells; `--port 0` picks a free port.",
        ) from error


def _open_catalogs(settings: Settings, cache_dir: Path) -> Catalogs:
    return open_catalogs(cache_dir, refresh=settings.models.refresh, refresh_hours=settings.models.refresh_hours)


def _find_targets(settings: Settings, catalogs: Catalogs | None) -> ConfiguredTargets:
    """Where routed requests may go. A provider that the settings name and that cannot be asked is told in the log."""
    targets = ConfiguredTargets(settings, environment(), catalogs)
    for provider in targets.providers:
        if provider.problem and provider.name in settings.providers:
            _log.warning("Routed requests do not go to %s: %s", provider.name, provider.problem)
    return targets


def _catalog_proxy(settings: Settings) -> str | None:
    return find_proxies([LITELLM_ADDRESS]).get(LITELLM_ADDRESS) if settings.upstream.use_proxy_environment else None


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _allow_connections(count: int) -> None:
    """Raises this process's own limit of open files as far as the system lets it: many shells begin with 1,024."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _OTHER_FILES if hard == resource.RLIM_INFINITY else min(count + _OTHER_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000


def _make_ids() -> Callable[[], str]:
    """Ids of 64 random bits: the first eight digits already tell records apart on a screen. They are names, not secrets, so the
    kernel is asked once for a seed and not for every request, which costs a system call."""
    numbers = random.Random(secrets.token_bytes(16))  # noqa: S311 - names, no secrets

    def new_id() -> str:
        return f"{numbers.getrandbits(64):016x}"

    return new_id


def _token(file: Path) -> str:
    """The control token. Where it cannot be kept, one that nobody knows: the relay goes on, the control routes stay shut."""
    try:
        return load_token(file)
    except OSError as error:
        _log.warning(
            "The control routes stay shut: their token cannot be kept in %s (%s).", file, error.strerror or error
        )
        return make_token()
