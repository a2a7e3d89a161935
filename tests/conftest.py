"""What every test has at hand: a sealed environment and the recorded data beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test is judged by the clock. In CI the examples are the same every time, so that a landing does not hang on luck; at
# everyone's desk they are new ones.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded data that lies beside the repository; tests that need it are skipped without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no recorded data at {SHARED_DATA.parent.name}/{SHARED_DATA.name} beside the repository")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def sealed_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Home, settings, data and cache of every test lie in its own folder; colour and width are fixed, no catalogue is fetched."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.setenv("ULLAGE_MODELS__REFRESH", "false")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
