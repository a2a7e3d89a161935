"""Privacy over real sockets: what a provider never gets, in every mode."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.test_managed import KEYS, SMALL, control, long_request, record
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

PRIVATE: dict[str, Any] = {"models": {"refresh": False}, "privacy": {"enabled": True}}
MANAGED: dict[str, Any] = {**SMALL, "privacy": {"enabled": True}}
SECRET = "sk-ant-" + "a1b2c3d4e5f6g7h8i9j0"
HIDDEN = "the-hidden-word"


def with_text(dialect: Dialect, text: str) -> tuple[str, bytes, dict[str, str]]:
    request = long_request(dialect, turns=3)
    body = request.body.replace(json.dumps("Be brief.").encode(), json.dumps(f"Be brief. {text}").encode())
    assert body != request.body
    return request.path, body, request.headers


@pytest.mark.parametrize("sections", [PRIVATE, MANAGED], ids=["observe", "managed"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_secrets_and_marked_text_never_leave(
    dialect: Dialect, sections: dict[str, Any], tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    path, body, headers = with_text(dialect, f"[ullage:local-only]{HIDDEN}[/ullage:local-only] key {SECRET} end")
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        async with client.post(gateway.url + path, data=body, headers=headers) as response:
            assert response.status == 200
        call = await record(gateway, response.headers["x-ullage-request"])
    sent = fake.requests[0].body
    assert HIDDEN.encode() not in sent and SECRET.encode() not in sent
    assert b"end" in sent
    assert json.loads(sent)[KEYS[dialect]]
    assert call.plan is not None
    told = call.plan["privacy"]
    assert (told["destination"], told["secret_redactions"] >= 1, told["blocked_blocks"] >= 1) == ("remote", True, True)
    assert told["enforcement"] == "context-and-provider"
    assert HIDDEN not in json.dumps(call.plan) and SECRET not in json.dumps(call.plan)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_has_nothing_to_hide_passes_byte_for_byte(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = long_request(dialect, turns=3)
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **PRIVATE) as gateway:
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            assert "x-ullage-plan" not in response.headers
    assert fake.requests[0].body == request.body


async def test_an_unclosed_marker_never_passes(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    path, body, headers = with_text("anthropic", f"[ullage:local-only] {HIDDEN}")
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **PRIVATE) as gateway:
        async with client.post(gateway.url + path, data=body, headers=headers) as response:
            assert response.status == 200
    assert HIDDEN.encode() not in fake.requests[0].body


@pytest.mark.parametrize("path", ["/v1/files", "/v1/messages", "/v1/messages/count_tokens"])
async def test_what_cannot_be_read_is_looked_at_byte_by_byte(
    path: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **PRIVATE) as gateway:
        async with client.post(gateway.url + path, data=f"no json, but {SECRET}".encode()) as response:
            assert response.status == 403
            error = (await response.json())["error"]
    assert error["type"] == "ullage_error" and error["code"].startswith("privacy")
    assert SECRET not in json.dumps(error)
    assert not len(fake.requests)


async def test_counting_tokens_shows_no_more_than_asking(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": f"key {SECRET}"}]}
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **PRIVATE) as gateway:
        async with client.post(f"{gateway.url}/v1/messages/count_tokens", json=body) as response:
            assert response.status == 200
    assert SECRET.encode() not in fake.requests[0].body


async def test_a_pin_that_the_provider_may_not_see_is_left_out_whole(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **MANAGED) as gateway:
        for text, classification in ((HIDDEN, "local-only"), ("an open pin", "normal")):
            await control(client, gateway, "pins", action="add", text=text, session="s", classification=classification)
        body = {"model": "m", "messages": [{"role": "user", "content": "Go on."}]}
        async with client.post(
            f"{gateway.url}/v1/chat/completions", json=body, headers={"x-ullage-session": "s"}
        ) as response:
            assert response.headers["x-ullage-plan"] == "managed"
        call = await record(gateway, response.headers["x-ullage-request"])
    sent = fake.requests[0].body
    assert HIDDEN.encode() not in sent and b"an open pin" in sent
    assert call.plan is not None
    assert [one["classification"] for one in call.plan["privacy"]["excluded_sources"]] == ["local-only"]


@pytest.mark.parametrize("placement", ["latest-user", "stable-prefix", "hybrid"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_nothing_that_is_added_leaks_wherever_it_is_placed(
    dialect: Dialect, placement: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    sections = {**MANAGED, "planning": {"placement": placement}}
    request = long_request(dialect)
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        for text, classification in (
            (HIDDEN, "sensitive"),
            (f"never closed [ullage:local-only] {HIDDEN}", "normal"),
            (f"an open pin with {SECRET} in it", "normal"),
        ):
            await control(client, gateway, "pins", action="add", text=text, session="s", classification=classification)
        claim = {"text": f"The build runner is {HIDDEN}.", "scope": "session", "classification": "local-only"}
        await control(client, gateway, "memory", action="add", session="s", **claim)
        headers = {**request.headers, "x-ullage-session": "s"}
        async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
            assert (response.status, response.headers["x-ullage-plan"]) == (200, "managed")
        call = await record(gateway, response.headers["x-ullage-request"])
    sent = fake.requests[0].body
    assert HIDDEN.encode() not in sent and SECRET.encode() not in sent
    assert b"an open pin with" in sent
    assert call.plan is not None
    assert len(call.plan["privacy"]["excluded_sources"]) == 3
    assert HIDDEN not in json.dumps(call.plan) and SECRET not in json.dumps(call.plan)


@pytest.mark.parametrize("sections", [PRIVATE, MANAGED], ids=["observe", "managed"])
async def test_where_privacy_fails_nothing_is_sent(
    sections: dict[str, Any],
    tmp_path: Path,
    fake: FakeProvider,
    client: aiohttp.ClientSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")

    request = long_request("anthropic")
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        for place in ("ullage.core.privacy.guard.sanitize_slice", "ullage.engine.reading.recognise"):
            with monkeypatch.context() as broken:
                broken.setattr(place, fail)
                async with client.post(
                    gateway.url + request.path, data=request.body, headers=request.headers
                ) as response:
                    assert response.status == 403
                    assert (await response.json())["error"]["code"] == "privacy_failed"
        await asyncio.to_thread(gateway.engine.flush)
    assert not len(fake.requests)


async def test_a_local_provider_gets_everything(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    host = fake.url.removeprefix("http://")
    sections = {**PRIVATE, "privacy": {"enabled": True, "local_providers": [host]}}
    path, body, headers = with_text("anthropic", f"[ullage:local-only]{HIDDEN}[/ullage:local-only] key {SECRET} end")
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        async with client.post(gateway.url + path, data=body, headers=headers) as response:
            assert response.status == 200
    assert HIDDEN.encode() in fake.requests[0].body and SECRET.encode() in fake.requests[0].body
