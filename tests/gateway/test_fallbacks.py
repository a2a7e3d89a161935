"""Counting, models and hello: relayed where the provider knows them, answered by us where it does not."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.testing.sdk_scenarios import anthropic_client, gemini_client, openai_client
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

HI: Any = [{"role": "user", "content": "Count these words, please."}]
COUNTS: dict[str, tuple[Dialect, dict[str, Any], str]] = {
    "/v1/messages/count_tokens?beta=true": ("anthropic", {"model": "m", "messages": HI}, "input_tokens"),
    "/v1/responses/input_tokens": ("openai-responses", {"model": "m", "input": HI}, "input_tokens"),
    "/v1beta/models/m:countTokens": ("gemini", {"contents": [{"parts": [{"text": "Count."}]}]}, "totalTokens"),
    "/v1/models/m:countTokens": ("gemini", {"contents": [{"parts": [{"text": "Count."}]}]}, "totalTokens"),
}
MODELS: dict[Dialect, tuple[str, dict[str, str], dict[str, Any]]] = {
    "openai-chat": ("/v1/models?limit=1000", {"authorization": "Bearer k"}, {"object": "list", "data": []}),
    "anthropic": (
        "/v1/models",
        {"anthropic-version": "2023-06-01"},
        {"data": [], "has_more": False, "first_id": None, "last_id": None},
    ),
    "gemini": ("/v1beta/models", {"x-goog-api-key": "k"}, {"models": []}),
}


@contextlib.asynccontextmanager
async def ignorant_gateway(tmp_path: Path, *, status: int = 404, **sections: Any) -> AsyncIterator[Daemon]:
    """A gateway whose provider knows no route at all."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=status, text="<html>not here</html>", content_type="text/html")

    server = web.AppRunner(web.Application(), access_log=None)
    server.app.router.add_route("*", "/{path:.*}", answer)
    await server.setup()
    try:
        site = web.TCPSite(server, "127.0.0.1", 0)
        await site.start()
        root = f"http://127.0.0.1:{server.addresses[0][1]}"
        async with run_gateway(dict.fromkeys(DIALECTS, root), tmp_path, **sections) as gateway:
            yield gateway
    finally:
        await server.cleanup()


@pytest.mark.parametrize("status", [404, 405, 501])
@pytest.mark.parametrize("path", COUNTS)
async def test_tokens_are_counted_here_where_the_provider_cannot(
    path: str, status: int, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    _, body, key = COUNTS[path]
    async with ignorant_gateway(tmp_path, status=status) as gateway:
        async with client.post(gateway.url + path, json=body) as response:
            counted = await response.json()
            assert response.status == 200
        assert await asyncio.to_thread(gateway.engine.flush)
        (record,) = gateway.store.calls()
    assert 0 < counted[key] < 100
    assert record.kind == "count_tokens"
    assert record.outcome == "answered"


async def test_a_count_covers_system_and_tools(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    tool = {"name": "look", "description": "word " * 200, "input_schema": {"type": "object", "properties": {}}}
    bodies = [
        {"model": "m", "messages": HI},
        {"model": "m", "messages": HI, "tools": [tool]},
        {"model": "m", "messages": HI, "tools": [tool], "system": "word " * 400},
    ]
    counts = []
    async with ignorant_gateway(tmp_path) as gateway:
        for body in bodies:
            async with client.post(gateway.url + "/v1/messages/count_tokens", json=body) as response:
                counts.append((await response.json())["input_tokens"])
    assert counts[1] - counts[0] > 190
    assert counts[2] - counts[1] > 390


@pytest.mark.parametrize("path", COUNTS)
async def test_a_body_that_cannot_be_counted_is_a_404_in_the_dialect_of_the_client(
    path: str, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Claude Code then estimates by itself."""
    async with ignorant_gateway(tmp_path) as gateway:
        async with client.post(gateway.url + path, data=b"no JSON") as response:
            body = await response.json()
            assert response.status == 404
    dialect = COUNTS[path][0]
    assert body["error"]["type"] == "ullage_error"
    assert body.get("type") == ("error" if dialect == "anthropic" else None)
    if dialect == "gemini":
        assert (body["error"]["code"], body["error"]["status"]) == (404, "NOT_FOUND")


async def test_counting_works_without_accounting(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with ignorant_gateway(tmp_path, accounting={"enabled": False}) as gateway:
        async with client.post(
            gateway.url + "/v1/messages/count_tokens", json={"model": "m", "messages": HI}
        ) as response:
            assert (await response.json())["input_tokens"] > 0


@pytest.mark.parametrize("dialect", MODELS)
async def test_a_provider_without_a_list_of_models_has_an_empty_one(
    dialect: Dialect, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    path, headers, expected = MODELS[dialect]
    async with ignorant_gateway(tmp_path) as gateway:
        async with client.get(gateway.url + path, headers=headers) as response:
            assert (response.status, await response.json()) == (200, expected)
        async with client.head(gateway.url + path, headers=headers) as response:
            assert (response.status, await response.read()) == (200, b"")


async def test_hello_is_answered_here_where_the_provider_is_silent(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with ignorant_gateway(tmp_path) as gateway:
        async with client.head(gateway.url + "/api/hello") as response:
            assert response.status == 200
            assert response.headers["x-ullage-request"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/models/one", "/v1/files"])
async def test_what_is_no_courtesy_is_relayed_as_the_provider_said_it(
    path: str, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with ignorant_gateway(tmp_path) as gateway:
        async with client.post(gateway.url + path, json={}) as response:
            assert (response.status, await response.text()) == (404, "<html>not here</html>")


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
async def test_a_provider_that_fails_at_counting_is_heard(
    status: int, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with ignorant_gateway(tmp_path, status=status) as gateway:
        async with client.post(gateway.url + "/v1/messages/count_tokens", json={"model": "m"}) as response:
            assert (response.status, await response.text()) == (status, "<html>not here</html>")


@pytest.mark.parametrize("path", COUNTS)
async def test_a_provider_that_counts_is_relayed(
    path: str, gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    _, body, key = COUNTS[path]
    async with client.post(fake.url + path, json=body) as response:
        direct = await response.json()
    async with client.post(gateway.url + path, json=body) as response:
        assert await response.json() == direct
    assert direct[key] > 0
    assert fake.requests[-1].target == path
    assert fake.requests[-1].body == json.dumps(body).encode()
    assert await asyncio.to_thread(gateway.engine.flush)
    assert gateway.store.calls()[0].outcome == "ok"


@pytest.mark.parametrize("dialect", MODELS)
async def test_a_provider_that_lists_its_models_is_relayed(
    dialect: Dialect, gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    path, headers, empty = MODELS[dialect]
    async with client.get(gateway.url + path, headers=headers) as response:
        listed = await response.json()
    assert listed != empty
    assert fake.requests[0].target == path


async def test_a_provider_that_says_hello_is_relayed(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with client.head(gateway.url + "/api/hello") as response:
        assert response.status == 200
    assert fake.requests[0].target == "/api/hello"


async def test_the_official_sdks_take_our_answers(tmp_path: Path) -> None:
    async with ignorant_gateway(tmp_path) as gateway:
        async with anthropic_client(gateway.url) as claude:
            assert (await claude.messages.count_tokens(model="m", messages=HI)).input_tokens > 0
            assert [model async for model in claude.models.list()] == []
        async with openai_client(gateway.url) as gpt:
            assert [model async for model in gpt.models.list()] == []
            assert (await gpt.responses.input_tokens.count(model="m", input="Count.")).input_tokens > 0
        async with gemini_client(gateway.url) as gemini:
            assert (await gemini.models.count_tokens(model="m", contents="Count.")).total_tokens > 0


async def test_a_client_that_leaves_while_a_refusal_is_read_takes_the_connection_with_it(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """The provider's connection is closed at once, not when the garbage collector comes by."""
    closed = asyncio.Event()

    async def refuse_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n")
        while await reader.read(1000):
            pass
        closed.set()
        writer.close()

    server = await asyncio.start_server(refuse_slowly, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    gc.disable()
    try:
        async with server, run_gateway(dict.fromkeys(DIALECTS, url), tmp_path) as gateway:
            with pytest.raises(TimeoutError):
                async with client.post(
                    f"{gateway.url}/v1/messages/count_tokens", json={}, timeout=aiohttp.ClientTimeout(total=0.3)
                ) as response:
                    await response.read()
            async with asyncio.timeout(5):
                await closed.wait()
    finally:
        gc.enable()
