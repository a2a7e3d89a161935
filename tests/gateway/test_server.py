"""What the server makes of odd but real HTTP: old versions, upgrades, many requests in one go, clients that stop half-way.

Run on both event loops (conftest.py).
"""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.raw_http import become, compose, connect
from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.testing import FakeProvider, Fault, Rule
from ullage.testing.gateway import run_gateway

CHAT = "/v1/chat/completions"
CALL = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
STREAM = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}).encode()
LARGE_STREAM = json.dumps(
    {"model": "m", "stream": True, "messages": [{"role": "user", "content": "long " * 100_000}]}
).encode()
H2C = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
WEBSOCKET = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"


async def test_requests_sent_in_one_go_are_answered_in_their_order(gateway: Daemon, fake: FakeProvider) -> None:
    bodies = [
        json.dumps({"model": f"m{n}", "messages": [{"role": "user", "content": "hi"}]}).encode() for n in range(5)
    ]
    fake.script.add(Rule(model="m0", fault=Fault(delay_ms=50)))
    async with connect(gateway) as connection:
        connection.send(b"".join(compose(CHAT, body) for body in bodies))
        answers = [await connection.answer() for _ in bodies]
    assert [answer.status for answer in answers] == [200] * 5
    assert [json.loads(answer.body)["model"] for answer in answers] == [f"m{n}" for n in range(5)]


async def test_a_connection_is_used_again_after_errors(gateway: Daemon, fake: FakeProvider) -> None:
    fake.script.add(Rule(times=1, fault=Fault(status=529)), Rule(times=1, fault=Fault(hang_up=True)))
    async with connect(gateway) as connection:
        statuses = []
        for path in (CHAT, CHAT, "/v7/unknown", CHAT):
            connection.send(compose(path, CALL))
            statuses.append((await connection.answer()).status)
    assert statuses == [529, 502, 404, 200]


async def test_a_client_of_http_1_0_gets_a_stream_without_chunk_marks(gateway: Daemon) -> None:
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, STREAM, version="1.0"))
        head, _, body = (await connection.rest()).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert body.startswith(b"data: ")
    assert body.endswith(b"data: [DONE]\n\n")


async def test_a_broken_stream_is_no_whole_answer_for_http_1_0(gateway: Daemon, fake: FakeProvider) -> None:
    fake.script.add(Rule(fault=Fault(cut_after=300)))
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, STREAM, version="1.0"))
        assert not (await connection.rest()).startswith(b"HTTP/1.1 200")


async def test_http_1_0_gets_lengths_and_empty_answers_as_they_are(gateway: Daemon) -> None:
    async with connect(gateway) as connection:
        connection.send(compose("/api/hello", method="HEAD", version="1.0"))
        assert (await connection.rest()).startswith(b"HTTP/1.1 200")
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, CALL, version="1.0"))
        assert json.loads((await connection.answer()).body)["model"] == "m"


async def test_a_body_is_asked_for_where_the_client_waits_to_be_asked(gateway: Daemon, fake: FakeProvider) -> None:
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, CALL, lines="Expect: 100-continue\r\n").removesuffix(CALL))
        assert await connection.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.send(CALL)
        assert (await connection.answer()).status == 200
    assert fake.requests[0].body == CALL
    assert fake.requests[0].header("expect") is None


async def test_a_body_that_is_too_large_is_not_asked_for(gateway: Daemon) -> None:
    lines = "Expect: 100-continue\r\nContent-Length: 900000000\r\n"
    async with connect(gateway) as connection:
        connection.send(f"POST {CHAT} HTTP/1.1\r\nhost: x\r\n{lines}\r\n".encode())
        assert (await connection.answer()).status == 413


@pytest.mark.parametrize("piece", [1, 7, 10_000])
async def test_a_chunked_upload_arrives_whole(piece: int, gateway: Daemon, fake: FakeProvider) -> None:
    pieces = [CALL[start : start + piece] for start in range(0, len(CALL), piece)]
    async with connect(gateway) as connection:
        connection.send(f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        for part in pieces:
            connection.send(b"%x;name=value\r\n%s\r\n" % (len(part), part))
            await asyncio.sleep(0)
        connection.send(b"0\r\nTrailer: x\r\n\r\n")
        assert (await connection.answer()).status == 200
    assert fake.requests[0].body == CALL


async def test_an_upgrade_to_http_2_is_ignored_and_the_request_served(gateway: Daemon, fake: FakeProvider) -> None:
    """What the HTTP client of the JDK and `curl --http2` send first."""
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, CALL, lines=H2C) + compose(CHAT, CALL))
        assert [(await connection.answer()).status for _ in range(2)] == [200, 200]
        connection.send(compose(CHAT, LARGE_STREAM, lines=H2C))
        assert (await connection.answer()).body.endswith(b"data: [DONE]\n\n")
        connection.send(compose("/v1/models", method="GET", lines=H2C))
        assert (await connection.answer()).status == 200
    assert [received.body for received in fake.requests] == [CALL, CALL, LARGE_STREAM, b""]
    assert not [name for received in fake.requests for name, _ in received.headers if b"http2" in name.lower()]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_connection_serves_http_after_a_refused_websocket(method: str, gateway: Daemon) -> None:
    async with connect(gateway) as connection:
        connection.send(compose("/v1/responses", method=method, lines=WEBSOCKET) + compose(CHAT, CALL))
        assert [(await connection.answer()).status for _ in range(2)] == [426, 200]


async def test_a_chunked_body_passes_a_refused_upgrade(gateway: Daemon, fake: FakeProvider) -> None:
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n{H2C}\r\n".encode()
    async with connect(gateway) as connection:
        connection.send(head)
        await asyncio.sleep(0.02)
        connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(CALL), CALL))
        assert (await connection.answer()).status == 200
    assert fake.requests[0].body == CALL


@pytest.mark.parametrize(
    "nonsense",
    [
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"CONNECT api.example.com:443 HTTP/1.1\r\nhost: api.example.com\r\n\r\n",
        b"GET /v1/models HTTP/9.9\r\nhost: x\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /v1/models\xff HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
    ids=["words", "TLS", "a proxy's CONNECT", "version 9.9", "two lengths", "length -1", "a bad chunk", "a bad path"],
)
async def test_what_is_no_http_is_a_400_and_the_end(nonsense: bytes, gateway: Daemon, fake: FakeProvider) -> None:
    async with connect(gateway) as connection:
        connection.send(nonsense)
        assert (await connection.rest()).startswith(b"HTTP/1.1 400 ")
    await become(lambda: gateway.connections == 0)
    assert not fake.requests


async def test_nonsense_after_a_request_does_not_spoil_its_answer(gateway: Daemon, fake: FakeProvider) -> None:
    """As from a client that counts its length in characters: the answer still arrives, then the connection ends."""
    fake.script.add(Rule(fault=Fault(pause_ms=5)))
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, STREAM) + b'"}]}\r\n\r\n')
        assert (await connection.answer()).body.endswith(b"data: [DONE]\n\n")
        assert await connection.rest() == b""


async def test_headers_without_end_are_refused_once(gateway: Daemon) -> None:
    async with connect(gateway) as connection:
        connection.send(b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"many: header lines\r\n" * 50_000 + b"\r\n")
        answer = await connection.rest()
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("start", [b"GET /healthz HTTP/1.1\r\nname: ", b"GET /"], ids=["a header", "a path"])
async def test_one_line_without_end_is_refused_before_its_end(start: bytes, gateway: Daemon) -> None:
    async with connect(gateway) as connection:
        connection.send(start + b"x" * 3_000_000)
        assert (await connection.rest()).startswith(b"HTTP/1.1 431 ")


async def test_a_hundred_header_lines_pass(gateway: Daemon, fake: FakeProvider) -> None:
    lines = "".join(f"x-line-{number}: {number}\r\n" for number in range(100))
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, CALL, lines=lines))
        assert (await connection.answer()).status == 200
    assert fake.requests[0].header("x-line-99") == "99"


@pytest.mark.parametrize("size", [1_000, 3_000_000])
@pytest.mark.parametrize(
    ("path", "limit", "status"), [("/v7/unknown", 10_000_000, 404), (CHAT, 500, 413)], ids=["no route", "too large"]
)
async def test_a_refusal_reaches_a_client_that_reads_only_after_it_sent_all(
    path: str, limit: int, status: int, size: int, fake: FakeProvider, tmp_path: Path
) -> None:
    """A connection that is closed with unread bytes is reset, and takes the answer with it."""
    async with run_gateway({"openai-chat": fake.url}, tmp_path, server={"body_limit_bytes": limit}) as gateway:
        async with connect(gateway) as connection:
            connection.send(compose(path, b"x" * size))
            await connection.writer.drain()
            await asyncio.sleep(0.05)
            answer = await connection.answer()
            assert answer.status == status
            assert json.loads(answer.body)["error"]["hint"]


async def test_an_endless_body_is_cut_some_time(
    fake: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.gateway.body.DISCARD_BYTES", 1_000_000)
    async with run_gateway({"openai-chat": fake.url}, tmp_path, server={"body_limit_bytes": 1000}) as gateway:
        async with connect(gateway) as connection:
            connection.send(f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            with pytest.raises(ConnectionError):
                while True:
                    connection.send(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                    await connection.writer.drain()
        await become(lambda: gateway.connections == 0)


async def test_a_client_that_stops_in_its_body_is_forgotten(gateway: Daemon, fake: FakeProvider) -> None:
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, CALL)[:-5])
        await connection.writer.drain()
        connection.writer.write_eof()
        assert await connection.rest() == b""
    await become(lambda: gateway.connections == 0)
    assert not fake.requests


async def test_a_client_that_half_closes_has_left(gateway: Daemon, fake: FakeProvider) -> None:
    fake.script.add(Rule(fault=Fault(stall_after=10)))
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, STREAM))
        await become(lambda: fake.requests)
        connection.writer.write_eof()
        await connection.rest()
    await become(lambda: fake.requests[0].cancelled and gateway.connections == 0)


@pytest.mark.parametrize("size", [70_000, 300_000, 1_000_000])
async def test_a_client_that_leaves_after_a_large_body_cancels_the_call_too(
    size: int, gateway: Daemon, fake: FakeProvider
) -> None:
    """The server stops reading while a body waits to be taken; it must read on to see the client leave."""
    fake.script.add(Rule(fault=Fault(stall_after=200)))
    body = STREAM.replace(b'"hi"', b'"' + b"long " * (size // 5) + b'"')
    async with connect(gateway) as connection:
        connection.send(compose(CHAT, body))
        await connection.reader.readuntil(b"data: ")
    await become(lambda: fake.requests[0].cancelled)


async def test_a_client_that_leaves_with_more_requests_waiting_is_no_error(gateway: Daemon, fake: FakeProvider) -> None:
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(context))
    for fault in (Fault(stall_after=200), Fault(delay_ms=10_000), Fault(pause_ms=20)):
        fake.script.add(Rule(fault=fault, times=1))
        asked = fake.requests.total
        async with connect(gateway) as connection:
            connection.send(compose(CHAT, STREAM) * 3)
            await become(lambda asked=asked: fake.requests.total > asked)
            await asyncio.sleep(0.05)
        await become(lambda: fake.requests[-1].cancelled and gateway.connections == 0)
    assert await asyncio.to_thread(gateway.engine.flush)
    assert [call.outcome for call in gateway.store.calls()] == ["left"] * 3
    gc.collect()
    assert not faults


async def test_line_ends_between_requests_do_not_keep_a_connection_for_ever(fake: FakeProvider, tmp_path: Path) -> None:
    async with run_gateway({"openai-chat": fake.url}, tmp_path, server={"header_timeout_s": 0.2}) as gateway:
        async with connect(gateway) as connection:
            connection.send(compose(CHAT, CALL))
            await connection.answer()
            connection.send(b"\r\n")
            assert await connection.rest() == b""


async def test_a_half_sent_next_request_does_not_cut_the_answer_before_it(fake: FakeProvider, tmp_path: Path) -> None:
    fake.script.add(Rule(fault=Fault(pause_ms=40)))
    limits = {"header_timeout_s": 0.1, "body_timeout_s": 0.1}
    for next_request in (b"POST /v1", compose(CHAT, CALL)[:-5]):
        async with run_gateway({"openai-chat": fake.url}, tmp_path, server=limits) as gateway:
            async with connect(gateway) as connection:
                connection.send(compose(CHAT, STREAM) + next_request)
                assert (await connection.answer()).body.endswith(b"data: [DONE]\n\n")
                assert await connection.rest() == b""


@pytest.mark.asyncio(loop_factories=["uvloop"])
async def test_an_idle_connection_is_closed_after_its_time(fake: FakeProvider, tmp_path: Path) -> None:
    async with run_gateway({"openai-chat": fake.url}, tmp_path, server={"keep_alive_s": 1}) as gateway:
        async with connect(gateway) as connection:
            connection.send(compose(CHAT, CALL))
            await connection.answer()
            assert await connection.rest() == b""


async def test_clients_that_leave_while_they_are_refused_are_no_error(
    fake: FakeProvider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path) as gateway:
        for path in ("/v7/unknown", CHAT):
            async with connect(gateway) as connection:
                connection.send(compose(path, b"x" * 100_000)[:50_000])
                await connection.writer.drain()
        await become(lambda: gateway.connections == 0)
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


async def test_a_stopping_server_refuses_new_connections_and_closes_idle_ones(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with run_gateway({"openai-chat": fake.url}, tmp_path) as gateway:
        async with client.post(gateway.url + CHAT, data=CALL) as response:
            await response.read()
        url = gateway.url
        assert gateway.connections == 1
    assert gateway.connections == 0
    with pytest.raises(aiohttp.ClientConnectorError):
        await client.post(url + CHAT, data=CALL)


async def test_what_outlasts_the_drain_is_cut(fake: FakeProvider, tmp_path: Path) -> None:
    fake.script.add(Rule(fault=Fault(stall_after=200)))
    limits = {"drain_timeout_s": 0.1}
    async with run_gateway({"openai-chat": fake.url}, tmp_path, server=limits) as gateway:
        async with connect(gateway) as connection:
            connection.send(compose(CHAT, STREAM))
            await connection.reader.readuntil(b"data: ")
            stopping = asyncio.create_task(gateway._server.stop())
            await stopping
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await connection.reader.readuntil(b"[DONE]")
        await asyncio.to_thread(gateway.engine.flush)
        assert gateway.store.calls()[0].outcome != "ok"
    await become(lambda: fake.requests[0].cancelled)
