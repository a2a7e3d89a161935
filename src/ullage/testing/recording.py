"""What the fake provider received, kept exactly as it came and bounded in number and size."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ullage.core.content import Usage
from ullage.core.wire import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Received(Struct, kw_only=True):
    """One request as it arrived.

    `number` counts from 1, `connection` counts TCP connections from 1. `target` is the path with its query, `headers` the pairs
    in the order and spelling of the wire, `body` the exact bytes. `received_s` is epoch seconds. `status` is `None` until the
    answer began; `finished` tells that its last byte was handed over, `cancelled` that the client left before. `usage` is what
    was reported.
    """

    number: int
    connection: int
    method: str
    target: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    received_s: float
    dialect: Dialect | None = None
    model: str | None = None
    status: int | None = None
    usage: Usage | None = None
    answer_bytes: int = 0
    finished: bool = False
    cancelled: bool = False

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        """The first header of that name, whatever its case."""
        wanted = name.lower().encode()
        return next((value.decode("latin-1") for key, value in self.headers if key.lower() == wanted), None)


class Recorder:
    """The newest requests. When there are more than `limit`, or their bodies exceed `limit_bytes`, the oldest are dropped."""

    def __init__(
        self,
        *,
        limit: int = 10_000,
        limit_bytes: int = 256 * 1024 * 1024,
        sink: Callable[[Received], None] | None = None,
    ) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._kept: deque[Received] = deque()
        self._sink = sink
        self.total = 0
        """Requests ever received, dropped ones included."""

    def add(self, received: Received) -> None:
        """Keeps a request and hands it to the sink."""
        self.total += 1
        self._kept.append(received)
        self._size_bytes += len(received.body)
        while len(self._kept) > self._limit or (self._size_bytes > self._limit_bytes and len(self._kept) > 1):
            self._size_bytes -= len(self._kept.popleft().body)
        if self._sink is not None:
            self._sink(received)

    def clear(self) -> None:
        """Forgets all requests; numbers go on."""
        self._kept.clear()
        self._size_bytes = 0

    def __iter__(self) -> Iterator[Received]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: int) -> Received:
        return self._kept[index]


class DirectorySink:
    """Writes each request to a folder: `request-N.json` is the exact body, `request-N.meta.json` all else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, received: Received) -> None:
        """Writes one request."""
        name = f"request-{received.number}"
        (self._folder / f"{name}.json").write_bytes(received.body)
        meta = {
            "number": received.number,
            "connection": received.connection,
            "method": received.method,
            "target": received.target,
            "headers": [[key.decode("latin-1"), value.decode("latin-1")] for key, value in received.headers],
            "received_s": received.received_s,
            "body_bytes": len(received.body),
        }
        (self._folder / f"{name}.meta.json").write_bytes(msgspec.json.format(msgspec.json.encode(meta)))
