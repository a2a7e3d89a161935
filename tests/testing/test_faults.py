"""What goes wrong on purpose goes wrong as asked, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_request
from ullage.testing.faults import accepts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.testing.conftest import Result

    Ask = Callable[..., Awaitable[Result]]


@pytest.fixture
async def whole(ask: Ask) -> Callable[..., Awaitable[Result]]:
    """The same answer without a fault."""

    async def send(dialect: Dialect, *, stream: bool) -> Result:
        async with FakeProvider() as provider:
            return await ask(provider, make_request(dialect, stream=stream))

    return send


async def failing(
    ask: Ask, fault: Fault, dialect: Dialect = "anthropic", *, stream: bool = True, **headers: str
) -> Result:
    async with FakeProvider([fault]) as provider:
        return await ask(provider, make_request(dialect, stream=stream), **headers)


async def wait_for(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("dialect", "status", "word"),
    [
        ("openai-chat", 429, "rate_limit_error"),
        ("openai-responses", 500, "server_error"),
        ("anthropic", 429, "rate_limit_error"),
        ("anthropic", 529, "overloaded_error"),
        ("anthropic", 500, "api_error"),
        ("gemini", 429, "RESOURCE_EXHAUSTED"),
        ("gemini", 503, "UNAVAILABLE"),
    ],
)
async def test_an_error_has_the_shape_of_its_dialect(ask: Ask, dialect: Dialect, status: int, word: str) -> None:
    result = await failing(ask, Fault(status=status), dialect)
    error = result.json["error"]
    assert result.status == status
    assert word in (error.get("type"), error.get("status"))
    assert error["message"]


async def test_a_429_tells_when_to_come_back_in_each_vendors_words(ask: Ask) -> None:
    fault = Fault(status=429, retry_after_s=2)
    openai, anthropic, gemini = [await failing(ask, fault, name) for name in ("openai-chat", "anthropic", "gemini")]
    assert [result.headers["retry-after"] for result in (openai, anthropic, gemini)] == ["2", "2", "2"]
    assert openai.headers["retry-after-ms"] == "2000"
    assert openai.headers["x-ratelimit-reset-tokens"] == "2s"
    assert anthropic.headers["anthropic-ratelimit-input-tokens-remaining"] == "0"
    assert anthropic.headers["anthropic-ratelimit-requests-reset"].endswith("Z")
    assert gemini.json["error"]["details"][0]["retryDelay"] == "2s"


async def test_a_fault_serves_once_and_then_the_answer_comes(ask: Ask) -> None:
    async with FakeProvider([Fault(status=500), Fault(status=529)]) as provider:
        statuses = [(await ask(provider, make_request("anthropic"))).status for _ in range(3)]
    assert statuses == [500, 529, 200]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_cut_answer_ends_after_exactly_so_many_bytes(
    whole: Ask, session: aiohttp.ClientSession, dialect: Dialect, stream: bool
) -> None:
    expected = (await whole(dialect, stream=stream)).body
    async with FakeProvider([Fault(cut_after=150)]) as provider:
        request = make_request(dialect, stream=stream)
        got = b""
        with pytest.raises(aiohttp.ClientPayloadError):
            async with session.post(
                provider.url + request.path, data=request.body, headers=request.headers
            ) as response:
                async for chunk in response.content.iter_any():
                    got += chunk
        assert (response.status, len(got)) == (200, 150)
        if dialect != "openai-chat":  # its time of creation stands within the first bytes
            assert got == expected[:150]
        (received,) = provider.requests
        assert (received.finished, received.cancelled, received.answer_bytes) == (False, False, 150)


async def test_a_reset_answer_ends_with_a_reset(session: aiohttp.ClientSession) -> None:
    async with FakeProvider([Fault(reset_after=80)]) as provider:
        host, port = provider.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        request = make_request("anthropic", stream=True)
        head = f"POST {request.path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(request.body)}\r\n\r\n"
        writer.write(head.encode() + request.body)
        with pytest.raises(ConnectionResetError):
            while await reader.read(1000):
                pass
        writer.close()


async def test_hanging_up_gives_no_answer_at_all(ask: Ask) -> None:
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await failing(ask, Fault(hang_up=True))


async def test_a_stalled_answer_is_silent_until_the_client_leaves(session: aiohttp.ClientSession) -> None:
    async with FakeProvider([Fault(stall_after=100)]) as provider:
        request = make_request("anthropic", stream=True)
        async with session.post(provider.url + request.path, data=request.body) as response:
            assert len(await response.content.readexactly(100)) == 100
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await response.content.read(1)
            response.close()
        await wait_for(lambda: provider.requests[0].cancelled)


async def test_a_client_that_leaves_before_the_first_byte_is_noticed(session: aiohttp.ClientSession) -> None:
    async with FakeProvider([Fault(delay_ms=5_000)]) as provider:
        request = make_request("openai-chat")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await session.post(provider.url + request.path, data=request.body)
        await wait_for(lambda: provider.requests[0].cancelled)


@pytest.mark.parametrize("chunk_bytes", [1, 7, 100])
async def test_events_split_anywhere_are_the_same_bytes(ask: Ask, whole: Ask, chunk_bytes: int) -> None:
    assert (await failing(ask, Fault(chunk_bytes=chunk_bytes))).body == (await whole("anthropic", stream=True)).body


async def test_a_trickle_takes_its_time(ask: Ask) -> None:
    start = asyncio.get_running_loop().time()
    await failing(ask, Fault(delay_ms=20, first_byte_ms=20, chunk_bytes=300, pause_ms=5))
    assert asyncio.get_running_loop().time() - start > 0.05


async def test_headers_arrive_before_a_late_first_byte(session: aiohttp.ClientSession) -> None:
    async with FakeProvider([Fault(first_byte_ms=200)]) as provider:
        request = make_request("anthropic", stream=True)
        start = asyncio.get_running_loop().time()
        async with session.post(provider.url + request.path, data=request.body) as response:
            assert asyncio.get_running_loop().time() - start < 0.15
            await response.read()
        assert asyncio.get_running_loop().time() - start >= 0.2


async def test_ping_comments_stand_between_the_events(ask: Ask, whole: Ask) -> None:
    body = (await failing(ask, Fault(comments=True))).body
    assert body.count(b": ping\n\n") == body.count(b"event: ")
    assert body.replace(b": ping\n\n", b"") == (await whole("anthropic", stream=True)).body


async def test_a_stream_of_pings_only_says_nothing(ask: Ask) -> None:
    kinds = [event["type"] for event in (await failing(ask, Fault(only_pings=3))).events]
    assert kinds == ["ping", "ping", "ping", "message_stop"]
    chat = await failing(ask, Fault(only_pings=2), "openai-chat")
    assert chat.body == b": ping\n\n: ping\n\ndata: [DONE]\n\n"


async def test_a_malformed_event_is_no_json_and_the_rest_follows(ask: Ask, whole: Ask) -> None:
    body = (await failing(ask, Fault(malformed_event=2))).body
    broken = b'data: {"broken": "this text never en\n\n'
    assert broken in body
    assert body.replace(broken, b"") == (await whole("anthropic", stream=True)).body


async def test_a_malformed_json_answer_lacks_its_second_half(ask: Ask, whole: Ask) -> None:
    expected = (await whole("anthropic", stream=False)).body
    assert (await failing(ask, Fault(malformed_event=0), stream=False)).body == expected[: len(expected) // 2]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_error_inside_the_stream_is_its_last_event(ask: Ask, dialect: Dialect) -> None:
    events = (await failing(ask, Fault(error_event=2, error_event_status=529), dialect)).events
    assert len(events) == 3
    assert "verloaded" in str(events[-1]) or "wrong" in str(events[-1])
    assert "error" in str(events[-1])


async def test_a_stream_may_end_cleanly_but_too_early(ask: Ask) -> None:
    events = (await failing(ask, Fault(end_after_events=3))).events
    assert [event["type"] for event in events] == ["message_start", "ping", "content_block_start"]


async def test_a_huge_event_is_one_data_line(ask: Ask) -> None:
    body = (await failing(ask, Fault(huge_event_bytes=3_000_000))).body
    assert max(map(len, body.split(b"\n"))) > 3_000_000


async def test_an_empty_answer_and_a_page_of_html(ask: Ask) -> None:
    empty, page = await failing(ask, Fault(empty=True)), await failing(ask, Fault(html=True))
    assert (empty.status, empty.body) == (200, b"")
    assert (page.status, page.headers["content-type"], page.body[:6]) == (502, "text/html", b"<html>")


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_an_answer_is_compressed_if_the_client_takes_it(
    ask: Ask, whole: Ask, encoding: str, stream: bool
) -> None:
    result = await failing(ask, Fault(encoding=encoding), stream=stream, accept_encoding="br, gzip, deflate")
    unpack = gzip.decompress if encoding == "gzip" else zlib.decompress
    assert result.headers["content-encoding"] == encoding
    assert unpack(result.body) == (await whole("anthropic", stream=stream)).body


async def test_a_compressed_stream_can_be_read_event_by_event(session: aiohttp.ClientSession) -> None:
    async with FakeProvider([Fault(encoding="gzip", stall_after=200)]) as provider:
        request = make_request("anthropic", stream=True)
        headers = {"accept-encoding": "gzip"}
        async with session.post(provider.url + request.path, data=request.body, headers=headers) as response:
            text = zlib.decompressobj(wbits=31).decompress(await response.content.readexactly(200))
            assert text.startswith(b"event: message_start\n")
            response.close()


async def test_an_answer_stays_plain_if_the_client_does_not_ask(ask: Ask) -> None:
    result = await failing(ask, Fault(encoding="gzip"), accept_encoding="br, gzip;q=0")
    assert "content-encoding" not in result.headers


@pytest.mark.parametrize(
    ("offer", "is_accepted"),
    [("gzip", True), ("zstd,gzip", True), ("*", True), ("gzip;q=0", False), ("gzip;q=0.5", True), ("", False)],
)
def test_the_header_decides_about_compression(offer: str, is_accepted: bool) -> None:
    assert accepts(offer, "gzip") is is_accepted


async def test_a_rule_can_spoil_the_default_answer_of_one_model(ask: Ask) -> None:
    rule = Rule(model="bad-*", fault=Fault(status=503))
    async with FakeProvider([rule]) as provider:
        statuses = [
            (await ask(provider, make_request("anthropic", model=model))).status for model in ("bad-1", "good", "bad-2")
        ]
    assert statuses == [503, 200, 503]


async def test_counting_and_listing_can_fail_too(session: aiohttp.ClientSession) -> None:
    rules = [Rule(route="models", fault=Fault(status=500)), Rule(route="count", fault=Fault(status=404))]
    async with FakeProvider(rules) as provider:
        async with session.get(f"{provider.url}/v1/models") as response:
            assert response.status == 500
        request = make_request("anthropic")
        async with session.post(f"{provider.url}/v1/messages/count_tokens", data=request.body) as response:
            assert response.status == 404
        assert provider.requests[1].status == 404


async def test_a_reply_may_be_any_bytes_with_any_headers(ask: Ask) -> None:
    reply = Reply(body=b"\x00raw", headers={"x-mine": "yes"})
    async with FakeProvider([reply]) as provider:
        result = await ask(provider, make_request("openai-chat"))
    assert (result.body, result.headers["x-mine"]) == (b"\x00raw", "yes")
