"""Credentials and words pass through the gateway and stay nowhere: not in the store, not in the log, not in our answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.gateway.raw_http import connect
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.testing import Exchange as ToolExchange
from ullage.testing import FakeProvider, Fault, Reply, Rule, ToolUse, make_request, make_tools
from ullage.testing.gateway import run_gateway

KEY = "sk-SECRET-0123456789"
CREDENTIALS = {
    "authorization": f"Bearer {KEY}a",
    "x-api-key": f"{KEY}b",
    "x-goog-api-key": f"{KEY}c",
    "proxy-authorization": f"Basic {KEY}d",
    "cookie": f"session={KEY}e",
    "anthropic-beta": "one,two",
}
WORD = "UNSPEAKABLE"
SAID = Reply(
    text=f"{WORD} said",
    thinking=f"{WORD} thought",
    tool_calls=(ToolUse(name="bash", arguments={"command": f"{WORD} called"}),),
)
FAULTS = {
    "whole": None,
    "error": Fault(status=401, message=f"{WORD} {KEY}"),
    "hang up": Fault(hang_up=True),
    "cut": Fault(cut_after=200),
    "malformed": Fault(malformed_event=2),
    "error inside": Fault(error_event=2, message=WORD),
}


def everything_kept(gateway: Daemon, folder: Path) -> bytes:
    """All records as JSON, and the bytes of every file but the token."""
    records = [gateway.store.sessions(), gateway.store.calls(), gateway.store.events(), gateway.store.problems()]
    files = [file.read_bytes() for file in folder.iterdir() if file.is_file() and file.name != "token"]
    return msgspec.json.encode(records) + b"".join(files)


async def send(client: aiohttp.ClientSession, url: str, body: bytes) -> tuple[int | None, bytes]:
    with contextlib.suppress(aiohttp.ClientError):
        async with client.post(url, data=body, headers=CREDENTIALS) as response:
            return response.status, await response.read()
    return None, b""


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_nothing_secret_and_nothing_said_stays(
    dialect: Dialect,
    fault: str,
    fake: FakeProvider,
    tmp_path: Path,
    client: aiohttp.ClientSession,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.script.add(Rule(reply=SAID, fault=FAULTS[fault]))
    request = make_request(
        dialect,
        turns=[f"{WORD} asked", ToolExchange(arguments={"command": WORD}, result=WORD), f"{WORD} again"],
        tools=make_tools(2),
        system=f"{WORD} told",
        stream=True,
        extra={"unheard_of": WORD},
    )
    separator = "&" if "?" in request.path else "?"
    data_dir = tmp_path / "data"
    async with run_gateway({dialect: fake.url}, data_dir, store="sqlite") as gateway:
        url = f"{gateway.url}{request.path}{separator}key={KEY}f"
        for body in (request.body, request.body[:-9]):
            status, answer = await send(client, url, body)
            if status == 502:
                assert KEY.encode() not in answer and WORD.encode() not in answer
        assert await asyncio.to_thread(gateway.engine.flush)
        assert await asyncio.to_thread(gateway.store.flush)
        assert len(gateway.store.calls()) == 2
        kept = everything_kept(gateway, data_dir)
    assert fake.requests[0].header("authorization") == CREDENTIALS["authorization"]
    assert fake.requests[0].target.endswith(f"key={KEY}f")
    assert KEY.encode() not in kept
    assert WORD.encode() not in kept
    # aiohttp and asyncio are the test's own client and provider too; what they say is not ours.
    said = "".join(record.getMessage() for record in caplog.records if record.name.startswith(("ullage", "uvicorn")))
    assert KEY not in said and WORD not in said


async def test_no_answer_of_ours_repeats_a_credential(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "ullage")
    upstreams = dict.fromkeys(DIALECTS, "http://127.0.0.1:9")
    async with run_gateway(upstreams, tmp_path, server={"body_limit_bytes": 1000}) as gateway:
        for path in ("/v1/messages", "/v1/models", "/v9/unknown", "/api/hello", "/ullage/v1/sessions"):
            status, answer = await send(client, f"{gateway.url}{path}?key={KEY}", b"x" * 2000)
            assert status is not None and status >= 400
            assert KEY.encode() not in answer
        head = f"GET /v1/models HTTP/1.1\r\nhost: {KEY}\r\nauthorization: {KEY}\x01\r\n\r\n"
        async with connect(gateway) as connection:
            connection.send(head.encode())
            assert KEY.encode() not in await connection.rest()
    assert KEY not in caplog.text


async def test_each_credential_goes_to_the_provider_of_its_dialect_alone(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    sent: dict[Dialect, tuple[str, dict[str, str]]] = {
        "openai-chat": ("/v1/models", {"authorization": "Bearer openai-key"}),
        "anthropic": ("/v1/models", {"x-api-key": "anthropic-key", "anthropic-version": "2023-06-01"}),
        "gemini": ("/v1/models", {"x-goog-api-key": "gemini-key"}),
    }
    async with contextlib.AsyncExitStack() as stack:
        fakes: dict[Dialect, FakeProvider] = {
            dialect: await stack.enter_async_context(FakeProvider()) for dialect in DIALECTS
        }
        upstreams: Any = {dialect: fake.url for dialect, fake in fakes.items()}
        gateway = await stack.enter_async_context(run_gateway(upstreams, tmp_path))
        for path, headers in sent.values():
            async with client.get(gateway.url + path, headers=headers) as response:
                assert response.status == 200
        for dialect, fake in fakes.items():
            headers = json.dumps(
                [[name.decode(), value.decode()] for one in fake.requests for name, value in one.headers]
            )
            assert [key for key in ("openai-key", "anthropic-key", "gemini-key") if key in headers] == (
                [sent[dialect][1][next(iter(sent[dialect][1]))].removeprefix("Bearer ")] if dialect in sent else []
            )
