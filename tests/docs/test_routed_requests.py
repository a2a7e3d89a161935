"""The page on routed requests: its settings are settings, its clients those that are tried, its codes those of stops."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from scripts.clients.known import CLIENTS
from scripts.clients.routed import NAMED, PI_PROTOCOLS
from ullage.core.routing.exclusions import StopCode
from ullage.settings import load_file

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "routed-requests.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
def test_every_example_is_a_settings_file_without_problems(block: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(block)
    assert load_file(file).problems == ()


def test_the_provider_of_pi_is_the_one_that_is_tried() -> None:
    [block] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    provider = json.loads(block)["providers"]["ullage"]
    protocol, path, compat = PI_PROTOCOLS["ullage"]
    assert (provider["api"], provider["compat"]) == (protocol, compat)
    assert provider["baseUrl"].endswith(path)
    assert all(f"`{protocol}`" in PAGE or protocol in block for protocol, _, _ in PI_PROTOCOLS.values())


def test_each_client_that_is_tried_is_told_how() -> None:
    assert set(NAMED) <= set(CLIENTS)
    for names in NAMED.values():
        assert any(name in PAGE for name in names)


def test_the_codes_of_stops_are_told() -> None:
    told = set(re.findall(r"`([a-z-]+)`", PAGE))
    assert set(get_args(StopCode)) - {"circuits-open"} <= told
