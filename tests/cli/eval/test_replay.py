"""`ullage eval replay`: what it prints, names and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.evals.replaying import talking
from ullage.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    Screen = pytest.CaptureFixture[str]


def call(capsys: Screen, *arguments: object) -> tuple[int, str, str]:
    status = main(["eval", "replay", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def call_json(capsys: Screen, *arguments: object) -> Any:
    status, out, err = call(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return msgspec.json.decode(out)


def test_a_folder_is_replayed_and_policies_stand_in_one_table(capsys: Screen, tmp_path: Path) -> None:
    talking(tmp_path / "one.jsonl", turns=9)
    status, out, err = call(capsys, tmp_path, "--tail", 3_000)
    assert (status, err) == (0, "")
    for text in ("as-recorded", "sliding", "epoch-v1", "auto", "claude-opus-4-5", "All clients", "by cause"):
        assert text in out


def test_json_has_every_figure(capsys: Screen, tmp_path: Path) -> None:
    talking(tmp_path / "one.jsonl", turns=9)
    result = call_json(capsys, tmp_path, "--tail", 3_000, "--window", 50_000)
    assert (result["tail"], result["window"]) == (3_000, 50_000)
    [trace] = result["traces"]
    assert trace["window"] == 50_000
    assert result["pooled"]["all"]["auto"]["calls"] == 45


def test_one_policy_stands_beside_the_sliding_tail(capsys: Screen, tmp_path: Path) -> None:
    talking(tmp_path / "one.jsonl")
    result = call_json(capsys, tmp_path, "--policy", "auto", "--tail", 3_000)
    assert set(result["traces"][0]["policies"]) == {"sliding", "auto"}


def test_sessions_within_the_tail_are_said_to_be_so(capsys: Screen, tmp_path: Path) -> None:
    talking(tmp_path / "one.jsonl")
    status, out, _ = call(capsys, tmp_path)
    assert status == 0
    assert "No history among these is longer than the tail of 64,000 tokens" in out


def test_files_that_are_no_sessions_are_named_and_the_status_says_so(capsys: Screen, tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"note": "hello"}\n' * 100)
    status, out, err = call(capsys, tmp_path)
    assert status == 1
    assert "notes.jsonl" in err
    assert "hint:" in err
    assert "No session among these has calls to replay." in out


@pytest.mark.parametrize("arguments", [["--policy", "best"], ["--tail", "-1"], ["--window", "0"], []])
def test_a_wrong_call_is_one(capsys: Screen, tmp_path: Path, arguments: list[str]) -> None:
    assert call(capsys, *([tmp_path, *arguments] if arguments else []))[0] == 2
