"""Who may use the databases of a folder: any number of stores that write, together, or one upkeep command alone.

The lease is a lock of the system on a file that holds nothing, so it ends with its process, however that ends.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from typing import TYPE_CHECKING

from .files import make_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class InUseError(sqlite3.OperationalError):
    """Somebody else has the lease. To a writer it is a locked database like any other: records wait."""

    sqlite_errorcode = sqlite3.SQLITE_BUSY


class Lease:
    """The lease on the database at `path` and on those of its projects. Safe to use from any thread.

    `recover` is called by whoever finds itself alone, before anything is written: it finishes what an interrupted upkeep left.
    """

    def __init__(self, path: Path, *, recover: Callable[[], object] = lambda: None) -> None:
        self.path = path.with_name(f"{path.name}.lock")
        self._recover = recover
        self._lock = threading.Lock()
        self._descriptor: int | None = None

    def share(self) -> None:
        """Takes the lease beside others, if this one has not done so. Raises `InUseError` while a command has it alone."""
        with self._lock:
            if self._descriptor is None:
                self._descriptor = self._take(self._share)

    def take_alone(self) -> None:
        """Takes the lease for itself alone. Raises `InUseError` while anybody has it."""
        with self._lock:
            self._descriptor = self._take(self._take_alone)

    def release(self) -> None:
        """Gives it back. Releasing twice is allowed."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def forget_in_child(self) -> None:
        """In a forked child: the parent alone has it. Another thread may have held the lock at the fork."""
        self._lock = threading.Lock()
        self.release()

    def _take(self, lock: Callable[[int], None]) -> int:
        make_folder(self.path.parent)
        descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            lock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _share(self, descriptor: int) -> None:
        if _try_lock(descriptor, alone=True):
            self._recover()
        if not _try_lock(descriptor, alone=False):
            raise InUseError("`ullage db` is working on it")

    def _take_alone(self, descriptor: int) -> None:
        if not _try_lock(descriptor, alone=True):
            raise InUseError("it is in use")
        self._recover()


if sys.platform == "win32":

    def _try_lock(descriptor: int, *, alone: bool) -> bool:
        """Windows refuses to replace a file that another process has open, which is lock enough."""
        return True

else:
    import fcntl

    def _try_lock(descriptor: int, *, alone: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
