"""The page on models: its settings are settings, and what it says of real models holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ullage.catalogs.files import GENAI_FILE, LITELLM_FILE, REPORTED_FOLDER
from ullage.core.profiles import resolve_profile
from ullage.settings import load_file

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "models.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0])
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    loaded = load_file(file)
    assert loaded.problems == ()
    assert loaded.settings.models != type(loaded.settings.models)()


def test_the_overrides_do_what_the_page_says(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(BLOCKS[0])
    overrides = load_file(file).settings.models.overrides
    local = resolve_profile("127.0.0.1:8080", "qwen3", overrides=overrides)
    assert (local.context_window, local.safety_margin_tokens, local.prices.input) == (32_768, 2_048, 0.0)
    assert resolve_profile("openrouter", "vendor/model", overrides=overrides).context_window == 200_000


def test_every_file_is_named() -> None:
    assert all(f"`{name}`" in PAGE for name in (LITELLM_FILE, GENAI_FILE, f"{REPORTED_FOLDER}/"))
