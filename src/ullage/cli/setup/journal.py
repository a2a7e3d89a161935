"""What setup has written for a client and what was there before: enough to take back its own keys and nothing else."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ullage.core.errors import InputError

from .files import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from .formats import Key


class KeyRecord(Struct, frozen=True, kw_only=True):
    """One key that was set. `before` is its source in the file as it was, `kept` how many parts of the key were there."""

    key: list[str]
    wrote: str
    before: str | None
    kept: int


class FileRecord(Struct, frozen=True, kw_only=True):
    """One file that was edited. `backup` is empty if there was no file before.

    `digest` is that of the file as we left it, as long as that is the backup with our keys and nothing else: then the backup can
    be put back to the byte.
    """

    file: str
    format: str
    backup: str
    digest: str
    keys: list[KeyRecord]

    def find(self, key: Key) -> KeyRecord | None:
        return next((record for record in self.keys if record.key == list(key)), None)


class Journal(Struct, frozen=True, kw_only=True):
    """Everything that setup has written for one client and not taken back."""

    client: str
    url: str
    files: list[FileRecord]

    def find(self, file: Path) -> FileRecord | None:
        return next((record for record in self.files if record.file == str(file)), None)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def journal_path(data_dir: Path, client: str) -> Path:
    return data_dir / "setup" / f"{client}.json"


def load_journal(data_dir: Path, client: str) -> Journal | None:
    """What was written for a client and not taken back. Raises `InputError` for a record that cannot be read."""
    path = journal_path(data_dir, client)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Journal)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            f"{path} cannot be read: {error}.",
            hint="It says what setup changed. Without it, restore the *.ullage-backup file by hand and delete the record.",
        ) from error


def save_journal(data_dir: Path, journal: Journal) -> None:
    path = journal_path(data_dir, journal.client)
    write_file(path, msgspec.json.format(msgspec.json.encode(journal), indent=2).decode() + "\n")


def drop_journal(data_dir: Path, client: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        journal_path(data_dir, client).unlink()
