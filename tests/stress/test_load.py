"""Many requests at once, and many clients that leave: every answer right, every record there, nothing left behind."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from tests.daemon.process import Process, running
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.stores.reader import IDLE_CONNECTIONS
from ullage.testing import FakeProvider, Fault, Recorder, Rule, make_request
from ullage.testing.gateway import run_gateway

REQUESTS = 2_000
AT_ONCE = 64
GROWTH_BYTES = 6_000_000
"""What the daemon's memory may grow from the second batch of 2,000 requests to the third: 3 kB a request. A leaked connection
or task would be ten times that."""


class Question(NamedTuple):
    """One request of the load; its answer must quote it."""

    number: int
    dialect: Dialect
    stream: bool

    @property
    def text(self) -> str:
        return f"question number {self.number}."


QUESTIONS = [Question(number, DIALECTS[number % 4], bool(number // 4 % 2)) for number in range(REQUESTS)]


async def ask(client: aiohttp.ClientSession, url: str, question: Question) -> None:
    """Sends it and checks the answer."""
    usage = {"stream_options": {"include_usage": True}} if question.dialect == "openai-chat" and question.stream else {}
    request = make_request(question.dialect, turns=[question.text], stream=question.stream, extra=usage)
    async with client.post(url + request.path, data=request.body, headers=request.headers) as response:
        body = await response.read()
        assert response.status == 200
        assert response.headers["x-ullage-request"]
    spoken = spoken_in_stream(question.dialect, body) if question.stream else body.decode()
    assert f"“{question.text}”" in spoken


def spoken_in_stream(dialect: Dialect, body: bytes) -> str:
    """The text of a stream, put together; a stream without its end fails."""
    datas = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: ")]
    events = [json.loads(data) for data in datas if data != b"[DONE]"]
    if dialect == "openai-chat":
        assert datas[-1] == b"[DONE]"
        return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
    if dialect == "openai-responses":
        assert events[-1]["type"] == "response.completed"
        return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    if dialect == "anthropic":
        assert events[-1]["type"] == "message_stop"
        return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")
    assert events[-1]["candidates"][0]["finishReason"] == "STOP"
    return "".join(part.get("text", "") for event in events for part in event["candidates"][0]["content"]["parts"])


async def ask_all(url: str, questions: list[Question]) -> None:
    """All of them, so many at once, over as many connections; closed at the end."""
    waiting = iter(questions)

    async def worker(client: aiohttp.ClientSession) -> None:
        for question in waiting:
            await ask(client, url, question)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)) as client:
        await asyncio.gather(*(worker(client) for _ in range(AT_ONCE)))


async def settled(condition: Any, *, limit_s: float = 30.0) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(0.02)


def memory_bytes(process: Process) -> int:
    line = next(
        line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmRSS:")
    )
    return int(line.split()[1]) * 1024


def open_files(process: Process) -> Counter[str]:
    """What the process has open, by kind: sockets by that word, files by name."""
    kinds: Counter[str] = Counter()
    for entry in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            kinds[entry.readlink().name.partition(":")[0]] += 1
        except FileNotFoundError:
            continue  # closed meanwhile
    return kinds


def is_no_more(now: Counter[str], before: Counter[str]) -> bool:
    """Whether nothing else is open, but for readers of the database: as many are kept as ever read at once, up to a bound."""
    readers = {"ullage.db": IDLE_CONNECTIONS, "ullage.db-wal": IDLE_CONNECTIONS}
    return all(count <= before[name] + readers.get(name, 0) for name, count in now.items())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="memory and files of a process are read from /proc")
async def test_six_thousand_requests_leave_their_records_and_nothing_else(tmp_path: Path) -> None:
    """BerriAI/litellm#12685, #27954: memory grew until the process was killed; #13546: slow above fifteen requests a second."""
    async with FakeProvider(recorder=Recorder(limit=100)) as fake:
        async with running(fake, tmp_path / "data", ULLAGE_UPSTREAM__KEEP_ALIVE_S="0.5") as process:
            await ask_all(process.url, QUESTIONS[:8])
            await asyncio.sleep(1.5)
            before = open_files(process)
            sizes = []
            for batch in range(1, 4):
                await ask_all(process.url, QUESTIONS)
                await recorded(process, 8 + batch * REQUESTS)
                sizes.append(memory_bytes(process))
            await settled(lambda: is_no_more(open_files(process), before))
            process.signal()
            assert await process.end() == 0
        assert fake.requests.total == 8 + 3 * REQUESTS
    records = process.calls()
    assert len(records) == 8 + 3 * REQUESTS
    assert len({record.id for record in records}) == len(records)
    assert {(record.outcome, record.warnings) for record in records} == {("ok", ())}
    assert all(record.usage is not None and record.breakdown is not None for record in records)
    assert Counter((record.dialect, record.streamed) for record in records[:REQUESTS]) == Counter(
        (question.dialect, question.stream) for question in QUESTIONS
    )
    print(f"memory after each batch: {[size // 1000 for size in sizes]} kB")
    assert sizes[2] - sizes[1] < GROWTH_BYTES, sizes
    assert "ERROR" not in process.log and "WARNING" not in process.log


async def recorded(process: Process, number: int) -> None:
    """Waits until so many calls are in the database."""
    async with asyncio.timeout(60):
        while len(await asyncio.to_thread(process.calls)) < number:
            await asyncio.sleep(0.2)


def tasks_and_files() -> tuple[int, int]:
    files = Path("/proc/self/fd")
    return len(asyncio.all_tasks()), len(list(files.iterdir())) if files.is_dir() else 0


@pytest.mark.slow
async def test_clients_that_leave_leave_nothing_behind(fake: FakeProvider, tmp_path: Path) -> None:
    """Two hundred clients at every moment of an answer: before it, at its start, in its middle."""
    fake.script.add(
        Rule(model="silent", fault=Fault(delay_ms=60_000)),
        Rule(model="starting", fault=Fault(first_byte_ms=60_000)),
        Rule(model="middle", fault=Fault(stall_after=700)),
        Rule(model="flowing", fault=Fault(pause_ms=5_000)),
    )
    models = ("silent", "starting", "middle", "flowing")
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, store="sqlite") as gateway:
        await ask_all(gateway.url, QUESTIONS[:4])
        before = await at_rest(gateway)
        for arrived in (100, 200):
            clients = [asyncio.create_task(stay(gateway.url, number, models[number % 4])) for number in range(100)]
            # A client that left before its request got there would prove nothing: the machine may be slow.
            await settled(lambda count=arrived: sum(one.model in models for one in fake.requests) == count, limit_s=60)
            for client in clients:
                client.cancel()
                await asyncio.sleep(0.002)
            await asyncio.gather(*clients, return_exceptions=True)
        left = [request for request in fake.requests if request.model in models]
        await settled(lambda: len(left) == 200 and all(one.cancelled or one.finished for one in left))
        assert sum(one.cancelled for one in left) == 200
        after = await at_rest(gateway)
        assert await asyncio.to_thread(gateway.engine.flush)
        assert await asyncio.to_thread(gateway.store.flush)
        outcomes = Counter(call.outcome for call in gateway.store.calls(limit=1000))
        await ask_all(gateway.url, QUESTIONS[:40])
    assert outcomes == {"left": 200, "ok": 4}
    assert after[0] <= before[0]
    assert after[1] <= before[1] + 2  # a database connection of a reading thread


async def stay(url: str, number: int, model: str) -> None:
    """A client that would read to the end."""
    request = make_request(DIALECTS[number % 3], model=model, turns=["word " * (number * 300)], stream=True)
    async with (
        aiohttp.ClientSession() as client,
        client.post(url + request.path, data=request.body, headers=request.headers) as response,
    ):
        await response.read()


async def at_rest(gateway: Daemon) -> tuple[int, int]:
    """Tasks and open files once no client is connected."""
    await settled(lambda: gateway.connections == 0)
    await asyncio.sleep(0.3)
    return tasks_and_files()


@pytest.fixture
async def fake() -> Any:
    async with FakeProvider() as provider:
        yield provider
