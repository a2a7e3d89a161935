"""What a target that is not the client's own provider gets of a request: what it needs and can use, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import LIGHT, ask, routed
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider, make_request
from ullage.testing.gateway import run_gateway

NOWHERE = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")
EASY = "Rename the variable x in this line to count."
SECRET = "jane-doe"
HEADERS = {
    "x_auth_token": SECRET,
    "x_amz_security_token": SECRET,
    "x_custom_secret": SECRET,
    "x_forwarded_for": SECRET,
    "session_id": SECRET,
    "cookie": SECRET,
    "authorization": f"Bearer {SECRET}",
    "x_goog_api_client": SECRET,
}
IDENTITY: dict[Dialect, dict[str, Any]] = {
    "openai-chat": {"user": SECRET, "safety_identifier": SECRET, "prompt_cache_key": SECRET},
    "openai-responses": {"user": SECRET, "metadata": {"id": SECRET}, "prompt_cache_key": SECRET},
    "anthropic": {"metadata": {"user_id": SECRET}},
    "gemini": {"labels": {"id": SECRET}},
}
GPT = "corp/gpt-5"


@pytest.mark.parametrize("spoken", DIALECTS)
@pytest.mark.parametrize("client_dialect", DIALECTS)
async def test_a_stranger_is_not_told_who_asks(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, client_dialect: Dialect, spoken: Dialect
) -> None:
    request = make_request(client_dialect, model="auto", turns=[EASY], extra=IDENTITY[client_dialect])
    sections = routed(fake.url, routing={"models": [LIGHT]})
    sections["providers"]["anthropic"]["dialects"] = [spoken]
    query = "&key=" + SECRET if "?" in request.path else "?access_token=" + SECRET
    asked = type(request)(
        dialect=request.dialect, path=request.path + query, headers=request.headers, body=request.body
    )
    async with run_gateway(NOWHERE, tmp_path, **sections) as gateway:
        came = await ask(gateway, client, asked, **HEADERS)
    assert came.status == 200
    received = fake.requests[0]
    told = b"\n".join([received.target.encode(), received.body, *(b": ".join(pair) for pair in received.headers)])
    assert SECRET.encode() not in told
    allowed = {"host", "content-length", "content-type", "accept", "accept-encoding", "user-agent"}
    extra = {name.decode().lower() for name, _ in received.headers} - allowed
    assert extra <= {"anthropic-version", "connection"}


async def test_the_clients_own_upstream_gets_what_it_always_got(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("openai-chat", model="auto", turns=[EASY], extra={"user": SECRET})
    sections = routed(fake.url, routing={"models": [LIGHT]})
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        await ask(gateway, client, request, authorization="Bearer k", x_custom="1")
    received = fake.requests[0]
    assert json.loads(received.body)["user"] == SECRET
    assert (received.header("authorization"), received.header("x-custom")) == ("Bearer k", "1")


def with_gpt(url: str, dialects: list[str], most: int) -> dict[str, Any]:
    """Settings under which GPT-5 can be chosen beside the usual ones, and is alone pinned."""
    sections = routed(url, routing={"models": [GPT], "thinking": "off"})
    known = sections["models"]["overrides"]
    known[GPT] = {**known[LIGHT], "max_output_tokens": most}
    sections["providers"]["corp"] = {"url": url, "dialects": dialects, "key": "none", "models": ["gpt-5"]}
    return sections


@pytest.mark.parametrize("client_dialect", ["openai-chat", "anthropic"])
async def test_limit_and_sampling_of_a_request_are_said_as_its_target_takes_them(
    tmp_path: Path, client: aiohttp.ClientSession, client_dialect: Dialect
) -> None:
    request = make_request(client_dialect, model="auto", turns=[EASY], extra={"max_tokens": 90_000, "temperature": 0.2})
    async with FakeProvider(strict=True) as fake:
        async with run_gateway(NOWHERE, tmp_path, **with_gpt(fake.url, ["openai-chat"], 32_000)) as gateway:
            came = await ask(gateway, client, request)
        body = json.loads(fake.requests[0].body)
    assert came.status == 200
    assert body["max_completion_tokens"] == 32_000
    assert {"max_tokens", "temperature"}.isdisjoint(body)
    assert {one["code"] for one in came.route["losses"]} == {"max_tokens", "sampling"}
    assert set(came.headers["x-ullage-losses"].split(", ")) == {"max_tokens", "sampling"}
    if client_dialect == "openai-chat":
        assert "The model answers with at most 32000 tokens." in came.route["notes"]


async def test_who_cannot_stop_where_the_client_wants_it_is_not_asked(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("openai-chat", model="auto", turns=[EASY], extra={"stop": ["\n"]})
    async with run_gateway(NOWHERE, tmp_path, **with_gpt(fake.url, ["openai-chat"], 32_000)) as gateway:
        came = await ask(gateway, client, request)
    assert came.status == 400
    assert [one["code"] for one in came.route["excluded"]] == ["dialect"]
    assert b"stop" in came.body


@pytest.mark.parametrize("client_dialect", DIALECTS)
@pytest.mark.parametrize("model", ["gemini-2.5-flash", "claude-sonnet-4-5", "gpt-5.1"])
async def test_a_strict_host_takes_how_its_model_is_told_to_think(
    tmp_path: Path, client: aiohttp.ClientSession, client_dialect: Dialect, model: str
) -> None:
    request = make_request(client_dialect, model="auto", turns=["hi"])
    async with FakeProvider(strict=True) as fake:
        for level in ("off", "minimal", "max"):
            sections = routed(fake.url, routing={"models": [f"corp/{model}"], "thinking": level})
            known = sections["models"]["overrides"]
            known[f"corp/{model}"] = known[LIGHT]
            sections["providers"]["corp"] = {
                "url": fake.url,
                "dialects": list(DIALECTS),
                "key": "none",
                "models": [model],
            }
            async with run_gateway(NOWHERE, tmp_path / level, **sections) as gateway:
                came = await ask(gateway, client, request)
            assert (came.status, came.route["target"]) == (200, f"corp/{model}"), came.body
