"""The daemon as a process: its ready line, its signals, its exit status, what it leaves on the disk."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import time
from pathlib import Path

import aiohttp
import pytest

from tests.daemon.process import CHAT, ask, call, outcome, records_in, running
from ullage.testing import FakeProvider, Fault, Rule


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_it_says_where_it_listens_serves_and_ends_well(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    data_dir = tmp_path / "new" / "data"
    umask = os.umask(0)
    try:
        async with running(fake, data_dir) as process:
            assert await ask(client, process) == 200
            process.signal()
            assert await process.end() == 0
    finally:
        os.umask(umask)
    assert process.stdout == ""  # nothing but the ready line
    assert mode(data_dir) == 0o700
    assert {entry.name: mode(entry) for entry in data_dir.iterdir()} == {
        "ullage.db": 0o600,
        "ullage.db.lock": 0o600,
        "token": 0o600,
        "daemon.json": 0o600,
    }
    assert [record.outcome for record in process.calls()] == ["ok"]
    assert "WARNING" not in process.log and "ERROR" not in process.log


async def test_managed_mode_is_a_flag(fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with (
        running(fake, tmp_path / "data", "--mode", "managed") as process,
        client.post(process.url + CHAT, json=call()) as answer,
    ):
        assert (answer.status, answer.headers["x-ullage-plan"]) == (200, "unchanged")


async def test_a_signal_lets_an_open_stream_end_whole(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=Fault(pause_ms=100)))
    async with running(fake, tmp_path / "data") as process:
        async with client.post(process.url + CHAT, json=call(stream=True)) as response:
            await response.content.readany()
            process.signal()
            await process.stops()
            with pytest.raises(aiohttp.ClientConnectorError):
                await client.post(process.url + CHAT, json=call())
            assert (await response.read()).endswith(b"data: [DONE]\n\n")
        assert await process.end() == 0
    assert [record.outcome for record in process.calls()] == ["ok"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_cuts_what_is_open(
    number: int, fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=Fault(stall_after=200)))
    async with running(fake, tmp_path / "data") as process:
        async with client.post(process.url + CHAT, json=call(stream=True)) as response:
            await response.content.readany()
            process.signal(number)
            await process.stops()
            started = time.monotonic()
            process.signal(number)
            with pytest.raises(aiohttp.ClientError):
                await response.read()
        assert await process.end() == 0
        assert time.monotonic() - started < 15
    (record,) = process.calls()
    assert (record.outcome, record.warnings) == ("cut", ("daemon_stopped",))
    assert "1 connections were cut" in process.log
    assert fake.requests[0].cancelled


async def test_a_drain_has_an_end(fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession) -> None:
    fake.script.add(Rule(fault=Fault(delay_ms=60_000)))
    async with running(fake, tmp_path / "data", ULLAGE_SERVER__DRAIN_TIMEOUT_S="0.2") as process:
        asking = asyncio.create_task(ask(client, process))
        async with asyncio.timeout(30):
            while not fake.requests:
                await asyncio.sleep(0.01)
        process.signal()
        with pytest.raises(aiohttp.ClientError):
            await asking
        assert await process.end() == 0


async def test_a_port_in_use_is_a_wrong_call_that_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await outcome("--port", str(port), data_dir=tmp_path / "data")
    assert process.status == 2
    assert process.stdout == ""
    assert f"cannot listen on 127.0.0.1:{port}" in process.log
    assert "already in use" in process.log
    assert "--port 0" in process.log
    assert "Traceback" not in process.log and "Unclosed" not in process.log


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
async def test_a_host_that_others_could_reach_is_refused(host: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[server]\nhost = "{host}"\n')
    by_flag = outcome("--host", host, data_dir=tmp_path / "data")
    by_variable = outcome(data_dir=tmp_path / "data", ULLAGE_SERVER__HOST=host)
    by_file = outcome("--config", str(config), data_dir=tmp_path / "data")
    for process in await asyncio.gather(by_flag, by_variable, by_file):
        assert process.status == 2
        assert "loopback" in process.log
        assert process.stdout == ""


async def test_a_settings_file_that_cannot_be_used_is_told_once(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[server\n")
    process = await outcome("--config", str(config), data_dir=tmp_path / "data", ULLAGE_MOED="observe")
    assert (process.status, process.stdout) == (2, "")
    assert process.log.count("is not TOML") == 1
    assert process.log.count("hint: ") == 1
    assert process.log.count("ULLAGE_MOED is not a variable") == 1


async def test_a_killed_daemon_keeps_what_it_had_recorded(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with running(fake, tmp_path / "data") as process:
        for number in range(20):
            assert await ask(client, process, number) == 200
        await asyncio.sleep(0.5)
        process.signal(signal.SIGKILL)
        assert await process.end() == -signal.SIGKILL
    assert len(records_in(tmp_path / "data")) == 20
    async with running(fake, tmp_path / "data") as process:
        assert await ask(client, process) == 200
        process.signal()
        assert await process.end() == 0
    assert len(process.calls()) == 21


async def test_two_daemons_share_one_folder(fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with running(fake, tmp_path / "data") as one, running(fake, tmp_path / "data") as other:
        await asyncio.gather(*(ask(client, process, number) for number in range(10) for process in (one, other)))
        for process in (one, other):
            process.signal()
            assert await process.end() == 0
    assert len(records_in(tmp_path / "data")) == 20


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="limits are read from /proc")
async def test_as_many_files_as_connections_may_be_open(fake: FakeProvider, tmp_path: Path) -> None:
    """Many shells allow 1,024, a quarter of what the daemon lets in by default."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        async with running(fake, tmp_path / "data") as process:
            limits = Path(f"/proc/{process.pid}/limits").read_text()
            process.signal()
            assert await process.end() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    (line,) = [line for line in limits.splitlines() if line.startswith("Max open files")]
    assert int(line.split()[3]) >= min(4_000, hard)
