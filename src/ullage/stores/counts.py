"""Counts that a provider gave, kept by the hash of what was counted, so that nothing is asked twice.

SQLite rather than a JSON file: two commands may write at once, old counts go with one statement, and a damaged file is noticed.
It is a cache: whatever is wrong with the file, counting goes on without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from typing import TYPE_CHECKING

from .files import make_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILE_NAME = "counts.db"

# A provider may change what it adds to a prompt behind an unchanged name of a model.
KEEP_DAYS = 30
_DAY_MS = 24 * 60 * 60 * 1000
_BUSY_TIMEOUT_S = 1.0


def count_key(*parts: bytes) -> str:
    """The key of a count request: SHA-256 over its parts (root, path, body), each with its length before it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


class CountCache:
    """The cache in a folder, 0600; it holds hashes and numbers. `problem` is what keeps it from being used, if anything does."""

    def __init__(self, folder: Path, clock_ms: Callable[[], int]) -> None:
        self._clock_ms = clock_ms
        self._path = folder / FILE_NAME
        self._connection: sqlite3.Connection | None = None
        self.problem: str | None = None
        try:
            self._connection = _open(self._path, clock_ms() - KEEP_DAYS * _DAY_MS)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def find(self, key: str) -> int | None:
        """The tokens counted for this key; `None` if it was not counted lately."""
        if self._connection is None:
            return None
        try:
            row = self._connection.execute("SELECT tokens FROM counts WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        return int(row[0]) if row is not None else None

    def put(self, key: str, tokens: int) -> None:
        """Keeps a count."""
        if self._connection is None:
            return
        try:
            self._connection.execute("INSERT OR REPLACE INTO counts VALUES (?, ?, ?)", (key, tokens, self._clock_ms()))
        except sqlite3.Error as error:
            self._give_up(error)

    def close(self) -> None:
        """Closes the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _give_up(self, error: Exception) -> None:
        self.problem = f"Counts are not kept in {self._path}: {error}."
        self.close()


def _open(path: Path, oldest_ms: int) -> sqlite3.Connection:
    make_folder(path.parent)
    # SQLite would make the file readable for all; its journal gets the rights of the file.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS counts (key TEXT PRIMARY KEY, tokens INTEGER NOT NULL, counted_ms INTEGER NOT NULL)"
            " WITHOUT ROWID"
        )
        connection.execute("DELETE FROM counts WHERE counted_ms < ?", (oldest_ms,))
    except BaseException:
        connection.close()
        raise
    return connection
