"""The settings shown in the how-to are settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ullage.core.accounting.heuristics import find_numerator
from ullage.settings import load_file

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "denominators.md"
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
NAMES = re.findall(
    r"`([a-z0-9-]+)`", PAGE.read_text().partition("| name | counts |")[2].partition("A template is filled")[0]
)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    loaded = load_file(file)
    assert loaded.problems == ()
    assert loaded.settings.accounting.heuristics != type(loaded.settings.accounting.heuristics)()


def test_every_shape_that_is_named_is_known() -> None:
    shapes = set(NAMES) - {"inspector-v1", "inspector-v2"}
    assert len(shapes) > 12
    assert not [name for name in shapes if "unknown" in find_numerator(name, 4, {}).method]
