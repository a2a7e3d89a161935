"""`ullage eval routing`: what it prints, names and returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tests.evals.outcomes import write_folder
from ullage.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    Screen = pytest.CaptureFixture[str]


def test_tables_and_plain_sentences_are_printed(tmp_path: Path, capsys: Screen) -> None:
    folder = write_folder(tmp_path / "data")
    (folder / "gsm8k_two_models.jsonl").unlink()
    status = main(["eval", "routing", str(folder)])
    printed = capsys.readouterr()
    assert status == 1  # the made-up totals are not the published ones
    assert "has no gsm8k_two_models, which is left out" in printed.err
    assert "swe_bench_verified: 40 tasks, spend in USD" in printed.out
    assert "not to be told" in printed.out
    assert printed.out.rstrip().endswith("automatic downgrades stay off by default.")


def test_the_data_has_all_figures(tmp_path: Path, capsys: Screen) -> None:
    main(["eval", "routing", str(write_folder(tmp_path / "data")), "--json"])
    data = msgspec.json.decode(capsys.readouterr().out)
    assert data["downgrades"] is False
    assert {one["name"] for one in data["sets"]} == {
        "swe_bench_verified",
        "llmrouter_nine_models",
        "gsm8k_two_models",
    }
    assert len(data["sets"][0]["methods"][0]["against_spend"]["interval"]) == 2


def test_a_folder_without_outcomes_is_told(tmp_path: Path, capsys: Screen) -> None:
    assert main(["eval", "routing", str(tmp_path)]) == 1
    assert "holds no outcomes of models" in capsys.readouterr().err
