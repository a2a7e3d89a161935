"""Aider's leaderboard as a source of capability: its rows, their days and its thresholds (routing specification, section 7)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ullage.core.routing.aider_rows import AS_OF, ROWS, THRESHOLDS
from ullage.core.routing.capability import capability_of
from ullage.core.routing.capability_rows import BENCHMARKS, DAYS, ORIGINS
from ullage.core.routing.models import ModelRecord

ROOT = Path(__file__).resolve().parents[3]


def test_every_row_has_its_own_day() -> None:
    found = capability_of(ModelRecord(provider="openai", id="o3"), source="aider")
    assert (found.score, found.as_of) == (81.3, "2025-06-25")
    assert max(DAYS["aider"].values()) == ORIGINS["aider"].as_of == AS_OF
    assert set(DAYS["aider"]) == set(BENCHMARKS["aider"])


def test_a_benchmark_without_days_of_its_own_has_that_of_the_source() -> None:
    assert capability_of(ModelRecord(provider="openai", id="gpt-5"), source="ramp").as_of == "2026-09-11"


def test_tiers_begin_three_and_then_twenty_points_below_the_best() -> None:
    best = max(rate for rate, _, _ in ROWS.values())
    assert [(best - least, tier) for least, tier in THRESHOLDS] == [(3.0, "frontier"), (23.0, "strong"), (43.0, "mid")]


@pytest.mark.parametrize("model", ["gpt-5-mini", "o3-deep-research", "gpt-4.1-2"])
def test_a_model_that_has_no_run_stays_unknown(model: str) -> None:
    found = capability_of(ModelRecord(provider="openai", id=model), source="aider")
    assert (found.overall, found.source) == ("unknown", "unknown")


@pytest.mark.shared
@pytest.mark.usefixtures("shared_data")
def test_the_rows_are_those_of_the_leaderboard() -> None:
    script = ROOT / "scripts" / "aider_rows.py"
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
