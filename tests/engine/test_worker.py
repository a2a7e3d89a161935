"""The worker's thread: order, urgency, and faults that end nothing."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterator
from functools import partial

import pytest

from ullage.engine.worker import Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("test")
    worker.start()
    yield worker
    worker.close()


def test_jobs_are_done_in_order_and_urgent_ones_first(worker: Worker) -> None:
    gate, done = threading.Event(), list[str]()
    worker.put(gate.wait, urgent=True)
    for name in ("a", "b"):
        worker.put(lambda name=name: done.append(name))  # type: ignore[misc]
    for name in ("1", "2"):
        worker.put(lambda name=name: done.append(name), urgent=True)  # type: ignore[misc]
    gate.set()
    assert worker.flush(10)
    assert done == ["1", "2", "a", "b"]


def test_what_waits_at_the_end_is_still_done() -> None:
    worker, done = Worker("test"), list[int]()
    for number in range(100):
        worker.put(lambda number=number: done.append(number), urgent=number % 3 == 0)  # type: ignore[misc]
    worker.start()
    worker.close()
    assert sorted(done) == list(range(100))


def test_a_fault_ends_the_job_alone(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("a fault of ours")

    with caplog.at_level(logging.ERROR):
        worker.put(fail)
        assert worker.flush(10)
    assert "a fault of ours" in caplog.text


def test_many_threads_may_put_jobs_in(worker: Worker) -> None:
    done: list[int] = []

    def put_some(urgent: bool) -> None:
        for number in range(500):
            worker.put(lambda number=number: done.append(number), urgent=urgent)  # type: ignore[misc]

    threads = [threading.Thread(target=put_some, args=(urgent,)) for urgent in (True, False, True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert worker.flush(10)
    assert len(done) == 2_000


def test_what_a_job_leaves_is_done_before_any_other(worker: Worker) -> None:
    gate, done = threading.Event(), list[str]()

    def leave() -> None:
        gate.wait()
        worker.leave(lambda: done.append("left"))
        done.append("job")

    worker.put(leave, urgent=True)
    worker.put(lambda: done.append("other"))
    worker.put(lambda: done.append("urgent"), urgent=True)
    gate.set()
    assert worker.flush(10)
    assert done == ["job", "left", "urgent", "other"]


def test_what_a_job_leaves_is_done_though_nothing_else_comes(worker: Worker) -> None:
    done = threading.Event()
    worker.put(lambda: worker.leave(done.set))
    assert done.wait(10)


def test_a_fault_in_what_was_left_ends_nothing(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        worker.put(lambda: worker.leave(lambda: 1 / 0))
        assert worker.flush(10)
    assert "division by zero" in caplog.text


@pytest.mark.parametrize("left", [True, False])
def test_what_a_job_knows_is_let_go_though_nothing_else_comes(worker: Worker, left: bool) -> None:
    class Request:
        pass

    request, gone = Request(), threading.Event()
    weakref.finalize(request, gone.set)
    job = partial(id, request)
    worker.put(partial(worker.leave, job) if left else job)
    del job, request
    assert gone.wait(10)
