"""What users said of routes must not be lost (routing specification, sections 23 and 27): nobody could make it anew."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from ullage.stores import SqliteStore, open_reader, open_store
from ullage.stores.copying import back_up
from ullage.stores.files import open_for_writing
from ullage.stores.inspection import inspect_database
from ullage.stores.maintenance import rebuild
from ullage.stores.migrations import MIGRATIONS, migrate
from ullage.stores.reader import SELECT_DECISIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Clock, Records

    from ullage.stores import Store

    Opening = Callable[..., SqliteStore]

DAY_MS = 24 * 60 * 60 * 1000
forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture
def filled(open_projects: Callable[..., Store], records: Records, clock: Clock, database: Path) -> Path:
    """A database with votes, outcomes, tallies, settings and routed calls of two projects, closed; all of it is old."""
    store = open_projects()
    for number in range(9):
        store.put_feedback(records.vote(f"v{number}"))
        store.put_outcome(records.outcome(f"o{number}"))
        store.put_tally(records.tally(f"n{number}"))
        store.put_call(records.routed(f"c{number}", f"t{number}", project=(None, "/code/a", "/code/b")[number % 3]))
    store.put_route_override(records.override("pin", "a/x", session="s1"))
    assert store.flush()
    store.close()
    clock.now_ms += 9_999 * DAY_MS
    return database


def said_at(database: Path) -> tuple[int, int, int, dict[str, object]]:
    with closing(open_reader("sqlite", database.parent)) as reader:
        return len(reader.feedback()), len(reader.outcomes()), len(reader.tallies()), reader.route_overrides("s1")


ALL = (9, 9, 9, {"pin": "a/x"})


def test_what_was_said_of_routes_is_never_too_old(filled: Path, clock: Clock) -> None:
    store = open_store("sqlite", filled.parent, clock, keep_days=1)
    assert store.flush()
    store.close()
    assert said_at(filled) == ALL


def test_what_was_said_of_routes_is_in_a_backup(filled: Path, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "copy", force=False, progress=lambda _: None)
    assert said_at(tmp_path / "copy" / "ullage.db") == ALL


def test_what_was_said_of_routes_survives_a_rebuild_and_routed_calls_are_still_found(filled: Path) -> None:
    results = rebuild(filled, now_ms=1, everything=True, also=None, progress=lambda _: None)
    assert sorted(result.kept["routing"] for result in results) == [0, 0, 28]
    assert said_at(filled) == ALL
    with closing(open_reader("sqlite", filled.parent)) as reader:
        assert len(reader.decisions()) == 9
        assert [call.id for call in reader.decisions(task="t4")] == ["c4"]


def test_a_record_that_is_none_of_these_is_told_and_left_out_of_a_rebuild(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection:
        connection.execute("UPDATE routing SET record = '{\"type\":\"dream\"}' WHERE id = 'v3'")
        connection.commit()
    (finding,) = inspect_database(filled, full=True).findings
    assert (finding.code, finding.message) == ("unreadable_records", "1 of the routing cannot be read.")
    rebuild(filled, now_ms=1, everything=True, also=None, progress=lambda _: None)
    assert said_at(filled) == (8, *ALL[1:])


def test_a_database_from_before_there_were_routes_can_be_taken_in(filled: Path, records: Records) -> None:
    older = filled.with_name("ullage.db.corrupt-1")
    with closing(sqlite3.connect(older, isolation_level=None)) as connection:
        migrate(connection, 1, MIGRATIONS[:4])
        with closing(sqlite3.connect(filled)) as newer:
            row = newer.execute("SELECT session, kind, created_ms, record FROM calls WHERE id = 'c0'").fetchone()
        connection.execute("INSERT INTO calls (id, session, kind, created_ms, record) VALUES ('old', ?, ?, ?, ?)", row)
    result, *_ = rebuild(filled, now_ms=1, everything=True, also=older, progress=lambda _: None)
    assert (result.kept["calls"], result.lost["calls"]) == (4, 0)
    assert said_at(filled) == ALL


def test_a_call_that_another_version_kept_otherwise_is_not_learned_from_and_stops_nothing(
    open_sqlite: Opening, records: Records
) -> None:
    store = open_sqlite()
    store.put_call(records.routed("a"))
    store.put_call(records.routed("b", route={"task_id": "t1", "notes": 7, "task": "debug"}))
    assert store.flush()
    assert [one.id for one in store.attempts()] == ["a"]
    assert len(store.decisions()) == 2


def test_calls_of_all_projects_are_found_by_task_and_learned_from(filled: Path) -> None:
    with closing(open_reader("sqlite", filled.parent)) as reader:
        assert {call.id for call in reader.decisions()} == {f"c{number}" for number in range(9)}
        assert [call.id for call in reader.decisions("s1", task="t1")] == ["c1"]
        assert len(reader.attempts()) == 9


def test_what_was_said_of_routes_is_in_the_shared_database_whatever_the_project(filled: Path) -> None:
    assert [inspect_database(path).counts["routing"] for path in (filled.parent / "projects").glob("*.db")] == [0, 0]


def say_many(database: Path, writer: int) -> None:
    store = SqliteStore(database, clock_ms=lambda: 0)
    from ullage.stores import FeedbackRecord, RouteOverride

    for number in range(50):
        store.put_feedback(FeedbackRecord(id=f"{writer}-{number}", created_ms=number, target="a/x", good=True))
        store.put_route_override(RouteOverride(key="pin", value=f"a/{number}", at_ms=number))
    store.close(30)
    assert store.problems() == ()


@forks
def test_four_processes_that_vote_at_once_lose_nothing(open_sqlite: Opening, database: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=say_many, args=(database, writer)) for writer in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    store = open_sqlite()
    assert {vote.id for vote in store.feedback()} == {
        f"{writer}-{number}" for writer in range(4) for number in range(50)
    }
    assert store.route_overrides() == {"pin": "a/49"}


def vote_and_die(database: Path) -> None:
    def connect(path: Path, now_ms: int) -> sqlite3.Connection:
        connection = open_for_writing(path, now_ms)
        puts = []

        def die(statement: str) -> None:
            puts.append(statement.startswith("INSERT INTO routing"))
            if sum(puts) == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        connection.set_trace_callback(die)
        return connection

    store = SqliteStore(database, clock_ms=lambda: 0, connect=connect)
    from ullage.stores import FeedbackRecord

    for number in range(5):
        store.put_feedback(FeedbackRecord(id=f"{number}", created_ms=number, target="a/x", good=True))
    store.close(30)


@forks
def test_a_process_killed_in_the_midst_of_votes_leaves_all_or_none_of_them(
    open_sqlite: Opening, records: Records, database: Path
) -> None:
    store = open_sqlite()
    store.put_feedback(records.vote("before"))
    assert store.flush()
    process = multiprocessing.get_context("fork").Process(target=vote_and_die, args=(database,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert [vote.id for vote in store.feedback()] == ["before"]
    assert inspect_database(database, full=True).status == "ok"


def test_a_vote_waits_for_the_disk(open_sqlite: Opening, records: Records) -> None:
    statements: list[str] = []

    def connect(path: Path, now_ms: int) -> sqlite3.Connection:
        connection = open_for_writing(path, now_ms)
        connection.set_trace_callback(statements.append)
        return connection

    store = open_sqlite(connect=connect)
    puts: tuple[Callable[[], None], ...] = (
        lambda: store.put_feedback(records.vote()),
        lambda: store.put_outcome(records.outcome()),
        lambda: store.put_route_override(records.override()),
    )
    for put in puts:
        statements.clear()
        put()
        assert store.flush()
        assert "PRAGMA synchronous = FULL" in statements


@pytest.mark.parametrize("wanted", [(False, False), (False, True)], ids=["all", "of a task"])
def test_tasks_are_found_without_reading_all_calls(
    open_sqlite: Opening, database: Path, wanted: tuple[bool, bool]
) -> None:
    open_sqlite().close()
    with closing(sqlite3.connect(database)) as connection:
        sql = f"EXPLAIN QUERY PLAN {SELECT_DECISIONS[wanted]}"
        told = [row[3] for row in connection.execute(sql, ("t", 5)[2 - sql.count("?") :])]
    assert "USING INDEX calls_by_task" in told[0]
