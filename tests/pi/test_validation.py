"""The five scenarios of `validation.py` with the newest Pi; skipped where it is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pi.host import NEWEST
from tests.pi.validation import SCENARIOS, run


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_shows_what_it_should(name: str, tmp_path: Path) -> None:
    report = run(name, NEWEST, tmp_path / "pi")
    assert report.checks and report.passed, "\n".join(report.lines())
