"""Names that stand for the router, in requests that nobody is chosen for: refused or answered here, never sent on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest

from tests.gateway.routes import routed
from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

OPENAI = {"authorization": "Bearer k"}
ANTHROPIC = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
GEMINI = {"x-goog-api-key": "k"}
PART = {"parts": [{"text": "hi"}]}

STRAY: list[tuple[str, dict[str, str], Any]] = [
    ("/v1/embeddings", OPENAI, {"model": "ullage/auto", "input": "hi"}),
    ("/v1/embeddings", OPENAI, {"input": "hi", "model": "cheap"}),
    ("/v1/completions", OPENAI, {"prompt": "hi", "model": "auto"}),
    ("/v1/images/generations", OPENAI, {"prompt": "hi", "model": "ullage/auto"}),
    ("/v1/messages/batches", ANTHROPIC, {"requests": [{"custom_id": "a", "params": {"model": "ullage/auto"}}]}),
    ("/v1beta/models/ullage/auto:embedContent", GEMINI, {"content": PART}),
    ("/v1beta/models/ullage%2Fauto:batchEmbedContents", GEMINI, {"requests": []}),
    ("/v1beta/models/ullage/auto:predict", GEMINI, {}),
    ("/v1beta/cachedContents", GEMINI, {"model": "models/ullage/auto", "contents": [PART]}),
]


@pytest.mark.parametrize(("path", "headers", "payload"), STRAY)
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
async def test_what_is_asked_of_the_name_and_is_no_conversation_is_refused(
    tmp_path: Path,
    fake: FakeProvider,
    client: aiohttp.ClientSession,
    path: str,
    headers: dict[str, str],
    payload: Any,
    zipped: bool,
) -> None:
    body = json.dumps(payload).encode()
    sent = {**headers, "content-encoding": "gzip"} if zipped else headers
    sections = routed(fake.url, routing={"aliases": {"cheap": {"policy": "cost"}}})
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        data = gzip.compress(body) if zipped else body
        async with client.post(gateway.url + path, data=data, headers=sent) as response:
            told = await response.json()
    assert response.status == 400
    assert "stands for models that answer a conversation" in told["error"]["message"]
    assert len(fake.requests) == 0


async def test_other_names_and_words_that_only_look_like_it_are_passed_on(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    bodies = (
        '{"model":"small","input":"hi"}',
        '{"input":{"model":"auto"},"model":"small"}',
        '"model":"auto" in a file',
    )
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **routed(fake.url)) as gateway:
        for body in bodies:
            async with client.post(gateway.url + "/v1/embeddings", data=body, headers=OPENAI) as response:
                await response.read()
        async with client.get(gateway.url + "/v1/models/automatic", headers=OPENAI) as response:
            await response.read()
    assert [fake.requests[number].body for number in range(3)] == [body.encode() for body in bodies]
    assert fake.requests[3].target == "/v1/models/automatic"


async def test_who_asks_what_the_name_is_is_answered_here(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **routed(fake.url)) as gateway:
        gpt = openai.AsyncOpenAI(api_key="k", base_url=gateway.url + "/v1")
        claude = anthropic.AsyncAnthropic(api_key="k", base_url=gateway.url)
        async with gpt, claude:
            assert (await gpt.models.retrieve("ullage/auto")).owned_by == "ullage"
            assert (await claude.models.retrieve("ullage/auto")).display_name == "ullage/auto"
        async with client.get(gateway.url + "/v1beta/models/ullage/auto", headers=GEMINI) as response:
            told = await response.json()
        assert (told["name"], told["inputTokenLimit"]) == ("models/ullage/auto", 1_000_000)
    assert len(fake.requests) == 0


@pytest.mark.parametrize("path", ["/v1/models/ullage/auto", "/v1/models/ullage%2Fauto", "/v1beta/models/auto"])
async def test_where_nobody_can_be_chosen_there_is_no_such_model(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, path: str
) -> None:
    async with run_gateway(
        dict.fromkeys(DIALECTS, fake.url), tmp_path, models={"refresh": False}, routing={"models": ["none/such"]}
    ) as gateway:
        async with client.get(gateway.url + path, headers=OPENAI) as response:
            told = await response.json()
        async with client.head(gateway.url + path, headers=OPENAI) as head:
            assert head.status == 404
    assert response.status == 404
    assert "could stand for" in told["error"]["message"]
    assert len(fake.requests) == 0
