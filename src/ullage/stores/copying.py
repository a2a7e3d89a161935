"""Copies databases while daemons write to them: each copy is one moment of its database, checked before it counts."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.errors import CallError, StoreError

from .files import SIDE_FILES, explain, make_folder, open_for_reading
from .places import DATABASE_NAME, projects_folder
from .swap import list_databases
from .tally import count_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PAGES = 1024
"""Pages that are copied between two looks at how far it is."""


class Copy(NamedTuple):
    """One database that was copied."""

    source: Path
    path: Path
    size_bytes: int
    counts: dict[str, int]


def back_up(main: Path, target: Path, *, force: bool, progress: Callable[[int], object]) -> list[Copy]:
    """Copies all databases into the folder `target`, laid out as they are, or the only one into the file `target` (`*.db`).

    Nothing that exists is replaced without `force`, and nothing at all before every copy is complete. `progress` gets the bytes
    that were copied. Raises `CallError` for a target that cannot be meant, `StoreError` for a database that cannot be copied.
    """
    places = _places(main, target, list_databases(main))
    if {path.resolve() for path in places.values()} & {source.resolve() for source in places}:
        raise CallError(f"{target} is where the databases are.", hint="Name another place.")
    existing = [path for path in places.values() if path.exists()]
    if existing and not force:
        raise CallError(f"{existing[0]} exists.", hint="Name another place, or add --force.", code="exists")
    partials: dict[Path, Path] = {path: path.with_name(f"{path.name}.partial") for path in places.values()}
    try:
        copies = [_copy(source, path, partials[path], progress) for source, path in places.items()]
        for path, partial in partials.items():
            _remove(path, SIDE_FILES[1:])
            partial.replace(path)
    finally:
        for partial in partials.values():
            _remove(partial, (*SIDE_FILES, "-journal"))
    if target not in places.values():
        _remove_stale(target, set(places.values()))
    return copies


def _places(main: Path, target: Path, sources: list[Path]) -> dict[Path, Path]:
    """Where each database is copied to."""
    if target.suffix != ".db" or target.is_dir():
        copied = target / DATABASE_NAME
        return {source: copied if source == main else projects_folder(copied) / source.name for source in sources}
    if len(sources) > 1:
        raise CallError(
            f"There are {len(sources)} databases, one for the user and one for each project; {target} is one file.",
            hint="Name a folder.",
        )
    return {main: target}


def _copy(source: Path, path: Path, partial: Path, progress: Callable[[int], object]) -> Copy:
    try:
        make_folder(path.parent)
        _remove(partial, (*SIDE_FILES, "-journal"))
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(open_for_reading(source)) as connection:
            connection.execute("BEGIN")
            counts = count_rows(connection)  # begins the moment that is copied
            _copy_pages(connection, partial, progress)
        return Copy(source, path, partial.stat().st_size, _verified(partial, source, counts))
    except (sqlite3.Error, OSError) as error:
        raise explain(source, error) from error


def _copy_pages(source: sqlite3.Connection, partial: Path, progress: Callable[[int], object]) -> None:
    (page_bytes,) = source.execute("PRAGMA page_size").fetchone()
    left = [source.execute("PRAGMA page_count").fetchone()[0]]

    def report(_status: int, remaining: int, _total: int) -> None:
        progress((left[0] - remaining) * page_bytes)
        left[0] = remaining

    with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
        source.backup(copy, pages=_PAGES, progress=report)


def _verified(partial: Path, source: Path, counts: dict[str, int]) -> dict[str, int]:
    with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
        lines = [line for (line,) in copy.execute("PRAGMA integrity_check(1)")]
        if lines != ["ok"] or count_rows(copy) != counts:
            raise StoreError(
                f"The copy of {source} is not sound: {lines[0]}.", hint="Run `ullage db check --full`.", code="bad_copy"
            )
    descriptor = os.open(partial, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return counts


def _remove(path: Path, endings: tuple[str, ...]) -> None:
    for ending in endings:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _remove_stale(target: Path, copied: set[Path]) -> None:
    """Databases of an earlier backup in the same folder whose projects are gone: they would come back with it."""
    for path in list_databases(target / DATABASE_NAME):
        if path not in copied:
            _remove(path, SIDE_FILES)
