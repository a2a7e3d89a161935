"""From the setting `store.url` to a store: `sqlite`, `sqlite:///PATH` or `memory`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ullage.core.errors import StoreError

from .files import open_for_reading
from .memory import MemoryStore
from .reader import SqliteReader
from .sqlite import KEEP_DAYS, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base import Reader, Store

logger = logging.getLogger(__name__)

DATABASE_NAME = "ullage.db"
MEMORY = "memory"


def open_store(url: str, data_dir: Path, clock_ms: Callable[[], int], *, keep_days: int = KEEP_DAYS) -> Store:
    """Opens the store that `url` names, for the daemon. `sqlite` is `ullage.db` in `data_dir`.

    Raises `StoreError` for a URL that names no store. A database that cannot be used (made by a newer version, not ours, a
    folder that cannot be written) does not stop the daemon: it gets a `MemoryStore` that names the reason in `problems()`.
    """
    if url == MEMORY:
        return MemoryStore()
    path = _find_path(url, data_dir)
    try:
        return SqliteStore(path, clock_ms=clock_ms, keep_days=keep_days)
    except StoreError as error:
        problem = f"Nothing is kept after this run, for want of a database. {error.message} {error.hint}".strip()
        logger.warning("%s", problem)
        return MemoryStore(problems=(problem,))


def open_reader(url: str, data_dir: Path) -> Reader:
    """Opens the store that `url` names for looking only: nothing is made or changed.

    Raises `StoreError`: `no_database` where there is none yet, `no_reader` where records are in the daemon's memory alone.
    """
    if url == MEMORY:
        raise StoreError(
            "The store is `memory`: its records are in the running daemon alone.",
            hint='Set store.url = "sqlite" to keep them where commands can read them.',
            code="no_reader",
        )
    path = _find_path(url, data_dir)
    open_for_reading(path).close()
    return SqliteReader(path)


def _find_path(url: str, data_dir: Path) -> Path:
    if url == "sqlite":
        return data_dir / DATABASE_NAME
    parts = urlsplit(url)
    if parts.scheme == "sqlite" and not parts.netloc and parts.path.startswith("/"):
        return Path("/" + unquote(parts.path).lstrip("/"))
    if parts.scheme in ("postgresql", "postgres"):
        raise StoreError(
            "PostgreSQL is not available yet in this version.",
            hint="Use `sqlite`, `sqlite:///PATH` or `memory`.",
            code="bad_store_url",
        )
    raise StoreError(
        f"{url!r} names no store.", hint="Use `sqlite`, `sqlite:///PATH` or `memory`.", code="bad_store_url"
    )
