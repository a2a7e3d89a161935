"""Where the records of projects lie: one file for each, named by a hash of the project's folder, beside the main database."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import NamedTuple

DATABASE_NAME = "ullage.db"

SLACK_MS = 24 * 60 * 60 * 1000
"""How far a record may be newer than the last write to its file: clocks are set, and set back."""

_FOLDER = "projects"
_NAME = re.compile(r"[0-9a-f]{32}\.db")
_LOG = "-wal"


class ProjectFile(NamedTuple):
    """The database of one project as it lies on disk.

    `written_ms` is when it was last written to, epoch milliseconds. While `mark` stays the same, so does what the file holds.
    """

    path: Path
    written_ms: int
    mark: tuple[int, ...]

    @property
    def latest_ms(self) -> int:
        """No record in the file is newer than this."""
        return self.written_ms + SLACK_MS


def projects_folder(main: Path) -> Path:
    """The folder of the projects whose shared database is `main`: `projects` beside `ullage.db`, `x-projects` beside `x.db`."""
    return main.with_name(_FOLDER if main.name == DATABASE_NAME else f"{main.stem}-{_FOLDER}")


def find_root(project: str | None, home: Path | None) -> str | None:
    """The folder that a project's path really names, links followed; `None` if its records belong to no project.

    So it is for a path that is not absolute or names nothing, for the user's home folder (`home`, itself without links), and for
    the folders above it: whoever starts an agent there does not mean a project (planner specification, R27).
    """
    if not project:
        return None
    try:
        given = Path(project)
        root = given.resolve()
    except (OSError, ValueError, RuntimeError):  # no path at all, or links in a circle
        return None
    too_broad = root.parent == root or (home is not None and (root == home or root in home.parents))
    return str(root) if given.is_absolute() and not too_broad else None


def project_path(folder: Path, root: str) -> Path:
    """The database of a project (planner specification, section 29.1)."""
    return folder / f"{project_digest(root)}.db"


def project_digest(root: str) -> str:
    """The name under which files of a project are kept: 32 hexadecimal digits of its folder's path."""
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:32]


def list_projects(folder: Path) -> list[ProjectFile]:
    """The databases that exist, the one that was written to last first. Opens none."""
    found = _statuses(folder)
    files = [_look_at(folder, name, found) for name in found if _NAME.fullmatch(name)]
    return sorted(files, key=lambda file: file.written_ms, reverse=True)


def _statuses(folder: Path) -> dict[str, os.stat_result]:
    found: dict[str, os.stat_result] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    found[entry.name] = entry.stat()
                except FileNotFoundError:  # a log that was just closed
                    continue
    except OSError:
        return {}
    return found


def _look_at(folder: Path, name: str, found: dict[str, os.stat_result]) -> ProjectFile:
    # A reader leaves an empty log behind, which says nothing of when the file was written.
    parts = [found[name], *(log for log in (found.get(name + _LOG),) if log is not None and log.st_size)]
    mark = tuple(number for part in parts for number in (part.st_ino, part.st_size, part.st_mtime_ns))
    return ProjectFile(folder / name, max(part.st_mtime_ns for part in parts) // 1_000_000, mark)
