"""A daemon over real HTTP, spoken to as the extension does; and a real Pi whose providers are all the fake one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.pi.host import NEWEST, Host, find_pi
from ullage.daemon import Daemon
from ullage.testing import FakeProvider, run_in_thread
from ullage.testing.gateway import run_gateway

MODEL = {
    "provider": "anthropic",
    "id": "claude-opus-5",
    "api": "anthropic-messages",
    "base_url": "https://api.anthropic.com",
    "context_window": 200_000,
    "max_tokens": 1_000,
}
CHAT = {
    **MODEL,
    "provider": "openai",
    "id": "gpt-5.5",
    "api": "openai-completions",
    "base_url": "https://api.openai.com/v1",
}

Ask = Callable[..., Awaitable[Any]]
Make = Callable[..., Host]


class Door:
    """The extension's side of the door. What it is told is kept in `status`."""

    def __init__(self, daemon: Daemon, client: aiohttp.ClientSession) -> None:
        self.daemon = daemon
        self._client = client
        self.status = 0

    async def ask(self, route: str, said: Any) -> Any:
        headers = {"authorization": f"Bearer {self.daemon.token_file.read_text().strip()}"}
        async with self._client.post(f"{self.daemon.url}/ullage/v1/pi/{route}", json=said, headers=headers) as answer:
            self.status = answer.status
            return json.loads(await answer.read())

    async def context(self, messages: list[dict[str, Any]], **more: Any) -> Any:
        """A request with all of these messages, known by their numbers."""
        keys = [f"key-{number}" for number in range(len(messages))]
        said = {"session": "s1", "model": MODEL, "prompt": "Be brief.", "tools": [], "keys": keys, "messages": messages}
        return await self.ask("context", {**said, **more})


@pytest.fixture
async def open_door(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Door]]]:
    """Opens the door of a daemon with these settings."""
    from contextlib import AsyncExitStack

    async with AsyncExitStack() as stack:

        async def opened(**settings: Any) -> Door:
            daemon = await stack.enter_async_context(run_gateway({}, tmp_path / "data", **settings))
            return Door(daemon, await stack.enter_async_context(aiohttp.ClientSession()))

        yield opened


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def said(text: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """An answer, with calls by their ids."""
    blocks = [{"type": "toolCall", "id": one, "name": "read", "arguments": arguments} for one, arguments in calls]
    return {"role": "assistant", "content": [{"type": "text", "text": text}, *blocks]}


def result(call: str, text: str) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": call, "toolName": "read", "content": [{"type": "text", "text": text}]}


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    """What stands for all providers; it takes nothing that theirs would refuse."""
    with run_in_thread(FakeProvider(strict=True)) as running:
        yield running


@pytest.fixture
def make(provider: FakeProvider, tmp_path: Path) -> Iterator[Make]:
    """Sets up a Pi of a version with the extension; its daemon is stopped at the end."""
    hosts: list[Host] = []

    def make_host(version: str = NEWEST, **more: Any) -> Host:
        hosts.append(Host(tmp_path / "pi", find_pi(version), provider.url, **more))
        return hosts[-1]

    yield make_host
    for host in hosts:
        host.stop()
