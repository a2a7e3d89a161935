"""Artifacts that nobody refers to are removed, and no others."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from ullage.core.errors import StoreError
from ullage.core.evidence.artifacts import make_artifact
from ullage.engine.collecting import collect_artifacts, keep_collected
from ullage.engine.trimming import open_artifacts
from ullage.sources.artifacts import KEEP_MS
from ullage.stores import ArtifactRecord, MemoryStore

NOW_MS = 1_800_000_000_000
LONG = "some line of an output\n" * 2_000


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def age(tmp_path: Path) -> None:
    for path in (tmp_path / "artifacts").rglob("*"):
        os.utime(path, (0, (NOW_MS - 2 * KEEP_MS) / 1000))


def stored(tmp_path: Path) -> int:
    return len([path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()])


def keep_one(store: MemoryStore, data_dir: Path, root: str, text: str = LONG) -> None:
    """An artifact of a project with the record of its use."""
    artifact = make_artifact(text)
    open_artifacts(data_dir, root).put(text.encode())
    store.put_artifact(
        ArtifactRecord(
            id=artifact.id,
            session="s1",
            project=root,
            used_ms=NOW_MS,
            sha256=artifact.sha256,
            size_bytes=artifact.size_bytes,
            chars=artifact.chars,
        )
    )


def test_a_collection_removes_in_each_project_what_its_records_do_not_name(store: MemoryStore, tmp_path: Path) -> None:
    """Regression R15: the same content stays where it is referred to, whatever another project refers to."""
    keep_one(store, tmp_path, "/code/a")
    open_artifacts(tmp_path, "/code/b").put(LONG.encode())
    open_artifacts(tmp_path, None).put(b"forgotten")
    age(tmp_path)
    assert collect_artifacts(store, tmp_path, NOW_MS) == (2, len(LONG) + 9)
    digest = make_artifact(LONG).sha256
    assert open_artifacts(tmp_path, "/code/a").read(digest, most_bytes=10**6) == LONG.encode()
    assert collect_artifacts(store, tmp_path, NOW_MS) == (0, 0)


def test_nothing_is_collected_after_a_fault_of_the_store(store: MemoryStore, tmp_path: Path) -> None:
    keep_one(store, tmp_path, "/code/a")
    age(tmp_path)
    closed = MemoryStore()
    closed.close()
    with pytest.raises(StoreError):
        collect_artifacts(closed, tmp_path, NOW_MS)
    assert collect_artifacts(MemoryStore(problems=("no database",)), tmp_path, NOW_MS) == (0, 0)
    assert stored(tmp_path) == 1
    assert collect_artifacts(MemoryStore(), tmp_path, NOW_MS).files == 1


def test_where_no_artifact_was_ever_kept_there_is_nothing_to_collect(tmp_path: Path, store: MemoryStore) -> None:
    assert collect_artifacts(store, tmp_path, NOW_MS) == (0, 0)


def test_a_collection_that_the_system_does_not_allow_is_an_error_of_ours(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_artifacts(tmp_path, None).put(b"x")
    age(tmp_path)

    def unlink(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(StoreError, match="cannot be collected"):
        collect_artifacts(store, tmp_path, NOW_MS)


async def test_the_daemon_collects_now_and_then_and_outlives_a_fault(
    store: MemoryStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "ullage.engine")
    open_artifacts(tmp_path, None).put(b"one")
    age(tmp_path)
    task = asyncio.create_task(keep_collected(store, tmp_path, lambda: NOW_MS, first_s=0, every_s=0.01))
    while "no record names: 1, 3 bytes" not in caplog.text:
        await asyncio.sleep(0.01)
    assert stored(tmp_path) == 0
    store.close()
    while caplog.text.count("No artifact was removed") < 2:
        await asyncio.sleep(0.01)
    assert not task.done()
    task.cancel()
