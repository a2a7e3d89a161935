"""The control token is kept whole, private and never empty."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Self

import pytest

from ullage.gateway.token import load_token, make_token


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "token"
    token = load_token(file)
    assert len(token) == 43
    assert load_token(file) == token == file.read_text()
    assert (mode(file), mode(file.parent), mode(file.parent.parent)) == (0o600, 0o700, 0o700)
    assert [entry.name for entry in file.parent.iterdir()] == ["token"]


def test_tokens_differ() -> None:
    assert len({make_token() for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"short", b"x" * 42, b"\xff" * 43, b"spaces in the middle of it".ljust(43)]
)
def test_what_cannot_be_a_token_is_replaced(content: bytes, tmp_path: Path) -> None:
    """An empty one would let everybody in."""
    file = tmp_path / "token"
    file.write_bytes(content)
    token = load_token(file)
    assert file.read_text() == token != content.decode("latin-1")


def test_a_token_with_a_line_end_is_that_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token = make_token()
    file.write_text(token + "\n")
    assert load_token(file) == token


def test_rights_of_others_are_taken_away(tmp_path: Path) -> None:
    file = tmp_path / "token"
    token = load_token(file)
    file.chmod(0o644)
    assert load_token(file) == token
    assert mode(file) == 0o600


def test_a_full_disk_leaves_no_empty_token_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __init__(self, descriptor: int, _mode: str) -> None:
            self._descriptor = descriptor

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            os.close(self._descriptor)

        def write(self, _text: str) -> Any:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ullage.gateway.token.os.fdopen", Full)
    with pytest.raises(OSError, match="No space"):
        load_token(tmp_path / "data" / "token")
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        load_token(tmp_path / "file" / "token")
