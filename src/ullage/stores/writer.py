"""The one thread that writes to the database file: it gathers what callers hand over and commits it in groups.

A caller pays for a lock and an append. The thread pays for everything else: waiting for another process's lock or for disk
space, moving a damaged file aside, pruning. Reading is left to `reader.py`.
"""

from __future__ import annotations

import contextlib
import logging
import random
import sqlite3
import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING

from ullage.core.errors import StoreError

from . import files
from .base import EventRecord
from .encoding import encode
from .groups import PUT_EVENT, Rows, Write, commit, gather
from .upkeep import LARGE_BYTES, prune_portion, size_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)

GATHER_S = 0.05
"""How long the first record of a group waits for company; what a killed process can lose when nothing else is wrong."""

GROUP_RECORDS = 500
"""Most records in one transaction, so that other processes and a waiting `flush` get their turn."""

QUEUE_RECORDS = 20_000
QUEUE_BYTES = 64 * 1024 * 1024
"""What may wait while the database cannot be written (encoded size). What comes on top is dropped and counted."""

OPEN_WAIT_S = 2.0
"""How long a start waits for a database that another process has locked before it goes on and leaves it to the thread."""

RETRY_FIRST_S = 0.01
RETRY_BUSY_CAP_S = 0.25
RETRY_CAP_S = 2.0
"""Delays of a retry double from the first to the cap: that of planner specification, section 29.3, for a locked file; longer
where only a person can help."""

REPAIR_EVERY = 8
"""A file found damaged is looked at before the first retry, and again after this many."""

PRUNE_EVERY_S = 3600.0
DAY_MS = 24 * 60 * 60 * 1000


class Writer:
    """Owns the queue, the thread and the only connection that writes. Every method may be called from any thread."""

    def __init__(
        self,
        path: Path,
        *,
        clock_ms: Callable[[], int],
        keep_days: int,
        connect: Callable[[Path, int], sqlite3.Connection],
        queue_records: int,
        queue_bytes: int,
    ) -> None:
        self._path = path
        self._clock_ms = clock_ms
        self._keep_ms = keep_days * DAY_MS
        self._connect = connect
        self._queue_records = queue_records
        self._queue_bytes = queue_bytes

        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._queue: deque[Write] = deque()
        self._waiting_bytes = 0
        self._accepted = 0
        self._settled = 0
        self._hurry_to = 0
        self._closing = False
        self._deadline = float("inf")
        self._suspected = False

        self._opened = threading.Event()
        self._refusal: StoreError | None = None
        self._trouble: str | None = None
        self._lost: Counter[str] = Counter()
        self._notes: list[str] = []

        # Touched by the thread alone.
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._next_prune = 0.0

    def start(self) -> None:
        """Starts the thread and waits until the database is open. Raises `StoreError` if it can never be.

        A locked file or a full disk is no reason: after `OPEN_WAIT_S` the thread goes on trying alone.
        """
        self._thread = threading.Thread(target=self._run, name="ullage-store-writer", daemon=True)
        self._thread.start()
        self._opened.wait(OPEN_WAIT_S)
        with self._changed:
            self._opened.set()
            if self._refusal is not None:
                raise self._refusal

    def put(self, write: Write) -> None:
        """Hands one row over. Never raises and never waits for the database."""
        with self._changed:
            if self._closing:
                self._lost["the store was closed"] += 1
                return
            if self._is_full(len(write.payload)):
                self._lost["too many were waiting to be written"] += 1
                return
            self._queue.append(write)
            self._accepted += 1
            self._waiting_bytes += len(write.payload)
            # Between the first of a group and a whole group the thread sleeps on: waking it costs more than a put.
            if len(self._queue) in (1, GROUP_RECORDS):
                self._changed.notify_all()

    def lose(self, why: str, number: int = 1) -> None:
        """Counts records that are not kept."""
        with self._changed:
            self._lost[why] += number

    def flush(self, timeout_s: float) -> bool:
        """Waits until all rows handed over so far are written. False if that did not happen in time."""
        with self._changed:
            target = self._accepted
            self._hurry_to = max(self._hurry_to, target)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._settled >= target, timeout_s)

    def suspect(self) -> None:
        """A reader met damage: the thread looks at the whole file and moves it aside if that is true."""
        with self._changed:
            self._suspected = True
            self._changed.notify_all()

    def close(self, timeout_s: float) -> None:
        """Writes what waits, then ends the thread. What could not be written in time is counted as lost, and logged."""
        with self._changed:
            is_first = not self._closing
            if is_first:
                self._closing = True
                self._deadline = time.monotonic() + timeout_s
                self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout_s)
        for sentence in self._unwritten() if is_first else ():
            logger.warning("%s", sentence)

    def problems(self) -> tuple[str, ...]:
        """What went wrong and is worth telling, as sentences."""
        with self._changed:
            notes = tuple(self._notes)
        return (*notes, *self._unwritten())

    def _unwritten(self) -> list[str]:
        """What of the records is not in the database. Notes are logged as they come up, these numbers at the end."""
        with self._changed:
            waiting = self._accepted - self._settled
            found = [f"{_records(waiting)} waiting to be written. {self._trouble}"] if self._trouble is not None else []
            return found + [f"{_records(number)} lost: {why}." for why, number in self._lost.items()]

    def _is_full(self, more_bytes: int) -> bool:
        return (
            self._accepted - self._settled >= self._queue_records
            or self._waiting_bytes + more_bytes > self._queue_bytes
        )

    # From here on: what the thread does.

    def _run(self) -> None:
        self._write_through([])
        while self._refusal is None:
            group = self._take_group()
            if group:
                self._write_through(group)
            elif self._closing:
                break
            self._maintain()
        self._disconnect()

    def _take_group(self) -> list[Write]:
        """Waits for work; empty when the store is closing or upkeep is due."""
        with self._changed:
            idle_s = max(0.0, self._next_prune - time.monotonic())
            self._changed.wait_for(lambda: self._queue or self._closing or self._suspected, idle_s)
            if self._queue:
                self._changed.wait_for(self._is_hurried, GATHER_S)
            return [self._queue.popleft() for _ in range(min(GROUP_RECORDS, len(self._queue)))]

    def _is_hurried(self) -> bool:
        return self._closing or self._hurry_to > self._settled or len(self._queue) >= GROUP_RECORDS

    def _write_through(self, group: Sequence[Write]) -> None:
        """Writes a group, however often that must be tried, unless the database refuses or the store closes meanwhile."""
        rows = gather(group)
        tries = 0
        while self._refusal is None and time.monotonic() < self._deadline:
            try:
                self._write(rows)
            except (sqlite3.Error, OSError, StoreError) as error:
                self._endure(error, tries)
                tries += 1
            except Exception:  # the thread must outlive a fault of ours: the group is lost, and that is said
                logger.exception("%s could not be written.", _records(len(group)))
                self._settle(group, lost="an internal error, see the log")
                return
            else:
                self._settle(group)
                return
        self._settle(group, lost="the store was closed before they could be written")

    def _write(self, rows: Rows) -> None:
        connection = self._ready_connection()
        if rows and (refused := commit(connection, rows)):
            self.lose("SQLite refused their values", refused)

    def _ready_connection(self) -> sqlite3.Connection:
        """The open connection to the file that lies at the path now, not to one that was moved or deleted."""
        if self._connection is not None and self._identity != files.identify(self._path):
            self._disconnect()
            self._note(f"The database {self._path} was moved or deleted while in use; a new one was begun.")
        if self._connection is None:
            self._connection = self._connect(self._path, self._clock_ms())
            self._identity = files.identify(self._path)
        return self._connection

    def _endure(self, error: Exception, tries: int) -> None:
        """After a failed attempt: repairs what can be repaired, else says what is wrong and waits a little."""
        fault = files.name_fault(error)
        if fault != "busy":
            self._disconnect()
        if fault == "damaged" and tries % REPAIR_EVERY == 0 and self._repair():
            return
        explained = files.explain(self._path, error)
        with self._changed:
            if fault == "unusable" and not self._opened.is_set():
                self._refusal = explained
                self._opened.set()
                return
            if self._trouble != explained.message:
                self._trouble = explained.message
                logger.warning("%s Records wait in memory. %s", explained.message, explained.hint)
            self._changed.wait(_delay_s(tries, RETRY_BUSY_CAP_S if fault == "busy" else RETRY_CAP_S))

    def _repair(self) -> bool:
        """Moves a damaged file aside and begins a fresh one. False if that was not possible."""
        try:
            aside = files.move_aside(self._path, self._clock_ms())
            if aside is not None:
                self._begin_after(aside)
        except (sqlite3.Error, OSError, StoreError) as error:
            logger.warning("The database %s could not be repaired: %s", self._path, error)
            return False
        return True

    def _begin_after(self, aside: Path) -> None:
        details = {"moved_to": aside.name}
        event, payload = encode(EventRecord(created_ms=self._clock_ms(), kind="store_recovered", details=details))
        try:
            self._write(gather([Write(PUT_EVENT, None, (event.session, event.created_ms), payload)]))
        finally:
            self._note(f"The database {self._path} was damaged: it was moved to {aside.name}, a fresh one was begun.")

    def _maintain(self) -> None:
        """Upkeep between groups: looks at a suspected file, removes one portion of what is too old."""
        with self._changed:
            suspected, self._suspected = self._suspected, False
        if suspected:
            self._disconnect()
            self._repair()
        if self._closing or time.monotonic() < self._next_prune:
            return
        try:
            is_done = self._prune()
        except (sqlite3.Error, OSError, StoreError) as error:
            is_done = True
            self._disconnect()
            if files.name_fault(error) != "damaged" or not self._repair():
                logger.warning("%s Old records stay for now.", files.explain(self._path, error).message)
        if is_done:
            self._next_prune = time.monotonic() + PRUNE_EVERY_S

    def _prune(self) -> bool:
        """Removes one portion; true when nothing was left to remove."""
        connection = self._ready_connection()
        if prune_portion(connection, self._clock_ms(), self._keep_ms):
            return False
        if size_bytes(connection) >= LARGE_BYTES:
            self._note(f"The database {self._path} is larger than 1 GiB: lower store.keep_days.")
        return True

    def _settle(self, group: Sequence[Write], *, lost: str | None = None) -> None:
        with self._changed:
            self._settled += len(group)
            self._waiting_bytes -= sum(len(write.payload) for write in group)
            if lost is None:
                self._opened.set()
                if self._trouble is not None:
                    logger.warning("The database %s can be written again.", self._path)
                self._trouble = None
            elif group:
                self._lost[lost] += len(group)
            self._changed.notify_all()

    def _note(self, sentence: str) -> None:
        with self._changed:
            if sentence in self._notes:
                return
            self._notes.append(sentence)
        logger.warning("%s", sentence)

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _delay_s(tries: int, cap_s: float) -> float:
    # Jitter keeps processes that wait for one lock from asking at the same moments; no secret hangs on it.
    delay_s = min(RETRY_FIRST_S * float(2 ** min(tries, 10)), cap_s)
    return delay_s * (1 + random.random() / 4)  # noqa: S311 - jitter, no secret


def _records(number: int) -> str:
    return "1 record" if number == 1 else f"{number:,} records"
