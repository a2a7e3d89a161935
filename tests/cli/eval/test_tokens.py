"""`ullage eval tokens`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.evals.test_tokens import line
from ullage.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    path = tmp_path / "counted.jsonl"
    path.write_bytes(b"\n".join([line(), line(tokens=10), b"{", b"{"]))
    return path


def test_every_group_is_a_row_and_bad_lines_are_named(counted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "tokens", str(counted)]) == 0
    screen, notes = capsys.readouterr()
    rows = [row.split() for row in screen.splitlines()]
    assert ["openai", "<", "2k", "text", "2"] in [row[:5] for row in rows]
    assert ["all", "2"] in [row[:2] for row in rows]
    assert notes.startswith("ullage: left out 2 lines, 3 the first: ")


def test_rows_are_by_what_is_asked_for(counted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "tokens", str(counted), "--by", "family, model"]) == 0
    assert any(row.split()[:3] == ["gpt-4o", "gpt-4o", "2"] for row in capsys.readouterr().out.splitlines())


def test_the_data_has_all_figures(counted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "tokens", str(counted), "--json"]) == 0
    data = msgspec.json.decode(capsys.readouterr().out)
    assert data["all"]["cases"] == 2
    assert [group["group"] for group in data["groups"]] == [{"provider": "openai", "size": "< 2k", "kind": "text"}]
    assert [one["line"] for one in data["skipped"]] == [3, 4]


@pytest.mark.parametrize("by", ["colour", ""])
def test_rows_by_something_unknown_are_a_wrong_call(by: str, counted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "tokens", str(counted), "--by", by]) == 2
    assert "provider, model, family, kind, size" in capsys.readouterr().err


def test_a_file_that_is_not_there_or_holds_no_case_ends_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "tokens", str(tmp_path / "none.jsonl")]) == 1
    assert "cannot be read" in capsys.readouterr().err
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert main(["eval", "tokens", str(empty)]) == 1
    assert "No line of this file" in capsys.readouterr().out


def test_a_file_without_cases_says_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "empty.jsonl"
    file.touch()
    assert main(["eval", "tokens", str(file)]) == 1
    assert "hint: Give a file" in capsys.readouterr().err
