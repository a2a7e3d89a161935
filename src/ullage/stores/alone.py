"""What every upkeep command needs before it begins: the databases for itself, and room on the disk."""

from __future__ import annotations

import contextlib
import shutil
import time
from typing import TYPE_CHECKING

from ullage.core.errors import StoreError

from .lease import InUseError, Lease
from .swap import finish_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOM_TIMES = 3
ROOM_LEAST_BYTES = 256 * 1024 * 1024
ROOM_SHARE = 10
"""Room that replacing a database needs: three times its size, and on top 256 MiB or a tenth of it (planner specification,
section 29.4)."""

_TRIES = 10
_RETRY_S = 0.05
"""A daemon that starts has them for itself for a moment."""


@contextlib.contextmanager
def alone_with(main: Path) -> Iterator[list[str]]:
    """Has a main database and those of its projects for itself; gives what was finished or undone of an interrupted upkeep.

    Raises `StoreError` (`in_use`) while a daemon or another such command has them.
    """
    recovered: list[str] = []
    lease = Lease(main, recover=lambda: recovered.extend(finish_all(main)))
    try:
        lease.take_alone()
    except InUseError as error:
        raise StoreError(
            f"The databases in {main.parent} are in use.", hint="Stop `ullage serve`, then try again.", code="in_use"
        ) from error
    try:
        yield recovered
    finally:
        lease.release()


@contextlib.contextmanager
def beside_others(main: Path) -> Iterator[None]:
    """Uses the databases while daemons may. Raises `StoreError` (`in_use`) while a command has them for itself."""
    lease = Lease(main, recover=lambda: finish_all(main))
    for left in reversed(range(_TRIES)):
        try:
            lease.share()
            break
        except InUseError as error:
            if not left:
                raise StoreError(
                    f"Another `ullage db` is working in {main.parent}.", hint="Wait until it is done.", code="in_use"
                ) from error
            time.sleep(_RETRY_S)
    try:
        yield
    finally:
        lease.release()


def need_room(path: Path, *, times: int = ROOM_TIMES) -> None:
    """Raises `StoreError` (`no_room`) if the disk has too little room to replace a database."""
    size = path.stat().st_size
    needed = times * size + max(ROOM_LEAST_BYTES, size // ROOM_SHARE)
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise StoreError(
            f"{path.parent} has {_mib(free)} MiB free; {_mib(needed)} MiB are needed for a database of {_mib(size)} MiB.",
            hint="Free some space.",
            code="no_room",
        )


def _mib(size: int) -> str:
    return f"{-(-size // 1024**2):,}"
