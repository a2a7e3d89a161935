"""A daemon whose folder or database is in trouble: relays neither fail nor wait, records are kept where they can be."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.daemon.process import Lock, Process, ask, records_in, running
from ullage.testing import FakeProvider

QUICK_S = 3.0
"""Longer than any relay takes here on a busy machine, and shorter than any wait for a database."""


async def ask_quickly(client: aiohttp.ClientSession, process: Process, numbers: range) -> None:
    """Sends requests one after the other; none may fail or wait for the database."""
    for number in numbers:
        started = time.monotonic()
        assert await ask(client, process, number) == 200
        assert time.monotonic() - started < QUICK_S


async def control(client: aiohttp.ClientSession, process: Process, token: str) -> int:
    async with client.get(
        process.url + "/ullage/v1/sessions", headers={"authorization": f"Bearer {token}"}
    ) as response:
        return response.status


async def until(condition: Callable[[], bool], *, limit_s: float = 30.0) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.05)


async def test_a_folder_that_cannot_be_used_costs_the_records_not_the_relay(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    (tmp_path / "file").touch()
    async with running(fake, tmp_path / "file" / "data") as process:
        await ask_quickly(client, process, range(3))
        assert await control(client, process, "") == 401
        process.signal()
        assert await process.end() == 0
    assert process.log.count("Nothing is kept after this run") == 1
    assert process.log.count("The control routes stay shut") == 1


async def test_a_damaged_database_is_moved_aside_with_one_warning(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    (tmp_path / "ullage.db").write_bytes(b"no database at all " * 1000)
    async with running(fake, tmp_path) as process:
        await ask_quickly(client, process, range(3))
        process.signal()
        assert await process.end() == 0
    assert process.log.count("was damaged: it was moved to") == 1
    assert len(process.calls()) == 3
    (aside,) = tmp_path.glob("ullage.db.corrupt-*")
    assert aside.read_bytes().startswith(b"no database at all")


@pytest.mark.slow
async def test_a_locked_database_delays_no_relay_and_loses_no_record(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with running(fake, tmp_path) as process:
        await ask(client, process)
        process.signal()
        assert await process.end() == 0
    lock = Lock(tmp_path / "ullage.db")
    started = time.monotonic()
    async with running(fake, tmp_path) as process:
        assert time.monotonic() - started < 10
        await ask_quickly(client, process, range(1, 20))
        asking = asyncio.create_task(control(client, process, (tmp_path / "token").read_text()))
        await asyncio.sleep(0.1)
        await ask_quickly(client, process, range(20, 40))
        assert await asking == 503
        assert process.log.count("is locked by another process") == 1
        lock.release()
        await until(lambda: "can be written again" in process.log)
        process.signal()
        assert await process.end() == 0
    assert len(records_in(tmp_path)) == 40


async def test_a_database_that_is_deleted_in_use_is_told_once(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with running(fake, tmp_path) as process:
        await ask(client, process)
        await until(lambda: len(process.calls()) == 1)
        for file in tmp_path.glob("ullage.db*"):
            file.unlink()
        await ask(client, process, 1)
        await until(lambda: "was moved or deleted" in process.log)
        process.signal()
        assert await process.end() == 0
    assert process.log.count("was moved or deleted while in use") == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB: a write-ahead log may grow to 4 MB before it is taken over."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mounting, check=False, capture_output=True).returncode:
        pytest.skip("a small file system can be mounted by root on Linux only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Takes all the space there is; the file that holds it."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        try:
            while stream.write(b"x" * 512):
                pass
        except OSError:
            return ballast
    raise AssertionError("the disk is not full")


async def test_a_disk_that_fills_up_delays_no_relay_and_loses_no_record(
    fake: FakeProvider, small_disk: Path, client: aiohttp.ClientSession
) -> None:
    data_dir = small_disk / "data"
    async with running(fake, data_dir) as process:
        await ask_quickly(client, process, range(5))
        ballast = fill(small_disk)
        await ask_quickly(client, process, range(5, 40))
        await until(lambda: "Records wait in memory" in process.log)  # the ledger may have told of the disk before
        await ask_quickly(client, process, range(40, 50))
        ballast.unlink()
        await until(lambda: "can be written again" in process.log)
        process.signal()
        assert await process.end() == 0
    assert len(records_in(data_dir)) == 50
    assert "lost" not in process.log


@pytest.mark.slow
async def test_a_disk_that_is_full_at_the_start_costs_the_control_routes_alone(
    fake: FakeProvider, small_disk: Path, client: aiohttp.ClientSession
) -> None:
    data_dir = small_disk / "data"
    data_dir.mkdir()
    ballast = fill(small_disk)
    async with running(fake, data_dir) as process:
        await ask_quickly(client, process, range(10))
        assert "The control routes stay shut" in process.log
        assert await control(client, process, "") == 401
        ballast.unlink()
        await until(lambda: "can be written again" in process.log)
        process.signal()
        assert await process.end() == 0
    assert len(records_in(data_dir)) == 10
    async with running(fake, data_dir) as process:
        assert await control(client, process, (data_dir / "token").read_text()) == 200
