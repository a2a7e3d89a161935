"""A fake provider, and a plain client that sends exact bytes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
import pytest

from ullage.testing import BuiltRequest, FakeProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class Result(msgspec.Struct, frozen=True):
    """An answer as the plain client saw it, never decompressed."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def events(self) -> list[Any]:
        """The decoded data of each event, `[DONE]` as text, comments left out."""
        lines = self.body.replace(b"\r\n", b"\n").split(b"\n")
        data = [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]
        return ["[DONE]" if line == b"[DONE]" else msgspec.json.decode(line) for line in data]


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as running:
        yield running


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as opened:
        yield opened


@pytest.fixture
def ask(session: aiohttp.ClientSession) -> Callable[..., Awaitable[Result]]:
    """Sends a built request, with further headers if given, and reads the whole answer."""

    async def send(provider: FakeProvider, request: BuiltRequest, **headers: str) -> Result:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        async with session.post(
            provider.url + request.path, data=request.body, headers={**request.headers, **more}
        ) as response:
            return Result(response.status, {k.lower(): v for k, v in response.headers.items()}, await response.read())

    return send
