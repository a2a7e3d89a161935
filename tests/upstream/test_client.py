"""The transport to providers: bytes as they are, errors translated, silence noticed."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from ullage.core.errors import UpstreamError
from ullage.settings import UpstreamSettings
from ullage.upstream import UpstreamClient, provider_of

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.fixture
async def client() -> AsyncIterator[UpstreamClient]:
    client = UpstreamClient(UpstreamSettings(idle_timeout_s=0.2, connect_timeout_s=1))
    yield client
    await client.close()


@contextlib.asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A server of a few lines; everything it opened is closed at the end."""
    tasks: set[asyncio.Task[None]] = set()

    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(asyncio.CancelledError, ConnectionError, asyncio.IncompleteReadError):
            await handler(reader, writer)
            await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(closing, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_all(client: UpstreamClient, url: str) -> None:
    response = await client.open("POST", url + "/", [], b"{}")
    try:
        while await response.read():
            pass
    finally:
        response.abort()


async def head_of(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


async def test_the_target_is_sent_exactly_as_given(client: UpstreamClient) -> None:
    seen = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await head_of(reader))
        writer.write(OK)

    async with serving(handler) as url:
        response = await client.open("POST", url + "/v1/a%2Fb?x=%20&y=a+b", [(b"x-odd", b"\xe9")], b"{}")
        assert await response.read() == b"ok"
        assert await response.read() == b""
        response.release()
    assert seen[0].startswith(b"POST /v1/a%2Fb?x=%20&y=a+b HTTP/1.1\r\n")
    assert b"User-Agent" not in seen[0]
    assert b"Accept" not in seen[0]


async def test_a_redirect_is_the_clients_business(client: UpstreamClient) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(b"HTTP/1.1 302 Found\r\nlocation: /else\r\ncontent-length: 0\r\n\r\n")

    async with serving(handler) as url:
        response = await client.open("GET", url + "/", [], b"")
        assert response.status == 302
        response.release()


@pytest.mark.parametrize("value", ["café".encode(), b"plain", "日本".encode()])
async def test_the_bytes_of_a_header_arrive_as_they_were(client: UpstreamClient, value: bytes) -> None:
    seen = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await head_of(reader))
        writer.write(OK)

    async with serving(handler) as url:
        response = await client.open("POST", url + "/", [(b"x-title", value)], b"{}")
        response.abort()
    assert b"x-title: " + value + b"\r\n" in seen[0]


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
async def test_a_request_is_never_sent_twice(client: UpstreamClient, method: str) -> None:
    """Also not when a kept connection closes under it."""
    seen = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            seen.append(await head_of(reader))
            if b"/second" in seen[-1]:
                writer.transport.abort()
                return
            writer.write(OK)

    async with serving(handler) as url:
        first = await client.open("GET", url + "/first", [], b"")
        while await first.read():
            pass
        first.release()
        with pytest.raises(UpstreamError):
            await client.open(method, url + "/second", [], b"")
    assert len([head for head in seen if b"/second" in head]) == 1


@pytest.mark.parametrize("status", [b"700 Odd", b"199 Odd"])
async def test_a_status_that_is_none_is_an_upstream_error(client: UpstreamClient, status: bytes) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 2\r\n\r\nok")
        writer.close()

    async with serving(handler) as url:
        with pytest.raises(UpstreamError):
            await client.open("GET", url + "/", [], b"")


@pytest.mark.parametrize("when", ["before the answer", "inside the answer"])
async def test_a_silent_provider_is_a_time_out(client: UpstreamClient, when: str) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        if when == "inside the answer":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nbegun")
        await asyncio.sleep(5)
        writer.close()

    async with serving(handler) as url:
        with pytest.raises(UpstreamError) as caught:
            await read_all(client, url)
    assert caught.value.code == "upstream_timeout"


async def test_a_slow_client_is_not_a_silent_provider(client: UpstreamClient) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(OK)

    async with serving(handler) as url:
        response = await client.open("POST", url + "/", [], b"{}")
        await response.read()
        await asyncio.sleep(0.5)  # more than the idle limit passes between two reads
        assert await response.read() == b""
        response.release()


async def test_a_cancellation_from_outside_stays_one(client: UpstreamClient) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(5)

    async with serving(handler) as url:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.open("POST", url + "/", [], b"{}")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", "upstream_closed"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun", "upstream_closed"),
        (b"garbage\r\n\r\n", "upstream_failed"),
    ],
    ids=["nothing", "half an answer", "not HTTP"],
)
async def test_a_broken_answer_is_an_upstream_error(client: UpstreamClient, answer: bytes, code: str) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        writer.write(answer)
        writer.close()

    async with serving(handler) as url:
        with pytest.raises(UpstreamError) as caught:
            await read_all(client, url)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("url", "code"),
    [("http://127.0.0.1:9/", "upstream_refused"), ("http://no-such-host.invalid/", "upstream_dns")],
)
async def test_a_provider_that_cannot_be_reached_says_why(client: UpstreamClient, url: str, code: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        await client.open("POST", url, [], b"{}")
    assert caught.value.code == code
    assert caught.value.hint


async def test_a_proxy_gets_the_request_and_its_own_credentials() -> None:
    seen = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await head_of(reader))
        writer.write(OK)

    async with serving(handler) as proxy:
        address = proxy.replace("http://", "http://me:secret@")
        client = UpstreamClient(UpstreamSettings(), {"http://provider.test": address})
        response = await client.open("GET", "http://provider.test/v1/models", [], b"")
        assert await response.read() == b"ok"
        response.release()
        await client.close()
    assert seen[0].startswith(b"GET http://provider.test/v1/models HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"me:secret") in seen[0]


@pytest.mark.parametrize(
    ("root", "provider"),
    [
        ("https://api.openai.com", "openai"),
        ("https://api.anthropic.com", "anthropic"),
        ("https://generativelanguage.googleapis.com", "google"),
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
    ],
)
def test_a_provider_is_named_by_its_root(root: str, provider: str) -> None:
    assert provider_of(root) == provider
