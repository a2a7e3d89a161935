"""From a store's URL to the store, for writing and for reading only."""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from ullage.core.errors import StoreError
from ullage.stores import MemoryStore, SqliteStore, open_reader, open_store
from ullage.stores.files import open_for_writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Clock, Records


@pytest.fixture
def data_dir(database: Path) -> Path:
    return database.parent


@pytest.fixture
def written(open_sqlite: Callable[..., SqliteStore], records: Records, database: Path) -> Path:
    """A database with one call in it that nobody has open."""
    store = open_sqlite()
    store.put_call(records.call())
    store.close()
    return database


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.iterdir()}


def test_sqlite_is_a_file_in_the_data_folder(data_dir: Path, clock: Clock) -> None:
    open_store("sqlite", data_dir, clock).close()
    assert sorted(file.name for file in data_dir.iterdir()) == ["ullage.db", "ullage.db.lock"]


@pytest.mark.parametrize("slashes", ["/", "//"])
def test_a_sqlite_url_names_an_absolute_path(tmp_path: Path, clock: Clock, slashes: str) -> None:
    store = open_store(f"sqlite://{slashes}{str(tmp_path)[1:]}/my%20store.db", tmp_path / "unused", clock)
    store.close()
    assert (tmp_path / "my store.db").is_file()
    assert not (tmp_path / "unused").exists()


def test_memory_makes_no_file(data_dir: Path, clock: Clock) -> None:
    assert isinstance(open_store("memory", data_dir, clock), MemoryStore)
    assert not data_dir.exists()


def test_postgresql_is_not_available_yet(data_dir: Path, clock: Clock) -> None:
    with pytest.raises(StoreError, match="PostgreSQL is not available yet in this version"):
        open_store("postgresql://user@host/ullage", data_dir, clock)


@pytest.mark.parametrize("url", ["", "mysql://x", "sqlite:relative.db", "sqlite://host/x.db", "ullage.db"])
def test_a_url_that_names_no_store_is_refused(data_dir: Path, clock: Clock, url: str) -> None:
    for attempt in (lambda: open_store(url, data_dir, clock), lambda: open_reader(url, data_dir)):
        with pytest.raises(StoreError, match="names no store") as refusal:
            attempt()
        assert "`sqlite:///PATH`" in refusal.value.hint


def test_a_database_that_cannot_be_used_is_replaced_by_memory_with_the_reason(
    written: Path, data_dir: Path, clock: Clock, records: Records
) -> None:
    other = sqlite3.connect(written)
    other.execute("UPDATE schema_migrations SET version = 999 WHERE version = 1")
    other.commit()
    other.close()
    store = open_store("sqlite", data_dir, clock)
    assert isinstance(store, MemoryStore)
    (problem,) = store.problems()
    assert problem.startswith(f"Nothing is kept after this run, for want of a database. {written}: ")
    assert "has version 999" in problem
    store.put_call(records.call())
    assert len(store.calls()) == 1


def test_a_reader_sees_what_a_running_daemon_has_written(
    open_sqlite: Callable[..., SqliteStore], records: Records, data_dir: Path
) -> None:
    store = open_sqlite()
    store.put_call(records.call("first"))
    assert store.flush()
    reader = open_reader("sqlite", data_dir)
    assert [call.id for call in reader.calls()] == ["first"]
    store.put_call(records.call("second"))
    assert store.flush()
    assert [call.id for call in reader.calls()] == ["second", "first"]
    assert reader.problems() == ()
    reader.close()


def test_a_reader_leaves_the_file_as_it_is(written: Path, data_dir: Path) -> None:
    before = snapshot(data_dir)
    reader = open_reader("sqlite", data_dir)
    assert len(reader.calls()) == 1
    reader.close()
    assert {name: data for name, data in snapshot(data_dir).items() if name == "ullage.db"} == before


def test_a_reader_never_makes_a_database(data_dir: Path) -> None:
    with pytest.raises(StoreError) as refusal:
        open_reader("sqlite", data_dir)
    assert refusal.value.message == f"No database yet at {data_dir / 'ullage.db'}."
    assert refusal.value.hint == "Start `ullage serve`."
    assert refusal.value.code == "no_database"
    assert not data_dir.exists()


def test_an_empty_file_counts_as_no_database(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "ullage.db").touch()
    with pytest.raises(StoreError) as refusal:
        open_reader("sqlite", data_dir)
    assert refusal.value.code == "no_database"


def test_a_damaged_file_is_named_and_left_alone(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "ullage.db").write_bytes(b"not a database " * 500)
    before = snapshot(data_dir)
    with pytest.raises(StoreError, match="is damaged") as refusal:
        open_reader("sqlite", data_dir)
    assert refusal.value.code == "store_damaged"
    assert "`ullage db rebuild`" in refusal.value.hint
    assert snapshot(data_dir) == before


@pytest.mark.parametrize(("version", "code"), [(999, "newer_database"), (None, "older_database")])
def test_a_database_of_another_version_is_not_read(
    written: Path, data_dir: Path, version: int | None, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if version is None:
        from ullage.stores.migrations import MIGRATIONS, Migration

        newer = (*MIGRATIONS, Migration("m007_more", "CREATE TABLE more (x);"))
        monkeypatch.setattr("ullage.stores.files.MIGRATIONS", newer)
    else:
        other = sqlite3.connect(written)
        other.execute("UPDATE schema_migrations SET version = 999 WHERE version = 1")
        other.commit()
        other.close()
    with pytest.raises(StoreError) as refusal:
        open_reader("sqlite", data_dir)
    assert refusal.value.code == code
    assert str(written) in refusal.value.message


def test_the_memory_of_a_daemon_cannot_be_read_from_outside(data_dir: Path) -> None:
    with pytest.raises(StoreError) as refusal:
        open_reader("memory", data_dir)
    assert refusal.value.code == "no_reader"


def test_a_database_in_a_folder_that_cannot_be_written_is_read_all_the_same(
    unprivileged: Path, clock: Clock, records: Records
) -> None:
    folder = unprivileged / "data"
    store = SqliteStore(folder / "ullage.db", clock_ms=clock)
    store.put_call(records.call())
    store.close()
    folder.chmod(0o555)
    reader = open_reader("sqlite", folder)
    assert len(reader.calls()) == 1
    reader.close()
    assert os.listdir(folder) == ["ullage.db"]  # noqa: PTH208 - the plain call is what is tested


def test_what_a_killed_daemon_left_in_its_log_is_read(
    open_sqlite: Callable[..., SqliteStore], records: Records, database: Path, tmp_path: Path
) -> None:
    store = open_sqlite()
    store.put_call(records.call())
    assert store.flush()
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in database.parent.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    reader = open_reader("sqlite", copy)
    assert len(reader.calls()) == 1
    reader.close()


def test_processes_that_open_a_new_file_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """SQLite's busy timeout does not hold for a change of the journal: whoever came second was told `database is locked`."""
    path = tmp_path / "ullage.db"
    first = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    first.execute("BEGIN IMMEDIATE")  # as another process that is about to change the journal
    leave = threading.Timer(0.05, first.execute, ("ROLLBACK",))
    leave.start()
    second = open_for_writing(path, 0)
    leave.join()
    assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    second.close()
    first.close()
