"""The page on privacy: its settings are settings, and its examples come out as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ullage.core.privacy import CLASSES, Destination, PrivacySettings
from ullage.core.privacy.guard import PrivacyGuard
from ullage.core.wire import parse_request
from ullage.settings import load_file

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "privacy.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
ROWS = [row for row in re.findall(r"^\| `(.*?)` \| `(.*?)` \|$", PAGE, re.MULTILINE) if row[0] != "key"]


@pytest.mark.parametrize("block", BLOCKS, ids=["on", "providers"])
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    loaded = load_file(file)
    assert loaded.problems == ()
    assert loaded.settings.privacy.enabled


def test_the_providers_are_what_the_page_says(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(BLOCKS[1])
    guard = PrivacyGuard(load_file(file).settings.privacy)
    assert guard.destination(provider="127.0.0.1:8000", root="http://127.0.0.1:8000").kind == "local"
    assert guard.destination(provider="127.0.0.1:4000", root="http://127.0.0.1:4000").kind == "remote"
    assert guard.destination(provider="openrouter", root="https://openrouter.ai/api").allowed == ("normal",)
    assert "sensitive" in guard.destination(provider="llm.example.com", root="https://llm.example.com").allowed


@pytest.mark.parametrize(("before", "after"), ROWS)
def test_every_example_comes_out_as_shown(before: str, after: str) -> None:
    remote = Destination(kind="remote", provider="x", allowed=("normal", "internal"))
    body = json.dumps({"messages": [{"role": "user", "content": before}]}).encode()
    prepared = PrivacyGuard(PrivacySettings()).prepare(parse_request(body, "anthropic"), remote)
    assert json.loads(prepared.conversation.body)["messages"][0]["content"] == after


def test_every_class_and_setting_is_named() -> None:
    assert all(f"`{name}`" in PAGE for name in CLASSES)
    assert all(name in PAGE for name in PrivacySettings.__struct_fields__)
