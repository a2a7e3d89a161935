"""The daemon's task that removes artifacts nobody refers to any more: records of them leave with age, and then the files."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from ullage.core.errors import StoreError
from ullage.sources.artifacts import ArtifactFiles, Collected, artifact_folder
from ullage.stores.places import project_digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ullage.stores import Reader

_log = logging.getLogger("ullage.engine")

# A daemon that has just started has other things to do.
FIRST_S = 600.0
EVERY_S = 24 * 60 * 60.0

# More records than any store has.
_ALL = 10_000_000


async def keep_collected(
    reader: Reader, data_dir: Path, clock_ms: Callable[[], int], *, first_s: float = FIRST_S, every_s: float = EVERY_S
) -> None:
    """Collects once a day, until it is cancelled. It never raises: what does not work is logged and tried again."""
    await asyncio.sleep(first_s)
    while True:
        try:
            collected = await asyncio.to_thread(collect_artifacts, reader, data_dir, clock_ms())
        except StoreError as error:
            _log.warning("%s No artifact was removed. %s", error.message, error.hint)
        else:
            if collected.files:
                _log.info("removed artifacts that no record names: %d, %d bytes", *collected)
        await asyncio.sleep(every_s)


def collect_artifacts(reader: Reader, data_dir: Path, now_ms: int) -> Collected:
    """Removes what no record refers to any more, in every project's folder.

    Nothing is removed where it is not certain what is referred to: after any fault of the store (regression R15). Raises
    `StoreError`.
    """
    referenced: dict[str, set[str]] = {}
    for record in reader.artifacts(limit=_ALL):
        folder = artifact_folder(data_dir, project_digest(record.project) if record.project is not None else None)
        referenced.setdefault(folder.name, set()).add(record.sha256)
    files = size = 0
    folders = artifact_folder(data_dir, None).parent
    if reader.problems() or not folders.is_dir():
        return Collected(0, 0)
    for folder in folders.iterdir():
        collected = ArtifactFiles(folder).collect(referenced.get(folder.name, set()), now_ms)
        files, size = files + collected.files, size + collected.size_bytes
    return Collected(files, size)
