"""Puts a new database in the place of an old one, so that a crash at any moment leaves the one or the other, whole.

A journal beside the database says what is under way. `copying`: the candidate is being made, nothing has changed yet. `swapping`:
the candidate is complete and on disk; what is left to do can be done again from the start. Whoever next has the databases alone
(`lease.py`) undoes the first and finishes the second.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .files import SIDE_FILES
from .places import list_projects, projects_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENDINGS = (*SIDE_FILES, "-journal")
_CONTENT = ("", "-wal")
"""Endings of what holds rows: the database and its log. The log's index is made again when it is missing."""


class Journal(Struct, frozen=True, kw_only=True):
    """What is under way with one database. `aside` is the name under which the old one is kept, if it is.

    `mark` says which file is to be replaced: one that was written to since stays.
    """

    state: Literal["copying", "swapping"]
    aside: str | None = None
    mark: tuple[int, ...] = ()


@contextlib.contextmanager
def replacing(path: Path, *, aside: str | None = None) -> Iterator[Path]:
    """Gives the path at which to make the candidate, an empty file of mode 0600; it takes the place of `path` after the block.

    Until then nothing changes, and nothing does if the block raises. Nobody else may use the database: side files that it still
    has are part of what is replaced. With `aside` the old one stays under that name.
    """
    journal = Journal(state="copying", aside=aside)
    candidate = candidate_path(path)
    _write_journal(path, journal)
    try:
        os.close(os.open(candidate, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600))
        yield candidate
        _sync(candidate)
    except BaseException:
        _drop_candidate(path)
        raise
    journal = replace(journal, state="swapping", mark=_mark(path))
    _write_journal(path, journal)
    _swap(path, journal)


def finish_all(main: Path) -> list[str]:
    """Undoes or finishes what was interrupted with `main` and the databases of its projects; what was done, as sentences.

    Must be called by one process at a time, before anything else is done with them. Raises `OSError`.
    """
    return [_finish(path) for path in list_databases(main) if is_interrupted(path)]


def list_databases(main: Path) -> list[Path]:
    """The main database, and those of projects that exist, by name."""
    return [main, *sorted(file.path for file in list_projects(projects_folder(main)))]


def is_interrupted(path: Path) -> bool:
    """Whether a replacement of a database was begun and not finished."""
    return journal_path(path).exists() or _partial(journal_path(path)).exists()


def remove_database(path: Path) -> None:
    """Removes a database and what belongs to it. Nobody else may use it."""
    for ending in reversed(_ENDINGS):  # a log that outlived its file would be taken for that of the next one
        _unlink(path.with_name(path.name + ending))
    _sync_folder(path.parent)


def journal_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.upkeep.json")


def candidate_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.candidate")


def _finish(path: Path) -> str:
    what = f"The interrupted upkeep of {path}"
    try:
        journal = msgspec.json.decode(journal_path(path).read_bytes(), type=Journal)
    except (FileNotFoundError, msgspec.MsgspecError):  # it is written in one step, so nothing was begun
        journal = Journal(state="copying")
    if journal.state == "copying":
        _drop_candidate(path)
        return f"{what} was undone."
    if candidate_path(path).exists() and _mark(path) not in ((), journal.mark):
        _forget_names(path, journal)
        _drop_candidate(path)
        return f"{what} was undone: the database was written to since."
    _swap(path, journal)
    return f"{what} was finished."


def _swap(path: Path, journal: Journal) -> None:
    """May be interrupted anywhere and called again."""
    if candidate_path(path).exists():
        if journal.aside is not None:
            _keep(path, journal.aside)
        # Before the new file takes its place: a log that is not its own would destroy it.
        for ending in _ENDINGS[1:]:
            _unlink(path.with_name(path.name + ending))
        _replace(candidate_path(path), path)
    _drop_candidate(path)


def _keep(path: Path, aside: str) -> None:
    """Gives the database and its log another name each, without taking the one they have."""
    for source, target in _names(path, aside):
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            if not source.stat().st_size:
                continue
            try:
                os.link(source, target)
            except FileExistsError:
                raise
            except OSError:  # no second names here
                partial = _partial(target)
                shutil.copyfile(source, partial)
                partial.chmod(0o600)
                _sync(partial)
                _replace(partial, target)
    _sync_folder(path.parent)


def _forget_names(path: Path, journal: Journal) -> None:
    """Takes the second names of a database back if it has them still."""
    for source, target in _names(path, journal.aside) if journal.aside is not None else ():
        with contextlib.suppress(FileNotFoundError):
            if source.samefile(target):
                _unlink(target)


def _names(path: Path, aside: str) -> list[tuple[Path, Path]]:
    return [(path.with_name(path.name + ending), path.with_name(aside + ending)) for ending in _CONTENT]


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


def _drop_candidate(path: Path) -> None:
    """Removes what was made on the way, the journal last."""
    for ending in _ENDINGS:
        _unlink(candidate_path(path).with_name(candidate_path(path).name + ending))
    _unlink(_partial(journal_path(path)))
    _unlink(journal_path(path))
    _sync_folder(path.parent)


def _write_journal(path: Path, journal: Journal) -> None:
    target = journal_path(path)
    partial = _partial(target)
    descriptor = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, msgspec.json.encode(journal))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _replace(partial, target)


def _mark(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _unlink(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def _replace(source: Path, target: Path) -> None:
    source.replace(target)
    _sync_folder(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """So that a name survives a power cut, too. Where folders cannot be opened, nothing more can be done."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
