"""The steps that make the tables."""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

import pytest

from ullage.core.errors import StoreError
from ullage.stores.migrations import MIGRATIONS, Migration, find_version, migrate

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASED = {
    "m001_sessions_calls_events": "2fb86ddab8491c0964024f006dc9470ef40b3336c4eb6f4fb45edc2c27fddf1a",
    "m002_samples_prefixes": "0948ec948546c29e871fc424dd11c9cf0fcf5b39bf5fe69622ccb09b3f74226c",
    "m003_mutations": "28139d2fc16f3a97655f25447bce9cc8a79ca6ff85e4e0e7e4bdc60523e851e3",
    "m004_artifacts": "86e254796bd916c1b9ab0f44df2efa660adf307b202c984c547807de41fc4cc3",
    "m005_routes": "a58be9c98a5f80e70fd7d41c7645fa273a9fdde7ab40b4376972974d102c26c2",
    "m006_spend": "5c6a32bcc23150faecf23382f79a639d169fee9c2a016ce74edbbb7eebd235b5",
}
"""Checksums of the steps that people have applied. A line here is never changed, only added."""

ADD_NOTES = Migration("m007_notes", "CREATE TABLE notes (text TEXT); CREATE INDEX notes_by_text ON notes (text);")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_numbers_are_unique_rise_by_one_and_begin_the_names() -> None:
    assert [migration.number for migration in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))
    assert all(re.fullmatch(r"m\d{3}_[a-z_]+", migration.name) for migration in MIGRATIONS)


def test_released_steps_are_as_they_were_released() -> None:
    checksums = {migration.name: migration.checksum for migration in MIGRATIONS}
    assert {name: checksums[name] for name in RELEASED} == RELEASED


def test_a_new_database_gets_all_steps_and_remembers_them(connection: sqlite3.Connection) -> None:
    migrate(connection, now_ms=7)
    assert tables(connection) == {
        "schema_migrations",
        "sessions",
        "calls",
        "events",
        "samples",
        "prefixes",
        "mutations",
        "artifacts",
        "routing",
        "spend_attempts",
        "spend_totals",
    }
    assert connection.execute("SELECT * FROM schema_migrations").fetchall() == [
        (migration.number, migration.name, migration.checksum, 7) for migration in MIGRATIONS
    ]


def test_an_up_to_date_database_is_left_alone_without_a_lock(connection: sqlite3.Connection) -> None:
    migrate(connection, now_ms=1)
    connection.execute("PRAGMA query_only = ON")
    migrate(connection, now_ms=2)
    assert find_version(connection) == MIGRATIONS[-1].number


def test_only_missing_steps_are_applied(connection: sqlite3.Connection) -> None:
    migrate(connection, 1)
    connection.execute("INSERT INTO events (created_ms, record) VALUES (5, '{}')")
    migrate(connection, 2, (*MIGRATIONS, ADD_NOTES))
    assert "notes" in tables(connection)
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (1,)
    assert connection.execute("SELECT version, applied_ms FROM schema_migrations").fetchall() == [
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 2),
    ]


def test_a_step_that_fails_leaves_nothing_behind(connection: sqlite3.Connection) -> None:
    broken = Migration("m007_broken", "CREATE TABLE half (x); CREATE TABLE half (x);")
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, 1, (*MIGRATIONS, broken))
    assert tables(connection) == set()
    assert find_version(connection) == 0


def test_an_older_program_refuses_a_newer_database(connection: sqlite3.Connection) -> None:
    migrate(connection, 1, (*MIGRATIONS, ADD_NOTES))
    with pytest.raises(StoreError, match="version 2; this ullage knows versions up to 1") as refusal:
        migrate(connection, 2, MIGRATIONS[:1])
    assert refusal.value.code == "newer_database"


def test_a_changed_step_is_noticed(connection: sqlite3.Connection) -> None:
    migrate(connection, 1)
    changed = MIGRATIONS[0]._replace(sql=MIGRATIONS[0].sql.replace("kind TEXT NOT NULL", "kind TEXT"))
    with pytest.raises(StoreError) as refusal:
        find_version(connection, (changed,))
    assert refusal.value.code == "changed_migration"
