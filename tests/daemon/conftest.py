"""A fake provider for daemons that run as processes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from ullage.testing import FakeProvider


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session
