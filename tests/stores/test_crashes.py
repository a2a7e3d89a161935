"""Processes killed (SIGKILL) while they bring a database up to date, prune it, or learn: nothing durable is lost or doubled."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sqlite3
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.stores.waiting import wait_until
from ullage.core.errors import StoreError
from ullage.stores import SqliteStore, files, open_reader
from ullage.stores.encoding import pack
from ullage.stores.files import open_for_writing
from ullage.stores.migrations import MIGRATIONS, find_version, migrate

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

    from conftest import Clock, Records

    Opening = Callable[..., SqliteStore]

DAY_MS = 24 * 60 * 60 * 1000
KEY = ("anthropic", "claude-x", "wire-v1")

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
"""From Python 3.12 on a fork beside threads is warned of; a fork is the quickest way to a process that can be killed."""


def killed(work: Callable[..., object], *values: Any) -> None:
    """Runs it in a process of its own, which must end by SIGKILL."""
    process = multiprocessing.get_context("fork").Process(target=work, args=values)
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL


def kill_within(connection: sqlite3.Connection, statement: str, *, after_steps: int = 0) -> None:
    """Has this process killed when the connection begins such a statement, or so many steps of SQLite later."""
    begun = []

    def watch(sql: str) -> None:
        if sql.startswith(statement):
            begun.append(sql)
            if not after_steps:
                os.kill(os.getpid(), signal.SIGKILL)

    def step() -> int:
        if begun:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    connection.set_trace_callback(watch)
    if after_steps:
        connection.set_progress_handler(step, after_steps)


def is_sound(database: Path) -> bool:
    """Nothing is wrong with the file, and nobody moved one aside."""
    return files.is_sound(database) and not list(database.parent.glob("*.corrupt-*"))


# While the database is brought up to date

OLD_CALL = {
    "id": "c1",
    "session": "s1",
    "created_ms": 1_780_000_000_000,
    "dialect": "anthropic",
    "kind": "conversation",
    "path": "/v1/messages",
    "provider": "anthropic",
    "model": "claude-x",
    "outcome": "ok",
    "tool_calls": ["bash"],
    "usage": {"input_fresh": 10, "output": 3},
    "breakdown": {"total": 13, "sections": [{"id": f"s{row}", "tokens": row, "title": "é" * 20} for row in range(60)]},
}
OLD_SESSION = {
    "id": "s1",
    "client": "pi",
    "identity": "client",
    "started_ms": 5,
    "last_ms": 1_780_000_000_000,
    "calls": 1,
}
OLD_EVENT = {"created_ms": 1_780_000_000_000, "kind": "rewrite", "session": "s1", "details": {"before": 3}}
"""Records as the version with one step wrote them."""


@pytest.fixture
def version_1(database: Path) -> Path:
    """A database made and filled by the version with one step."""
    database.parent.mkdir(mode=0o700)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    migrate(connection, 1, MIGRATIONS[:1])
    packed = [pack(msgspec.json.encode(record)) for record in (OLD_SESSION, OLD_CALL, OLD_EVENT)]
    connection.execute("INSERT INTO sessions VALUES (1, 's1', 1780000000000, ?)", packed[:1])
    connection.execute("INSERT INTO calls VALUES (1, 'c1', 's1', 'conversation', 1780000000000, ?)", packed[1:2])
    connection.execute("INSERT INTO events VALUES (1, 's1', 1780000000000, ?)", packed[2:])
    connection.close()
    return database


def content(database: Path) -> dict[str, list[Any]]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in sorted(tables)}


def test_a_database_of_version_1_is_brought_up_without_a_loss(
    version_1: Path, open_sqlite: Opening, records: Records
) -> None:
    before = content(version_1)
    with pytest.raises(StoreError) as refusal:
        open_reader("sqlite", version_1.parent)
    assert (refusal.value.code, content(version_1)) == ("older_database", before)
    assert refusal.value.hint == "Start `ullage serve` once: it brings the database up to date."
    store = open_sqlite()
    (call,), (session,), (event,) = store.calls(), store.sessions(), store.events()
    assert {name: getattr(call, name) for name in OLD_CALL} == {**OLD_CALL, "tool_calls": ("bash",)}
    assert (call.awareness, call.sample, call.cache, call.project) == (None, None, None, None)
    assert {name: getattr(session, name) for name in OLD_SESSION} == OLD_SESSION
    assert (session.project, session.targets) == (None, ())
    assert {name: getattr(event, name) for name in OLD_EVENT} == OLD_EVENT
    store.put_sample(records.sample())
    store.close()
    after = content(version_1)
    assert {table: after[table] for table in ("events", "sessions")} == {
        table: before[table] for table in ("events", "sessions")
    }
    assert after["calls"] == [(*row, None) for row in before["calls"]]
    assert [row[:2] for row in after["schema_migrations"]] == [(step.number, step.name) for step in MIGRATIONS]
    assert after["schema_migrations"][0] == before["schema_migrations"][0]


def migrate_until(database: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        kill_within(connection, statement)
        migrate(connection, 2)


@pytest.mark.parametrize("statement", [*MIGRATIONS[1].statements, "INSERT INTO schema_migrations", "COMMIT"])
def test_a_process_killed_while_it_migrates_leaves_the_version_it_found(
    version_1: Path, open_sqlite: Opening, statement: str
) -> None:
    before = content(version_1)
    killed(migrate_until, version_1, statement)
    assert content(version_1) == before
    assert is_sound(version_1)
    store = open_sqlite()
    assert len(store.calls()) == len(store.sessions()) == len(store.events()) == 1
    assert store.samples(*KEY) == []
    assert store.problems() == ()


def test_a_process_killed_while_it_makes_a_database_leaves_none(database: Path, open_sqlite: Opening) -> None:
    database.parent.mkdir()
    killed(migrate_until, database, MIGRATIONS[0].statements[-1])
    connection = sqlite3.connect(database)
    assert find_version(connection) == 0
    connection.close()
    assert open_sqlite().calls() == []


# While it is pruned


def prune_until(database: Path, clock_ms: Callable[[], int], statement: str) -> None:
    def connect(path: Path, now_ms: int) -> sqlite3.Connection:
        connection = open_for_writing(path, now_ms)
        kill_within(connection, statement, after_steps=300)
        return connection

    SqliteStore(database, clock_ms=clock_ms, keep_days=30, connect=connect)
    signal.pause()


@pytest.mark.parametrize("table", ["calls", "events", "sessions", "prefixes", "samples"])
def test_a_process_killed_while_it_prunes_loses_nothing_that_was_to_stay(
    database: Path, open_sqlite: Opening, records: Records, clock: Clock, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.upkeep.TRIM_RECORDS", 1)
    learned = [records.sample(f"{number:03}", created_ms=number) for number in range(400)]
    store = open_sqlite(keep_days=9**6)
    for number, sample in enumerate(learned):
        store.put_sample(sample)
        put_old_and_new(store, records, clock.now_ms + number)
    store.close()
    before = counts(database)[table]
    killed(prune_until, database, clock, f"DELETE FROM {table}")
    assert is_sound(database)
    assert counts(database)[table] == before > 200
    store = open_sqlite(keep_days=30)
    assert store.samples(*KEY) == learned[:199:-1]
    kept = {"calls": 400, "events": 400, "prefixes": 400, "artifacts": 400, "sessions": 400}
    expected = {**kept, "samples": 200, "mutations": 800, "routing": 3200, "spend_attempts": 0, "spend_totals": 0}
    wait_until(lambda: counts(database) == expected)
    assert store.samples(*KEY) == learned[:199:-1]
    assert store.problems() == ()


def put_old_and_new(store: SqliteStore, records: Records, now_ms: int) -> None:
    for time_ms in (now_ms, now_ms - 60 * DAY_MS):
        store.put_call(records.call(f"{time_ms}", created_ms=time_ms))
        store.put_event(records.event(created_ms=time_ms))
        store.put_session(records.session(f"{time_ms}", last_ms=time_ms))
        store.put_prefix(records.prefix(f"{time_ms}", used_ms=time_ms))
        store.put_artifact(records.artifact(f"{time_ms}", used_ms=time_ms))
        store.put_mutation(records.mutation(f"{time_ms}", created_ms=time_ms))
        store.put_feedback(records.vote(f"{time_ms}", created_ms=time_ms))
        store.put_outcome(records.outcome(f"{time_ms}", created_ms=time_ms))
        store.put_tally(records.tally(f"{time_ms}", created_ms=time_ms))
        store.put_route_override(records.override(session=f"{time_ms}", at_ms=time_ms))


def counts(database: Path) -> dict[str, int]:
    return {table: len(rows) for table, rows in content(database).items() if table != "schema_migrations"}


# While it learns


def learn_until(database: Path, statement: str, numbers: range, records: Records) -> None:
    def connect(path: Path, now_ms: int) -> sqlite3.Connection:
        connection = open_for_writing(path, now_ms)
        kill_within(connection, statement)
        return connection

    store = SqliteStore(database, clock_ms=lambda: 0, connect=connect)
    for number in numbers:
        store.put_sample(records.sample(f"{number:03}", created_ms=number))
    signal.pause()


@pytest.mark.parametrize("statement", ["INSERT INTO samples", "DELETE FROM samples", "COMMIT"])
def test_a_group_of_samples_is_written_whole_or_not_at_all_and_can_be_put_again(
    database: Path, open_sqlite: Opening, records: Records, statement: str
) -> None:
    learned = [records.sample(f"{number:03}", created_ms=number) for number in range(220)]
    store = open_sqlite()
    for sample in learned[:210]:
        store.put_sample(sample)
    store.close()
    killed(learn_until, database, statement, range(210, 220), records)
    assert is_sound(database)
    store = open_sqlite()
    assert store.samples(*KEY) == learned[209:9:-1]
    for sample in learned[200:]:
        store.put_sample(sample)
    assert store.flush()
    assert store.samples(*KEY) == learned[:19:-1]
    assert store.problems() == ()


def answer_and_die(database: Path, records: Records, is_learned: bool) -> None:
    """The answer was recorded; what it taught was handed over at most."""
    store = SqliteStore(database, clock_ms=lambda: 0)
    store.put_call(records.call())
    store.flush()
    if is_learned:
        store.put_sample(records.sample())
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("is_learned", [False, True])
def test_a_process_killed_between_answer_and_sample_leaves_at_most_one_sample_of_that_call(
    database: Path, open_sqlite: Opening, records: Records, is_learned: bool
) -> None:
    """Planner specification, section 35.3, number 6."""
    killed(answer_and_die, database, records, is_learned)
    assert is_sound(database)
    store = open_sqlite()
    assert [call.id for call in store.calls()] == ["c1"]
    assert store.samples(*KEY) in ([], [records.sample()])
    store.put_sample(records.sample())
    assert store.flush()
    assert store.samples(*KEY) == [records.sample()]


def learn_and_tell(database: Path, records: Records, first: int, told: Connection) -> None:
    """Tells after each sample that it is durable, until it is killed."""
    store = SqliteStore(database, clock_ms=lambda: 0)
    for number in range(first, 10_000):
        store.put_call(records.call(f"{number:04}", created_ms=number))
        store.put_sample(records.sample(f"{number:04}", created_ms=number))
        store.put_prefix(records.prefix(used_ms=number))
        store.flush()
        told.send(number)


def test_a_process_killed_again_and_again_loses_no_sample_it_was_told_is_kept(
    database: Path, open_sqlite: Opening, records: Records
) -> None:
    """Each process begins a few calls before the last one's end, as a client does that repeats what it got no answer to."""
    context = multiprocessing.get_context("fork")
    last = 0
    for turn in range(4):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=learn_and_tell, args=(database, records, max(0, last - 5), there))
        process.start()
        target = last + 20 + 7 * turn
        while last < target:
            last = max(last, here.recv())
        process.kill()
        process.join(30)
        assert is_sound(database)
        store = open_sqlite(clock_ms=lambda: 0)
        kept = [sample.id for sample in store.samples(*KEY)]
        assert kept == sorted(set(kept), reverse=True)
        assert {f"{number:04}" for number in range(last + 1)} <= set(kept)
        assert max(prefix.used_ms for prefix in store.prefixes()) >= last
        store.close()
        assert store.problems() == ()
