"""What passes through the gateway and what does not, over real sockets; the faults that users report of gateways."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import threading
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.engine import reading
from ullage.testing import FakeProvider, Fault, Rule
from ullage.testing.gateway import run_gateway

CHAT = "/v1/chat/completions"
CALLS = {
    "openai-chat": (CHAT, {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    "openai-responses": ("/v1/responses", {"model": "m", "input": "hi"}),
    "anthropic": ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}),
    "gemini": ("/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
}
STREAM = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}

ODD_BODIES = {
    "white space": b'\r\n {"model" :\t"m" , "messages":[ {"role":"user","content":"hi"} ] } \n',
    "duplicate keys": b'{"model":"x","model":"m","messages":[{"role":"user","content":"a","content":"hi"}]}',
    "escapes": b'{"model":"m","messages":[{"role":"user","content":"\\u0068\\/\\ud83d \\u0000"}]}',
    "huge numbers": b'{"model":"m","seed":1'
    + b"0" * 400
    + b',"temperature":1e999,"messages":[{"role":"user","content":"hi"}]}',
    "byte-order mark": b'\xef\xbb\xbf{"model":"m","messages":[{"role":"user","content":"hi"}]}',
    "unknown everything": b'{"model":"m","future":{"a":[1,{"b":null}]},"messages":[{"role":"seer","content":[{"type":"aura"}]}]}',
    "not JSON": b"\x00\xff not json at all",
    "empty": b"",
}


async def observed(gateway: Daemon) -> None:
    """Waits until the observer has recorded all that is over."""
    assert await asyncio.to_thread(gateway.engine.flush)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_provider_gets_the_very_bytes_of_the_client(
    dialect: str, gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    path, request = CALLS[dialect]
    body = json.dumps(request, indent=1).encode()
    async with client.post(gateway.url + path, data=body) as through:
        answer = await through.read()
    assert through.status == 200
    assert fake.requests[0].body == body
    async with client.post(fake.url + path, data=body) as direct:
        assert len(await direct.read()) == len(answer)


@pytest.mark.parametrize("name", ODD_BODIES)
async def test_odd_bodies_pass_unchanged(
    name: str, gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with client.post(gateway.url + CHAT, data=ODD_BODIES[name]) as response:
        through = (response.status, await response.read())
    assert fake.requests[0].body == ODD_BODIES[name]
    async with client.post(fake.url + CHAT, data=ODD_BODIES[name]) as response:
        assert response.status == through[0]
    await observed(gateway)
    assert len(gateway.store.calls()) == 1


async def test_a_compressed_body_passes_compressed_and_is_accounted_for(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    body = gzip.compress(json.dumps(CALLS["openai-chat"][1]).encode())
    async with client.post(gateway.url + CHAT, data=body, headers={"content-encoding": "gzip"}) as response:
        await response.read()
    assert fake.requests[0].body == body
    await observed(gateway)
    assert gateway.store.calls()[0].breakdown is not None


async def test_query_and_path_reach_the_provider_as_they_were_sent(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    from yarl import URL

    target = "/v1/messages?beta=true&odd=%2Fa%20b"
    async with client.post(URL(gateway.url + "/v1" + target, encoded=True), json=CALLS["anthropic"][1]) as response:
        await response.read()
    assert fake.requests[0].target == target


async def test_headers_pass_and_ours_stay(gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    headers = {"authorization": "Bearer k-1", "x-custom": "1", "x-ullage-session": "mine", "user-agent": "odd/1"}
    async with client.post(gateway.url + CHAT, json=CALLS["openai-chat"][1], headers=headers) as response:
        await response.read()
        assert response.headers["x-ullage-request"]
    sent = {name.decode().lower(): value.decode() for name, value in fake.requests[0].headers}
    assert sent["authorization"] == "Bearer k-1"
    assert sent["x-custom"] == "1"
    assert sent["user-agent"] == "odd/1"
    assert sent["host"] == fake.url.removeprefix("http://")
    assert not [name for name in sent if name.startswith("x-ullage")]


async def test_nothing_is_added_to_a_request_that_the_client_did_not_send(gateway: Daemon, fake: FakeProvider) -> None:
    reader, writer = await asyncio.open_connection(*address(gateway))
    writer.write(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
    await reader.readline()
    writer.close()
    assert {name.decode().lower() for name, _ in fake.requests[0].headers} == {"host", "content-length"}


async def test_chunks_come_as_they_are_sent_not_at_the_end(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """BerriAI/litellm#26102, dstackai/dstack#4269: buffered streams."""
    fake.script.add(Rule(fault=Fault(pause_ms=40)))
    async with client.post(gateway.url + CHAT, json=STREAM) as response:
        await response.content.readany()
        assert not fake.requests[0].finished
        await response.read()


@pytest.mark.parametrize(
    "fault",
    [
        Fault(comments=True),
        Fault(chunk_bytes=1),
        Fault(huge_event_bytes=5_000_000),
        Fault(malformed_event=2),
        Fault(error_event=2),
        Fault(only_pings=20),
        Fault(encoding="gzip"),
        Fault(empty=True),
        Fault(html=True),
        Fault(status=429, retry_after_s=7),
        Fault(status=529),
        Fault(end_after_events=2),
    ],
    ids=[
        "pings (Portkey-AI/gateway#1035)",
        "events cut anywhere (musistudio/claude-code-router#198)",
        "one huge event (BerriAI/litellm#18367)",
        "a malformed event",
        "an error inside the stream (mlflow/mlflow#25897)",
        "only pings (headroomlabs-ai/headroom#3266)",
        "compressed",
        "empty 200",
        "HTML page",
        "429",
        "529",
        "no completion event (maximhq/bifrost#597)",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_whatever_the_provider_says_reaches_the_client_byte_for_byte(
    dialect: str, fault: Fault, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    path, request = CALLS[dialect]
    if dialect == "gemini":
        path = "/v1beta/models/m:streamGenerateContent?alt=sse"
    else:
        request = {**request, "stream": True, "stream_options": {"include_usage": True}}
    answers = []
    async with twin(fault) as alone, twin(fault) as behind, run_gateway({dialect: behind.url}, tmp_path) as gateway:
        for url in (alone.url, gateway.url):
            async with client.post(url + path, json=request) as response:
                answers.append((response.status, await response.read(), kept(response)))
        await observed(gateway)
        assert len(gateway.store.calls()) == 1
    assert answers[0] == answers[1]


def twin(fault: Fault) -> FakeProvider:
    """Two of these say the very same bytes: ids count from one, the time stands still."""
    return FakeProvider([Rule(fault=fault)], clock=lambda: 1_800_000_000.0)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fault", [Fault(cut_after=150), Fault(reset_after=150)], ids=["cut", "reset"])
async def test_a_broken_answer_is_cut_never_ended_as_if_whole(
    fault: Fault, stream: bool, gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=fault))
    with pytest.raises(aiohttp.ClientError):
        async with client.post(gateway.url + CHAT, json={**STREAM, "stream": stream}) as response:
            await response.read()
    await observed(gateway)
    assert gateway.store.calls()[0].outcome == "cut"


async def test_a_provider_that_hangs_up_is_a_502_in_the_dialect_of_the_client(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=Fault(hang_up=True)))
    async with client.post(gateway.url + "/v1/messages", json=CALLS["anthropic"][1]) as response:
        body = await response.json()
    assert response.status == 502
    assert body["type"] == "error"
    assert body["error"]["type"] == "ullage_error"
    assert body["error"]["code"] == "upstream_closed"
    assert body["error"]["request"] == response.headers["x-ullage-request"]


async def test_a_provider_that_refuses_is_a_502_for_every_dialect(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, "http://127.0.0.1:9"), tmp_path) as gateway:
        for path, request in CALLS.values():
            async with client.post(gateway.url + path, json=request) as response:
                assert response.status == 502
                assert "refused" in json.dumps(await response.json())
        await observed(gateway)
        assert [call.outcome for call in gateway.store.calls()] == ["error"] * 4


async def test_a_silent_provider_ends_in_a_504(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=Fault(delay_ms=5000)))
    async with run_gateway({"openai-chat": fake.url}, tmp_path, upstream={"idle_timeout_s": 0.2}) as gateway:
        async with client.post(gateway.url + CHAT, json=STREAM) as response:
            assert response.status == 504
            assert (await response.json())["error"]["code"] == "upstream_timeout"


@pytest.mark.parametrize(
    "fault", [Fault(stall_after=200), Fault(delay_ms=20_000)], ids=["mid-stream", "before the answer"]
)
async def test_a_client_that_leaves_cancels_the_call_upstream__litellm_37140(
    fault: Fault, gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Also BerriAI/litellm#17364."""
    fake.script.add(Rule(fault=fault))
    with pytest.raises(TimeoutError):
        async with client.post(gateway.url + CHAT, json=STREAM, timeout=aiohttp.ClientTimeout(total=0.3)) as response:
            await response.read()
    async with asyncio.timeout(30):
        while not fake.requests[0].cancelled:
            await asyncio.sleep(0.01)
    await observed(gateway)
    assert gateway.store.calls()[0].outcome == "left"


async def test_a_slow_client_holds_back_the_provider_not_the_memory__litellm_18367(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """With back pressure, most of a 40 MB answer is still at the provider while the client has read nothing."""
    fake.script.add(Rule(fault=Fault(huge_event_bytes=40_000_000, chunk_bytes=64_000)))
    async with client.post(gateway.url + CHAT, json=STREAM) as response:
        await asyncio.sleep(0.3)
        assert fake.requests[0].answer_bytes < 20_000_000
        assert len(await response.read()) > 40_000_000


async def test_a_websocket_upgrade_is_refused_with_426(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "x"}
    async with client.get(gateway.url + "/v1/responses", headers=headers) as response:
        assert response.status == 426
        assert (await response.json())["error"]["code"] == "websocket"


async def test_an_unknown_path_is_a_404_that_says_so(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    async with client.post(gateway.url + "/v7/chat", json={}) as response:
        assert response.status == 404
        assert (await response.json())["error"]["code"] == "no_route"


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_over_the_limit_is_a_413(
    announced: bool, fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async def pieces():
        for _ in range(20):
            yield b"x" * 1000

    async with run_gateway({"openai-chat": fake.url}, tmp_path, server={"body_limit_bytes": 10_000}) as gateway:
        data = b"x" * 20_000 if announced else pieces()
        async with client.post(gateway.url + CHAT, data=data) as response:
            assert response.status == 413
            assert (await response.json())["error"]["code"] == "body_too_large"
    assert not fake.requests


async def test_a_client_that_never_ends_its_headers_is_dropped(fake: FakeProvider, tmp_path: Path) -> None:
    async with run_gateway({"openai-chat": fake.url}, tmp_path, server={"header_timeout_s": 0.2}) as gateway:
        reader, writer = await asyncio.open_connection(*address(gateway))
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n")
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()


async def test_a_client_that_stops_inside_its_body_is_dropped(fake: FakeProvider, tmp_path: Path) -> None:
    limits = {"header_timeout_s": 0.2, "body_timeout_s": 0.2}
    async with run_gateway({"openai-chat": fake.url}, tmp_path, server=limits) as gateway:
        reader, writer = await asyncio.open_connection(*address(gateway))
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()


async def test_endless_headers_are_refused(gateway: Daemon) -> None:
    reader, writer = await asyncio.open_connection(*address(gateway))
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n")
    writer.write(b"".join(b"x-%d: %s\r\n" % (number, b"v" * 1000) for number in range(400)))
    head = await asyncio.wait_for(reader.readline(), 30)
    assert b" 431 " in head
    writer.close()


async def test_more_connections_than_allowed_get_a_503(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with run_gateway({"openai-chat": fake.url}, tmp_path, server={"max_connections": 2}) as gateway:
        waiting = [await asyncio.open_connection(*address(gateway)) for _ in range(2)]
        async with client.post(gateway.url + CHAT, json=STREAM) as response:
            assert response.status == 503
        for _, writer in waiting:
            writer.close()


async def test_twelve_connections_of_one_client_are_served_at_once(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(route="count", fault=Fault(delay_ms=20_000)))
    url = gateway.url + "/v1/messages/count_tokens?beta=true"
    counting = [asyncio.create_task(client.post(url, json=CALLS["anthropic"][1])) for _ in range(12)]
    async with asyncio.timeout(10):
        while len(fake.requests) < 12:
            await asyncio.sleep(0.01)
    assert not any(received.finished for received in fake.requests)
    for task in counting:
        task.cancel()
    await asyncio.gather(*counting, return_exceptions=True)


async def test_open_answers_finish_when_the_daemon_drains(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=Fault(pause_ms=30)))
    async with run_gateway({"openai-chat": fake.url}, tmp_path) as gateway:
        response = await client.post(gateway.url + CHAT, json=STREAM)
        reading = asyncio.create_task(response.read())
        await asyncio.sleep(0.02)
    assert (await reading).rstrip().endswith(b"[DONE]")


async def test_health_is_answered_without_a_provider(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    for path in ("/healthz", "/readyz", "/"):
        async with client.get(gateway.url + path) as response:
            assert response.status == 200
            assert (await response.json())["service"] == "ullage"
        async with client.head(gateway.url + path) as response:
            assert response.status == 200


async def test_accounting_of_a_large_body_holds_up_no_other_request__headroom_718(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The accounting hangs for as long as the test likes; the relays go on."""
    hanging, goes_on = threading.Event(), threading.Event()
    parse = reading.parse_request

    def slow_parse(*arguments: Any, **named: Any) -> Any:
        hanging.set()
        assert goes_on.wait(30)
        return parse(*arguments, **named)

    monkeypatch.setattr(reading, "parse_request", slow_parse)
    messages = [{"role": "user", "content": f"{number} " + "words and words " * 4000} for number in range(50)]
    assert (
        await post(client, gateway.url + CHAT, io.BytesIO(json.dumps({"model": "m", "messages": messages}).encode()))
        == 200
    )
    assert await asyncio.to_thread(hanging.wait, 10)
    for _ in range(20):
        assert await post(client, gateway.url + CHAT, json.dumps(CALLS["openai-chat"][1]).encode()) == 200
    async with client.get(gateway.url + "/healthz") as response:
        assert response.status == 200
    assert not gateway.store.calls()
    goes_on.set()
    await observed(gateway)
    assert len(gateway.store.calls()) == 21


async def post(client: aiohttp.ClientSession, url: str, body: bytes | io.BytesIO) -> int:
    async with client.post(url, data=body) as response:
        await response.read()
        return response.status


def address(gateway: Daemon) -> tuple[str, int]:
    host, port = gateway.url.removeprefix("http://").split(":")
    return host, int(port)


def kept(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The headers that must be the same with and without the gateway."""
    dropped = {"date", "x-ullage-request", "transfer-encoding", "connection", "request-id", "x-request-id"}
    return {name.lower(): value for name, value in response.headers.items() if name.lower() not in dropped}
