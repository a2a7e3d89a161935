"""`/context artifacts`: the long tool results of the session that are kept aside, and whether they are still there."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ullage.cli import records
from ullage.cli.db.places import size
from ullage.cli.records import ago, open_records, print_lines, table
from ullage.core.errors import StoreError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.settings import Loaded
    from ullage.stores import ArtifactRecord

    from .asked import Asked

MOST = 50
"""References that are told of (planner specification, section 31)."""


def show_artifacts(asked: Asked) -> int:
    """Where they lie, how many and how large, what is missing, what the newest one spares, and each of them."""
    from ullage.settings import load_settings

    loaded = load_settings()
    kept = open_records().artifacts(asked.session, limit=records.MATCHES) if asked.session else []
    print_lines(_lines(kept, loaded))
    return 0


def find_lost(kept: Sequence[ArtifactRecord], loaded: Loaded) -> list[ArtifactRecord]:
    """Those whose text is not there any more, or is not what it was; of the newest that are told of."""
    from ullage.engine.trimming import open_artifacts

    lost = []
    for one in kept[:MOST]:
        files = open_artifacts(loaded.paths.data_dir, one.project)
        try:
            files.read(one.sha256, most_bytes=loaded.settings.artifacts.object_bytes)
        except StoreError:
            lost.append(one)
    return lost


def _lines(kept: Sequence[ArtifactRecord], loaded: Loaded) -> Iterator[str]:
    from ullage.sources.artifacts import artifact_folder
    from ullage.stores.places import project_digest

    by_project: dict[str | None, list[ArtifactRecord]] = defaultdict(list)
    for one in kept:
        by_project[one.project].append(one)
    if not kept:
        yield "No tool result of this session is kept aside."
        return
    for project in by_project:
        digest = project_digest(project) if project is not None else None
        yield safe(f"store       {artifact_folder(loaded.paths.data_dir, digest)}")
    objects = {one.sha256: one.size_bytes for one in kept}
    yield f"objects     {len(objects):,}, {size(sum(objects.values()))}"
    yield f"references  {len(kept):,}"
    lost = find_lost(kept, loaded)
    yield f"missing     {len(lost):,}{' or corrupt: run their tools again' if lost else ''}"
    newest = kept[0]
    if newest.tokens_before is not None and newest.tokens_after is not None:
        yield f"latest      ~{newest.tokens_before:,} tokens became ~{newest.tokens_after:,}"
    yield ""
    yield from _rows(kept[:MOST], {one.id for one in lost})
    if len(kept) > MOST:
        yield f"… {len(kept) - MOST:,} more"


def _rows(kept: Sequence[ArtifactRecord], lost: set[str]) -> list[str]:
    now = records.now_ms()
    rows = [
        (
            one.id[:12],
            one.tool or "-",
            f"{one.size_bytes:,}",
            "-" if one.tokens_before is None else f"~{one.tokens_before:,}",
            "-" if one.tokens_after is None else f"~{one.tokens_after:,}",
            "missing" if one.id in lost else "error" if one.is_error else "ok",
            ago(one.used_ms, now),
        )
        for one in kept
    ]
    return table(("id", "tool", "bytes", "tokens", "sent as", "state", "last sent"), rows, right=(2, 3, 4))
