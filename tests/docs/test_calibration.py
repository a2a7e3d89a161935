"""The page on calibration names what there is, and its settings are settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from ullage.core.calibration import DriftCode, Refusal, TuneStatus, Verdict
from ullage.settings import load_file

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "calibration.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
SCREEN = (ROOT / "tests" / "cli" / "golden" / "model.txt").read_text()


def first_cells(heading: str) -> set[str]:
    """The code words in the first column of the table under this head."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return {word for row in table.split("\n")[2:] for word in re.findall(r"`([^`]+)`", row.split("|")[1])}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    assert load_file(file).problems == ()


@pytest.mark.parametrize(
    ("heading", "names"), [("verdict", Verdict), ("reason", Refusal), ("code", DriftCode), ("status", TuneStatus)]
)
def test_every_word_of_the_reports_is_explained(heading: str, names: object) -> None:
    assert first_cells(heading) == set(get_args(names))


def test_the_screen_shown_is_one_that_the_command_prints() -> None:
    [shown] = [block for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if "calibration  " in block]
    assert [line for line in shown.splitlines() if line not in SCREEN.splitlines()] == []
