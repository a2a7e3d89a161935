"""The page on spent providers, escalation and the classifier: its settings are settings, its figures those that are measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ullage.core.quota.view import STALE_AFTER_MS, WARNING_UVI
from ullage.core.routing.classifier import CONFIDENCE_THRESHOLD
from ullage.core.routing.mistakes import ROWS
from ullage.engine.classifying import HEAD_CHARS
from ullage.settings import load_file
from ullage.settings.routing import ClassifierSettings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "routing-trouble.md").read_text()
MEASURED = (ROOT / "tests" / "core" / "routing" / "test_mistakes.py").read_text()


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    assert load_file(file).problems == ()


def test_the_figures_of_the_settings_are_those_of_the_code() -> None:
    plain = ClassifierSettings()
    assert f"{HEAD_CHARS:,}" in PAGE.replace("\n", " ")
    assert f"{WARNING_UVI} if nothing is said" in PAGE
    assert STALE_AFTER_MS == 3_600_000 and "for an hour (`stale_after_ms`)" in PAGE
    assert plain.threshold == CONFIDENCE_THRESHOLD
    assert f"timeout_ms = {plain.timeout_ms} " in PAGE
    assert f"max_usd = {plain.max_usd} " in PAGE


def test_the_clients_named_are_those_whose_sentences_are_known() -> None:
    named = re.search(r"Sentences of (.*?) are known", PAGE, re.DOTALL)
    assert named is not None
    assert set(re.split(r", | and ", named[1])) == {row.client for row in ROWS} - {"a fork of Pi"}


def test_the_measured_figures_are_those_that_the_test_finds() -> None:
    [results] = re.findall(r"assert results == ([\d_]+)", MEASURED)
    [mistakes] = re.findall(r"assert len\(mistakes\) == ([\d_]+)", MEASURED)
    assert f"{int(results):,} results of tools, {int(mistakes)} were recognised" in PAGE.replace("\n", " ")
