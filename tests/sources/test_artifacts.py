"""Artifacts on disk: private, durable, checked on every read, collected with care."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ullage.core.errors import StoreError
from ullage.sources.artifacts import KEEP_MS, ArtifactFiles, artifact_folder

NOW_MS = 1_800_000_000_000
TEXT = b"a large tool result\n" * 1_000
MOST = 50_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return artifact_folder(tmp_path / "data", "0" * 32)


@pytest.fixture
def files(folder: Path) -> ArtifactFiles:
    return ArtifactFiles(folder)


def path_of(folder: Path, data: bytes) -> Path:
    digest = hashlib.sha256(data).hexdigest()
    return folder / digest[:2] / digest


def age(path: Path, ms: int) -> None:
    os.utime(path, (0, (NOW_MS - ms) / 1000))


def test_what_was_put_is_read_again_by_its_digest(files: ArtifactFiles, folder: Path) -> None:
    digest = files.put(TEXT)
    assert digest == hashlib.sha256(TEXT).hexdigest()
    assert files.read(digest, most_bytes=MOST) == TEXT
    assert path_of(folder, TEXT).read_bytes() == TEXT


def test_folders_and_files_are_their_owners_alone(files: ArtifactFiles, folder: Path, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        files.put(TEXT)
    finally:
        os.umask(old)
    path = path_of(folder, TEXT)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for made in (path.parent, folder, folder.parent, tmp_path / "data"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_each_project_has_a_folder_of_its_own_and_the_user_another(tmp_path: Path) -> None:
    one, two, user = (artifact_folder(tmp_path, name) for name in ("a" * 32, "b" * 32, None))
    assert len({one, two, user}) == 3
    digest = ArtifactFiles(one).put(TEXT)
    with pytest.raises(StoreError, match="not in"):
        ArtifactFiles(two).read(digest, most_bytes=MOST)


def test_the_same_content_is_one_file_that_is_written_once(files: ArtifactFiles, folder: Path) -> None:
    files.put(TEXT)
    first = path_of(folder, TEXT).stat().st_ino
    files.put(TEXT)
    assert path_of(folder, TEXT).stat().st_ino == first
    assert len(list(folder.rglob("*"))) == 2


@pytest.mark.parametrize(
    "damage", [b"", TEXT[:-1], TEXT + b"x", b"x" + TEXT[1:]], ids=["empty", "short", "long", "flipped"]
)
def test_a_damaged_object_is_set_aside_and_written_again(damage: bytes, files: ArtifactFiles, folder: Path) -> None:
    digest = files.put(TEXT)
    path_of(folder, TEXT).write_bytes(damage)
    files.put(TEXT)
    assert files.read(digest, most_bytes=MOST) == TEXT
    assert (folder / "quarantine" / digest).read_bytes() == damage


def test_a_damaged_object_is_never_given_out(files: ArtifactFiles, folder: Path) -> None:
    digest = files.put(TEXT)
    path_of(folder, TEXT).write_bytes(b"something else")
    with pytest.raises(StoreError) as caught:
        files.read(digest, most_bytes=MOST)
    assert caught.value.code == "no_artifact"
    assert not path_of(folder, TEXT).exists()


def test_a_link_in_place_of_an_object_is_not_followed(files: ArtifactFiles, folder: Path, tmp_path: Path) -> None:
    digest = files.put(TEXT)
    other = tmp_path / "other"
    other.write_bytes(TEXT)
    path_of(folder, TEXT).unlink()
    path_of(folder, TEXT).symlink_to(other)
    with pytest.raises(StoreError):
        files.read(digest, most_bytes=MOST)


@pytest.mark.parametrize("digest", ["", "../../../etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "\n", "g" * 64])
def test_what_is_no_digest_names_no_file(digest: str, files: ArtifactFiles) -> None:
    with pytest.raises(StoreError) as caught:
        files.read(digest, most_bytes=MOST)
    assert caught.value.code == "no_artifact"


def test_what_is_not_there_is_said_with_what_to_do(files: ArtifactFiles) -> None:
    with pytest.raises(StoreError) as caught:
        files.read("a" * 64, most_bytes=MOST)
    assert (caught.value.code, caught.value.hint) == (
        "no_artifact",
        "It was collected, or damaged and set aside: run its tool again.",
    )


def test_an_object_beyond_the_limit_is_not_read(files: ArtifactFiles) -> None:
    digest = files.put(TEXT)
    assert files.read(digest, most_bytes=len(TEXT)) == TEXT
    with pytest.raises(StoreError) as caught:
        files.read(digest, most_bytes=len(TEXT) - 1)
    assert caught.value.code == "artifact_too_large"


def fail_for_folders(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    real: Callable[[int], None] = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise error
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize("number", [errno.EPERM, errno.EACCES])
def test_a_system_that_does_not_let_folders_be_synced_is_put_up_with(
    number: int, files: ArtifactFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression R30."""
    fail_for_folders(monkeypatch, OSError(number, os.strerror(number)))
    digest = files.put(TEXT)
    assert files.read(digest, most_bytes=MOST) == TEXT


def test_no_other_fault_of_a_folder_is_put_up_with(files: ArtifactFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_for_folders(monkeypatch, OSError(errno.EIO, os.strerror(errno.EIO)))
    with pytest.raises(StoreError, match="Input/output error"):
        files.put(TEXT)


def test_a_full_disk_leaves_no_draft_behind(
    files: ArtifactFiles, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StoreError) as caught:
        files.put(TEXT)
    assert caught.value.code == "artifact_not_kept"
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "artifacts").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be kept"):
        ArtifactFiles(artifact_folder(tmp_path, None)).put(TEXT)


def put_many(folder: Path) -> None:
    files = ArtifactFiles(folder)
    for number in range(50):
        files.put(b"%d" % number * 1_000)


def test_several_processes_may_put_the_same_things_at_once(folder: Path) -> None:
    processes = [multiprocessing.get_context("spawn").Process(target=put_many, args=(folder,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert len(found) == 50
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in found)


def test_what_nothing_refers_to_is_collected_once_it_is_a_day_old(files: ArtifactFiles, folder: Path) -> None:
    kept, young, old = (files.put(TEXT + bytes([number])) for number in range(3))
    age(path_of(folder, TEXT + b"\x00"), 10 * KEEP_MS)
    age(path_of(folder, TEXT + b"\x01"), KEEP_MS)
    age(path_of(folder, TEXT + b"\x02"), KEEP_MS + 1_000)
    assert files.collect({kept}, NOW_MS) == (1, len(TEXT) + 1)
    files.read(kept, most_bytes=MOST)
    files.read(young, most_bytes=MOST)
    with pytest.raises(StoreError):
        files.read(old, most_bytes=MOST)


def test_what_is_put_again_is_young_again(files: ArtifactFiles, folder: Path) -> None:
    files.put(TEXT)
    age(path_of(folder, TEXT), 10 * KEEP_MS)
    files.put(TEXT)
    assert files.collect(set(), int(path_of(folder, TEXT).stat().st_mtime * 1000) + 1).files == 0


def test_drafts_of_a_crash_and_what_was_set_aside_leave_with_age(files: ArtifactFiles, folder: Path) -> None:
    digest = files.put(TEXT)
    draft = path_of(folder, TEXT).with_name(f".{digest}.0123")
    draft.write_bytes(b"half")
    aside = folder / "quarantine" / digest
    aside.parent.mkdir()
    aside.write_bytes(b"bad")
    assert files.collect({digest}, int(draft.stat().st_mtime * 1000)).files == 0
    age(draft, 2 * KEEP_MS)
    age(aside, 2 * KEEP_MS)
    assert files.collect({digest}, NOW_MS) == (2, 7)
    assert files.read(digest, most_bytes=MOST) == TEXT


def test_a_collection_touches_no_file_that_is_not_ours(files: ArtifactFiles, folder: Path) -> None:
    files.put(TEXT)
    stranger = folder / "notes" / "mine.txt"
    stranger.parent.mkdir()
    stranger.write_text("x")
    age(stranger, 10 * KEEP_MS)
    files.collect(set(), NOW_MS)
    assert stranger.exists()


def test_there_is_nothing_to_collect_where_nothing_was_put(files: ArtifactFiles) -> None:
    assert files.collect(set(), NOW_MS) == (0, 0)
