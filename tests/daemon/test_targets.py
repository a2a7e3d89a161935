"""What a daemon makes of the settings' providers before anybody asks."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from msgspec import convert

from ullage.daemon import running
from ullage.engine.key_names import recall_key_names, see_as_daemon
from ullage.settings import Settings

SETTINGS = convert(
    {
        "server": {"port": 0},
        "store": {"url": "memory"},
        "providers": {
            "corp": {
                "url": "https://llm.corp.example",
                "dialects": ["openai-chat"],
                "key": "env:CORP_KEY_THAT_NOBODY_SET",
            }
        },
    },
    Settings,
)


async def test_providers_of_the_settings_are_reached_by_the_proxy_and_a_missing_key_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: set[str] = set()
    monkeypatch.setattr("ullage.daemon.find_proxies", lambda roots: asked.update(roots) or {})
    with caplog.at_level(logging.WARNING, logger="ullage"):
        async with running(SETTINGS, tmp_path) as daemon:
            assert daemon.engine.targets is not None
            assert daemon.engine.targets.destination("corp/m", "openai-chat", client_key=True) is None
    assert {"https://llm.corp.example", "https://api.openai.com"} <= asked
    assert "Routed requests do not go to corp: CORP_KEY_THAT_NOBODY_SET is not set." in caplog.messages


async def test_a_daemon_tells_which_variables_it_has_keys_in_and_never_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-kept-to-itself")
    async with running(SETTINGS, tmp_path) as daemon:
        assert daemon.store.flush()
        assert recall_key_names(daemon.store) == {"OPENAI_API_KEY"}
        assert "sk-kept-to-itself" not in str(daemon.store.route_overrides("ullage:keys"))


def test_of_the_shells_own_keys_only_those_count_that_the_daemon_has_too() -> None:
    shell = {
        "OPENAI_API_KEY": "here",
        "GROQ_API_KEY": "here alone",
        "CORP_KEY_THAT_NOBODY_SET": "here alone",
        "HOME": "/h",
    }
    seen = see_as_daemon(SETTINGS, shell, frozenset({"OPENAI_API_KEY", "XAI_API_KEY"}))
    assert (seen.keys(), seen["OPENAI_API_KEY"]) == ({"HOME", "OPENAI_API_KEY", "XAI_API_KEY"}, "here")
