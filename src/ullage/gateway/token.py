"""The control token: random, in a file that only its owner can read, made on first use."""

from __future__ import annotations

import os
import re
import secrets
from typing import TYPE_CHECKING

from ullage.stores.files import make_folder

if TYPE_CHECKING:
    from pathlib import Path

# What `make_token` makes; nothing shorter is let in, least of all the empty file that a full disk leaves behind.
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}\n?")


def make_token() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def token_path(data_dir: Path) -> Path:
    """The file that holds it."""
    return data_dir / "token"


def is_token(content: bytes) -> bool:
    """Whether a file with this content holds a token that is let in."""
    return _TOKEN.fullmatch(content) is not None


def load_token(file: Path) -> str:
    """The token in `file`. Where there is none, or none that can be used, a fresh one is put there whole or not at all.

    Raises `OSError` if the file can be neither read nor made.
    """
    found = _find_token(file)
    if found is None:
        make_folder(file.parent)
        _write(file, make_token())
        found = _find_token(file)
    if found is None:
        raise OSError(f"{file} does not hold what was written to it")
    return found


def _find_token(file: Path) -> str | None:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    if not is_token(content):
        return None
    if file.stat().st_mode & 0o077:
        file.chmod(0o600)
    return content.decode().strip()


def _write(file: Path, token: str) -> None:
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(token)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
