"""The stores of the projects that are in use: opened when something comes for them, a bounded number at once.

One thread opens and closes them, so that a put never waits for a file. A store makes room only once what it was given is
durable; what comes for a project that is not open yet waits, bounded like everything that waits.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ullage.core.errors import StoreError

from .encoding import decode, encode
from .memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from pathlib import Path

    from .base import CallRecord, EventRecord, SessionRecord, Store

Record = TypeVar("Record", "SessionRecord", "CallRecord", "EventRecord")

logger = logging.getLogger(__name__)

MOST_OPEN = 8
"""Stores open at once: each has a thread and, with its readers, some ten open files."""

MOST_WAITING = 2_000
"""Records that wait for stores to be opened, of all projects together."""

FLUSH_S = 1.0
RETRY_S = 0.5
"""How long a store that should make room may take to write what it has, and when the next try is."""


class OpenProjects:
    """`open_one` opens the store of a file; it may raise `StoreError`, then this run keeps its records in memory.

    `tidy` is called while there is nothing else to do, with the files that are open; it says in how many seconds it is due again.
    """

    def __init__(
        self, open_one: Callable[[Path], Store], *, tidy: Callable[[Container[Path]], float], most: int = MOST_OPEN
    ) -> None:
        self._open_one = open_one
        self._tidy = tidy
        self._most = most
        self._reset()
        self._thread = threading.Thread(target=self._run, name="ullage-store-projects", daemon=True)
        self._thread.start()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._slots: OrderedDict[Path, _Slot] = OrderedDict()
        self._leaving: Store | None = None
        self._waiting = 0
        self._lost: Counter[str] = Counter()
        self._notes: dict[str, None] = {}
        self._closing = False
        self._deadline = float("inf")

    def put(self, path: Path, record: Record, give: Callable[[Store, Record], None]) -> None:
        """Gives a record to the store of a file. Never raises and never waits for a file."""
        with self._changed:
            slot = self._slots.get(path)
            if self._closing:
                self._lost["the stores of their projects were closed"] += 1
                return
            if self._waiting >= MOST_WAITING and (slot is None or slot.store is None):
                self._lost["too many were waiting for the files of their projects"] += 1
                return
            if slot is None:
                slot = self._slots[path] = _Slot()
                self._changed.notify_all()
            self._slots.move_to_end(path)
            if slot.store is not None:
                give(slot.store, record)
                return
            copy = _copy(record)
            slot.waiting.append(lambda store: give(store, copy))
            self._waiting += 1

    @contextlib.contextmanager
    def borrow(self, path: Path) -> Iterator[Store | None]:
        """The store of a file if it is open; it stays so until the block is left."""
        with self._changed:
            slot = self._slots.get(path)
            store = slot.store if slot is not None else None
            if slot is not None:
                slot.users += 1
        try:
            yield store
        finally:
            if slot is not None:
                with self._changed:
                    slot.users -= 1

    def is_open(self, path: Path) -> bool:
        """Whether a file is being written to."""
        with self._changed:
            return path in self._slots

    def flush(self, timeout_s: float) -> bool:
        """Waits until everything put so far is durable. False if that did not happen in time."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            if not self._changed.wait_for(self._are_all_open, timeout_s):
                return False
            slots = list(self._slots.values())
            for slot in slots:
                slot.users += 1
        try:
            return all(slot.store.flush(_left_s(deadline)) for slot in slots if slot.store is not None)
        finally:
            with self._changed:
                for slot in slots:
                    slot.users -= 1

    def problems(self) -> tuple[str, ...]:
        """What went wrong, as sentences."""
        with self._changed:
            stores = [slot.store for slot in self._slots.values() if slot.store is not None]
            stores += [self._leaving] if self._leaving is not None else []
            sentences = list(self._notes)
        sentences += [sentence for store in stores for sentence in store.problems()]
        return (*dict.fromkeys(sentences), *self._tell_lost())

    def begin_closing(self, timeout_s: float) -> None:
        """Takes nothing more; what waits is written for at most so long, and every store closed, while the caller goes on."""
        with self._changed:
            if not self._closing:
                self._closing = True
                self._deadline = time.monotonic() + timeout_s
                self._changed.notify_all()

    def wait_closed(self) -> None:
        """Waits until that is done, or the time for it is over."""
        self._thread.join(_left_s(self._deadline))

    def close_in_child(self) -> None:
        """In a forked child, where the thread is not and a lock may be held by it: nothing is open, nothing is taken any more."""
        self._reset()
        self._closing = True

    def _tell_lost(self) -> list[str]:
        with self._changed:
            return [
                f"{number:,} {'record' if number == 1 else 'records'} lost: {why}."
                for why, number in self._lost.items()
            ]

    def _are_all_open(self) -> bool:
        return self._leaving is None and all(slot.store is not None for slot in self._slots.values())

    # From here on: what the thread does.

    def _run(self) -> None:
        pause_s = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._next_to_open() is not None, pause_s)
                path = self._next_to_open()
                is_over = self._closing and (path is None or not _left_s(self._deadline))
            if is_over:
                self._close_all()
                return
            if path is None:
                pause_s = self._tidy_up()
            elif self._make_room():
                self._open(path)
            else:
                time.sleep(RETRY_S)

    def _next_to_open(self) -> Path | None:
        return next((path for path, slot in self._slots.items() if slot.store is None), None)

    def _tidy_up(self) -> float:
        with self._changed:
            paths = frozenset(self._slots)
        return self._tidy(paths)

    def _open(self, path: Path) -> None:
        try:
            store = self._open_one(path)
        except StoreError as error:
            sentence = f"Nothing of a project is kept after this run. {error.message} {error.hint}".strip()
            logger.warning("%s", sentence)
            store = MemoryStore(problems=(sentence,))
        with self._changed:
            slot = self._slots[path]
            for give in slot.waiting:
                give(store)
            self._waiting -= len(slot.waiting)
            slot.waiting.clear()
            slot.store = store
            self._changed.notify_all()

    def _make_room(self) -> bool:
        """Closes the store that was not put to for the longest time, if there are too many; false if none can be closed yet."""
        with self._changed:
            open_slots = [(path, slot, slot.store) for path, slot in self._slots.items() if slot.store is not None]
            if len(open_slots) < self._most or self._closing:
                return True
        return any(store.flush(FLUSH_S) and self._retire(path, slot, store) for path, slot, store in open_slots)

    def _close_all(self) -> None:
        with self._changed:
            stores = [slot.store for slot in self._slots.values() if slot.store is not None]
            if self._waiting:
                self._lost["the stores of their projects were closed"] += self._waiting
        for store in stores:  # first those that can write, so that one that cannot takes no time from them
            store.flush(_left_s(self._deadline) / (2 * len(stores)))
        for store in stores:
            store.close(_left_s(self._deadline))
        for sentence in self._tell_lost():
            logger.warning("%s", sentence)

    def _retire(self, path: Path, slot: _Slot, store: Store) -> bool:
        with self._changed:
            if slot.users:
                return False
            del self._slots[path]
            self._leaving = store
        store.close()
        with self._changed:
            self._notes.update(dict.fromkeys(store.problems()))
            self._leaving = None
            self._changed.notify_all()
        return True


class _Slot:
    """One project in use: its store once that is open, what waits until then, and how many reads go on."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.waiting: list[Callable[[Store], None]] = []
        self.users = 0


def _copy(record: Record) -> Record:
    """The record as it is now. One that cannot be encoded stays itself: its store counts it as lost."""
    try:
        return decode(encode(record)[1], type(record))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return record


def _left_s(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
