"""A gateway in managed mode between a client and a strict provider."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

from .rig import Gate, settings

Managed = Callable[..., AbstractAsyncContextManager[Gate]]


@pytest.fixture
def managed(tmp_path: Path) -> Managed:
    """Opens a gateway whose plans fill about so many tokens; further sections of settings by name, `strict=False` for a provider
    that takes anything."""

    @contextlib.asynccontextmanager
    async def open_gate(tokens: int, *, strict: bool = True, **sections: Any) -> AsyncIterator[Gate]:
        async with (
            FakeProvider(strict=strict) as fake,
            aiohttp.ClientSession() as client,
            run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **settings(tokens, **sections)) as daemon,
        ):
            yield Gate(daemon, fake, client)

    return open_gate
