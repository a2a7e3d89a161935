"""A daemon killed (SIGKILL) between an answer and what it teaches: nothing is learned twice, and nothing of another call."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from pathlib import Path

import aiohttp

from tests.daemon.process import ask, records_in, running
from ullage.stores import SampleRecord, open_reader
from ullage.testing import FakeProvider


def samples_in(data_dir: Path) -> list[SampleRecord]:
    reader = open_reader("sqlite", data_dir)
    try:
        return [sample for key in reader.sample_keys() for sample in reader.samples(*key)]
    finally:
        reader.close()


def check_samples(data_dir: Path) -> set[str]:
    """Each sample says what its call's provider reported, each call taught each estimator once; the calls that taught."""
    calls = {call.id: call for call in records_in(data_dir)}
    samples = samples_in(data_dir)
    assert len({(sample.id, sample.estimator) for sample in samples}) == len(samples)
    for sample in samples:
        usage = calls[sample.id].usage or {}
        assert (sample.input_fresh, sample.cache_read, sample.cache_write) == (
            usage["input_fresh"],
            usage["cache_read"] or 0,
            usage["cache_write"] or 0,
        )
        assert (sample.provider, sample.model) == (calls[sample.id].provider, calls[sample.id].model)
    return {sample.id for sample in samples}


async def test_a_daemon_killed_between_answer_and_sample_learns_from_neither_twice(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Planner specification, section 35.3, number 6: the answer has left, its record waits for a lock."""
    data_dir = tmp_path / "data"
    async with running(fake, data_dir) as process:
        for number in range(3):
            assert await ask(client, process, number) == 200
        process.signal()
        assert await process.end() == 0
    assert len(check_samples(data_dir)) == 3
    async with running(fake, data_dir) as process:
        lock = sqlite3.connect(data_dir / "ullage.db", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        assert await ask(client, process, 3) == 200
        process.signal(signal.SIGKILL)
        assert await process.end() == -signal.SIGKILL
        lock.close()
    assert len(check_samples(data_dir)) == len(records_in(data_dir)) == 3
    async with running(fake, data_dir) as process:
        assert await ask(client, process, 3) == 200
        process.signal()
        assert await process.end() == 0
    assert len(check_samples(data_dir)) == len(records_in(data_dir)) == 4
    assert "WARNING" not in process.log and "ERROR" not in process.log


async def test_a_daemon_killed_again_and_again_amid_its_answers_starts_clean(
    fake: FakeProvider, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    data_dir = tmp_path / "data"
    for turn in range(3):
        async with running(fake, data_dir) as process:
            asking = [asyncio.create_task(ask(client, process, number)) for number in range(24)]
            while sum(task.done() for task in asking) <= 8 * turn:
                await asyncio.wait([task for task in asking if not task.done()], return_when=asyncio.FIRST_COMPLETED)
            process.signal(signal.SIGKILL)
            assert await process.end() == -signal.SIGKILL
            await asyncio.gather(*asking, return_exceptions=True)
        assert "WARNING" not in process.log and "ERROR" not in process.log
    async with running(fake, data_dir) as process:
        assert await ask(client, process) == 200
        process.signal()
        assert await process.end() == 0
    assert len(check_samples(data_dir)) == len([call for call in records_in(data_dir) if call.outcome == "ok"])
    assert not list(data_dir.glob("*.corrupt-*"))
