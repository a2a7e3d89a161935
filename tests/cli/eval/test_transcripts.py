"""`ullage eval transcripts`: what it prints, names and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.evals.sessions import growing
from ullage.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    Screen = pytest.CaptureFixture[str]


def call(capsys: Screen, *arguments: object) -> tuple[int, str, str]:
    status = main(["eval", "transcripts", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def call_json(capsys: Screen, *arguments: object) -> Any:
    status, out, err = call(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return msgspec.json.decode(out)


def test_a_folder_is_evaluated_and_every_method_stands_in_one_table(capsys: Screen, tmp_path: Path) -> None:
    growing(tmp_path / "one.jsonl")
    status, out, err = call(capsys, tmp_path)
    assert (status, err) == (0, "")
    for words in ("one.jsonl", "chars ÷ 4 + fitted constant", "last usage + o200k", "growth-v1", "What was learned"):
        assert words in out
    assert out.endswith("Not estimated from a last usage: 1 without a call before\n")


def test_calibrated_estimates_have_tables_of_their_own(capsys: Screen, tmp_path: Path) -> None:
    growing(tmp_path / "one.jsonl")
    growing(tmp_path / "short.jsonl", calls=5, session="t")
    _, out, _ = call(capsys, tmp_path)
    assert "ratio-v1 × o200k-base-v1" in out
    assert "files within 3%" in out
    result = call_json(capsys, tmp_path)
    [file] = result["calibrated"]
    assert [judgement["after"] for judgement in file["judgements"]] == [3, 5]
    assert set(file["judgements"][0]["ratio"]["chars-v1"]) == {"raw", "calibrated", "uncalibrated"}
    assert set(file["judgements"][0]["growth"]) == {"calls", "median", "p90"}
    assert [left_out["reason"] for left_out in result["uncalibrated"]] == ["fewer than 8 trusted calls: 5"]


def test_json_has_the_figures_unrounded(capsys: Screen, tmp_path: Path) -> None:
    growing(tmp_path / "one.jsonl")
    result = call_json(capsys, tmp_path)
    scores = result["pooled"]["all"]["growth-v1"]
    assert scores["calls"] == result["transcripts"][0]["judged"] == 11
    assert set(scores) == {"calls", "mae", "median_ae", "p90_ae", "mape", "median_ape", "bias", "missed"}
    assert result["summary"]["o200k"]["transcripts"] == 1
    assert result["laws"][0]["model"] == "gpt-5.6-sol"


def test_files_left_out_are_named_on_standard_error(capsys: Screen, tmp_path: Path) -> None:
    growing(tmp_path / "good.jsonl")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"note": "hello"}\n' * 100)
    status, out, err = call(capsys, tmp_path)
    assert status == 0
    assert str(bad) not in out
    assert err.startswith(f"ullage: left out {bad}: is no session of a known client: ")


def test_files_left_out_are_part_of_the_json(capsys: Screen, tmp_path: Path) -> None:
    growing(tmp_path / "one.jsonl")
    growing(tmp_path / "two.jsonl")
    skipped = call_json(capsys, tmp_path)["skipped"]
    assert skipped == [{"path": str(tmp_path / "two.jsonl"), "reason": f"same content as {tmp_path / 'one.jsonl'}"}]


def test_shorter_transcripts_can_be_left_out(capsys: Screen, tmp_path: Path) -> None:
    growing(tmp_path / "one.jsonl", calls=5)
    status, out, _ = call(capsys, tmp_path, "--min-calls", 6)
    assert (status, out) == (1, "No session among these has calls to measure by.\n")


def test_a_folder_without_sessions_is_what_is_wrong(capsys: Screen, tmp_path: Path) -> None:
    status, out, _ = call(capsys, tmp_path)
    assert (status, out) == (1, "No session among these has calls to measure by.\n")


@pytest.mark.parametrize("arguments", [[], ["/no/such/folder"], ["--min-calls", "1", "."]], ids=str)
def test_a_wrong_call_is_told(capsys: Screen, arguments: list[str]) -> None:
    status, out, err = call(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("ullage: ")


def test_no_bar_is_drawn_where_nobody_looks(capsys: Screen, tmp_path: Path) -> None:
    growing(tmp_path / "one.jsonl")
    assert call(capsys, tmp_path)[2] == ""
