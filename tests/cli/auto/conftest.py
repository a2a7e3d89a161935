"""What tests of `ullage auto` and its like share: settings with models to choose among, a database of routed calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.auto.routed import CALLS, SESSIONS, settings_text
from tests.cli.conftest import NOW_MS
from ullage.cli import main
from ullage.stores import SqliteStore

Run = Callable[..., tuple[int, str, str]]
Tell = Callable[..., Any]


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings file; for the commands it is `NOW_MS`."""
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(settings_text("http://127.0.0.1:9"))
    return file


@pytest.fixture
def routed(config: Path, data_dir: Path) -> None:
    """A database with two routed sessions."""
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    for session in SESSIONS:
        store.put_session(session)
    for call in CALLS:
        store.put_call(call)
    store.close()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command: its status, its output, its messages."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def tell(run: Run) -> Tell:
    """What a command tells programs."""

    def ask(*arguments: str) -> Any:
        status, out, err = run(*arguments, "--json")
        assert status == 0, err
        return msgspec.json.decode(out)

    return ask
