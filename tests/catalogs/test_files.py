"""Our files in the cache folder: private, whole, and never trusted to be readable."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ullage.catalogs.files import FORMAT, LITELLM_FILE, make_file, read_bytes, read_catalogue, write_bytes
from ullage.core.profiles import ModelFacts

FACTS = ModelFacts(context_window=8_192)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = make_file({"p": {"m": FACTS}}, as_of="2026-11-30", checked_ms=7, aliases={"p": {"n": "m"}}, valid_until_ms=9)
    write_bytes(tmp_path / LITELLM_FILE, msgspec.json.encode(file))
    catalogue = read_catalogue(tmp_path / LITELLM_FILE)
    assert catalogue is not None
    assert (catalogue.file.as_of, catalogue.file.checked_ms, catalogue.file.valid_until_ms) == ("2026-11-30", 7, 9)
    assert (catalogue.rows("p"), catalogue.rows("q")) == ({"m": FACTS}, {})
    assert catalogue.file.aliases == {"p": {"n": "m"}}


def test_a_file_is_only_the_user_s_and_replaces_the_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file.json"
    write_bytes(path, b"old")
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


def test_a_write_that_fails_leaves_the_old_file_and_no_scraps(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.json"
    path.mkdir(parents=True)
    (path / "held").touch()
    with pytest.raises(OSError):
        write_bytes(path, b"new")
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"as_of": "2026-11-30"}',
        f'{{"format": {FORMAT + 1}, "as_of": "", "checked_ms": 1, "providers": {{}}}}'.encode(),
    ],
)
def test_a_file_that_is_not_ours_counts_as_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / LITELLM_FILE
    path.write_bytes(data)
    assert read_catalogue(path) is None


def test_rows_that_cannot_be_read_count_as_none(tmp_path: Path) -> None:
    path = tmp_path / LITELLM_FILE
    path.write_bytes(b'{"as_of": "", "checked_ms": 1, "providers": {"p": {"m": {"context_window": "many"}}}}')
    catalogue = read_catalogue(path)
    assert catalogue is not None
    assert catalogue.rows("p") == {}


def test_what_is_missing_is_nothing(tmp_path: Path) -> None:
    assert read_bytes(tmp_path / "none") is None
    assert read_bytes(tmp_path) is None
