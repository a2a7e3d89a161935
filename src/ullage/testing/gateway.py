"""A whole gateway inside the current event loop, for tests: real sockets, its own data directory, no signals."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.daemon import running
from ullage.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from ullage.core.wire import Dialect
    from ullage.daemon import Daemon


@contextlib.asynccontextmanager
async def run_gateway(
    upstreams: Mapping[Dialect, str], data_dir: Path, *, store: str = "memory", **sections: Any
) -> AsyncIterator[Daemon]:
    """Runs a gateway on a free port. `sections` are settings: `mode="managed"`, or by section `server={"port": 1}`."""
    plain: dict[str, Any] = {
        **sections,
        "upstreams": dict(upstreams),
        "store": {"url": store, **sections.get("store", {})},
        "server": {"port": 0, "drain_timeout_s": 2.0, **sections.get("server", {})},
    }
    async with running(msgspec.convert(plain, Settings), Path(data_dir)) as daemon:
        yield daemon
