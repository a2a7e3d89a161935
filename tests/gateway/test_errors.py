"""Our own error answers are API errors to the official SDKs, with status, message and our code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import msgspec
import openai
import pytest
from google.genai import errors as genai_errors

from tests.testing.sdk_scenarios import anthropic_client, gemini_client, openai_client
from ullage.core.errors import RequestError, UllageError, UpstreamError
from ullage.core.wire import DIALECTS, Dialect
from ullage.gateway.errors import error_body
from ullage.testing import FakeProvider, Fault, Rule
from ullage.testing.gateway import run_gateway

NOBODY = "http://127.0.0.1:9"
HI: Any = [{"role": "user", "content": "hi"}]
CALLS = {
    "openai-chat": ("/v1/chat/completions", {"model": "m", "messages": HI}),
    "openai-responses": ("/v1/responses", {"model": "m", "input": "hi"}),
    "anthropic": ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": HI}),
    "gemini": ("/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
}


# --- the official SDKs ---


async def ask_chat(url: str, text: str, stream: bool) -> Any:
    async with openai_client(url) as client:
        messages: Any = [{"role": "user", "content": text}]
        return await client.chat.completions.create(model="m", messages=messages, stream=stream)


async def ask_responses(url: str, text: str, stream: bool) -> Any:
    async with openai_client(url) as client:
        return await client.responses.create(model="m", input=text, stream=stream)


async def ask_anthropic(url: str, text: str, stream: bool) -> Any:
    async with anthropic_client(url) as client:
        messages: Any = [{"role": "user", "content": text}]
        return await client.messages.create(model="m", max_tokens=9, messages=messages, stream=stream)


async def ask_gemini(url: str, text: str, stream: bool) -> Any:
    async with gemini_client(url) as client:
        if not stream:
            return await client.models.generate_content(model="m", contents=text)
        return [chunk async for chunk in await client.models.generate_content_stream(model="m", contents=text)]


ASKS: dict[Dialect, Callable[[str, str, bool], Any]] = {
    "openai-chat": ask_chat,
    "openai-responses": ask_responses,
    "anthropic": ask_anthropic,
    "gemini": ask_gemini,
}
SdkError = openai.APIStatusError | anthropic.APIStatusError | genai_errors.APIError
SDK_ERRORS = (openai.APIStatusError, anthropic.APIStatusError, genai_errors.APIError)


def seen(error: SdkError) -> tuple[int, str, str, str]:
    """Status, message, our code and our hint, as a program finds them in the SDK's exception."""
    if isinstance(error, genai_errors.APIError):
        details = error.details["error"]["details"][0]
        return error.code, error.message or "", details["reason"], details["metadata"]["hint"]
    body: Any = error.body
    inner = body["error"] if isinstance(error, anthropic.APIStatusError) else body
    assert inner["type"] == "ullage_error"
    return error.status_code, error.message, inner["code"], inner["hint"]


@pytest.mark.parametrize("stream", [False, True], ids=["JSON", "stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_provider_out_of_reach_is_a_502_to_the_sdk(dialect: Dialect, stream: bool, tmp_path: Path) -> None:
    async with run_gateway({dialect: NOBODY}, tmp_path) as gateway:
        with pytest.raises(SDK_ERRORS) as caught:
            await ASKS[dialect](gateway.url, "hi", stream)
    status, message, code, hint = seen(caught.value)
    assert (status, code) == (502, "upstream_refused")
    assert "ullage: 127.0.0.1 refused the connection" in message
    assert "doctor" in hint


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_silent_provider_is_a_504_to_the_sdk(dialect: Dialect, fake: FakeProvider, tmp_path: Path) -> None:
    fake.script.add(Rule(fault=Fault(delay_ms=5000)))
    async with run_gateway({dialect: fake.url}, tmp_path, upstream={"idle_timeout_s": 0.1}) as gateway:
        with pytest.raises(SDK_ERRORS) as caught:
            await ASKS[dialect](gateway.url, "hi", False)
    status, message, code, _ = seen(caught.value)
    assert (status, code) == (504, "upstream_timeout")
    assert "did not answer in time" in message


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_body_over_the_limit_is_a_413_to_the_sdk(dialect: Dialect, fake: FakeProvider, tmp_path: Path) -> None:
    async with run_gateway({dialect: fake.url}, tmp_path, server={"body_limit_bytes": 300_000}) as gateway:
        with pytest.raises(SDK_ERRORS) as caught:
            await ASKS[dialect](gateway.url, "too long " * 100_000, True)
    status, message, code, hint = seen(caught.value)
    assert (status, code) == (413, "body_too_large")
    assert "larger than 300,000 bytes" in message
    assert "server.body_limit_bytes" in hint


# --- the shapes ---


@pytest.mark.parametrize("dialect", [*DIALECTS, None])
def test_every_error_body_carries_the_same_five_facts(dialect: Dialect | None) -> None:
    error = RequestError("what “happened”", hint="what to do", code="a_code")
    body = msgspec.json.decode(error_body(dialect, 413, error, "id-1"))
    inner = body["error"]
    assert inner["type"] == "ullage_error"
    assert inner["message"] == "ullage: what “happened”"
    assert inner["hint"] == "what to do"
    assert inner["request"] == "id-1"
    assert (inner["details"][0]["reason"] if dialect == "gemini" else inner["code"]) == "a_code"


@pytest.mark.parametrize("status", [400, 404, 408, 413, 418, 426, 429, 502, 503, 504])
def test_gemini_errors_have_a_number_as_code_and_a_word_as_status(status: int) -> None:
    inner = msgspec.json.decode(error_body("gemini", status, UllageError("x"), "id"))["error"]
    assert inner["code"] == status
    assert inner["status"].isupper()


def test_anthropic_errors_have_their_outer_type() -> None:
    body = msgspec.json.decode(error_body("anthropic", 502, UpstreamError("x"), "id"))
    assert (body["type"], body["request_id"]) == ("error", "id")


async def test_an_unknown_path_gets_the_shape_that_most_clients_read(
    client: aiohttp.ClientSession, gateway: Any
) -> None:
    async with client.post(gateway.url + "/v9/%3Cscript%3E?key=SECRET", data=b"{}") as response:
        text = await response.text()
        assert response.status == 404
        assert response.content_type == "application/json"
    assert json.loads(text)["error"]["code"] == "no_route"
    assert "SECRET" not in text


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_connection_too_many_is_told_in_the_dialect_of_the_client(
    dialect: Dialect, fake: FakeProvider, tmp_path: Path
) -> None:
    path, request = CALLS[dialect]
    async with run_gateway({dialect: fake.url}, tmp_path, server={"max_connections": 1}) as gateway:
        async with aiohttp.ClientSession() as first, aiohttp.ClientSession() as second:
            async with first.post(gateway.url + path, json=request) as response:
                assert response.status == 200
                await response.read()
            async with second.post(gateway.url + path, json=request) as response:
                assert response.status == 503
                assert response.headers["connection"] == "close"
                assert "server.max_connections" in await response.text()
            async with first.post(gateway.url + path, json=request) as response:
                assert response.status == 200
