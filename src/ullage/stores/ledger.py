"""The ledger of what is spent: its interface, the work that every ledger does alike, and the one that is held in memory.

Each change is one transaction: the sums of a call are read, judged by the core, and written, with nobody in between.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from ullage.core.spend import ledger
from ullage.core.spend.ledger import NO_LIMITS, RESERVATION_MS, Key, SpendAttempt, SpendTotal, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from ullage.core.spend.ledger import Change, Scope, Spend, SpendLimits

STUCK_AT_ONCE = 20
"""Reservations that are ended with one new one."""

MEMORY_ENTRIES = 5_000
"""Calls, and sums, that are held in memory; a call that is open is never dropped, nor a sum of days and months."""

TOTALS_READ = 1_000

_DROPPED: tuple[Scope, ...] = ("task", "session", "hour")


class LedgerReader(Protocol):
    """The reading half. Every read raises `StoreError` when the database cannot be used."""

    def totals(self, scope: Scope, *, since_ms: int = 0, limit: int = TOTALS_READ) -> list[SpendTotal]:
        """The sums of a scope that changed since then, the one that changed last first."""
        ...

    def find_totals(self, keys: Iterable[Key]) -> dict[Key, SpendTotal]:
        """Those of these sums that there are."""
        ...

    def open_attempts(self) -> list[SpendAttempt]:
        """Reservations that are not settled yet, the oldest first."""
        ...


class Ledger(LedgerReader, Protocol):
    """Safe to use from any thread, and by several processes at once."""

    def reserve(self, limits: SpendLimits, spend: Spend, *, skip_downgrade: bool = False) -> Verdict:
        """Judges a call and counts it, in one step (`core.spend.ledger.reserve`). What is in the ledger is not counted again."""
        ...

    def settle(self, attempt_id: str, cost: int | None, *, at_ms: int) -> SpendAttempt | None:
        """Replaces a reservation by a cost in nano-USD, `None` where nobody knows it. `None` if there was nothing to settle."""
        ...

    def release(self, attempt_id: str, *, at_ms: int) -> SpendAttempt | None:
        """Takes back a reservation that cost nothing. `None` if there was none."""
        ...

    def book(self, spend: Spend, cost: int | None, *, at_ms: int) -> SpendAttempt | None:
        """Counts a call that is over and was never judged. `None` for one that is in the ledger."""
        ...

    def take_imported(self, totals: Iterable[SpendTotal]) -> int:
        """Puts what another program has spent beside what is counted here, in place of what it had before; how many sums changed.

        Raises `StoreError` where that cannot be kept.
        """
        ...

    def problems(self) -> tuple[str, ...]:
        """What went wrong, as sentences."""
        ...


class Book(Protocol):
    """What is written down, within one transaction."""

    def find_attempt(self, attempt_id: str) -> SpendAttempt | None: ...

    def find_totals(self, keys: Iterable[Key]) -> dict[Key, SpendTotal]: ...

    def put(self, change: Change) -> None: ...

    def put_totals(self, totals: Iterable[SpendTotal]) -> None: ...

    def open_before(self, at_ms: int, limit: int) -> list[SpendAttempt]: ...


class Bookkeeper:
    """What can be done in one transaction. Who keeps a book says how one is begun."""

    def reserve(self, limits: SpendLimits, spend: Spend, *, skip_downgrade: bool = False) -> Verdict:
        with self._transaction() as book:
            known = book.find_attempt(spend.id)
            if known is not None:
                return Verdict(amount=known.amount, reserved=known.state == "open", capped=known.capped)
            _end_stuck(book, spend.at_ms)
            verdict, change = ledger.reserve(limits, spend, book.find_totals(spend.keys), skip_downgrade=skip_downgrade)
            if change is not None:
                book.put(change)
            return verdict

    def settle(self, attempt_id: str, cost: int | None, *, at_ms: int) -> SpendAttempt | None:
        with self._transaction() as book:
            known = book.find_attempt(attempt_id)
            if known is None:
                return None
            return _put(book, ledger.settle(known, cost, book.find_totals(known.spend.keys), at_ms=at_ms))

    def release(self, attempt_id: str, *, at_ms: int) -> SpendAttempt | None:
        with self._transaction() as book:
            known = book.find_attempt(attempt_id)
            if known is None:
                return None
            return _put(book, ledger.release(known, book.find_totals(known.spend.keys), at_ms=at_ms))

    def book(self, spend: Spend, cost: int | None, *, at_ms: int) -> SpendAttempt | None:
        with self._transaction() as book:
            if book.find_attempt(spend.id) is not None:
                return None
            _, counted = ledger.reserve(NO_LIMITS, spend, book.find_totals(spend.keys))
            assert counted is not None, "nothing forbids it"
            book.put(counted)
            return _put(book, ledger.settle(counted.attempt, cost, book.find_totals(spend.keys), at_ms=at_ms))

    def take_imported(self, totals: Iterable[SpendTotal]) -> int:
        told = {one.key: one for one in totals}
        with self._transaction() as book:
            known = book.find_totals(told)
            changed = [
                replace(
                    known.get(key) or SpendTotal(scope=key.scope, name=key.name), imported=one.imported, at_ms=one.at_ms
                )
                for key, one in told.items()
                if key not in known or known[key].imported != one.imported
            ]
            book.put_totals(replace(one, at_ms=max(one.at_ms, _age(known, one.key))) for one in changed)
        return len(changed)

    def _transaction(self) -> AbstractContextManager[Book]:
        raise NotImplementedError


class MemoryLedger(Bookkeeper):
    """A ledger of this process alone. `touched` are the calls that were changed in it, as opposed to learned from a file."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._attempts: dict[str, SpendAttempt] = {}
        self._totals: dict[Key, SpendTotal] = {}
        self.touched: dict[str, None] = {}

    def totals(self, scope: Scope, *, since_ms: int = 0, limit: int = TOTALS_READ) -> list[SpendTotal]:
        with self._lock:
            found = [one for one in self._totals.values() if one.scope == scope and one.at_ms >= since_ms]
        return sorted(found, key=lambda one: one.at_ms, reverse=True)[: max(limit, 0)]

    def find_totals(self, keys: Iterable[Key]) -> dict[Key, SpendTotal]:
        with self._lock:
            return {key: self._totals[key] for key in keys if key in self._totals}

    def open_attempts(self) -> list[SpendAttempt]:
        return self.open_before(None, MEMORY_ENTRIES)

    def problems(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Nothing is open."""

    def find_attempt(self, attempt_id: str) -> SpendAttempt | None:
        return self._attempts.get(attempt_id)

    def put(self, change: Change) -> None:
        self.touched[change.attempt.spend.id] = None
        self.learn([change.attempt], change.totals)

    def put_totals(self, totals: Iterable[SpendTotal]) -> None:
        self.learn([], totals)

    def open_before(self, at_ms: int | None, limit: int) -> list[SpendAttempt]:
        with self._lock:
            found = [one for one in self._attempts.values() if one.state == "open"]
        found = [one for one in found if at_ms is None or one.spend.at_ms < at_ms]
        return sorted(found, key=lambda one: one.spend.at_ms)[:limit]

    def learn(self, attempts: Iterable[SpendAttempt], totals: Iterable[SpendTotal]) -> None:
        """Takes over how things stand."""
        with self._lock:
            for attempt in attempts:
                self._attempts[attempt.spend.id] = attempt
            for total in totals:
                self._totals[total.key] = total
            self._make_room()

    def everything(self) -> tuple[list[SpendAttempt], list[SpendTotal]]:
        """All that is held."""
        with self._lock:
            return list(self._attempts.values()), list(self._totals.values())

    def forget_touched(self) -> None:
        """All that was changed here is known elsewhere now."""
        with self._lock:
            self.touched.clear()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Book]:
        with self._lock:
            yield self

    def _make_room(self) -> None:
        if len(self._attempts) * 4 > MEMORY_ENTRIES * 5:
            settled = [key for key, one in self._attempts.items() if one.state != "open" and key not in self.touched]
            for key in settled[: len(self._attempts) - MEMORY_ENTRIES]:
                del self._attempts[key]
        if len(self._totals) * 4 > MEMORY_ENTRIES * 5:
            rest = sorted((one for one in self._totals.values() if one.scope in _DROPPED), key=lambda one: one.at_ms)
            for one in rest[: len(self._totals) - MEMORY_ENTRIES]:
                del self._totals[one.key]


def _end_stuck(book: Book, now_ms: int) -> None:
    """Ends reservations that nobody settles any more; what they hold stays, as an estimate."""
    for stuck in book.open_before(now_ms - RESERVATION_MS, STUCK_AT_ONCE):
        _put(book, ledger.settle(stuck, None, book.find_totals(stuck.spend.keys), at_ms=now_ms))


def _put(book: Book, change: Change | None) -> SpendAttempt | None:
    if change is None:
        return None
    book.put(change)
    return change.attempt


def _age(known: dict[Key, SpendTotal], key: Key) -> int:
    return known[key].at_ms if key in known else 0
