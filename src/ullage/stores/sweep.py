"""Goes through the projects that nobody writes to, now and then: their tables are brought up to date, old records removed."""

from __future__ import annotations

import logging
import sqlite3
import time
from typing import TYPE_CHECKING

from ullage.core.errors import StoreError

from . import files
from .places import list_projects
from .upkeep import prune_portion
from .writer import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Container
    from pathlib import Path

logger = logging.getLogger(__name__)

FIRST_S = 2.0
NEXT_FILE_S = 0.05
NEXT_SWEEP_S = 6 * 3600.0
"""How long after the start it begins, and what lies between one file and the next, one sweep and the next."""


class Sweep:
    """`connect` opens a file for writing. `step` is used by one thread only."""

    def __init__(
        self,
        folder: Path,
        *,
        connect: Callable[[Path, int], sqlite3.Connection],
        clock_ms: Callable[[], int],
        keep_days: int,
    ) -> None:
        self._folder = folder
        self._connect = connect
        self._clock_ms = clock_ms
        self._keep_ms = keep_days * DAY_MS
        self._left: list[Path] = []
        self._next_sweep = time.monotonic() + FIRST_S

    def step(self, in_use: Container[Path]) -> float:
        """Looks after one file that is not in use, for as long as a portion takes; in how many seconds the next step is due."""
        if not self._left:
            if time.monotonic() < self._next_sweep:
                return self._next_sweep - time.monotonic()
            self._left = [file.path for file in list_projects(self._folder)]
            self._next_sweep = time.monotonic() + NEXT_SWEEP_S
        while self._left:
            path = self._left.pop()
            if path not in in_use:
                self._left += [path] if self._look_after(path) else []
                break
        return NEXT_FILE_S if self._left else max(0.0, self._next_sweep - time.monotonic())

    def bring_up_to_date(self, path: Path) -> bool:
        """Gives a file the newest tables; false if that was not possible."""
        try:
            self._connect(path, self._clock_ms()).close()
        except (sqlite3.Error, OSError, StoreError):
            return False
        return True

    def _look_after(self, path: Path) -> bool:
        """True if there is more to remove."""
        if files.identify(path) is None:
            return False  # removed since
        try:
            connection = self._connect(path, self._clock_ms())
            try:
                return bool(prune_portion(connection, self._clock_ms(), self._keep_ms))
            finally:
                connection.close()
        except (sqlite3.Error, OSError, StoreError) as error:
            logger.warning("%s It was left as it is.", files.explain(path, error).message)
            return False
