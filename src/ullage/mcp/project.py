"""The project that a server is for: where its records, its artifacts and its sessions are, and what may be told of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from ullage.core.evidence.artifacts import ArtifactCaps

Clear = Callable[[str], str]
"""Takes out of a text what must not leave this machine. It gets whole texts, before anything is cut from them."""


class Project(Struct, frozen=True, kw_only=True):
    """One project as its server sees it.

    `root` is its folder, links followed; `None` where the server runs in a folder that is no project. `folders` are all names of
    it that clients may have recorded. `home` is where their sessions lie.
    """

    root: str | None
    folders: tuple[str, ...]
    home: Path
    caps: ArtifactCaps = ArtifactCaps()
