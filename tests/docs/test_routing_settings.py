"""The page on settings of routing: its examples are settings without problems, and its tables are true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ullage.settings import load_file
from ullage.settings.credentials import KEY_VARIABLES
from ullage.settings.routing_checks import tighten
from ullage.settings.well_known import WELL_KNOWN

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "routing-settings.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    assert load_file(file).problems == ()


def test_all_examples_together_are_one_too(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("\n".join(BLOCKS))
    loaded = load_file(file)
    assert loaded.problems == ()
    assert loaded.settings.routing.rules[0].when.kinds == ("debug",)


def test_the_table_of_providers_is_the_one_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \| (`[A-Z].*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    told = {name: (re.findall("`(.*?)`", keys), re.findall("`(.*?)`", dialects)) for name, keys, dialects in rows}
    assert told == {name: (list(keys), list(WELL_KNOWN[name].dialects)) for name, keys in KEY_VARIABLES.items()}
    assert all(f"`{name}`" in PAGE for name in WELL_KNOWN)


def test_the_table_of_addresses_is_the_one_of_the_code() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| `(https:.*?)` \| `([A-Z_]+)` \| (.*?) \|$", PAGE, re.MULTILINE)
    told = {name: (url, f"env:{key}", tuple(re.findall("`(.*?)`", dialects))) for name, url, key, dialects in rows}
    accounts = {name: known for name, known in WELL_KNOWN.items() if not known.root}
    assert told == {name: (known.example, known.key, known.dialects) for name, known in accounts.items()}


def test_a_project_tightens_as_the_table_says() -> None:
    rows = re.findall(r"^\| (.*?) \| `(\[.*?\])` \| `(\[.*?\])` \| `(\[.*?\])` \|$", PAGE, re.MULTILINE)
    assert len(rows) == 2
    for names, *lists in rows:
        user, project, holds = (tuple(ast.literal_eval(one)) for one in lists)
        for name in re.findall("`(.*?)`", names):
            key = "routing.models" if name == "models" else f"routing.constraints.{name}"
            assert tighten(key, project, user) == holds
