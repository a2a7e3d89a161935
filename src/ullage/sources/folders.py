"""Where the clients keep their sessions by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Folder(NamedTuple):
    """A folder below the home folder, and what its session files are called below it."""

    client: str
    path: str
    pattern: str


FOLDERS = (
    Folder("pi", ".pi/agent/sessions", "*/*.jsonl"),
    Folder("claude-code", ".claude/projects", "*/*.jsonl"),
    Folder("codex", ".codex/sessions", "*/*/*/*.jsonl"),
)
"""Files of sub-agents lie deeper in Claude Code's folders and are left out. OpenHands writes a trajectory where it is told to."""


def find_sessions(home: Path) -> Iterator[Path]:
    """The session files in the default folders of all clients below a home folder, the one written last first.

    Looks at names and times only; what a file holds is told when it is read. A file that goes away meanwhile is left out.
    """
    found = [
        (modified, path)
        for folder in FOLDERS
        for path in (home / folder.path).glob(folder.pattern)
        if (modified := _modified(path)) is not None
    ]
    found.sort(key=lambda pair: pair[0], reverse=True)
    return (path for _, path in found)


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime if path.is_file() else None
    except OSError:
        return None
