"""Which files an evaluation takes (accounting specification, section 16.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ullage.core.errors import CallError
from ullage.evals.files import SMALLEST_BYTES, find_files

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, fill: str = "a", size: int = SMALLEST_BYTES + 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(fill * size)
    return path


def test_recordings_are_found_at_any_depth_in_the_order_of_their_names(tmp_path: Path) -> None:
    deep, flat = write(tmp_path / "a" / "b" / "c.jsonl", "c"), write(tmp_path / "z.json", "z")
    write(tmp_path / "notes.txt", "n")
    assert find_files([tmp_path]).paths == (deep, flat)


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path: Path) -> None:
    named = write(tmp_path / "session.log")
    assert find_files([named]).paths == (named,)


def test_files_of_a_kilobyte_hold_no_conversation(tmp_path: Path) -> None:
    write(tmp_path / "small.jsonl", size=SMALLEST_BYTES)
    assert find_files([tmp_path]).paths == ()


def test_a_second_file_with_the_same_content_is_left_out_and_named(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl")
    write(tmp_path / "two.jsonl")
    found = find_files([tmp_path])
    assert found.paths == (first,)
    assert [(skipped.path, skipped.reason) for skipped in found.skipped] == [
        (str(tmp_path / "two.jsonl"), f"same content as {first}")
    ]


def test_a_file_that_is_reached_by_two_ways_is_one_file(tmp_path: Path) -> None:
    file = write(tmp_path / "folder" / "one.jsonl")
    (tmp_path / "folder" / "link.jsonl").symlink_to(file)
    found = find_files([tmp_path / "folder", file, tmp_path])
    assert (len(found.paths), found.skipped) == (1, ())


def test_a_path_that_is_not_there_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="gone"):
        find_files([tmp_path / "gone"])
