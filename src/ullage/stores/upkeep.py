"""What keeps the database small: removing what is too old or too many, and saying so when it grows large all the same.

What cannot be had again is never removed for its age: samples go only when newer ones of their key have taken their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import SAMPLES_KEPT

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

PORTION_RECORDS = 500
"""Rows of one table removed in one transaction: milliseconds, so that new records and other processes get their turn."""

TRIM_RECORDS = 32
"""Samples removed at most in the transaction that writes others (planner specification, section 7.1)."""

PREFIX_KEEP_MS = 26 * 60 * 60 * 1000
"""No provider promises to hold a prefix for longer than a day; two hours more tell a miss of what has just expired."""

SPEND_KEEP_MS = 62 * 24 * 60 * 60 * 1000
"""No limit of money counts what was spent longer ago than two months, but that of a session, which may rest for so long."""

LARGE_BYTES = 1024**3
"""From here on a person should know (planner specification, section 29.4)."""

REMOVE_OLD = {
    "calls": "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls WHERE created_ms < ? LIMIT ?)",
    "events": "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE created_ms < ? LIMIT ?)",
    "sessions": "DELETE FROM sessions WHERE seq IN (SELECT seq FROM sessions WHERE last_ms < ? LIMIT ?)",
    "artifacts": "DELETE FROM artifacts WHERE seq IN (SELECT seq FROM artifacts WHERE used_ms < ? LIMIT ?)",
}
"""By table: removes rows older than a time in epoch milliseconds, at most so many."""

_REMOVE_COLD = "DELETE FROM prefixes WHERE seq IN (SELECT seq FROM prefixes WHERE used_ms < ? LIMIT ?)"
_REMOVE_SPENT = (
    "DELETE FROM spend_attempts WHERE seq IN (SELECT seq FROM spend_attempts WHERE at_ms < ? LIMIT ?)",
    "DELETE FROM spend_totals WHERE seq IN (SELECT seq FROM spend_totals WHERE at_ms < ? LIMIT ?)",
)
_TRIM_KEY = (
    "DELETE FROM samples WHERE seq IN (SELECT seq FROM samples WHERE provider = ? AND model = ? AND estimator = ?"
    " ORDER BY created_ms DESC, id DESC LIMIT ? OFFSET ?)"
)
_TRIM_ALL = (
    "DELETE FROM samples WHERE seq IN (SELECT seq FROM (SELECT seq, row_number() OVER"
    " (PARTITION BY provider, model, estimator ORDER BY created_ms DESC, id DESC) AS place FROM samples)"
    " WHERE place > ? LIMIT ?)"
)


def prune_portion(connection: sqlite3.Connection, now_ms: int, keep_ms: int) -> int:
    """Removes one portion of what is older than `keep_ms`, of cold prefixes and of too many samples; how many rows that were.

    What was spent stays for as long as it counts, whatever `keep_ms` is.
    """
    removed = sum(connection.execute(sql, (now_ms - keep_ms, PORTION_RECORDS)).rowcount for sql in REMOVE_OLD.values())
    removed += connection.execute(_REMOVE_COLD, (now_ms - PREFIX_KEEP_MS, PORTION_RECORDS)).rowcount
    spent_ms = now_ms - max(keep_ms, SPEND_KEEP_MS)
    removed += sum(connection.execute(sql, (spent_ms, PORTION_RECORDS)).rowcount for sql in _REMOVE_SPENT)
    return removed + connection.execute(_TRIM_ALL, (SAMPLES_KEPT, PORTION_RECORDS)).rowcount


def trim_samples(connection: sqlite3.Connection, keys: Iterable[tuple[str, str, str]]) -> None:
    """Removes samples of these keys (provider, model, estimator) beyond the newest 200, at most 32 of them all.

    What is then still too many goes with later writes, or with a portion of `prune_portion`.
    """
    left = TRIM_RECORDS
    for key in keys:
        left -= connection.execute(_TRIM_KEY, (*key, left, SAMPLES_KEPT)).rowcount


def size_bytes(connection: sqlite3.Connection) -> int:
    """Bytes allocated to the database, without its write-ahead log."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_bytes)
