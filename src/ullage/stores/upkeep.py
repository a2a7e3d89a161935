"""What keeps the database small: removing what is too old, and saying so when it grows large all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

PORTION_RECORDS = 500
"""Rows of one table removed in one transaction: milliseconds, so that new records and other processes get their turn."""

LARGE_BYTES = 1024**3
"""From here on a person should know (planner specification, section 29.4)."""

_REMOVE = (
    "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls WHERE created_ms < ? LIMIT ?)",
    "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE created_ms < ? LIMIT ?)",
    "DELETE FROM sessions WHERE seq IN (SELECT seq FROM sessions WHERE last_ms < ? LIMIT ?)",
)


def prune_portion(connection: sqlite3.Connection, oldest_ms: int) -> int:
    """Removes one portion of what is older than `oldest_ms` (epoch milliseconds); how many rows that were."""
    return sum(connection.execute(sql, (oldest_ms, PORTION_RECORDS)).rowcount for sql in _REMOVE)


def size_bytes(connection: sqlite3.Connection) -> int:
    """Bytes allocated to the database, without its write-ahead log."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_bytes)
