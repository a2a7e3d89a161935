"""What every ledger does, and what the one in a file does when the file fails, or when several processes use it."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.stores.waiting import wait_until
from ullage.core.errors import StoreError
from ullage.core.spend import ProviderLimits, Spend, SpendLimits, SpendTotal
from ullage.core.spend.ledger import NO_LIMITS, RESERVATION_MS, Key
from ullage.stores import MemoryLedger, SqliteLedger, SqliteStore
from ullage.stores.files import open_for_writing
from ullage.stores.upkeep import SPEND_KEEP_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Clock

    from ullage.stores import Ledger

    Opening = Callable[..., SqliteStore]

AT_MS = 1_780_000_000_000
DAY = "2026-05-28"
USD = 1_000_000_000
FIVE_DOLLARS = SpendLimits(day=5 * USD, on_exceed="block")

forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def spend(name: str = "a", usd: float | None = 1.0, **fields: Any) -> Spend:
    common: dict[str, Any] = {"at_ms": AT_MS, "day": DAY, "provider": "openai", "model": "m", "session": "s1"}
    return Spend(id=name, estimate=None if usd is None else round(usd * USD), **(common | fields))


def used(ledger: Ledger, scope: Any = "day", name: str = DAY) -> float:
    total = ledger.find_totals([Key(scope, name)]).get(Key(scope, name))
    return total.used / USD if total is not None else 0.0


@pytest.fixture
def sqlite_ledger(database: Path, clock: Clock) -> Iterator[SqliteLedger]:
    ledger = SqliteLedger(database, clock_ms=clock, connect=open_for_writing, pause_s=0)
    yield ledger
    ledger.close()


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    if request.param == "memory":
        return MemoryLedger()
    opened: Ledger = request.getfixturevalue("sqlite_ledger")
    return opened


# Every ledger


def test_a_reservation_counts_until_its_cost_is_known(ledger: Ledger) -> None:
    verdict = ledger.reserve(FIVE_DOLLARS, spend("a", 3.0))
    assert (verdict.action, verdict.reserved, used(ledger)) == ("allow", True, 3.0)
    assert [one.spend.id for one in ledger.open_attempts()] == ["a"]
    settled = ledger.settle("a", USD // 2, at_ms=AT_MS + 5)
    assert settled is not None
    assert (settled.state, settled.settled_ms, used(ledger)) == ("known", AT_MS + 5, 0.5)
    assert ledger.open_attempts() == []
    assert used(ledger, "session", "s1") == used(ledger, "month", "2026-05") == 0.5
    assert used(ledger, "provider_day", f"{DAY} openai") == 0.5


def test_what_is_blocked_leaves_no_trace(ledger: Ledger) -> None:
    verdict = ledger.reserve(FIVE_DOLLARS, spend("a", 5.1))
    assert (verdict.action, verdict.reserved) == ("block", False)
    assert (ledger.totals("day"), ledger.open_attempts()) == ([], [])
    assert ledger.settle("a", 1, at_ms=AT_MS) is None
    assert ledger.release("a", at_ms=AT_MS) is None


def test_a_call_is_reserved_once_however_often_that_is_asked(ledger: Ledger) -> None:
    for _ in range(3):
        assert ledger.reserve(FIVE_DOLLARS, spend("a", 3.0)).reserved
    assert used(ledger) == 3.0


def test_a_call_that_was_not_sent_is_released(ledger: Ledger) -> None:
    ledger.reserve(FIVE_DOLLARS, spend("a", 3.0))
    assert ledger.release("a", at_ms=AT_MS) is not None
    assert (used(ledger), ledger.release("a", at_ms=AT_MS)) == (0.0, None)


def test_a_call_without_a_limit_is_booked_once_it_is_over(ledger: Ledger) -> None:
    booked = ledger.book(spend("a", 3.0), USD, at_ms=AT_MS + 1)
    assert booked is not None
    assert (booked.state, used(ledger)) == ("known", 1.0)
    assert ledger.book(spend("a", 3.0), USD, at_ms=AT_MS + 1) is None
    unknown = ledger.book(spend("b", 2.0), None, at_ms=AT_MS + 1)
    assert unknown is not None
    assert (unknown.state, used(ledger)) == ("estimated", 3.0)


def test_a_reservation_that_nobody_settles_ends_as_an_estimate_and_may_be_settled_late(ledger: Ledger) -> None:
    ledger.reserve(NO_LIMITS, spend("stuck", 3.0))
    ledger.reserve(NO_LIMITS, spend("new", 1.0, at_ms=AT_MS + RESERVATION_MS))
    assert [one.spend.id for one in ledger.open_attempts()] == ["stuck", "new"]
    ledger.reserve(NO_LIMITS, spend("later", 1.0, at_ms=AT_MS + RESERVATION_MS + 1))
    assert [one.spend.id for one in ledger.open_attempts()] == ["new", "later"]
    (total,) = ledger.totals("day")
    assert (total.amount, total.estimated) == (5 * USD, 5 * USD)
    ledger.settle("stuck", USD, at_ms=AT_MS + RESERVATION_MS + 2)
    assert used(ledger) == 3.0


def test_sums_come_with_the_last_changed_first(ledger: Ledger) -> None:
    for number in range(3):
        ledger.book(spend(str(number), session=f"s{number}", at_ms=AT_MS + number), USD, at_ms=AT_MS + number)
    assert [one.name for one in ledger.totals("session")] == ["s2", "s1", "s0"]
    assert [one.name for one in ledger.totals("session", limit=1)] == ["s2"]
    assert [one.name for one in ledger.totals("session", since_ms=AT_MS + 1)] == ["s2", "s1"]


def test_what_is_imported_counts_beside_what_is_counted_here_and_is_not_doubled(ledger: Ledger) -> None:
    ledger.book(spend("a"), USD, at_ms=AT_MS)
    told = [SpendTotal(scope="day", name=DAY, imported=2 * USD), SpendTotal(scope="session", name="pi", imported=7)]
    assert ledger.take_imported(told) == 2
    assert ledger.take_imported(told) == 0
    assert used(ledger) == 3.0
    assert ledger.reserve(FIVE_DOLLARS, spend("b", 2.1)).action == "block"
    ledger.book(spend("c"), USD, at_ms=AT_MS)
    assert used(ledger) == 4.0


@pytest.mark.parametrize(
    "held", [FIVE_DOLLARS, SpendLimits(providers={"openai": ProviderLimits(month=5 * USD, on_exceed="block")})]
)
def test_threads_that_ask_at_once_never_pass_a_cap(ledger: Ledger, held: SpendLimits) -> None:
    go = threading.Barrier(8)
    allowed: list[str] = []

    def ask(thread: int) -> None:
        go.wait()
        for number in range(8):
            name = f"{thread}-{number}"
            if ledger.reserve(held, spend(name, 0.9)).may_be_sent:
                allowed.append(name)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(allowed) == 5
    assert used(ledger) == 4.5


def test_names_that_are_no_text_are_counted(ledger: Ledger) -> None:
    ledger.reserve(NO_LIMITS, spend("a", model="m\udc80"))
    ledger.settle("a", USD, at_ms=AT_MS)
    assert used(ledger) == 1.0


# A store's ledger


def test_a_store_counts_in_its_file_and_another_one_reads_it(open_sqlite: Opening) -> None:
    first, second = open_sqlite(), open_sqlite()
    first.ledger.reserve(FIVE_DOLLARS, spend("a", 4.0))
    assert second.ledger.reserve(FIVE_DOLLARS, spend("b", 1.1)).action == "block"
    assert second.ledger.settle("a", 3 * USD, at_ms=AT_MS) is not None
    assert second.ledger.reserve(FIVE_DOLLARS, spend("b", 1.1)).action == "allow"
    assert used(first.ledger) == pytest.approx(4.1)


def test_what_was_spent_stays_for_two_months_whatever_is_kept_of_calls(open_sqlite: Opening, clock: Clock) -> None:
    store = open_sqlite()
    store.ledger.book(spend("old", at_ms=AT_MS - SPEND_KEEP_MS - 1, day="2026-03-01", session="old"), USD, at_ms=AT_MS)
    store.ledger.book(spend("new", at_ms=AT_MS - SPEND_KEEP_MS // 2, session="new"), USD, at_ms=AT_MS)
    store.close()
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE spend_totals SET at_ms = 5 WHERE name = 'old'")
    connection.close()
    again = open_sqlite(keep_days=1)
    wait_until(lambda: [one.name for one in again.ledger.totals("session")] == ["new"])
    assert again.ledger.settle("old", 2 * USD, at_ms=AT_MS) is None


def test_a_store_of_projects_has_one_ledger(open_projects: Callable[..., Any]) -> None:
    store = open_projects()
    store.ledger.book(spend("a"), USD, at_ms=AT_MS)
    assert used(store.ledger) == 1.0


# A file that fails


def test_while_the_file_is_locked_memory_counts_on_and_the_file_learns_of_it(
    database: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    def connect(path: Path, now_ms: int) -> sqlite3.Connection:
        connection = open_for_writing(path, now_ms)
        connection.execute("PRAGMA busy_timeout = 1")
        return connection

    ledger = SqliteLedger(database, clock_ms=clock, connect=connect, pause_s=0)
    ledger.reserve(FIVE_DOLLARS, spend("before", 3.0))
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert ledger.reserve(FIVE_DOLLARS, spend("a", 1.5)).action == "allow"
    assert ledger.reserve(FIVE_DOLLARS, spend("b", 1.5)).action == "block"
    assert ledger.settle("before", USD, at_ms=AT_MS) is not None
    assert used(ledger) == 2.5
    (problem,) = ledger.problems()
    assert str(database) in problem
    assert "locked" in problem
    assert len(caplog.records) == 1
    other.execute("COMMIT")
    other.close()
    assert ledger.settle("a", USD, at_ms=AT_MS) is not None
    assert ledger.problems() == ()
    ledger.close()
    fresh = SqliteLedger(database, clock_ms=clock, connect=open_for_writing)
    assert used(fresh) == 2.0
    assert fresh.open_attempts() == []
    fresh.close()


def test_a_file_that_cannot_be_made_leaves_a_ledger_in_memory(
    database: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    database.parent.write_text("no folder")
    ledger = SqliteLedger(database, clock_ms=clock, connect=open_for_writing, pause_s=0)
    for name in "abc":
        ledger.reserve(FIVE_DOLLARS, spend(name, 2.0))
    assert used(ledger) == 4.0
    assert len(caplog.records) == 1
    assert str(database) in ledger.problems()[0]
    with pytest.raises(StoreError):
        ledger.take_imported([SpendTotal(scope="day", name=DAY, imported=1)])
    ledger.close()


def test_a_damaged_file_is_moved_aside_and_the_count_goes_on_from_memory(open_sqlite: Opening, database: Path) -> None:
    store = open_sqlite()
    store.ledger._pause_s = 0
    store.ledger.reserve(FIVE_DOLLARS, spend("a", 3.0))
    damage(database)
    for number in range(50):  # a connection that has the pages in its memory does not see the damage at once
        store.ledger.book(spend(f"free {number}", 0, session=f"s{number}"), None, at_ms=AT_MS)
    wait_until(lambda: any("moved to" in problem for problem in store.problems()))
    assert store.ledger.reserve(FIVE_DOLLARS, spend("b", 2.1)).action == "block"
    assert store.ledger.reserve(FIVE_DOLLARS, spend("c", 2.0)).action == "allow"
    store.close()
    fresh = open_sqlite()
    assert used(fresh.ledger) == 5.0
    assert {"a", "c"} <= {one.spend.id for one in fresh.ledger.open_attempts()}


def damage(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(database.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    database.write_bytes(content)


def test_a_record_that_cannot_be_read_is_left_out_alone_and_that_is_told(
    database: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    first = SqliteLedger(database, clock_ms=clock, connect=open_for_writing)
    first.book(spend("a"), USD, at_ms=AT_MS)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE spend_totals SET record = X'FF00' WHERE scope IN ('session', 'day')")
    connection.close()
    second = SqliteLedger(database, clock_ms=clock, connect=open_for_writing)
    for ledger, day in ((second, 1.0), (first, 2.0)):
        ledger.book(spend(f"b{day}"), USD, at_ms=AT_MS)
    assert used(second) == 2.0
    assert used(second, "month", "2026-05") == 3.0
    assert len(caplog.records) == 1
    assert "cannot be read" in second.problems()[0]
    first.close()
    second.close()


def test_what_the_file_lost_alone_is_put_back_from_memory(database: Path, clock: Clock) -> None:
    ledger = SqliteLedger(database, clock_ms=clock, connect=open_for_writing)
    ledger.book(spend("a"), USD, at_ms=AT_MS)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE spend_totals SET record = X'FF00' WHERE scope = 'day'")
    connection.close()
    ledger.book(spend("b"), USD, at_ms=AT_MS)
    assert used(ledger) == 2.0
    ledger.close()


# Several processes


def reserve_many(database: Path, number: int, allowed: Any, go: Any) -> None:
    ledger = SqliteLedger(database, clock_ms=lambda: AT_MS, connect=open_for_writing)
    go.wait()
    for count in range(20):
        name = f"{number}-{count}"
        if ledger.reserve(FIVE_DOLLARS, spend(name, 0.3)).may_be_sent:
            with allowed.get_lock():
                allowed.value += 1
            if count % 3 == 0:
                ledger.settle(name, round(0.1 * USD), at_ms=AT_MS)
        assert used(ledger) <= 5.0
    assert ledger.problems() == ()
    ledger.close()


@forks
def test_processes_on_one_file_never_pass_a_cap(database: Path, clock: Clock) -> None:
    context = multiprocessing.get_context("fork")
    allowed, go = context.Value("i", 0), context.Barrier(4)
    processes = [context.Process(target=reserve_many, args=(database, number, allowed, go)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    ledger = SqliteLedger(database, clock_ms=clock, connect=open_for_writing)
    (total,) = ledger.totals("day")
    assert total.calls == allowed.value
    assert 4.7 < total.used / USD <= 5.0
    waiting = sum(one.amount for one in ledger.open_attempts())
    assert total.amount == waiting + round(0.1 * USD) * (total.calls - len(ledger.open_attempts()))
    ledger.close()
