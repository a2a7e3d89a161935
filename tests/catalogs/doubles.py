"""A clock that stands still, and a server that hands out a catalogue."""

from __future__ import annotations

from dataclasses import dataclass, field

from aiohttp import web

NOW_MS = 1_796_000_000_000


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    now_ms: int = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


@dataclass
class Publisher:
    """Hands out a body under a mark, as GitHub does; counts who asked."""

    body: bytes
    etag: str = '"first"'
    status: int = 200
    url: str = ""
    asked: list[str | None] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        seen = request.headers.get("if-none-match")
        self.asked.append(seen)
        if self.status != 200:
            return web.Response(status=self.status, headers={"location": "http://127.0.0.1:9/elsewhere"})
        if seen == self.etag:
            return web.Response(status=304)
        return web.Response(body=self.body, headers={"etag": self.etag})
