"""From the setting `store.url` to a store: `sqlite`, `sqlite:///PATH` or `memory`."""

from __future__ import annotations

import contextlib
import functools
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlsplit

from ullage.core.errors import SettingsError, StoreError
from ullage.settings import environment
from ullage.settings.paths import home_folder

from .files import open_for_reading, open_for_writing
from .lease import Lease
from .memory import MemoryStore
from .merging import ProjectReader
from .places import DATABASE_NAME, find_root, projects_folder
from .projects import ProjectStore
from .reader import SqliteReader
from .sqlite import KEEP_DAYS, SqliteStore
from .swap import finish_all
from .sweep import Sweep

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from .base import Reader, Store

Scope = Literal["project", "user"]

logger = logging.getLogger(__name__)

MEMORY = "memory"

PROJECT_QUEUE_BYTES = 16 * 1024 * 1024
"""What may wait for the file of one project (encoded size): several may be open at once."""


def open_store(
    url: str, data_dir: Path, clock_ms: Callable[[], int], *, keep_days: int = KEEP_DAYS, scope: Scope = "user"
) -> Store:
    """Opens the store that `url` names, for the daemon. `sqlite` is `ullage.db` in `data_dir`.

    With the scope `project`, records of a project are put into a file of its own; projects that have one are read in any scope.
    Raises `StoreError` for a URL that names no store. A database that cannot be used (made by a newer version, not ours, a
    folder that cannot be written) does not stop the daemon: it gets a `MemoryStore` that names the reason in `problems()`.
    """
    if url == MEMORY:
        return MemoryStore()
    path = find_database(url, data_dir)
    lease = Lease(path, recover=functools.partial(finish_all, path))

    def connect(database: Path, now_ms: int) -> sqlite3.Connection:
        lease.share()
        return open_for_writing(database, now_ms)

    open_one = functools.partial(SqliteStore, clock_ms=clock_ms, keep_days=keep_days, connect=connect)
    try:
        main = open_one(path)
    except StoreError as error:
        lease.release()
        problem = f"Nothing is kept after this run, for want of a database. {error.message} {error.hint}".strip()
        logger.warning("%s", problem)
        return MemoryStore(problems=(problem,))
    folder = projects_folder(path)
    return ProjectStore(
        main,
        folder,
        find_root=root_finder(scope),
        open_one=functools.partial(open_one, queue_bytes=PROJECT_QUEUE_BYTES),
        sweep=Sweep(folder, connect=connect, clock_ms=clock_ms, keep_days=keep_days),
        lease=lease,
    )


@contextlib.contextmanager
def open_to_keep(
    url: str, data_dir: Path, clock_ms: Callable[[], int], *, keep_days: int = KEEP_DAYS, scope: Scope = "user"
) -> Iterator[Store]:
    """A store for a command that writes: made if there is none, closed in the end.

    Raises `StoreError` where nothing would be kept: `no_reader` for the daemon's memory.
    """
    if url == MEMORY:
        raise StoreError(
            "The store is `memory`: what is kept is in the running daemon alone.",
            hint='Ask the daemon (POST /ullage/v1/pins, /ullage/v1/memory), or set store.url = "sqlite".',
            code="no_reader",
        )
    store = open_store(url, data_dir, clock_ms, keep_days=keep_days, scope=scope)
    try:
        if isinstance(store, MemoryStore):
            raise StoreError(" ".join(store.problems()), hint="`ullage db check` looks at the database.")
        yield store
    finally:
        store.close()


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
    path = find_database(url, data_dir)
    open_for_reading(path).close()
    return ProjectReader(SqliteReader(path), projects_folder(path))


def root_finder(scope: Scope) -> Callable[[str | None], str | None]:
    """Says to which project's files something goes, by the path of the project; `None` for those of the user."""
    return functools.partial(find_root, home=_home()) if scope == "project" else lambda _: None


def find_database(url: str, data_dir: Path) -> Path:
    """The database file that `url` names. Raises `StoreError` for a URL that names none."""
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


def _home() -> Path | None:
    """The user's home folder, links followed; `None` for an account without one."""
    try:
        return home_folder(environment()).resolve()
    except (SettingsError, OSError, RuntimeError):
        return None
