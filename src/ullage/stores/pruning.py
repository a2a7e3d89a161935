"""Removes old records from a database that others may be writing to, a portion at a time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from .files import explain, open_for_reading, open_for_writing
from .inspection import RECORDS
from .swap import remove_database
from .tally import count_rows
from .upkeep import PORTION_RECORDS, REMOVE_OLD

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE_MS = 30_000
"""How long a portion waits for its turn (planner specification, section 29.3)."""

_COUNT_OLD = {
    "calls": "SELECT count(*) FROM calls WHERE created_ms < ?",
    "events": "SELECT count(*) FROM events WHERE created_ms < ?",
    "sessions": "SELECT count(*) FROM sessions WHERE last_ms < ?",
    "artifacts": "SELECT count(*) FROM artifacts WHERE used_ms < ?",
}
_COUNT_CALLS = "SELECT count(*) FROM calls"
_REMOVE_MORE = (
    "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls ORDER BY created_ms DESC, seq DESC LIMIT ? OFFSET ?)"
)


class Limits(NamedTuple):
    """What stays: records from `oldest_ms` on (epoch milliseconds), and of calls the newest `calls`; `None` keeps all."""

    oldest_ms: int
    calls: int | None = None


def count_prunable(path: Path, limits: Limits) -> dict[str, int]:
    """How many rows of each table would be removed. Raises `StoreError`."""
    try:
        with closing(open_for_reading(path)) as connection:
            counts = {
                table: int(connection.execute(sql, (limits.oldest_ms,)).fetchone()[0])
                for table, sql in _COUNT_OLD.items()
            }
            if limits.calls is not None:
                (calls,) = connection.execute(_COUNT_CALLS).fetchone()
                counts["calls"] = max(counts["calls"], calls - limits.calls)  # both remove the oldest
            return counts
    except sqlite3.Error as error:
        raise explain(path, error) from error


def prune_database(path: Path, limits: Limits, now_ms: int) -> dict[str, int]:
    """Removes them; how many of each table. Samples and prefixes have limits of their own. Raises `StoreError`."""
    try:
        open_for_reading(path).close()  # one of another version is not changed by the way
        with closing(open_for_writing(path, now_ms)) as connection:
            connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            removed = {table: _remove(connection, sql, limits.oldest_ms) for table, sql in REMOVE_OLD.items()}
            if limits.calls is not None:
                while portion := connection.execute(_REMOVE_MORE, (PORTION_RECORDS, limits.calls)).rowcount:
                    removed["calls"] += portion
            return removed
    except (sqlite3.Error, OSError) as error:
        raise explain(path, error) from error


def is_empty(path: Path) -> bool:
    """Whether a database holds no record of any kind. Raises `StoreError`."""
    try:
        with closing(open_for_reading(path)) as connection:
            return not any(number for table, number in count_rows(connection).items() if table in RECORDS)
    except sqlite3.Error as error:
        raise explain(path, error) from error


def remove_if_empty(path: Path) -> bool:
    """Removes a database without records; true if it was removed. Nobody else may use it."""
    if not is_empty(path):
        return False
    remove_database(path)
    return True


def _remove(connection: sqlite3.Connection, sql: str, oldest_ms: int) -> int:
    removed = 0
    while portion := connection.execute(sql, (oldest_ms, PORTION_RECORDS)).rowcount:
        removed += portion
    return removed
