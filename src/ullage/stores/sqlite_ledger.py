"""The ledger in the user's database: each change is one transaction of its own, under SQLite's write lock.

It does not go through the writer's queue: whoever reserves has to know that nobody else does in the same moment. What cannot be
written is counted in memory, so that trouble with a file never keeps a request back, and is written once the file can be.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
import zlib
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from ullage.core.errors import StoreError
from ullage.core.spend import ledger
from ullage.core.spend.ledger import Change, Key, SpendAttempt, SpendTotal

from . import files
from .encoding import decode, encode, pack, unpack
from .ledger import TOTALS_READ, Bookkeeper, MemoryLedger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ullage.core.spend.ledger import Scope, Spend, SpendLimits, Verdict

    from .encoding import Record
    from .ledger import Book

logger = logging.getLogger(__name__)

PAUSE_S = 2.0
"""How long after a failure the file is not tried again. A try may wait for a lock for `files.BUSY_TIMEOUT_S`, the 5 s of section
17.5."""

_ATTEMPT = "SELECT record FROM spend_attempts WHERE id = ?"
_TOTAL = "SELECT record FROM spend_totals WHERE scope = ? AND name = ?"
_OPEN = "SELECT record FROM spend_attempts WHERE state = 'open' AND at_ms < ? ORDER BY at_ms, seq LIMIT ?"
_TOTALS = "SELECT record FROM spend_totals WHERE scope = ? AND at_ms >= ? ORDER BY at_ms DESC, seq DESC LIMIT ?"
_PUT_ATTEMPT = (
    "INSERT INTO spend_attempts (id, state, at_ms, record) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET state = excluded.state, record = excluded.record"
)
_PUT_TOTAL = (
    "INSERT INTO spend_totals (scope, name, at_ms, record) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (scope, name) DO UPDATE SET at_ms = excluded.at_ms, record = excluded.record"
)
_EVER = 1 << 62
_MOST_OPEN = 10_000

Done = TypeVar("Done")


class FileLedgerReader:
    """Reads the ledger through a store's own way to its file."""

    def __init__(self, records: Callable[..., list[Any]]) -> None:
        self._records = records

    def totals(self, scope: Scope, *, since_ms: int = 0, limit: int = TOTALS_READ) -> list[SpendTotal]:
        found: list[SpendTotal] = self._records(SpendTotal, _TOTALS, scope, since_ms, limit)
        return found

    def find_totals(self, keys: Iterable[Key]) -> dict[Key, SpendTotal]:
        found = (one for key in keys for one in self._records(SpendTotal, _TOTAL, *key))
        return {one.key: one for one in found}

    def open_attempts(self) -> list[SpendAttempt]:
        found: list[SpendAttempt] = self._records(SpendAttempt, _OPEN, _EVER, _MOST_OPEN)
        return found


class SqliteLedger:
    """The ledger of a store that writes. `connect` opens the database, `on_damage` is told when it is found damaged.

    Whoever waits in vain for the file, or cannot use it, counts on in memory: what this process has seen so far and what it
    spends from then on. That is told once. What was counted meanwhile is added to the file later; to one that was begun anew,
    since the old one was damaged, all that is known here.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock_ms: Callable[[], int],
        connect: Callable[[Path, int], sqlite3.Connection],
        on_damage: Callable[[], None] = lambda: None,
        pause_s: float = PAUSE_S,
    ) -> None:
        self._memory = MemoryLedger()
        self._file = _FileLedger(path, clock_ms=clock_ms, connect=connect, on_damage=on_damage, memory=self._memory)
        self._pause_s = pause_s
        self._lock = threading.Lock()
        self._paused_until = 0.0
        self._told: dict[str, None] = {}
        self._trouble: str | None = None
        self._closed = False

    def reserve(self, limits: SpendLimits, spend: Spend, *, skip_downgrade: bool = False) -> Verdict:
        return self._do(lambda keeper: keeper.reserve(limits, spend, skip_downgrade=skip_downgrade))

    def settle(self, attempt_id: str, cost: int | None, *, at_ms: int) -> SpendAttempt | None:
        return self._do(lambda keeper: keeper.settle(attempt_id, cost, at_ms=at_ms))

    def release(self, attempt_id: str, *, at_ms: int) -> SpendAttempt | None:
        return self._do(lambda keeper: keeper.release(attempt_id, at_ms=at_ms))

    def book(self, spend: Spend, cost: int | None, *, at_ms: int) -> SpendAttempt | None:
        return self._do(lambda keeper: keeper.book(spend, cost, at_ms=at_ms))

    def take_imported(self, totals: Iterable[SpendTotal]) -> int:
        with self._lock:
            return self._file.take_imported(totals)

    def totals(self, scope: Scope, *, since_ms: int = 0, limit: int = TOTALS_READ) -> list[SpendTotal]:
        return self._ask(lambda keeper: keeper.totals(scope, since_ms=since_ms, limit=limit))

    def find_totals(self, keys: Iterable[Key]) -> dict[Key, SpendTotal]:
        wanted = list(keys)
        return self._ask(lambda keeper: keeper.find_totals(wanted))

    def open_attempts(self) -> list[SpendAttempt]:
        return self._ask(lambda keeper: keeper.open_attempts())

    def problems(self) -> tuple[str, ...]:
        with self._lock:
            waiting = f"{self._trouble} What is spent is counted in memory, in this process alone."
            return ((waiting,) if self._trouble is not None else ()) + self._file.notes()

    def close(self) -> None:
        """Writes what waits, if the file can be written. What comes later is counted in memory.

        Where nothing waits the file is not opened: in a forked child that could wait for a lock of SQLite that nobody gives back.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._memory.touched:
                    with contextlib.suppress(StoreError):
                        self._file.catch_up()
                self._file.close()

    def _do(self, work: Callable[[Bookkeeper], Done]) -> Done:
        with self._lock:
            if self._may_try():
                try:
                    self._file.catch_up()
                    done = work(self._file)
                except StoreError as error:
                    self._endure(error)
                else:
                    self._recover()
                    return done
            return work(self._memory)

    def _ask(self, read: Callable[[_FileLedger | MemoryLedger], Done]) -> Done:
        with self._lock:
            return read(self._file if self._may_try() and not self._memory.touched else self._memory)

    def _may_try(self) -> bool:
        return not self._closed and time.monotonic() >= self._paused_until

    def _endure(self, error: StoreError) -> None:
        self._paused_until = time.monotonic() + self._pause_s
        self._trouble = error.message
        if error.message not in self._told:
            self._told[error.message] = None
            logger.warning(
                "%s What is spent is counted in memory until it can be written. %s", error.message, error.hint
            )

    def _recover(self) -> None:
        if self._trouble is not None:
            self._trouble = None
            logger.warning("What was spent meanwhile is in the ledger again.")


class _FileLedger(Bookkeeper):
    """The ledger in the file. Every method raises `StoreError` where the file cannot be used; then nothing was changed."""

    def __init__(
        self,
        path: Path,
        *,
        clock_ms: Callable[[], int],
        connect: Callable[[Path, int], sqlite3.Connection],
        on_damage: Callable[[], None],
        memory: MemoryLedger,
    ) -> None:
        self._path = path
        self._clock_ms = clock_ms
        self._connect = connect
        self._on_damage = on_damage
        self._memory = memory
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._begun_anew = False
        self._unreadable = False

    def notes(self) -> tuple[str, ...]:
        """What was found in the file, as sentences."""
        return (_unreadable(self._path),) if self._unreadable else ()

    def catch_up(self) -> None:
        """Writes what only memory knows."""
        with self._guarded() as connection:
            if not self._memory.touched and not self._begun_anew:
                return
            with self._transaction(connection) as book:
                attempts, totals = self._memory.everything()
                if self._begun_anew:
                    _restore(book, attempts, totals)
                else:
                    _add(book, [one for one in attempts if one.spend.id in self._memory.touched])
            self._begun_anew = False
            self._memory.forget_touched()

    def totals(self, scope: Scope, *, since_ms: int = 0, limit: int = TOTALS_READ) -> list[SpendTotal]:
        with self._guarded() as connection:
            return self._read(connection).totals(scope, since_ms, limit)

    def find_totals(self, keys: Iterable[Key]) -> dict[Key, SpendTotal]:
        with self._guarded() as connection:
            return self._read(connection).find_totals(keys)

    def open_attempts(self) -> list[SpendAttempt]:
        with self._guarded() as connection:
            return self._read(connection).open_before(_EVER, _MOST_OPEN)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    @contextlib.contextmanager
    def _transaction(self, connection: sqlite3.Connection | None = None) -> Iterator[Book]:
        with contextlib.nullcontext(connection) if connection is not None else self._guarded() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                book = self._read(connection)
                yield book
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                raise
            self._memory.learn(book.attempts.values(), book.sums.values())

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection]:
        """A connection to the file that lies at the path now. What goes wrong with it is raised as `StoreError`."""
        try:
            if self._connection is not None and self._identity != files.identify(self._path):
                self.close()
            if self._connection is None:
                self._open()
            assert self._connection is not None
            yield self._connection
        except (sqlite3.Error, OSError) as error:
            fault = files.name_fault(error)
            if fault != "busy":
                self.close()
            if fault == "damaged":
                self._on_damage()
            raise files.explain(self._path, error) from error

    def _read(self, connection: sqlite3.Connection) -> _Book:
        return _Book(connection, self._memory, self._note_unreadable)

    def _note_unreadable(self) -> None:
        if not self._unreadable:
            self._unreadable = True
            logger.warning("%s", _unreadable(self._path))

    def _open(self) -> None:
        known = self._identity
        self._connection = self._connect(self._path, self._clock_ms())
        self._identity = files.identify(self._path)
        self._begun_anew |= known is not None and known != self._identity


class _Book:
    """What is written in the file, within one transaction; `attempts` and `sums` are what was read and written of it.

    A record that cannot be read is left out alone; in place of a sum stands what memory knows of it.
    """

    def __init__(self, connection: sqlite3.Connection, memory: MemoryLedger, on_unreadable: Callable[[], None]) -> None:
        self._connection = connection
        self._memory = memory
        self._on_unreadable = on_unreadable
        self.attempts: dict[str, SpendAttempt] = {}
        self.sums: dict[Key, SpendTotal] = {}

    def find_attempt(self, attempt_id: str) -> SpendAttempt | None:
        found = self._records(SpendAttempt, _ATTEMPT, attempt_id)
        return found[0] if found else None

    def find_totals(self, keys: Iterable[Key]) -> dict[Key, SpendTotal]:
        found: dict[Key, SpendTotal] = {}
        for key in keys:
            for (packed,) in self._connection.execute(_TOTAL, key):
                total = self._decode(packed, SpendTotal) or self._memory.find_totals([key]).get(key)
                found |= {key: total} if total is not None else {}
        self.sums |= found
        return found

    def totals(self, scope: Scope, since_ms: int, limit: int) -> list[SpendTotal]:
        return self._records(SpendTotal, _TOTALS, scope, since_ms, limit)

    def open_before(self, at_ms: int, limit: int) -> list[SpendAttempt]:
        return self._records(SpendAttempt, _OPEN, at_ms, limit)

    def put(self, change: Change) -> None:
        attempt, payload = encode(change.attempt)
        values = (attempt.spend.id, attempt.state, attempt.spend.at_ms, pack(payload))
        self._connection.execute(_PUT_ATTEMPT, values)
        self.attempts[attempt.spend.id] = attempt
        self.put_totals(change.totals)

    def put_totals(self, totals: Iterable[SpendTotal]) -> None:
        for one in totals:
            total, payload = encode(one)
            self._connection.execute(_PUT_TOTAL, (total.scope, total.name, total.at_ms, pack(payload)))
            self.sums[total.key] = total

    def _records(self, kind: type[Record], sql: str, *values: object) -> list[Record]:
        decoded = (self._decode(packed, kind) for (packed,) in self._connection.execute(sql, values))
        return [one for one in decoded if one is not None]

    def _decode(self, packed: bytes, kind: type[Record]) -> Record | None:
        try:
            return decode(unpack(packed), kind)
        except (zlib.error, msgspec.MsgspecError):
            self._on_unreadable()
            return None


def _unreadable(path: Path) -> str:
    return f"A record of what was spent in {path} cannot be read and is left out; `ullage db check --full` names it."


def _add(book: Book, told: Iterable[SpendAttempt]) -> None:
    """Adds what was counted elsewhere to what is there."""
    for attempt in told:
        known, totals = book.find_attempt(attempt.spend.id), book.find_totals(attempt.spend.keys)
        change = ledger.count(attempt, totals) if known is None else ledger.adopt(known, attempt, totals)
        if change is not None:
            book.put(change)


def _restore(book: Book, attempts: Iterable[SpendAttempt], totals: Iterable[SpendTotal]) -> None:
    """Puts what is known into a ledger that was begun anew. What another process has put there is the least that holds."""
    for attempt in attempts:
        if book.find_attempt(attempt.spend.id) is None:
            book.put(Change(attempt, ()))
    for total in totals:
        there = book.find_totals([total.key]).get(total.key, total)
        most = {
            name: max(getattr(there, name), getattr(total, name))
            for name in ("at_ms", "amount", "estimated", "imported", "calls", "unpriced")
        }
        book.put_totals([replace(total, **most)])
