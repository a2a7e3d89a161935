"""A fake provider and a gateway in front of it, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import aiohttp
import pytest
import uvloop

from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The daemon runs on uvloop, on Windows on the standard loop: what depends on the loop itself is driven on both."""
    both = item.path.name == "test_server.py"
    return {"asyncio": asyncio.new_event_loop, **({"uvloop": uvloop.new_event_loop} if both else {})}


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider


@pytest.fixture
async def gateway(fake: FakeProvider, tmp_path: Path) -> AsyncIterator[Daemon]:
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path) as daemon:
        yield daemon


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session
