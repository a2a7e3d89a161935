"""`ullage serve` as a process of its own, as a user starts it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp

from ullage.stores import CallRecord, open_reader
from ullage.testing import FakeProvider

CHAT = "/v1/chat/completions"
READY = "ullage: listening on "


def call(number: int = 0, *, stream: bool = False) -> dict[str, Any]:
    """A small request."""
    return {"model": "m", "stream": stream, "messages": [{"role": "user", "content": f"request {number}"}]}


class Process:
    """A started daemon. `url` is known once it is ready."""

    def __init__(self, *arguments: str, data_dir: Path, environ: Mapping[str, str] | None = None) -> None:
        self.data_dir = data_dir
        self.log_file = Path(os.environ["HOME"]) / f"log-{time.monotonic_ns()}"
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ullage", "serve", "--port", "0", "--data-dir", str(data_dir), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **(environ or {})},
            )
        self.url = ""
        self.stdout = ""
        self.status: int | None = None

    @property
    def log(self) -> str:
        """What it said on standard error so far."""
        return self.log_file.read_text()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ready(self, limit_s: float = 20.0) -> None:
        """Waits for the ready line."""
        assert self._process.stdout is not None
        async with asyncio.timeout(limit_s):
            line = await asyncio.to_thread(self._process.stdout.readline)
        assert line.decode().startswith(READY), self.log
        self.url = line.decode().removeprefix(READY).strip()

    def signal(self, number: int = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    async def stops(self, limit_s: float = 20.0) -> None:
        """Waits until it takes no new connection."""
        async with asyncio.timeout(limit_s):
            while True:
                try:
                    _, writer = await asyncio.open_connection(*self.url.removeprefix("http://").split(":"))
                except ConnectionError:
                    return
                writer.close()
                await asyncio.sleep(0.02)

    async def end(self, limit_s: float = 20.0) -> int:
        """Waits for its end; the exit status."""
        assert self._process.stdout is not None
        async with asyncio.timeout(limit_s):
            self.stdout = (await asyncio.to_thread(self._process.stdout.read)).decode()
            self.status = await asyncio.to_thread(self._process.wait)
        return self.status

    def close(self) -> None:
        """Ends it, if it has not ended."""
        if self._process.poll() is None:
            self._process.kill()
        with self._process:  # waits, and closes its pipe
            pass

    def calls(self) -> list[CallRecord]:
        """The records in its database."""
        return records_in(self.data_dir)


def records_in(data_dir: Path) -> list[CallRecord]:
    reader = open_reader("sqlite", data_dir)
    try:
        return reader.calls(limit=10_000)
    finally:
        reader.close()


@contextlib.asynccontextmanager
async def running(fake: FakeProvider, data_dir: Path, *arguments: str, **environ: str) -> AsyncIterator[Process]:
    """A daemon in front of the fake provider, ready; killed when the block is left."""
    upstreams = [f"--upstream={dialect}={fake.url}" for dialect in ("openai", "anthropic", "gemini")]
    process = Process(*upstreams, *arguments, data_dir=data_dir, environ=environ)
    try:
        await process.ready()
        yield process
    finally:
        await asyncio.to_thread(process.close)


async def outcome(*arguments: str, data_dir: Path, **environ: str) -> Process:
    """A daemon that is expected to end by itself; its `stdout` and `log` are there then."""
    process = Process(*arguments, data_dir=data_dir, environ=environ)
    try:
        await process.end()
    finally:
        await asyncio.to_thread(process.close)
    return process


async def ask(client: aiohttp.ClientSession, process: Process, number: int = 0) -> int:
    """Sends a small request and reads its answer; the status."""
    async with client.post(process.url + CHAT, json=call(number)) as response:
        await response.read()
        return response.status


class Lock:
    """Another process's lock on a database that no daemon has open yet: nobody else can read or write."""

    def __init__(self, database: Path) -> None:
        self._connection = sqlite3.connect(database, isolation_level=None)
        self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._connection.execute("BEGIN EXCLUSIVE")

    def release(self) -> None:
        """Lets the others in."""
        self._connection.close()
