"""Writing files that matter to somebody: whole or not at all, through links, and with the mode they had."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from ullage.stores.files import make_folder

PRIVATE_FILE = 0o600


def write_file(path: Path, text: str) -> None:
    """Replaces a file in one step. A new one and the folders it needs are their owner's alone, an old one keeps its mode, and a
    link stays a link."""
    target = path.resolve()
    make_folder(target.parent)
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mode = PRIVATE_FILE
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode())
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def back_up(path: Path, text: str) -> Path:
    """Keeps a file's text beside it, for its owner alone. An older backup is never overwritten."""
    backup = path.with_name(f"{path.name}.ullage-backup")
    number = 2
    while backup.exists():
        backup = path.with_name(f"{path.name}.ullage-backup-{number}")
        number += 1
    write_file(backup, text)
    return backup
