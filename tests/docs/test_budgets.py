"""The page on limits: its settings are settings, its rules those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ullage.core.spend.ledger import ACTIONS, DEFAULT_ON_EXCEED, RESERVATION_MS
from ullage.core.spend.worst import likely_most
from ullage.settings import load_file
from ullage.stores.files import BUSY_TIMEOUT_S
from ullage.stores.upkeep import SPEND_KEEP_MS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "budgets.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    assert load_file(file).problems == ()


def test_every_action_is_told() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| ", PAGE, re.MULTILINE)) - {"on_exceed"} == set(ACTIONS) - {"allow"}
    assert f'"{DEFAULT_ON_EXCEED}" if nothing is said' in PAGE


def test_the_figures_are_those_of_the_code() -> None:
    text = PAGE.replace("\n", " ")
    assert likely_most(100) == 115 and "15 % for its errors" in text
    assert RESERVATION_MS == 3_600_000 and "after an hour it is told as an estimate" in text
    assert BUSY_TIMEOUT_S == 5 and "locked for five seconds" in text
    assert SPEND_KEEP_MS >= 62 * 86_400_000 and "kept for two months at least" in text
