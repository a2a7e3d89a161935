"""Sends recorded sessions through a real gateway to the fake provider, over real sockets, one call after the other."""

from __future__ import annotations

import asyncio
import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
from msgspec import Struct

from ullage.core.wire import DIALECTS
from ullage.sources import Call
from ullage.stores import CallRecord
from ullage.testing.gateway import run_gateway
from ullage.testing.recording import Recorder
from ullage.testing.server import FakeProvider

from .traffic import recorded_traffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.daemon import Daemon
    from ullage.sources import Session

    from .traffic import RecordedExchange

_OFFLINE = {"refresh": False}


class Replayed(Struct, frozen=True, kw_only=True):
    """A call of the record, and what the gateway wrote down of it."""

    call: Call
    record: CallRecord


async def replay(
    session: Session, *, stand_in: str = "", calibration: Mapping[str, Any] | None = None
) -> list[Replayed]:
    """Replays a session through a gateway of its own, which has learned nothing yet.

    `stand_in` is as for `recorded_traffic`, `calibration` are settings of that section. Raises `CallError` for a session that
    cannot be sent again.
    """
    with tempfile.TemporaryDirectory() as folder:
        async with (
            FakeProvider(recorder=Recorder(limit=1)) as provider,
            run_gateway(
                dict.fromkeys(DIALECTS, provider.url), Path(folder), models=_OFFLINE, calibration=calibration or {}
            ) as daemon,
        ):
            return await send_traffic(recorded_traffic(session, stand_in=stand_in), provider, daemon)


async def send_traffic(traffic: Iterable[RecordedExchange], provider: FakeProvider, daemon: Daemon) -> list[Replayed]:
    """Sends requests through a gateway whose upstream is this provider; the provider's script is taken over."""
    replayed = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as client:
        for exchange in traffic:
            provider.script.clear()
            provider.script.add(exchange.rule)
            request = exchange.request
            async with client.post(
                daemon.url + request.path, data=io.BytesIO(request.body), headers=request.headers
            ) as response:
                await response.read()
            replayed.append(Replayed(call=exchange.call, record=await asyncio.to_thread(_newest_record, daemon)))
    return replayed


def _newest_record(daemon: Daemon) -> CallRecord:
    """What was written of the call that is over, waited for: a client works on an answer before it asks again."""
    daemon.engine.flush()
    daemon.store.flush()
    return daemon.store.calls(limit=1)[0]
