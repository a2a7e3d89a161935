"""`ullage eval bench`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.evals.test_bench import write
from ullage.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def test_every_method_is_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "bench", str(write(tmp_path / "made")), "--limits", "50, 900"]) == 0
    screen = capsys.readouterr().out
    assert "set   method" in screen
    assert "made  plan: pins and tail" in screen
    assert "newest turn" in screen


def test_the_data_has_all_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "bench", str(write(tmp_path / "made")), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert {score["limit"] for score in scores} == {4_000, 8_000, 32_000}
    assert scores[0]["recall"] == 1.0


@pytest.mark.parametrize("limits", ["", "many", "-5", "1.5"])
def test_limits_are_whole_numbers(limits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "bench", str(write(tmp_path / "made")), "--limits", limits]) == 2
    assert "names no limits" in capsys.readouterr().err


def test_a_folder_without_a_set_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "bench", str(tmp_path)]) == 1
    assert "holds no set of cases" in capsys.readouterr().err
