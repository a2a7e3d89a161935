"""The daemon's task: a child process makes the files, and nothing of it ever raises."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.catalogs.doubles import Publisher
from ullage.catalogs import keeping, open_catalogs
from ullage.catalogs.files import GENAI_FILE, LITELLM_FILE
from ullage.catalogs.keeping import keep_fresh, run_child
from ullage.catalogs.orders import Order, Outcome


@pytest.mark.slow
async def test_what_is_missing_is_made_in_the_background(empty_folder: Path, publisher: Publisher) -> None:
    catalogs = open_catalogs(empty_folder)
    task = asyncio.create_task(keep_fresh(catalogs, address=publisher.url))
    while catalogs.problems():
        assert not task.done()
        await asyncio.sleep(0.02)
    assert {layer.source for layer in catalogs.layers("openai", "gpt-5")} == {"litellm", "genai-prices"}
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_it_looks_again_and_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[Order] = []

    async def fail(order: Order) -> Outcome:
        orders.append(order)
        return Outcome(failure="No.")

    monkeypatch.setattr(keeping, "run_child", fail)
    (folder / LITELLM_FILE).unlink()
    hours = iter(range(1_000))
    catalogs = open_catalogs(folder, clock=lambda: 1_796_000_000_000 + next(hours) * 7_200_000)
    task = asyncio.create_task(keep_fresh(catalogs, look_s=0))
    while len(orders) < 3:
        assert not task.done()
        await asyncio.sleep(0)
    task.cancel()
    assert {order.source for order in orders} >= {"litellm"}


async def test_a_cancelled_task_leaves_no_child_behind(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def sleepy(*command: str, **options: int) -> asyncio.subprocess.Process:
        started.append(await start(sys.executable, "-c", "import time; time.sleep(60)", **options))
        return started[0]

    monkeypatch.setattr(keeping.asyncio, "create_subprocess_exec", sleepy)
    task = asyncio.create_task(run_child(Order(source="genai-prices", cache_dir=str(empty_folder))))
    while not started:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert started[0].returncode is not None


async def test_a_child_that_takes_too_long_is_ended(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "LONGEST_WORK_S", 0)
    outcome = await run_child(Order(source="genai-prices", cache_dir=str(empty_folder)))
    assert outcome.failure == "The helper process took too long."
    assert not (empty_folder / GENAI_FILE).exists()


async def test_a_child_that_breaks_is_a_sentence(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping.sys, "executable", "/bin/false")
    outcome = await run_child(Order(source="genai-prices", cache_dir=str(empty_folder)))
    assert outcome.failure == "The helper process ended with status 1."


async def test_a_child_that_cannot_start_is_a_sentence(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping.sys, "executable", str(empty_folder / "no-python"))
    outcome = await run_child(Order(source="genai-prices", cache_dir=str(empty_folder)))
    assert outcome.failure.startswith("The helper process could not be started")


@pytest.mark.parametrize("module", ["genai_prices", "aiohttp"])
def test_asking_loads_nothing_that_is_large(module: str) -> None:
    code = f"import sys, ullage.catalogs; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


async def test_it_ends_though_its_child_ends_at_the_same_moment(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ending:
        returncode = 0

        async def communicate(self, _: bytes) -> tuple[bytes, bytes]:
            task.cancel()
            return b'{"failure": "No."}', b""

    async def start(*_: str, **_more: int) -> Ending:
        return Ending()

    monkeypatch.setattr(keeping.asyncio, "create_subprocess_exec", start)
    task = asyncio.create_task(keep_fresh(open_catalogs(empty_folder, refresh=False)))
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()
