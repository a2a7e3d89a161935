"""What a daemon makes of the settings' providers before anybody asks."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from msgspec import convert

from ullage.daemon import running
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
