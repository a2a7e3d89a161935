"""The observer's thread: bounded, in order, and never the reason that a record is missing."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.observing import ANSWERS, Bench, asked
from ullage.core.errors import StoreError
from ullage.engine.reading import Reader
from ullage.stores import MemoryStore

CALL = asked(
    "/v1/messages",
    {"model": "m", "messages": [{"role": "user", "content": "hello there"}]},
    x_claude_code_session_id="s",
)
COUNT = asked("/v1/messages/count_tokens", CALL.body)


class Gate:
    """Keeps the observer from starting on a request until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._opened = threading.Event()
        self.entered = threading.Event()
        begin = Reader.begin

        def slow_begin(reader: Reader, *arguments: Any) -> Any:
            self.entered.set()
            assert self._opened.wait(10)
            return begin(reader, *arguments)

        monkeypatch.setattr(Reader, "begin", slow_begin)

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.open()


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a fault of ours")


def test_past_its_bound_a_request_is_recorded_with_usage_but_without_parts(gate: Gate) -> None:
    size = len(CALL.body)
    with Bench(queue_bytes=2 * size) as bench:
        exchanges = [bench.begin(CALL) for _ in range(4)]
        gate.open()
        records = [bench.end(exchange) for exchange in exchanges]
        later = bench.ask(CALL)
    assert [record.warnings for record in records] == [(), (), ("accounting_skipped",), ("accounting_skipped",)]
    assert [record.breakdown is None for record in records] == [False, False, True, True]
    assert {record.outcome for record in records} == {"ok"}
    assert {record.session for record in records} == {"s"}
    assert all(record.usage is not None and record.usage["output"] == 5 for record in records)
    assert later.breakdown is not None


def test_bodies_that_wait_are_let_go_once_they_were_read(gate: Gate) -> None:
    with Bench() as bench:
        exchange = bench.begin(CALL)
        assert exchange.body is not None
        gate.open()
        assert bench.engine.flush()
        assert exchange.body is None
        bench.end(exchange)


def test_relays_do_not_wait_for_the_observer(gate: Gate) -> None:
    with Bench() as bench:
        started = time.perf_counter()
        for _ in range(50):
            exchange = bench.begin(CALL)
            exchange.answer_began(200, [(b"content-type", b"application/json")])
            exchange.answer_chunk(b"x" * 200_000)
            exchange.ended("whole")
            bench.engine.finish(exchange)
        assert time.perf_counter() - started < 5
        assert not bench.engine.flush(0.05)
        gate.open()
        assert bench.engine.flush()
        assert len(bench.store.calls(limit=100)) == 50


@pytest.mark.parametrize(
    "step", ["ullage.engine.measuring.read_message", "ullage.engine.reading.recognise"], ids=["measuring", "caller"]
)
def test_a_fault_in_reading_a_request_costs_its_parts_not_its_record(
    step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Bench() as bench:
        with monkeypatch.context() as broken:
            broken.setattr(step, fail)
            record = bench.ask(CALL)
        after = bench.ask(CALL)
    assert record.warnings == ("accounting_failed",)
    assert record.breakdown is None
    assert record.status == 200
    assert after.warnings == () and after.breakdown is not None
    assert "a fault of ours" in caplog.text


@pytest.mark.parametrize(
    "step",
    ["ullage.engine.reading.AnswerReader.feed", "ullage.engine.reading.assemble"],
    ids=["reading the answer", "putting it together"],
)
def test_a_fault_in_reading_an_answer_costs_no_record(
    step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Bench() as bench:
        monkeypatch.setattr(step, fail)
        record = bench.ask(CALL)
    assert record.warnings == ("accounting_failed",)
    assert (record.status, record.session) == (200, "s")


def test_a_fault_in_learning_costs_no_record(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with Bench() as bench:
        monkeypatch.setattr("ullage.engine.reading.Anchoring.settle", fail)
        record = bench.ask(CALL)
    assert record.warnings == ("accounting_failed",)
    assert record.sample is None
    assert record.usage is not None and record.breakdown is not None


async def test_a_fault_in_counting_is_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    with Bench() as bench:
        exchange = bench.begin(COUNT)
        monkeypatch.setattr("ullage.engine.reading.assemble", fail)
        async with asyncio.timeout(5):
            assert await bench.engine.count(exchange, COUNT.body) is None


async def test_a_count_is_the_estimate_of_the_same_request() -> None:
    with Bench() as bench:
        exchange = bench.begin(COUNT)
        async with asyncio.timeout(5):
            tokens = await bench.engine.count(exchange, COUNT.body)
            assert await bench.engine.count(exchange, b"no JSON") is None
        assert tokens == bench.ask(CALL).estimated_input_tokens


async def test_a_client_that_no_longer_waits_for_its_count_is_no_fault(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    with Bench() as bench:
        exchange = bench.begin(COUNT)
        counting = asyncio.create_task(bench.engine.count(exchange, COUNT.body))
        await asyncio.sleep(0)
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)
        gate.open()
        assert await asyncio.to_thread(bench.engine.flush)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_closing_does_what_waits_first(gate: Gate) -> None:
    bench = Bench()
    for _ in range(5):
        exchange = bench.begin(CALL)
        exchange.answer_began(200, [(b"content-type", b"application/json")])
        exchange.answer_chunk(json.dumps(ANSWERS["anthropic"]).encode())
        exchange.ended("whole")
        bench.engine.finish(exchange)
    gate.open()
    bench.engine.close()
    assert [call.outcome for call in bench.store.calls()] == ["ok"] * 5


def test_a_store_that_takes_its_time_holds_up_no_start() -> None:
    """Sessions of earlier runs are read beside: another process may have the database locked."""
    release = threading.Event()

    class Slow(MemoryStore):
        def sessions(self, *, limit: int = 50) -> list[Any]:
            assert release.wait(10)
            raise StoreError("locked")

    started = time.perf_counter()
    bench = Bench(Slow())
    exchange = bench.begin(CALL)
    assert time.perf_counter() - started < 5
    release.set()
    assert bench.end(exchange).outcome == "ok"
    bench.engine.close()
