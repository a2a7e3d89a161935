"""`ullage eval tasks`: what it prints, names and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.evals.test_tasks import lines, runs
from ullage.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    Screen = pytest.CaptureFixture[str]


def call(path: Path, records: list[dict[str, Any]], capsys: Screen, *more: str) -> tuple[int, str, str]:
    file = path / "runs.jsonl"
    file.write_bytes(lines(records))
    status = main(["eval", "tasks", str(file), *more])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_both_arms_are_told_with_the_odds(tmp_path: Path, capsys: Screen) -> None:
    status, out, err = call(tmp_path, runs([True] * 6, [False] * 6), capsys)
    assert (status, err) == (0, "")
    assert "6 of 6" in out
    assert "6 accepted of the router only, 0 of the baseline only; McNemar's exact p 0.03125" in out
    assert "cost 1.000 times the baseline's (95 %: 1.000 to 1.000, 10,000 paired draws)" in out
    assert "12 runs at 1 revision, as they were handed in" in out


def test_a_run_that_is_missing_is_named_with_status_two(tmp_path: Path, capsys: Screen) -> None:
    status, out, err = call(tmp_path, runs([True], [True])[:1], capsys)
    assert (status, out) == (2, "")
    assert "t0 at r1 has 0 runs of the baseline" in err


def test_a_line_that_cannot_be_read_is_the_files_fault(tmp_path: Path, capsys: Screen) -> None:
    status, _, err = call(tmp_path, [{"taskId": "t"}], capsys)
    assert status == 1
    assert "line 1" in err


def test_a_cost_that_is_not_known_suppresses_that_block_and_is_no_failure(tmp_path: Path, capsys: Screen) -> None:
    records = runs([True], [True])
    records[0]["costUsd"] = None
    status, out, _ = call(tmp_path, records, capsys)
    assert status == 0
    assert "Cost: suppressed, 1 run does not say what they cost." in out
    assert "McNemar" in out


def test_an_acceptance_that_is_not_known_suppresses_the_other(tmp_path: Path, capsys: Screen) -> None:
    records = runs([True], [True])
    records[0]["accepted"] = None
    _, out, _ = call(tmp_path, records, capsys)
    assert "Quality: suppressed, 1 run does not say whether they were accepted." in out
    assert "times the baseline's" in out


def test_a_baseline_without_cost_has_no_ratio(tmp_path: Path, capsys: Screen) -> None:
    records = runs([True], [True])
    records[1]["costUsd"] = 0
    assert "Cost: no ratio, the baseline cost nothing." in call(tmp_path, records, capsys)[1]


def test_runs_that_are_made_up_are_marked_first(tmp_path: Path, capsys: Screen) -> None:
    records = [{**record, "synthetic": True} for record in runs([True], [True])]
    assert call(tmp_path, records, capsys)[1].startswith("SYNTHETIC: 2 of 2 runs are made up")


def test_the_data_says_what_was_suppressed(tmp_path: Path, capsys: Screen) -> None:
    records = runs([True, False], [True, True])
    records[0]["costUsd"] = None
    status, out, err = call(tmp_path, records, capsys, "--json")
    data = msgspec.json.decode(out)
    assert (status, err) == (0, "")
    assert data["cost"]["suppressed"] is True
    assert data["quality"] == {"router_only": 0, "baseline_only": 1, "p": 1.0}
    assert len(data["provenance"]["sha256"]) == 12
