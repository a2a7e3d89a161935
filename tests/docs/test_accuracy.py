"""What the manual says of accuracy is what the code measures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ullage.core.calibration import TUNING
from ullage.core.profiles.fitted import DATE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("script", ["accuracy_report.py", "payload_report.py"])
def test_the_measured_tables_are_up_to_date(script: str) -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.shared
@pytest.mark.slow
def test_the_constants_are_what_the_data_says(shared_data: Path) -> None:
    data = shared_data / "token_ground_truth.jsonl"
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "fit_constants.py"), str(data), "--date", DATE],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_constants_in_force_are_those_that_the_manual_says_were_chosen() -> None:
    page = (ROOT / "docs" / "reference" / "accuracy.md").read_text()
    text, output, items, calls = TUNING.trust
    told = (
        f"In force: window {TUNING.window}, trust in k {text:,.0f} tokens, in b {output:,.0f}, in each {items:g} items, "
        f"in a {calls:g} calls."
    )
    assert told in page
