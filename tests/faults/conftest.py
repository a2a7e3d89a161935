"""A gateway in managed mode between a client and a strict provider."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway
from ullage.upstream import provider_of

from .rig import Gate, settings

Managed = Callable[..., AbstractAsyncContextManager[Gate]]


@pytest.fixture
def managed(tmp_path: Path) -> Managed:
    """Opens a gateway whose plans fill about so many tokens; further sections of settings by name, `windows` of models that have
    another one, `strict=False` for a provider that takes anything."""

    @contextlib.asynccontextmanager
    async def open_gate(
        tokens: int, *, strict: bool = True, windows: Mapping[str, int] = {}, **sections: Any
    ) -> AsyncIterator[Gate]:
        async with FakeProvider(strict=strict) as fake, aiohttp.ClientSession() as client:
            plain = settings(tokens, **sections)
            provider = provider_of(fake.url)
            for model, window in windows.items():
                plain["models"]["overrides"][f"{provider}/{model}"] = {"context_window": window}
            async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **plain) as daemon:
                yield Gate(daemon, fake, client)

    return open_gate
