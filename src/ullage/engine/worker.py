"""One thread that does jobs beside the event loop: in order, in short stretches, and what a client waits for before all else."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable

_log = logging.getLogger("ullage.engine")

# The relay of the request that woke us goes first: its bytes are on their way when we begin.
_PATIENCE_S = 0.02
# Work of this length is done in one stretch; handing the interpreter over costs both sides more than a small job takes.
_STRETCH_S = 0.001
# With more than this waiting, the worker works without rests.
_BACKLOG = 1_000

Job = Callable[[], object]


class Worker:
    """Does jobs one after the other; urgent ones at once and first. `put` returns at once, from any thread."""

    def __init__(self, name: str) -> None:
        # One token a job, whichever lane it waits in. Both sides of these three are safe to use without a lock of ours.
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._jobs: deque[Job | None] = deque()
        self._urgent: deque[Job] = deque()
        self._hurry = threading.Event()
        self._closing = False
        self._rest: Job | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def put(self, job: Job, *, urgent: bool = False) -> None:
        """Hands a job over."""
        if urgent:
            self._urgent.append(job)
            self._hurry.set()
        else:
            self._jobs.append(job)
        self._tokens.put(None)

    def leave(self, rest: Job) -> None:
        """From within a job: what of it nobody waits for. It is done before any other job, once whoever waited for the job has
        had the interpreter for a while, or the next one has come."""
        self._rest = rest

    def flush(self, timeout_s: float) -> bool:
        """Waits until everything put in so far is done. False if that took too long."""
        done = threading.Event()
        self.put(done.set)
        return done.wait(timeout_s)

    def close(self) -> None:
        """Does what is waiting, then ends the thread."""
        self._closing = True
        self._jobs.append(None)
        self._tokens.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        worked_s = 0.0
        while (job := self._take()) is not None:
            worked_s += _do(job)
            del job  # it has a request in it, which would stay for as long as nothing else comes
            if self._rest is not None:
                worked_s = self._do_rest(self._rest)
            if worked_s > _STRETCH_S and self._tokens.qsize() < _BACKLOG and not self._closing:
                # As long a rest as the work took: a relay that became ready meanwhile finds the interpreter free.
                self._hurry.wait(worked_s)
                worked_s = 0.0

    def _do_rest(self, rest: Job) -> float:
        self._rest = None
        self._pause()
        return _do(rest)

    def _pause(self) -> None:
        """Until there is a job, or patience ends."""
        with contextlib.suppress(queue.Empty):
            self._tokens.get(timeout=_PATIENCE_S)
            self._tokens.put(None)

    def _take(self) -> Job | None:
        try:
            self._tokens.get_nowait()
        except queue.Empty:
            self._tokens.get()
            self._hurry.wait(_PATIENCE_S)
        if self._urgent:
            return self._urgent.popleft()
        self._hurry.clear()
        if self._urgent:  # put in between
            return self._urgent.popleft()
        return self._jobs.popleft()


def _do(job: Job) -> float:
    """Does a job; the seconds that it took."""
    started = time.perf_counter()
    try:
        job()
    except Exception:  # noqa: BLE001 - outermost loop of the thread: one bad exchange must not end it
        _log.exception("an exchange could not be observed")
    return time.perf_counter() - started
