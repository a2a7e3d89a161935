"""From the settings to the tools of one project."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ullage.core.errors import StoreError
from ullage.core.evidence.mutations import Kept
from ullage.core.privacy import PrivacySettings, find_destination
from ullage.core.privacy.judging import judge_text
from ullage.core.tokens import get_estimator
from ullage.engine.trimming import open_artifacts
from ullage.settings.keeping import make_artifact_caps, make_memory_limits, make_pin_limits
from ullage.stores import open_reader, open_to_keep, root_finder
from ullage.stores.keeping import Keeper

from .artifacts import ArtifactTools
from .history import ARTIFACTS, HistoryTools
from .keeping import KeepingTools
from .project import Clear, Project
from .tools import Tools

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ullage.settings.records import Settings
    from ullage.stores import ArtifactRecord, Reader

_ROWS = 20 * ARTIFACTS
"""Records looked at for the newest artifacts: each session that sent one has a record of it."""

_NAME = "mcp"
"""What the destination of our answers is called: which provider they go to in the end is not known here."""


def open_tools(settings: Settings, *, data_dir: Path, home: Path, folder: Path, clock_ms: Callable[[], int]) -> Tools:
    """The tools of the project in `folder`. Files and database are opened when a tool is called; `clock_ms` is wall time."""
    root = root_finder("project")(str(folder))
    caps = make_artifact_caps(settings)
    names = {str(folder)} if root is None else {str(folder), root}
    project = Project(root=root, folders=tuple(sorted(names)), home=home, caps=caps)
    records = _Records(settings.store.url, data_dir)
    kept_for = root if settings.store.scope == "project" else None
    clear = make_clear(settings.privacy)
    artifacts = ArtifactTools(
        files=open_artifacts(data_dir, kept_for), find=partial(records.artifacts, kept_for), caps=caps, clear=clear
    )
    return Tools(
        artifacts=artifacts,
        history=HistoryTools(
            project, artifacts=artifacts, list_artifacts=partial(records.artifacts, kept_for, ""), clear=clear
        ),
        keeping=KeepingTools(
            project,
            read_kept=records.kept,
            open_store=partial(
                open_to_keep,
                settings.store.url,
                data_dir,
                clock_ms,
                keep_days=settings.store.keep_days,
                scope=settings.store.scope,
            ),
            pin_limits=make_pin_limits(settings),
            memory_limits=make_memory_limits(settings),
            count=get_estimator(settings.calibration.estimator).text,
            clock_ms=clock_ms,
            clear=clear,
        ),
    )


def make_clear(privacy: PrivacySettings) -> Clear:
    """What takes out of a text what may not be told: all that a remote provider without rules of its own may not see."""
    if not privacy.enabled:
        return str
    destination = find_destination(privacy, provider=_NAME, root="")
    return lambda text: judge_text(text, destination, destination.base).text


class _Records:
    """The records as they are at each question. Where there is no database yet, there is nothing in it."""

    def __init__(self, url: str, data_dir: Path) -> None:
        self._url = url
        self._data_dir = data_dir
        self._reader: Reader | None = None
        self._keeper: Keeper | None = None

    def artifacts(self, root: str | None, prefix: str) -> list[ArtifactRecord]:
        """Those of a project, or of no project, the one used last first."""
        reader = self._open()
        if reader is None:
            return []
        found = reader.artifacts(project=root, prefix=prefix, limit=_ROWS)
        return [record for record in found if record.project == root]

    def kept(self) -> Kept:
        """All pins and memories."""
        return self._keeper.kept() if self._open() is not None and self._keeper is not None else Kept()

    def _open(self) -> Reader | None:
        if self._reader is None:
            try:
                self._reader = open_reader(self._url, self._data_dir)
            except StoreError as error:
                if error.code != "no_database":
                    raise
                return None
            self._keeper = Keeper(self._reader)
        return self._reader
