"""What can go wrong with a database file, and that no record is lost by it."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.stores.waiting import wait_until
from ullage.core.errors import StoreError
from ullage.stores import PrefixRecord, SampleRecord, SqliteStore
from ullage.stores.encoding import encode
from ullage.stores.files import BUSY_TIMEOUT_S, open_for_reading, open_for_writing
from ullage.stores.groups import PUT_SAMPLE, Write, commit, gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Clock, Records

    Opening = Callable[..., SqliteStore]

DAY_MS = 24 * 60 * 60 * 1000

forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
"""From Python 3.12 on a fork beside threads is warned of: these tests are about just that, or quicker for it."""


@pytest.fixture
def lock(open_sqlite: Opening, database: Path) -> Iterator[sqlite3.Connection]:
    """A connection of someone else to a database that exists; it takes the write lock with BEGIN IMMEDIATE."""
    open_sqlite().close()
    connection = sqlite3.connect(database, isolation_level=None)
    yield connection
    connection.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# The file and its rights


def test_files_and_folder_are_private(open_sqlite: Opening, records: Records, database: Path) -> None:
    store = open_sqlite()
    store.put_call(records.call())
    assert store.flush()
    assert mode(database.parent) == 0o700
    assert {file.name: mode(file) for file in database.parent.iterdir()} == {
        "ullage.db": 0o600,
        "ullage.db-shm": 0o600,
        "ullage.db-wal": 0o600,
    }


def test_a_file_that_others_could_read_is_made_private(open_sqlite: Opening, database: Path) -> None:
    open_sqlite().close()
    database.chmod(0o664)
    open_sqlite()
    assert mode(database) == 0o600


def test_a_folder_that_exists_keeps_its_rights(open_sqlite: Opening, database: Path) -> None:
    """It may be any folder that a person named, even one that others need."""
    database.parent.mkdir(mode=0o755)
    open_sqlite()
    assert mode(database.parent) == 0o755


def test_the_connection_is_set_as_the_planner_specification_says(tmp_path: Path) -> None:
    connection = open_for_writing(tmp_path / "x.db", 0)
    settings = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "foreign_keys", "synchronous", "trusted_schema", "busy_timeout")
    }
    connection.close()
    assert settings == {
        "journal_mode": "wal",
        "foreign_keys": 1,
        "synchronous": 1,
        "trusted_schema": 0,
        "busy_timeout": 5000,
    }


def test_closing_leaves_one_file(open_sqlite: Opening, records: Records, database: Path) -> None:
    store = open_sqlite()
    store.put_call(records.call())
    store.close()
    assert [file.name for file in database.parent.iterdir()] == ["ullage.db"]


# Groups and the end of a run


def test_closing_writes_what_waits(open_sqlite: Opening, records: Records) -> None:
    store = open_sqlite()
    for number in range(1200):
        store.put_call(records.call(f"c{number}"))
    store.close()
    assert store.problems() == ()
    assert len(open_sqlite().calls(limit=9999)) == 1200


def test_records_become_durable_without_a_flush(open_sqlite: Opening, records: Records) -> None:
    store = open_sqlite()
    store.put_call(records.call())
    wait_until(store.calls)


def test_a_put_after_closing_is_counted(open_sqlite: Opening, records: Records) -> None:
    store = open_sqlite()
    store.close()
    store.put_call(records.call())
    assert store.problems() == ("1 record lost: the store was closed.",)


def test_a_record_that_sqlite_refuses_does_not_take_its_group_along(open_sqlite: Opening, records: Records) -> None:
    store = open_sqlite()
    store.put_call(records.call("good"))
    store.put_call(records.call("no number", created_ms=None))
    store.put_call(records.call("too large", created_ms=2**70))
    store.put_call(records.call("good too"))
    assert store.flush()
    assert [call.id for call in store.calls()] == ["good too", "good"]
    assert store.problems() == ("2 records lost: SQLite refused their values.",)


def test_a_record_that_cannot_be_encoded_is_counted(open_sqlite: Opening, records: Records) -> None:
    loop: dict[str, Any] = {}
    loop["itself"] = loop
    store = open_sqlite()
    store.put_event(records.event(details=loop))
    assert store.problems() == ("1 record lost: they could not be encoded.",)


def test_a_killed_process_loses_no_written_record(open_sqlite: Opening, database: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from ullage.stores import *\n"
        "store = SqliteStore(Path(sys.argv[1]), clock_ms=lambda: 0, keep_days=9**6)\n"
        "for n in range(100): store.put_event(EventRecord(created_ms=n, kind='branch'))\n"
        "store.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script, str(database)], check=False)
    assert len(open_sqlite(keep_days=9**6).events(limit=999)) == 100


# A locked file


def test_records_wait_for_a_lock_and_none_is_lost(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection
) -> None:
    store = open_sqlite()
    lock.execute("BEGIN IMMEDIATE")
    for number in range(20):
        store.put_call(records.call(f"c{number}"))
    assert not store.flush(0.2)
    lock.execute("ROLLBACK")
    assert store.flush()
    assert len(store.calls()) == 20
    assert store.problems() == ()


def test_a_lock_that_outlasts_the_busy_timeout_is_named(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection
) -> None:
    store = open_sqlite(connect=impatient)
    lock.execute("BEGIN IMMEDIATE")
    store.put_call(records.call())
    wait_until(store.problems)
    assert store.problems()[0].startswith("1 record waiting to be written. The database ")
    assert "is locked by another process" in store.problems()[0]
    lock.execute("ROLLBACK")
    assert store.flush()
    assert store.problems() == ()


@pytest.fixture
def shut_out(lock: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Another process that lets nobody read or write."""
    lock.execute("PRAGMA locking_mode = EXCLUSIVE")
    lock.execute("BEGIN EXCLUSIVE")
    yield lock
    lock.execute("ROLLBACK")


@pytest.fixture
def waits_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each connection that is opened for reading would wait."""
    waits: list[float] = []

    def open_and_tell(path: Path, *, busy_timeout_s: float) -> sqlite3.Connection:
        waits.append(busy_timeout_s)
        return open_for_reading(path, busy_timeout_s=busy_timeout_s)

    monkeypatch.setattr("ullage.stores.files.open_for_reading", open_and_tell)
    return waits


@pytest.mark.usefixtures("shut_out")
def test_a_look_up_waits_briefly_and_the_next_ones_not_at_all(
    open_sqlite: Opening, waits_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The observer looks up each session that names itself: 5 s for each of them held up everything after it."""
    monkeypatch.setattr("ullage.stores.writer.OPEN_WAIT_S", 0.1)
    now_s = time.monotonic()
    monkeypatch.setattr("ullage.stores.reader.time", SimpleNamespace(monotonic=lambda: now_s))
    store = open_sqlite()
    for look_up in (
        lambda: store.find_session("s1"),
        lambda: store.samples("anthropic", "claude-x", "wire-v1"),
        store.sample_keys,
        store.prefixes,
        store.mutations,
        store.mutation_version,
    ):
        with pytest.raises(StoreError) as refusal:
            look_up()
        assert refusal.value.code == "store_busy"
    assert waits_s == [0.05]
    now_s += 10
    with pytest.raises(StoreError, match="is locked by another process"):
        store.find_session("s1")
    assert waits_s == [0.05, 0.05]


def test_a_look_up_finds_again_what_is_there_once_the_lock_is_gone(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.writer.OPEN_WAIT_S", 0.1)
    monkeypatch.setattr("ullage.stores.sqlite.LOOK_UP_PAUSE_S", 0.0)
    lock.execute("PRAGMA locking_mode = EXCLUSIVE")
    lock.execute("BEGIN EXCLUSIVE")
    store = open_sqlite()
    store.put_session(records.session())
    with pytest.raises(StoreError):
        store.find_session("s1")
    lock.close()
    assert store.flush()
    assert store.find_session("s1") == records.session()


def test_whoever_asks_for_a_report_waits_for_the_lock(open_sqlite: Opening, waits_s: list[float]) -> None:
    store = open_sqlite()
    store.sessions()
    store.calls()
    assert waits_s == [5.0]


def impatient(path: Path, now_ms: int) -> sqlite3.Connection:
    connection = open_for_writing(path, now_ms)
    connection.execute("PRAGMA busy_timeout = 1")
    return connection


def test_reading_goes_on_while_another_process_writes(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection
) -> None:
    store = open_sqlite()
    store.put_call(records.call())
    assert store.flush()
    lock.execute("BEGIN IMMEDIATE")
    assert len(store.calls()) == 1


def test_a_put_never_waits_for_a_lock(open_sqlite: Opening, records: Records, lock: sqlite3.Connection) -> None:
    store = open_sqlite()
    lock.execute("BEGIN IMMEDIATE")
    store.put_call(records.call("first"))
    time.sleep(0.1)
    begun = time.monotonic()
    store.put_call(records.call("second"))
    assert time.monotonic() - begun < BUSY_TIMEOUT_S / 2


def test_a_new_file_that_is_locked_at_the_start_is_used_later(
    open_sqlite: Opening, records: Records, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.writer.OPEN_WAIT_S", 0.1)
    database.parent.mkdir()
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    store = open_sqlite()
    store.put_call(records.call())
    other.execute("ROLLBACK")
    other.close()
    assert store.flush()
    assert len(store.calls()) == 1


def test_closing_gives_up_on_a_lock_in_time_and_counts_what_is_lost(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection
) -> None:
    store = open_sqlite(connect=impatient)
    lock.execute("BEGIN IMMEDIATE")
    for number in range(3):
        store.put_call(records.call(f"c{number}"))
    begun = time.monotonic()
    store.close(0.3)
    assert time.monotonic() - begun < 2
    wait_until(lambda: "3 records lost: the store was closed before they could be written." in store.problems())


def test_what_could_not_be_written_is_logged_once_at_the_end(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_sqlite(queue_records=1)
    lock.execute("BEGIN IMMEDIATE")
    for number in range(3):
        store.put_call(records.call(f"c{number}"))
    assert "lost" not in caplog.text
    lock.execute("ROLLBACK")
    store.close()
    store.close()
    assert caplog.messages == ["2 records lost: too many were waiting to be written."]


# A full disk


def test_records_wait_for_space_and_are_written_once_it_is_there(open_sqlite: Opening, records: Records) -> None:
    disk = LimitedDisk(pages=30)
    store = open_sqlite(connect=disk.connect)
    for number in range(300):
        store.put_call(records.call(f"c{number}", path=os.urandom(2000).hex()))
    assert not store.flush(0.3)
    assert "300 records waiting to be written." in store.problems()[0]
    assert "has no space left on its disk" in store.problems()[0]
    disk.pages = 100_000
    assert store.flush()
    assert len(store.calls(limit=999)) == 300
    assert store.problems() == ()


class LimitedDisk:
    """Opens databases that may not grow beyond so many pages."""

    def __init__(self, pages: int) -> None:
        self.pages = pages

    def connect(self, path: Path, now_ms: int) -> sqlite3.Connection:
        connection = open_for_writing(path, now_ms)
        connection.execute(f"PRAGMA max_page_count = {self.pages}")
        return connection


def test_a_real_limit_of_the_system_loses_nothing(open_sqlite: Opening, records: Records) -> None:
    """RLIMIT_FSIZE makes writes past a size fail as a quota does."""
    store = open_sqlite()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        for number in range(300):
            store.put_call(records.call(f"c{number}", path=os.urandom(2000).hex()))
        assert not store.flush(0.3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.flush()
    assert len(store.calls(limit=999)) == 300


def test_the_queue_is_bounded_in_number_and_what_is_dropped_is_counted(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection
) -> None:
    store = open_sqlite(queue_records=10)
    lock.execute("BEGIN IMMEDIATE")
    for number in range(15):
        store.put_call(records.call(f"c{number}"))
    assert "5 records lost: too many were waiting to be written." in store.problems()
    lock.execute("ROLLBACK")
    assert store.flush()
    assert len(store.calls()) == 10


def test_the_queue_is_bounded_in_bytes(open_sqlite: Opening, records: Records, lock: sqlite3.Connection) -> None:
    store = open_sqlite(queue_bytes=10_000)
    lock.execute("BEGIN IMMEDIATE")
    for number in range(5):
        store.put_call(records.call(f"c{number}", path="x" * 4000))
    lock.execute("ROLLBACK")
    assert store.flush()
    assert len(store.calls()) == 2
    assert store.problems() == ("3 records lost: too many were waiting to be written.",)


# A damaged file


@pytest.fixture
def filled(open_sqlite: Opening, records: Records, database: Path) -> Path:
    """A database with 400 calls that nobody has open."""
    store = open_sqlite()
    for number in range(400):
        store.put_call(records.call(f"c{number}", path=os.urandom(1000).hex()))
    store.close()
    return database


@pytest.fixture(params=["overwritten", "first page gone", "inner pages gone", "cut short"])
def damaged(request: pytest.FixtureRequest, filled: Path) -> Path:
    """A database with 400 calls that is no longer one."""
    content = bytearray(filled.read_bytes())
    if request.param == "overwritten":
        content[:] = b"not a database " * 5000
    elif request.param == "first page gone":
        content[:4096] = bytes(4096)
    elif request.param == "inner pages gone":
        content[4096:] = b"\xff" * (len(content) - 4096)
    else:
        del content[20_000:]
    filled.write_bytes(content)
    return filled


def test_a_damaged_file_is_moved_aside_and_a_fresh_one_is_used(
    damaged: Path, open_sqlite: Opening, records: Records, clock: Clock
) -> None:
    content = damaged.read_bytes()
    store = open_sqlite()
    store.put_call(records.call("new"))
    assert store.flush()
    aside = f"ullage.db.corrupt-{clock.now_ms}"
    assert store.problems() == (f"The database {damaged} was damaged: it was moved to {aside}, a fresh one was begun.",)
    assert [call.id for call in store.calls()] == ["new"]
    assert [(event.kind, event.details) for event in store.events()] == [("store_recovered", {"moved_to": aside})]
    assert damaged.with_name(aside).read_bytes() == content
    assert mode(damaged) == 0o600


def damage_inside(database: Path) -> None:
    with database.open("r+b") as file:
        file.seek(8 * 4096)
        file.write(b"\xff" * (database.stat().st_size - 8 * 4096))


def test_damage_that_only_a_reader_meets_is_repaired_too(
    filled: Path, open_sqlite: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.writer.prune_portion", lambda *_: 0)
    store = open_sqlite()
    damage_inside(filled)
    with pytest.raises(StoreError, match="damaged"):
        store.calls(limit=999)
    wait_until(store.problems)
    assert store.calls() == []


def test_damage_that_pruning_meets_is_repaired_too(filled: Path, open_sqlite: Opening, clock: Clock) -> None:
    damage_inside(filled)
    clock.now_ms += 91 * DAY_MS
    store = open_sqlite()
    wait_until(store.problems)
    assert store.calls() == []


def test_a_record_that_cannot_be_read_is_a_store_error(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection
) -> None:
    store = open_sqlite()
    store.put_call(records.call())
    assert store.flush()
    lock.execute("UPDATE calls SET record = ?", (b"neither JSON nor zlib",))
    with pytest.raises(StoreError, match="holds a record that cannot be read"):
        store.calls()


def test_a_file_deleted_while_in_use_is_begun_anew(open_sqlite: Opening, records: Records, database: Path) -> None:
    store = open_sqlite()
    store.put_call(records.call("old"))
    assert store.flush()
    for file in database.parent.iterdir():
        file.unlink()
    store.put_call(records.call("new"))
    assert store.flush()
    assert [call.id for call in store.calls()] == ["new"]
    assert store.problems() == (f"The database {database} was moved or deleted while in use; a new one was begun.",)


# A file that must not be touched


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(
    open_sqlite: Opening, lock: sqlite3.Connection, database: Path
) -> None:
    lock.execute("INSERT INTO schema_migrations VALUES (999, 'm999_future', 'x', 0)")
    with pytest.raises(StoreError, match="has version 999; this ullage knows versions up to") as refusal:
        open_sqlite()
    assert refusal.value.code == "newer_database"
    assert [file.name for file in database.parent.iterdir() if "corrupt" in file.name] == []


def test_a_database_made_by_another_build_is_refused(open_sqlite: Opening, lock: sqlite3.Connection) -> None:
    lock.execute("UPDATE schema_migrations SET checksum = 'other' WHERE version = 1")
    with pytest.raises(StoreError, match="m001_sessions_calls_events of the database differs"):
        open_sqlite()


@pytest.mark.parametrize("statement", ["CREATE TABLE notes (text)", "PRAGMA application_id = 1234"])
def test_a_database_of_another_program_is_refused_and_not_changed(
    open_sqlite: Opening, database: Path, statement: str
) -> None:
    database.parent.mkdir()
    other = sqlite3.connect(database)
    other.execute(statement)
    other.close()
    content = database.read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        open_sqlite()
    assert database.read_bytes() == content


def test_an_empty_file_is_a_new_database(open_sqlite: Opening, records: Records, database: Path) -> None:
    database.parent.mkdir()
    database.touch()
    store = open_sqlite()
    store.put_call(records.call())
    assert store.flush()


# A folder that cannot be written


def test_a_folder_that_cannot_be_written_is_refused(unprivileged: Path, clock: Clock) -> None:
    unprivileged_folder = unprivileged / "data"
    unprivileged_folder.mkdir(mode=0o555)
    with pytest.raises(StoreError, match="cannot be used") as refusal:
        SqliteStore(unprivileged_folder / "ullage.db", clock_ms=clock)
    assert "belong to you" in refusal.value.hint


def test_a_file_in_the_place_of_the_folder_is_refused(database: Path, open_sqlite: Opening) -> None:
    database.parent.touch()
    with pytest.raises(StoreError, match="cannot be used"):
        open_sqlite()


def test_a_folder_in_the_place_of_the_file_is_refused(database: Path, open_sqlite: Opening) -> None:
    database.mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be used"):
        open_sqlite()


def test_records_wait_while_the_file_cannot_be_written(unprivileged: Path, records: Records, clock: Clock) -> None:
    folder = unprivileged / "data"
    store = SqliteStore(folder / "ullage.db", clock_ms=clock)
    store.put_call(records.call("before"))
    assert store.flush()
    for file in folder.iterdir():
        file.unlink()
    folder.chmod(0o555)
    store.put_call(records.call("meanwhile"))
    assert not store.flush(0.2)
    assert any("cannot be used" in problem for problem in store.problems())
    folder.chmod(0o755)
    assert store.flush()
    assert [call.id for call in store.calls()] == ["meanwhile"]
    store.close()


# Several processes


def write_many(database: Path, writer: int, number: int) -> None:
    from ullage.stores import CallRecord

    store = SqliteStore(database, clock_ms=lambda: 0, keep_days=9**6)
    for count in range(number):
        store.put_call(
            CallRecord(
                id=f"{writer}-{count}",
                session=f"s{writer}",
                created_ms=count,
                dialect="anthropic",
                kind="conversation",
                path="/",
                provider="p",
                model=None,
                outcome="ok",
            )
        )
        if count % 20 == 0:
            store.flush()
    store.close(30)
    assert store.problems() == ()


@forks
def test_eight_processes_that_begin_a_file_at_once_lose_nothing(database: Path, open_sqlite: Opening) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write_many, args=(database, writer, 100)) for writer in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    assert len(open_sqlite(keep_days=9**6).calls(limit=9999)) == 800


def learn_many(database: Path, writer: int, number: int) -> None:
    """Samples of a model of its own, and the same calls' samples as all the others."""
    store = SqliteStore(database, clock_ms=lambda: 0)
    for count in range(number):
        store.put_sample(make_sample(f"{writer}-{count}", f"m{writer}", count))
        store.put_sample(make_sample(f"shared-{count}", "shared", count, estimated=writer))
        store.put_prefix(make_prefix(f"s{writer}", used_ms=count))
        store.put_prefix(make_prefix("shared", used_ms=8 * count + writer))
        if count % 20 == 0:
            store.flush()
    store.close(30)
    assert store.problems() == ()


def make_sample(name: str, model: str, created_ms: int, estimated: int = 100) -> SampleRecord:
    return SampleRecord(
        id=name,
        created_ms=created_ms,
        provider="p",
        model=model,
        estimator="wire-v1",
        client="pi",
        session="s1",
        estimated=estimated,
        input_fresh=110,
        cache_read=0,
        cache_write=0,
    )


def make_prefix(session: str, used_ms: int) -> PrefixRecord:
    return PrefixRecord(
        provider="p", model="m", session=session, used_ms=used_ms, ttl_ms=300_000, depth=1, chain="ab", tokens=1
    )


@forks
def test_eight_processes_that_learn_into_one_file_lose_nothing_and_learn_nothing_twice(
    database: Path, open_sqlite: Opening
) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=learn_many, args=(database, writer, 150)) for writer in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    store = open_sqlite(clock_ms=lambda: 0)
    kept = {model: store.samples(provider, model, estimator) for provider, model, estimator in store.sample_keys()}
    assert {model: len(samples) for model, samples in kept.items()} == {f"m{n}": 150 for n in range(8)} | {
        "shared": 150
    }
    assert all(len({sample.id for sample in samples}) == 150 for samples in kept.values())
    assert {prefix.session: prefix.used_ms for prefix in store.prefixes()} == {f"s{n}": 149 for n in range(8)} | {
        "shared": 8 * 149 + 7
    }


@forks
def test_eight_processes_that_find_a_damaged_file_move_it_aside_once(database: Path, open_sqlite: Opening) -> None:
    database.parent.mkdir()
    database.write_bytes(b"not a database " * 5000)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write_after_damage, args=(database, writer)) for writer in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert len(list(database.parent.glob("*.corrupt-*"))) == 1
    assert len(open_sqlite(keep_days=9**6).calls(limit=9999)) == 80


def write_after_damage(database: Path, writer: int) -> None:
    try:
        write_many(database, writer, 10)
    except AssertionError:
        """The one that moved the file aside has a problem to tell."""


@forks
def test_a_forked_child_finds_the_store_closed_and_its_parent_goes_on(open_sqlite: Opening, records: Records) -> None:
    """Forked while the writer is busy: whatever lock it holds then, the child must not wait for it."""
    store = open_sqlite()
    for turn in range(5):
        for number in range(100):
            store.put_call(records.call(f"{turn}-{number}"))
        store.flush(0.001)
        child = multiprocessing.get_context("fork").Process(target=use_in_child, args=(store, records))
        child.start()
        child.join(20)
        assert child.exitcode == 0
    assert store.flush()
    assert len(store.calls(limit=9999)) == 500
    assert store.problems() == ()


def use_in_child(store: SqliteStore, records: Records) -> None:
    store.put_call(records.call("child"))
    assert store.flush()
    assert store.problems() == ("1 record lost: the store was closed.",)
    with pytest.raises(StoreError, match="closed"):
        store.calls()
    store.close()


# Retention


def test_what_is_older_than_the_days_to_keep_is_removed(open_sqlite: Opening, records: Records, clock: Clock) -> None:
    store = open_sqlite(keep_days=9**6)
    for age_days in (0, 29, 31, 400):
        time_ms = clock.now_ms - age_days * DAY_MS
        store.put_call(records.call(f"c{age_days}", created_ms=time_ms))
        store.put_session(records.session(f"s{age_days}", last_ms=time_ms))
        store.put_event(records.event(created_ms=time_ms))
    store.close()
    store = open_sqlite(keep_days=30)
    wait_until(lambda: len(store.sessions()) == 2)
    assert [call.id for call in store.calls()] == ["c0", "c29"]
    assert len(store.events()) == 2


def test_samples_are_never_removed_for_their_age(open_sqlite: Opening, records: Records, clock: Clock) -> None:
    """They cannot be had again: a model that comes back after a year is still known."""
    store = open_sqlite(keep_days=1)
    store.put_sample(records.sample())
    store.put_call(records.call())
    store.close()
    clock.now_ms += 400 * DAY_MS
    store = open_sqlite(keep_days=1)
    wait_until(lambda: not store.calls())
    assert store.samples("anthropic", "claude-x", "wire-v1") == [records.sample()]


def test_prefixes_go_once_no_provider_holds_them(open_sqlite: Opening, records: Records, clock: Clock) -> None:
    store = open_sqlite()
    for age_h in (0, 5, 24, 27, 2000):
        store.put_prefix(records.prefix(f"s{age_h}", used_ms=clock.now_ms - age_h * DAY_MS // 24))
    store.close()
    store = open_sqlite()
    wait_until(lambda: len(store.prefixes()) == 3)
    assert [prefix.session for prefix in store.prefixes()] == ["s0", "s5", "s24"]


def sample_writes(records: Records, numbers: range, **fields: Any) -> list[Write]:
    writes = []
    for number in numbers:
        sample, payload = encode(records.sample(f"c{number:04}", created_ms=number, **fields))
        values = (sample.id, sample.provider, sample.model, sample.estimator, sample.client, sample.created_ms)
        writes.append(Write(PUT_SAMPLE, None, values, payload))
    return writes


def test_a_write_removes_at_most_32_samples_and_every_write_gets_further(
    lock: sqlite3.Connection, records: Records
) -> None:
    """Planner specification, section 7.1."""

    def count() -> int:
        return int(lock.execute("SELECT count(*) FROM samples").fetchone()[0])

    commit(lock, gather(sample_writes(records, range(300))))
    assert count() == 300 - 32
    for number in range(300, 305):
        before = count()
        commit(lock, gather(sample_writes(records, range(number, number + 1))))
        assert count() == max(200, before + 1 - 32)
    kept = [row[0] for row in lock.execute("SELECT created_ms FROM samples ORDER BY created_ms")]
    assert kept == list(range(105, 305))


def test_the_samples_that_a_write_removes_are_counted_over_all_its_keys(
    lock: sqlite3.Connection, records: Records
) -> None:
    models = ({"model": "claude-x", "estimator": "x-v1"}, {"model": "claude-y", "estimator": "y-v1"})
    for numbers, left in ((range(200), 400), (range(200, 220), 440 - 32), (range(219, 220), 400)):
        commit(lock, gather([write for model in models for write in sample_writes(records, numbers, **model)]))
        assert lock.execute("SELECT count(*) FROM samples").fetchone() == (left,)


def test_samples_that_were_too_many_for_their_writes_go_with_the_upkeep(
    open_sqlite: Opening, records: Records, lock: sqlite3.Connection
) -> None:
    for model in ("claude-x", "claude-y"):
        commit(lock, gather(sample_writes(records, range(900), model=model, estimator=f"{model}-v1")))
    open_sqlite()
    counting = "SELECT model, count(*), min(created_ms) FROM samples GROUP BY model ORDER BY model"
    expected = [("claude-x", 200, 700), ("claude-y", 200, 700)]
    wait_until(lambda: lock.execute(counting).fetchall() == expected)


def test_a_refused_sample_does_not_take_its_group_along(open_sqlite: Opening, records: Records) -> None:
    store = open_sqlite()
    store.put_sample(records.sample("good"))
    store.put_sample(records.sample("no name", model={}))
    store.put_sample(records.sample("no number", created_ms=None))
    assert store.flush()
    assert [sample.id for sample in store.samples("anthropic", "claude-x", "wire-v1")] == ["good"]
    assert store.problems() == ("2 records lost: SQLite refused their values.",)


def test_pruning_goes_on_by_itself_while_the_store_is_open(
    open_sqlite: Opening, records: Records, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.stores.writer.PRUNE_EVERY_S", 0.05)
    store = open_sqlite(keep_days=30)
    for number in range(1200):
        store.put_call(records.call(f"c{number}"))
    assert store.flush()
    clock.now_ms += 31 * DAY_MS
    wait_until(lambda: store.calls() == [])


def test_a_large_database_is_named(open_sqlite: Opening, monkeypatch: pytest.MonkeyPatch, database: Path) -> None:
    monkeypatch.setattr("ullage.stores.writer.LARGE_BYTES", 4096)
    store = open_sqlite()
    wait_until(store.problems)
    assert store.problems() == (f"The database {database} is larger than 1 GiB: lower store.keep_days.",)


# Reads


@pytest.mark.parametrize(
    ("session", "kind", "index"),
    [
        (None, None, "calls_by_created"),
        ("s1", None, "calls_by_session"),
        (None, "title", "calls_by_kind"),
        ("s1", "title", "calls_by_session"),
    ],
)
def test_every_way_to_ask_for_calls_has_an_index(
    lock: sqlite3.Connection, session: str | None, kind: str | None, index: str
) -> None:
    from ullage.stores.reader import SELECT_CALLS

    statement = SELECT_CALLS[session is not None, kind is not None]
    values = [mark for mark in (session, kind) if mark is not None]
    plan = " ".join(row[3] for row in lock.execute(f"EXPLAIN QUERY PLAN {statement}", (*values, 10)))
    assert index in plan or (session and kind and "calls_by_kind" in plan)
    assert "TEMP B-TREE" not in plan


def test_an_internal_error_costs_a_group_and_not_the_writer(
    open_sqlite: Opening, records: Records, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_sqlite()
    with monkeypatch.context() as patch:
        patch.setattr("ullage.stores.writer.commit", lambda *_: 1 // 0)
        store.put_call(records.call("lost"))
        assert store.flush()
    store.put_call(records.call("kept"))
    assert store.flush()
    assert [call.id for call in store.calls()] == ["kept"]
    assert store.problems() == ("1 record lost: an internal error, see the log.",)
    assert "ZeroDivisionError" in caplog.text


def test_a_writer_thread_ends_with_its_store(open_sqlite: Opening) -> None:
    before = threading.active_count()
    open_sqlite().close()
    assert threading.active_count() == before
