"""Upkeep of all databases of a user: the shared one and those of the projects. Behind `ullage db`.

A database that is in trouble keeps the others from nothing: what went wrong with it is part of the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import CallError, StoreError

from .alone import alone_with, beside_others
from .compaction import compact_database
from .files import SIDE_FILES
from .inspection import Finding, Inspection, Status, find_project, inspect_database, worst
from .places import projects_folder
from .pruning import Limits, count_prunable, prune_database, remove_if_empty
from .salvage import rebuild_database
from .swap import is_interrupted, list_databases

if TYPE_CHECKING:
    from pathlib import Path

Progress = Callable[[int], object]
"""Is given the bytes of the databases that were dealt with since the last time."""

_ASIDE = ("*.corrupt-*", "*.before-rebuild-*")
_REBUILT = {"store_damaged", "unreadable_records", "older_database", "changed_migration"}
"""Findings that a rebuild mends."""


class Aside(Struct, frozen=True, kw_only=True):
    """A database that was moved aside: by the daemon for damage, or by a rebuild. `size_bytes` are of its file and of its log, in
    which what was written last may lie."""

    path: str
    size_bytes: int


class Health(Struct, frozen=True, kw_only=True):
    """What a check found. `recovered` says, in sentences, what was finished or undone of an interrupted upkeep."""

    databases: tuple[Inspection, ...]
    aside: tuple[Aside, ...]
    recovered: tuple[str, ...]

    @property
    def status(self) -> Status:
        """The worst of all."""
        return worst(inspection.status for inspection in self.databases)


class Pruned(Struct, frozen=True, kw_only=True):
    """What became of one database. `removed` counts rows, `freed_bytes` is what a compaction gave back, `deleted` says that an
    empty project's file is gone, `error` why nothing more was done."""

    path: str
    project: str | None
    removed: dict[str, int] = {}
    freed_bytes: int = 0
    deleted: bool = False
    error: str | None = None


class Rebuilt(Struct, frozen=True, kw_only=True):
    """What became of one database: rows of each table that were kept and lost (`None` if that cannot be known), and where the
    old one lies."""

    path: str
    project: str | None
    kept: dict[str, int] = {}
    lost: dict[str, int | None] = {}
    aside: str | None = None
    error: str | None = None


def total_bytes(main: Path) -> int:
    """The size of all databases together."""
    return sum(_size(path) for path in list_databases(main))


def check(main: Path, *, full: bool, progress: Progress) -> Health:
    """Looks at every database. An upkeep that was interrupted is finished or undone first. Raises `StoreError` without any."""
    recovered = _recover(main)
    if not main.exists():
        raise StoreError(f"No database yet at {main}.", hint="Start `ullage serve`.", code="no_database")
    inspections = []
    for path in list_databases(main):
        inspections.append(_inspect(path, full=full))
        progress(_size(path))
    return Health(databases=tuple(inspections), aside=tuple(_set_aside(main)), recovered=tuple(recovered))


def prune(main: Path, limits: Limits, *, now_ms: int, dry_run: bool, compact: bool, progress: Progress) -> list[Pruned]:
    """Removes old records, then the files of projects that have none left; `compact` gives the room back to the disk.

    Files are removed and compacted only while nobody else uses them; with `compact`, that somebody does is a `StoreError`
    (`in_use`). With `dry_run` nothing is changed and what would be is counted.
    """
    if dry_run:
        return [_count(path, limits, progress) for path in list_databases(main)]
    with contextlib.ExitStack() as stack:
        is_alone = _enter(stack, main, must_be_alone=compact)
        return [
            _prune(path, limits, now_ms, may_delete=is_alone and path != main, compact=compact, progress=progress)
            for path in list_databases(main)
        ]


def rebuild(main: Path, *, now_ms: int, everything: bool, also: Path | None, progress: Progress) -> list[Rebuilt]:
    """Makes every database anew in which something is wrong that this mends, or `everything`.

    The rows of `also`, a database that was moved aside or a backup, are taken into the one that it was. Raises `StoreError`
    (`in_use`) while somebody else uses them.
    """
    with alone_with(main):
        taken = _namesake(main, also) if also is not None else None
        results = []
        for path in list_databases(main):
            inspection = inspect_database(path)
            is_wrong = any(finding.code in _REBUILT for finding in inspection.findings)
            if everything or is_wrong or path == taken:
                results.append(_rebuild(path, inspection.project, now_ms, also if path == taken else None))
            progress(_size(path))
        return results


def _recover(main: Path) -> list[str]:
    if any(is_interrupted(path) for path in list_databases(main)):
        with (
            contextlib.suppress(StoreError),
            alone_with(main) as recovered,
        ):  # in use: it is not interrupted but going on
            return recovered
    return []


def _inspect(path: Path, *, full: bool) -> Inspection:
    inspection = inspect_database(path, full=full)
    if not is_interrupted(path):
        return inspection
    going_on = Finding(level="warn", code="in_use", message="Another `ullage db` is working on it.")
    return replace(inspection, findings=(*inspection.findings, going_on))


def _set_aside(main: Path) -> Iterator[Aside]:
    for folder in (main.parent, projects_folder(main)):
        for path in sorted(path for pattern in _ASIDE for path in folder.glob(pattern)):
            if not path.name.endswith(SIDE_FILES[1:]):
                yield Aside(path=str(path), size_bytes=_size(path) + _size(path.with_name(f"{path.name}-wal")))


def _count(path: Path, limits: Limits, progress: Progress) -> Pruned:
    result = Pruned(path=str(path), project=find_project(path))
    try:
        result = replace(result, removed=count_prunable(path, limits))
    except StoreError as error:
        result = replace(result, error=_sentence(error))
    progress(_size(path))
    return result


def _enter(stack: contextlib.ExitStack, main: Path, *, must_be_alone: bool) -> bool:
    """Takes the databases for itself if that is possible or must be, else uses them beside others."""
    try:
        stack.enter_context(alone_with(main))
    except StoreError:
        if must_be_alone:
            raise
        stack.enter_context(beside_others(main))
        return False
    return True


def _prune(path: Path, limits: Limits, now_ms: int, *, may_delete: bool, compact: bool, progress: Progress) -> Pruned:
    size = _size(path)
    result = Pruned(path=str(path), project=find_project(path))
    try:
        result = replace(result, removed=prune_database(path, limits, now_ms))
        if may_delete and remove_if_empty(path):
            result = replace(result, deleted=True, freed_bytes=size)
        elif compact:
            result = replace(result, freed_bytes=compact_database(path, now_ms))
    except StoreError as error:
        result = replace(result, error=_sentence(error))
    progress(size)
    return result


def _namesake(main: Path, also: Path) -> Path:
    """The database that a copy of it, named as it with more behind, belongs to."""
    name, ending, _ = also.name.partition(".db")
    found = next((path for path in list_databases(main) if path.name == name + ending), None)
    if found is None or not also.is_file():
        raise CallError(
            f"{also} is no copy of one of the databases.",
            hint="Its name begins with that of the database it was; `ullage db check` lists what was moved aside.",
        )
    if also.samefile(found):
        raise CallError(f"{also} is the database itself.", hint="Leave --from out.")
    return found


def _rebuild(path: Path, project: str | None, now_ms: int, also: Path | None) -> Rebuilt:
    result = Rebuilt(path=str(path), project=project)
    try:
        done, aside = rebuild_database(path, now_ms, also=also)
    except StoreError as error:
        return replace(result, error=_sentence(error))
    return replace(
        result, kept=done.kept, lost=done.lost, aside=str(aside), project=result.project or find_project(path)
    )


def _sentence(error: StoreError) -> str:
    return f"{error.message} {error.hint}".strip()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
