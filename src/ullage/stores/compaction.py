"""Writes a database anew without what holds nothing any more, and puts it in the place of the old one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from ullage.core.errors import StoreError

from .alone import need_room
from .files import explain, open_for_writing
from .swap import replacing
from .tally import tally_tables

if TYPE_CHECKING:
    from pathlib import Path


def compact_database(path: Path, now_ms: int) -> int:
    """How many bytes it became smaller by. Nobody else may use the database.

    The new one takes the place of the old only if it is sound and every table holds the same rows. Raises `StoreError`; then the
    old one is as it was.
    """
    try:
        before = path.stat().st_size
        need_room(path)
        with closing(open_for_writing(path, now_ms)) as connection:
            _leave_log(connection)
            (free_pages,) = connection.execute("PRAGMA freelist_count").fetchone()
        if free_pages:
            _replace(path)
        return before - path.stat().st_size
    except (sqlite3.Error, OSError) as error:
        raise explain(path, error) from error


def _leave_log(connection: sqlite3.Connection) -> None:
    """Takes the log into the file and removes it, which SQLite does only if nobody else has the file open."""
    connection.execute("PRAGMA journal_mode = DELETE")


def _replace(path: Path) -> None:
    with replacing(path) as candidate:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            tallies = tally_tables(connection)
            connection.execute("VACUUM INTO ?", (str(candidate),))
        with closing(sqlite3.connect(candidate, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok" or tally_tables(connection) != tallies:
                raise StoreError(
                    f"The compacted copy of {path} differs from it.", hint="Nothing was changed.", code="bad_copy"
                )
