"""The server over real sockets: routes, recording, state."""

from __future__ import annotations

import asyncio
import gc
import gzip
import socket
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.core.content import Usage
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_prose, make_request, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import aiohttp

    from tests.testing.conftest import Result

    Ask = Callable[..., Awaitable[Result]]

ODD_BODIES = {
    "white space": b' { "model" : "m" ,\n\t"messages":[{"role":"user","content":"hi"}] }\r\n',
    "duplicate keys": b'{"model":"a","model":"m","messages":[{"role":"user","content":"hi"}]}',
    "lone surrogate": b'{"model":"m","messages":[{"role":"user","content":"\\ud800 hi"}]}',
    "huge number": b'{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":' + b"9" * 400 + b"}",
    "byte-order mark": b'\xef\xbb\xbf{"model":"m","messages":[{"role":"user","content":"hi"}]}',
    "escapes": b'{"model":"m","messages":[{"role":"user","content":"\\u0068\\/\\u0069"}]}',
}


async def send(
    provider: FakeProvider, method: str, target: str, body: bytes = b"", **headers: str
) -> tuple[int, bytes]:
    """Sends exact bytes by a bare socket; returns status and what came back after the head."""
    host, port = provider.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"{method} {target} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    head, _, rest = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return int(head.split()[1]), rest


@pytest.mark.parametrize("name", ODD_BODIES)
async def test_odd_but_valid_json_is_answered_and_recorded_as_it_came(provider: FakeProvider, name: str) -> None:
    status, _ = await send(provider, "POST", "/v1/chat/completions", ODD_BODIES[name])
    assert status == 200
    assert provider.requests[0].body == ODD_BODIES[name]
    assert provider.requests[0].model == "m"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"model":"m"}'])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_body_that_is_no_request_gets_a_400_of_its_dialect(
    ask: Ask, provider: FakeProvider, dialect: Dialect, body: bytes
) -> None:
    result = await ask(provider, msgspec.structs.replace(make_request(dialect), body=body))
    assert result.status == 400
    assert result.json["error"]["message"]


async def test_headers_and_target_are_kept_in_the_order_and_spelling_of_the_wire(provider: FakeProvider) -> None:
    body = make_request("anthropic").body
    await send(provider, "POST", "/v1/messages?beta=true&x=%20", body, X_Odd_NAME="One", x_odd_name="two")
    (received,) = provider.requests
    assert received.target == "/v1/messages?beta=true&x=%20"
    assert received.path == "/v1/messages"
    assert [name for name, _ in received.headers] == [
        b"Host", b"Connection", b"Content-Length", b"X-Odd-NAME", b"x-odd-name"
    ]  # fmt: skip
    assert received.header("X-ODD-name") == "One"
    assert (received.method, received.status, received.dialect) == ("POST", 200, "anthropic")


async def test_a_compressed_request_is_recorded_compressed_and_understood(ask: Ask, provider: FakeProvider) -> None:
    request = make_request("anthropic", turns=("A question.",))
    packed = msgspec.structs.replace(request, body=gzip.compress(request.body))
    result = await ask(provider, packed, content_encoding="gzip")
    assert "A question." in result.json["content"][0]["text"]
    assert provider.requests[0].body == packed.body


async def test_a_client_that_waits_for_100_continue_is_told_to_go_on(
    session: aiohttp.ClientSession, provider: FakeProvider
) -> None:
    request = make_request("anthropic")
    async with session.post(provider.url + request.path, data=request.body, expect100=True) as response:
        assert response.status == 200


async def test_connections_are_numbered(ask: Ask, provider: FakeProvider) -> None:
    for _ in range(2):
        await ask(provider, make_request("gemini"))
    await send(provider, "GET", "/v1/models")
    assert [received.connection for received in provider.requests] == [1, 1, 2]
    assert provider.connections_opened == 2
    assert provider.connections_open == 1


@pytest.mark.parametrize("target", ["/v1/models", "/v1/models?limit=1000", "/v1/v1/models"])
async def test_models_are_listed_in_the_clients_own_style(provider: FakeProvider, target: str) -> None:
    openai = msgspec.json.decode((await send(provider, "GET", target))[1])
    anthropic = msgspec.json.decode((await send(provider, "GET", target, anthropic_version="2023-06-01"))[1])
    gemini = msgspec.json.decode((await send(provider, "GET", target, x_goog_api_key="k"))[1])
    keyed = f"{target}{'&' if '?' in target else '?'}key=k"
    assert msgspec.json.decode((await send(provider, "GET", keyed))[1]) == gemini
    assert openai["object"] == "list"
    assert [model["id"] for model in openai["data"]] == ["fake-large", "fake-small"]
    assert (anthropic["has_more"], anthropic["data"][0]["display_name"]) == (False, "fake-large")
    assert gemini["models"][0]["name"] == "models/fake-large"


async def test_one_model_can_be_asked_for(provider: FakeProvider) -> None:
    assert msgspec.json.decode((await send(provider, "GET", "/v1/models/org/name"))[1])["id"] == "org/name"


async def test_the_hello_of_claude_code_is_answered(provider: FakeProvider) -> None:
    assert await send(provider, "HEAD", "/api/hello") == (200, b"")


async def test_a_websocket_is_refused_so_that_the_client_goes_on_with_http(provider: FakeProvider) -> None:
    status, body = await send(provider, "GET", "/v1/responses", Upgrade="websocket", Connection="Upgrade")
    assert status == 426
    assert msgspec.json.decode(body)["error"]["message"]


@pytest.mark.parametrize("target", ["/", "/v1/embeddings", "/v2/messages", "/v1/models/m:embedContent"])
async def test_an_unknown_path_gets_a_404(provider: FakeProvider, target: str) -> None:
    assert (await send(provider, "POST", target, b"{}"))[0] == 404


@pytest.mark.parametrize("prefix", ["/v1beta", "/v1", "/v1beta/v1beta"])
async def test_gemini_is_served_under_both_prefixes(provider: FakeProvider, prefix: str) -> None:
    body = make_request("gemini").body
    status, answer = await send(provider, "POST", f"{prefix}/models/gemini-x:generateContent", body)
    assert (status, msgspec.json.decode(answer)["modelVersion"]) == (200, "gemini-x")


async def test_gemini_streams_an_array_unless_events_are_asked_for(
    session: aiohttp.ClientSession, provider: FakeProvider
) -> None:
    url = f"{provider.url}/v1beta/models/m:streamGenerateContent"
    async with session.post(url, data=make_request("gemini").body) as response:
        chunks = msgspec.json.decode(await response.read())
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"


async def test_counting_is_what_usage_then_says(ask: Ask, provider: FakeProvider) -> None:
    for dialect, path, field in (
        ("anthropic", "/v1/messages/count_tokens?beta=true", "input_tokens"),
        ("gemini", "/v1beta/models/m:countTokens", "totalTokens"),
        ("openai-responses", "/v1/responses/input_tokens", "input_tokens"),
    ):
        request = make_request(dialect, system=make_prose(500))  # type: ignore[arg-type]
        count = (await ask(provider, msgspec.structs.replace(request, path=path))).json[field]
        await ask(provider, request)
        usage = provider.requests[-1].usage
        assert usage is not None
        assert count == usage.prompt


async def test_usage_follows_the_caches_of_this_provider(ask: Ask, provider: FakeProvider) -> None:
    request = make_request("anthropic", system=make_prose(20_000), marks=True)
    first, second = [(await ask(provider, request)).json["usage"] for _ in range(2)]
    assert first["cache_creation_input_tokens"] == second["cache_read_input_tokens"] > 4_000


async def test_a_failed_request_leaves_nothing_in_the_cache(ask: Ask) -> None:
    request = make_request("anthropic", system=make_prose(20_000), marks=True)
    async with FakeProvider([Fault(status=500)]) as provider:
        await ask(provider, request)
        assert (await ask(provider, request)).json["usage"]["cache_read_input_tokens"] == 0


async def test_a_stored_response_can_be_continued_and_read_again(ask: Ask, provider: FakeProvider) -> None:
    store = {"store": True}
    first = (await ask(provider, make_request("openai-responses", turns=("One?",), extra=store))).json
    go_on = {**store, "previous_response_id": first["id"]}
    second = (await ask(provider, make_request("openai-responses", turns=("Two?",), extra=go_on))).json
    assert second["previous_response_id"] == first["id"]
    assert second["usage"]["input_tokens"] > first["usage"]["input_tokens"] + 10
    go_on = {**store, "previous_response_id": second["id"]}
    third = (await ask(provider, make_request("openai-responses", turns=("Three?",), extra=go_on))).json
    assert third["usage"]["input_tokens"] > second["usage"]["input_tokens"] + 10
    status, body = await send(provider, "GET", f"/v1/responses/{first['id']}")
    assert (status, msgspec.json.decode(body)["output"]) == (200, first["output"])


async def test_a_response_that_was_not_stored_cannot_be_continued(ask: Ask, provider: FakeProvider) -> None:
    first = (await ask(provider, make_request("openai-responses", extra={"store": False}))).json
    result = await ask(provider, make_request("openai-responses", extra={"previous_response_id": first["id"]}))
    assert result.status == 404
    assert result.json["error"]["code"] == "previous_response_not_found"
    assert first["id"] in result.json["error"]["message"]
    assert (await send(provider, "GET", f"/v1/responses/{first['id']}"))[0] == 404


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
async def test_a_fixed_reply_is_replayed_byte_for_byte(ask: Ask, dialect: Dialect, stream: bool) -> None:
    usage = Usage(input_fresh=10, output=5)
    async with FakeProvider([Reply(text="Fixed.", usage=usage, fixed=True)]) as provider:
        results = [await ask(provider, make_request(dialect, turns=(text,), stream=stream)) for text in ("a", "b")]
        assert results[0].body == results[1].body
        assert b"Fixed." in results[0].body
        assert provider.requests[1].usage == usage
        other = await ask(provider, make_request(dialect, model="other", stream=not stream))
        assert other.body != results[0].body


async def test_every_answer_names_its_request(ask: Ask, provider: FakeProvider) -> None:
    anthropic = await ask(provider, make_request("anthropic"))
    openai = await ask(provider, make_request("openai-chat"))
    assert anthropic.headers["request-id"] != openai.headers["x-request-id"]


async def test_sixty_four_clients_at_once_are_all_answered(ask: Ask, provider: FakeProvider) -> None:
    requests = [make_request(DIALECTS[n % 4], stream=n % 2 == 0, turns=(f"Number {n}.",)) for n in range(256)]
    results = await asyncio.gather(*(ask(provider, request) for request in requests))
    assert {result.status for result in results} == {200}
    assert all(f"Number {n}." in result.body.decode() or n % 2 == 0 for n, result in enumerate(results))
    assert len(provider.requests) == 256


def test_a_provider_can_run_in_a_thread_for_clients_that_block() -> None:
    with run_in_thread(FakeProvider([Rule(reply=Reply(text="From the thread."))])) as provider:
        request = make_request("anthropic")
        call = urllib.request.Request(provider.url + request.path, data=request.body, method="POST")
        with urllib.request.urlopen(call) as response:
            assert b"From the thread." in response.read()
    assert len(provider.requests) == 1


async def test_a_provider_that_stops_does_not_blame_its_clients(session: aiohttp.ClientSession) -> None:
    async with FakeProvider([Fault(stall_after=10)]) as provider:
        request: Any = make_request("anthropic", stream=True)
        response = await session.post(provider.url + request.path, data=request.body)
        await response.content.readexactly(10)
    assert provider.requests[0].cancelled is False
    response.close()


def test_clients_that_come_in_the_moment_of_its_end_leave_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    leaks: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: leaks.append(unraisable.exc_value))
    for _ in range(20):
        with run_in_thread(FakeProvider()) as provider:
            address = ("127.0.0.1", int(provider.url.rpartition(":")[2]))
            clients = [socket.create_connection(address) for _ in range(8)]
        for client in clients:
            client.close()
    gc.collect()
    assert leaks == []
