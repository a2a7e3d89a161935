"""Large tool results as files named by the SHA-256 of what they hold: written once, checked on every read.

One folder for each project, so that what is removed for one can never have been another's (planner specification, section 20.2,
regression R15).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

FOLDER = "artifacts"
USER_FOLDER = "user"
"""Of what belongs to no project."""

QUARANTINE = "quarantine"
"""Where a file is put that no longer holds what its name says."""

KEEP_MS = 24 * 60 * 60 * 1000
"""A younger file is not collected: what refers to it may still be on its way into the database."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHARD = re.compile(r"[0-9a-f]{2}")
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
# Absent where the system does not know them.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class Collected(NamedTuple):
    """What a collection removed."""

    files: int
    size_bytes: int


def artifact_folder(data_dir: Path, project: str | None) -> Path:
    """The folder of a project, which is named by the same digest as its database (`project` is that name), or of the user."""
    return data_dir / FOLDER / (project or USER_FOLDER)


class ArtifactFiles:
    """The objects in one folder. Every method raises `StoreError` for what the system does not allow; safe in any thread, and for
    several processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keeps these bytes and returns their digest. What is there already is checked and, if it is not sound, replaced."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        try:
            if self._find(path, digest) is None:
                _make_private(path.parent)
                _write(path, data)
            else:
                os.utime(path)  # a collection goes by it
        except OSError as error:
            raise StoreError(
                f"An artifact cannot be kept in {self._folder}: {error.strerror or error}.",
                hint="Check that the folder is yours and its disk has room.",
                code="artifact_not_kept",
            ) from error
        return digest

    def read(self, digest: str, *, most_bytes: int) -> bytes:
        """What is kept under a digest. Raises `StoreError` if there is nothing, more than `most_bytes`, or something else."""
        path = self._path(digest)
        try:
            size = path.lstat().st_size
            if size > most_bytes:
                raise StoreError(
                    f"The artifact has {size:,} bytes; {most_bytes:,} are read at most.",
                    hint="Raise artifacts.search_bytes.",
                    code="artifact_too_large",
                )
            data = self._find(path, digest)
        except FileNotFoundError:
            data = None
        except OSError as error:
            raise StoreError(f"The artifact {path} cannot be read: {error.strerror or error}.") from error
        if data is None:
            raise StoreError(
                f"The artifact {digest[:12]} is not in {self._folder}.",
                hint="It was collected, or damaged and set aside: run its tool again.",
                code="no_artifact",
            )
        return data

    def collect(self, referenced: Collection[str], now_ms: int) -> Collected:
        """Removes what is older than a day and not referenced, with drafts that a crash left and what was set aside.

        Call it only after everything that may refer to these files was read without a fault.
        """
        files = size = 0
        try:
            for path, digest in self._entries():
                status = path.lstat()
                if digest not in referenced and status.st_mtime * 1000 < now_ms - KEEP_MS:
                    path.unlink(missing_ok=True)
                    files, size = files + 1, size + status.st_size
        except OSError as error:
            raise StoreError(f"Artifacts in {self._folder} cannot be collected: {error.strerror or error}.") from error
        return Collected(files, size)

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise StoreError(f"{digest[:80]!r} is no digest of an artifact.", code="no_artifact")
        return self._folder / digest[:2] / digest

    def _entries(self) -> Iterator[tuple[Path, str | None]]:
        """Every file, with the digest it is named by; `None` for drafts and what was set aside."""
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            if folder.name == QUARANTINE or _SHARD.fullmatch(folder.name):
                for path in folder.iterdir():
                    is_object = folder.name != QUARANTINE and _DIGEST.fullmatch(path.name)
                    yield path, path.name if is_object else None

    def _find(self, path: Path, digest: str) -> bytes | None:
        """The bytes of an object; one that is damaged is set aside and not there any more."""
        try:
            descriptor = os.open(path, os.O_RDONLY | _NO_LINKS | _BINARY)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() == digest:
            return data
        aside = self._folder / QUARANTINE / digest
        _make_private(aside.parent)
        with contextlib.suppress(FileNotFoundError):  # another process was first
            path.replace(aside)
        return None


def _make_private(folder: Path) -> None:
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all, and durable when it is over."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS | _BINARY, _PRIVATE_FILE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes a rename durable, where the system lets a folder be synced: Windows does not (regression R30)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except PermissionError:
        return
