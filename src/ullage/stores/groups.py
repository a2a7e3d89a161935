"""A group commit: rows of several callers written in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

from .encoding import pack
from .upkeep import trim_samples

if TYPE_CHECKING:
    from collections.abc import Sequence

PUT_SESSION = (
    "INSERT INTO sessions (id, last_ms, record) VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET last_ms = excluded.last_ms, record = excluded.record"
)
PUT_CALL = (
    "INSERT INTO calls (id, session, kind, created_ms, task, record) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET session = excluded.session, kind = excluded.kind,"
    " created_ms = excluded.created_ms, task = excluded.task, record = excluded.record"
)
PUT_EVENT = "INSERT INTO events (session, created_ms, record) VALUES (?, ?, ?)"
# The first stays: what was learned from a call is not learned again from its echo in another process.
PUT_SAMPLE = (
    "INSERT INTO samples (id, provider, model, estimator, client, created_ms, record) VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id, estimator) DO NOTHING"
)
# The newest stays, in whatever order they arrive.
PUT_PREFIX = (
    "INSERT INTO prefixes (provider, model, session, used_ms, record) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (provider, model, session) DO UPDATE SET used_ms = excluded.used_ms, record = excluded.record"
    " WHERE excluded.used_ms >= used_ms"
)
# Only ever added to: what is there stays as it was written.
PUT_MUTATION = (
    "INSERT INTO mutations (id, kind, session, project, created_ms, record) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING"
)
# Votes and the like are only ever added to; of what is set the newest stays.
PUT_JUDGEMENT = "INSERT INTO routing (kind, id, at_ms, record) VALUES (?, ?, ?, ?) ON CONFLICT (kind, id) DO NOTHING"
PUT_ROUTE_OVERRIDE = (
    "INSERT INTO routing (kind, id, at_ms, record) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (kind, id) DO UPDATE SET at_ms = excluded.at_ms, record = excluded.record"
    " WHERE excluded.at_ms >= at_ms"
)
# The payload comes last in every statement, here as well, where nothing is kept of it.
DROP_ROUTE_OVERRIDE = "DELETE FROM routing WHERE kind = ? AND id = ? AND at_ms <= ? AND ? IS NOT NULL"

PUT_ARTIFACT = (
    "INSERT INTO artifacts (id, session, project, used_ms, record) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (id, session) DO UPDATE SET project = excluded.project, used_ms = excluded.used_ms,"
    " record = excluded.record WHERE excluded.used_ms >= used_ms"
)

_OF_THE_USER = (PUT_MUTATION, PUT_JUDGEMENT, PUT_ROUTE_OVERRIDE)
"""What only we hold: nobody could make it anew."""

_REFUSALS = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    ValueError,
)
"""What SQLite or its binding raises for a value it cannot take, as opposed to a file it cannot write."""

Rows = dict[str, dict[object, tuple[Any, ...]]]
"""Values per statement. The inner key is the id of what is replaced when it is put again, else a number."""


class Write(NamedTuple):
    """One row to be written: a statement, the values of its columns but the last, and the encoded record for that one.

    Of several rows with one statement and one `key` only the newest is written; `None` keeps all.
    """

    sql: str
    key: str | None
    values: tuple[Any, ...]
    payload: bytes


def gather(group: Sequence[Write]) -> Rows:
    """The rows of a group in the form they are written in, each packed."""
    newest: dict[tuple[str, object], Write] = {}
    for number, write in enumerate(group):
        newest[write.sql, number if write.key is None else write.key] = write
    rows: Rows = {}
    for (sql, key), write in newest.items():
        rows.setdefault(sql, {})[key] = (*write.values, pack(write.payload))
    return rows


def commit(connection: sqlite3.Connection, rows: Rows) -> int:
    """Writes all rows in one transaction, or none; how many SQLite refused for their values (those alone are left out).

    Where samples are written, older ones of their keys make room in the same transaction. What nobody else holds waits for the
    disk, so that it survives a power cut, too. Raises `sqlite3.Error` when the file cannot be written; the transaction is then
    undone.
    """
    connection.execute(f"PRAGMA synchronous = {'FULL' if any(sql in rows for sql in _OF_THE_USER) else 'NORMAL'}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        refused = _write(connection, rows)
        if not refused:  # else a key may be among what is refused; the next group makes the room
            trim_samples(connection, dict.fromkeys(values[1:4] for values in rows.get(PUT_SAMPLE, {}).values()))
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise
    return refused


def _write(connection: sqlite3.Connection, rows: Rows) -> int:
    connection.execute("SAVEPOINT whole_group")
    try:
        for sql, several in rows.items():
            connection.executemany(sql, several.values())
    except _REFUSALS:
        connection.execute("ROLLBACK TO whole_group")
        return _write_singly(connection, rows)
    return 0


def _write_singly(connection: sqlite3.Connection, rows: Rows) -> int:
    refused = 0
    for sql, several in rows.items():
        for values in several.values():
            try:
                connection.execute(sql, values)
            except _REFUSALS:
                refused += 1
    return refused


def _roll_back(connection: sqlite3.Connection) -> None:
    """Undoes the transaction, unless SQLite has done so itself."""
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
