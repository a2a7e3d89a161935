"""A fake provider and a gateway in front of it, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway


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
