"""The tables of the database as numbered steps. A step that was released is never changed: a new one follows it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

APPLICATION_ID = 0x756C_6C67
"""Marks a SQLite file as ours ("ullg" in ASCII), so that a file of another program is never written to."""


class Migration(NamedTuple):
    """One step. `name` starts with its number: `m001_…`. `sql` holds statements that end with a semicolon, none within."""

    name: str
    sql: str

    @property
    def number(self) -> int:
        return int(self.name[1:4])

    @property
    def statements(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.sql.split(";") if part.strip())

    @property
    def checksum(self) -> str:
        """SHA-256 over name and statements: a step changed after its release is noticed."""
        return hashlib.sha256("\0".join((self.name, *self.statements)).encode()).hexdigest()


# `record` is encoding.pack() of the whole record; the columns beside it are what reads filter and order by. Calls and events
# may arrive before their session's row and outlive it: no foreign keys between them.
MIGRATIONS = (
    Migration(
        "m001_sessions_calls_events",
        """
        CREATE TABLE sessions (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            last_ms INTEGER NOT NULL,
            record BLOB NOT NULL
        );
        CREATE INDEX sessions_by_last ON sessions (last_ms);

        CREATE TABLE calls (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            session TEXT NOT NULL,
            kind TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            record BLOB NOT NULL
        );
        CREATE INDEX calls_by_created ON calls (created_ms);
        CREATE INDEX calls_by_session ON calls (session, created_ms);
        CREATE INDEX calls_by_kind ON calls (kind, created_ms);

        CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            session TEXT,
            created_ms INTEGER NOT NULL,
            record BLOB NOT NULL
        );
        CREATE INDEX events_by_created ON events (created_ms);
        CREATE INDEX events_by_session ON events (session, created_ms);
        """,
    ),
    Migration(
        "m002_samples_prefixes",
        """
        CREATE TABLE samples (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            estimator TEXT NOT NULL,
            client TEXT NOT NULL,
            created_ms INTEGER NOT NULL,
            record BLOB NOT NULL,
            UNIQUE (id, estimator)
        );
        CREATE INDEX samples_by_key ON samples (provider, model, estimator, created_ms, id);

        CREATE TABLE prefixes (
            seq INTEGER PRIMARY KEY,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            session TEXT NOT NULL,
            used_ms INTEGER NOT NULL,
            record BLOB NOT NULL,
            UNIQUE (provider, model, session)
        );
        CREATE INDEX prefixes_by_used ON prefixes (used_ms);
        """,
    ),
    Migration(
        "m003_mutations",
        """
        CREATE TABLE mutations (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            kind TEXT NOT NULL,
            session TEXT,
            project TEXT,
            created_ms INTEGER NOT NULL,
            record BLOB NOT NULL
        );
        """,
    ),
    Migration(
        "m004_artifacts",
        """
        CREATE TABLE artifacts (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            session TEXT NOT NULL,
            project TEXT,
            used_ms INTEGER NOT NULL,
            record BLOB NOT NULL,
            UNIQUE (id, session)
        );
        CREATE INDEX artifacts_by_used ON artifacts (used_ms);
        CREATE INDEX artifacts_by_session ON artifacts (session, used_ms);
        """,
    ),
    Migration(
        "m005_routes",
        """
        ALTER TABLE calls ADD COLUMN task TEXT;
        CREATE INDEX calls_by_task ON calls (created_ms, task) WHERE task IS NOT NULL;
        CREATE TABLE routing (
            seq INTEGER PRIMARY KEY, kind TEXT, id TEXT, at_ms INT, record BLOB, UNIQUE (kind, id)
        );
        """,
    ),
    Migration(
        "m006_spend",
        """
        CREATE TABLE spend_attempts (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            state TEXT NOT NULL,
            at_ms INTEGER NOT NULL,
            record BLOB NOT NULL
        );
        CREATE INDEX spend_attempts_by_time ON spend_attempts (at_ms);
        CREATE INDEX spend_attempts_open ON spend_attempts (at_ms) WHERE state = 'open';

        CREATE TABLE spend_totals (
            seq INTEGER PRIMARY KEY,
            scope TEXT NOT NULL,
            name TEXT NOT NULL,
            at_ms INTEGER NOT NULL,
            record BLOB NOT NULL,
            UNIQUE (scope, name)
        );
        CREATE INDEX spend_totals_by_time ON spend_totals (scope, at_ms);
        """,
    ),
)


def find_version(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """The number of the newest step applied; 0 for a new file.

    Raises `StoreError` with the codes `foreign_database` (a file of another program), `newer_database` and
    `changed_migration` (a step differs from the one that was applied).
    """
    # Tables before mark: a process that migrates in between commits both at once, so its tables never lack their mark here.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID and (application or tables):
        raise StoreError(
            "The file is a SQLite database of another program.",
            hint="Name another file with --store sqlite:///PATH.",
            code="foreign_database",
        )
    if not tables:
        return 0
    applied = connection.execute("SELECT version, checksum FROM schema_migrations ORDER BY version").fetchall()
    known = {migration.number: migration for migration in migrations}
    for version, checksum in applied:
        _check_applied(version, checksum, known)
    return int(applied[-1][0]) if applied else 0


def migrate(connection: sqlite3.Connection, now_ms: int, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Brings the tables up to date in one transaction; a database that already is takes no lock.

    Raises `StoreError` as `find_version` does, and `sqlite3.OperationalError` when another process holds the write lock.
    """
    newest = migrations[-1].number
    if find_version(connection, migrations) == newest:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated while this one waited for the lock.
        version = find_version(connection, migrations)
        if version == 0:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(
                "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                " checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL)"
            )
        for migration in migrations:
            if migration.number > version:
                _apply(connection, migration, now_ms)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _apply(connection: sqlite3.Connection, migration: Migration, now_ms: int) -> None:
    for statement in migration.statements:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_migrations VALUES (?, ?, ?, ?)",
        (migration.number, migration.name, migration.checksum, now_ms),
    )


def _check_applied(version: int, checksum: str, known: dict[int, Migration]) -> None:
    if version not in known:
        raise StoreError(
            f"The database has version {version}; this ullage knows versions up to {max(known)}.",
            hint="Install the newer ullage again, or name another file with --store sqlite:///PATH.",
            code="newer_database",
        )
    if checksum != known[version].checksum:
        raise StoreError(
            f"Step {known[version].name} of the database differs from this ullage's: it was made by another build.",
            hint="Name another file with --store sqlite:///PATH, or move this one away.",
            code="changed_migration",
        )
