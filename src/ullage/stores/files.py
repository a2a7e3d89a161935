"""The database file: made private, opened with our pragmas, its faults named, moved aside when damaged."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import sys
import time
from typing import TYPE_CHECKING, Literal

from ullage.core.errors import StoreError

from .migrations import MIGRATIONS, find_version, migrate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Fault = Literal["busy", "full", "damaged", "unusable"]
"""What is wrong with a file: another process has it locked, no space, not a sound database, cannot be written or opened."""

BUSY_TIMEOUT_S = 5.0
"""Planner specification, section 29.3."""

SIDE_FILES = ("", "-wal", "-shm")
"""Endings of the files that are one database."""

_JOURNAL_PAUSE_S = 0.005
_WAL_LIMIT_BYTES = 16 * 1024 * 1024
_PRAGMAS = (
    "trusted_schema = OFF",
    "foreign_keys = ON",
    "synchronous = NORMAL",
    "secure_delete = FAST",
    f"journal_size_limit = {_WAL_LIMIT_BYTES}",
)

_FAULTS: dict[int, Fault] = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_PROTOCOL: "busy",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_SENTENCES: dict[Fault, tuple[str, str]] = {
    "busy": ("is locked by another process", "Close the program that holds it, or wait."),
    "full": ("has no space left on its disk", "Free some space; waiting records are then written."),
    "damaged": (
        "is damaged",
        "Stop `ullage serve` and run `ullage db rebuild`; else it is moved aside when the daemon next writes to it.",
    ),
    "unusable": ("cannot be used", "Check that folder and file belong to you and can be written."),
}


def name_fault(error: Exception) -> Fault:
    """Which fault an error of SQLite or of the system stands for."""
    if isinstance(error, OSError):
        return "full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "unusable"
    code = getattr(error, "sqlite_errorcode", None) or 0
    return _FAULTS.get(code & 0xFF, "unusable")  # the low byte is the primary result code


def explain(path: Path, error: Exception) -> StoreError:
    """The error for people: which file, what is wrong with it, what to do."""
    if isinstance(error, StoreError):
        if str(path) in error.message:
            return error
        return StoreError(f"{path}: {error.message}", hint=error.hint, code=error.code)
    fault = name_fault(error)
    what, hint = _SENTENCES[fault]
    return StoreError(f"The database {path} {what}: {error}.", hint=hint, code=f"store_{fault}")


def open_for_writing(path: Path, now_ms: int) -> sqlite3.Connection:
    """Opens the database, makes it (0600, its folder 0700) where there is none, and brings its tables up to date.

    Raises `sqlite3.Error` and `OSError` as they come, and `StoreError` for a database that must not be touched.
    """
    _make_private(path)
    connection = _connect(str(path))
    try:
        find_version(connection)  # before any pragma that would change a file of another program
        _turn_to_write_ahead(connection)
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        migrate(connection, now_ms)
        _make_private(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _turn_to_write_ahead(connection: sqlite3.Connection) -> None:
    """Sets the journal of a file to WAL; one that has it already takes no lock.

    SQLite does not let whoever changes the journal wait for others, whatever its busy timeout says: of several processes that
    open a new file in one moment all but one would be turned away. So it is asked again, for at most `BUSY_TIMEOUT_S`.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if name_fault(error) != "busy" or time.monotonic() >= deadline:
                raise
            time.sleep(_JOURNAL_PAUSE_S)
        else:
            return


def open_for_reading(path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Opens the database without ever making or changing it. Raises `StoreError` only, `no_database` where there is none.

    This and every read waits for at most `busy_timeout_s` while another process keeps everyone out.
    """
    try:
        if not path.is_file():
            raise _no_database(path)
        connection = open_read_only(path, busy_timeout_s=busy_timeout_s)
    except (sqlite3.Error, OSError) as error:
        raise explain(path, error) from error
    try:
        _check_readable(connection, path)
    except (sqlite3.Error, StoreError) as error:
        connection.close()
        raise explain(path, error) from error
    return connection


def make_folder(folder: Path) -> None:
    """Makes a folder and its missing parents with 0700, as the XDG base directory specification asks."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def identify(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file that lies at `path` now: a database that was moved or deleted has another, or none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_sound(path: Path) -> bool:
    """Whether SQLite finds nothing wrong. Reads the whole file. Raises `sqlite3.Error` when it cannot be looked at."""
    connection = _connect(str(path))
    try:
        return bool(connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        if name_fault(error) == "damaged":
            return False
        raise
    finally:
        connection.close()


def move_aside(path: Path, now_ms: int) -> Path | None:
    """Renames a damaged database and its side files to `<name>.corrupt-<ms>`; `None` if it is sound after all.

    Processes that find the damage at the same moment take turns, so that none moves the fresh file of another.
    """
    target = path.with_name(f"{path.name}.corrupt-{now_ms}")
    with _one_at_a_time(path.parent):
        if not path.exists() or is_sound(path):
            return None
        for ending in SIDE_FILES:
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + ending).rename(target.with_name(target.name + ending))
    return target


def _connect(database: str, *, uri: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    # Each connection is used by one thread at a time; `close` may come from another one.
    return sqlite3.connect(database, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False, uri=uri)


def open_read_only(path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Opens any database of SQLite for reading, ours or not. Raises `sqlite3.Error`."""
    address = path.absolute().as_uri()
    connection = _connect(f"{address}?mode=ro", uri=True, busy_timeout_s=busy_timeout_s)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        connection.close()
        if name_fault(error) != "unusable" or identify(path.with_name(f"{path.name}-wal")) is not None:
            raise
        # In a folder that cannot be written SQLite cannot make the shared index of a write-ahead log. With no log there
        # is no writer either, so the file may be read as if it never changed.
        connection = _connect(f"{address}?mode=ro&immutable=1", uri=True, busy_timeout_s=busy_timeout_s)
    return connection


def _check_readable(connection: sqlite3.Connection, path: Path) -> None:
    version = find_version(connection)
    if version == 0:
        raise _no_database(path)
    if version != MIGRATIONS[-1].number:
        raise StoreError(
            f"The database has version {version}; this ullage reads version {MIGRATIONS[-1].number}.",
            hint="Start `ullage serve` once: it brings the database up to date.",
            code="older_database",
        )


def _no_database(path: Path) -> StoreError:
    return StoreError(f"No database yet at {path}.", hint="Start `ullage serve`.", code="no_database")


def _make_private(path: Path) -> None:
    """Makes folder and file where they are missing; takes group's and others' rights from the database files."""
    make_folder(path.parent)
    # Only a file that did not exist is opened here: closing one that a connection of this process has open would drop
    # that connection's locks (POSIX locks belong to the process, not to the descriptor).
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    for ending in SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            file = path.with_name(path.name + ending)
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)


if sys.platform == "win32":

    @contextlib.contextmanager
    def _one_at_a_time(folder: Path) -> Iterator[None]:
        """Windows refuses to rename a file that another process has open, which is lock enough."""
        yield

else:
    import fcntl

    @contextlib.contextmanager
    def _one_at_a_time(folder: Path) -> Iterator[None]:
        """Holds the lock of a folder against other processes and threads."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
