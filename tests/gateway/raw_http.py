"""HTTP by hand, for what no client library would send."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import NamedTuple

from ullage.daemon import Daemon


class Answer(NamedTuple):
    """One answer off the wire; `body` with its chunks put together."""

    status: int
    headers: dict[str, str]
    body: bytes


class Connection(NamedTuple):
    """One TCP connection to the gateway."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self, *, has_body: bool = True) -> Answer:
        """The next answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
        body = await self._body(headers) if has_body else b""
        return Answer(int(first.split(" ")[1]), headers, body)

    async def rest(self) -> bytes:
        """Everything until the gateway closes the connection."""
        return await self.reader.read(-1)

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return await self.reader.readexactly(int(headers["content-length"]))
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()
        return body


@contextlib.asynccontextmanager
async def connect(gateway: Daemon, *, limit_s: float = 10.0) -> AsyncIterator[Connection]:
    """A connection; nothing done with it may take longer than `limit_s`."""
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        async with asyncio.timeout(limit_s):
            yield Connection(reader, writer)
    finally:
        writer.close()


def compose(path: str, body: bytes = b"", *, method: str = "POST", version: str = "1.1", lines: str = "") -> bytes:
    """A request with its content length; `lines` are further header lines, each with its line end."""
    return f"{method} {path} HTTP/{version}\r\nhost: x\r\ncontent-length: {len(body)}\r\n{lines}\r\n".encode() + body


async def become(condition, *, limit_s: float = 30.0) -> None:
    """Waits until `condition()` holds."""
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.005)
