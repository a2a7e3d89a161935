"""`/context history …`: what was said before in the project, found and read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.sources.rows import pi_header, pi_reply, pi_user, write_lines
from ullage.cli import main

Screen = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a session of Pi was held."""
    folder = tmp_path / "cellar"
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = Path(os.environ["HOME"]) / ".pi/agent/sessions/x/one.jsonl"
    path.parent.mkdir(parents=True)
    rows = [pi_header(cwd=str(folder), id="one"), pi_user("e0", None, "Where is the corkscrew?\nSecond line.")]
    write_lines(path, [*rows, pi_reply("e1", "e0", "In the drawer.")])
    return folder


def typed(capsys: Screen, line: str, *, status: int = 0) -> str:
    assert main(["pi", "command", "context", line]) == status
    printed = capsys.readouterr()
    return printed.out + printed.err


@pytest.mark.usefixtures("project")
def test_what_was_said_is_found_and_read(capsys: Screen, data_dir: Path) -> None:
    assert "the newest 1 of 1 recorded in this project" in typed(capsys, "history")
    found = typed(capsys, "history search corkscrew")
    handle = next(word for word in found.split() if word.startswith("hist_"))
    assert "pi, user" in found and "Where is the corkscrew?" in found
    read = typed(capsys, f"history read {handle}")
    assert "    1  Where is the corkscrew?" in read and "2 lines in all" in read
    assert "Where" not in typed(capsys, f"history read {handle} 2 1")
    noted = data_dir / "history-handles.json"
    assert stat.S_IMODE(noted.stat().st_mode) == 0o600 and "corkscrew" not in noted.read_text()


@pytest.mark.usefixtures("project")
def test_what_was_found_can_be_read_for_ten_minutes(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = next(word for word in typed(capsys, "history search drawer").split() if word.startswith("hist_"))
    monkeypatch.setattr("ullage.cli.pi.history_screens._now_ms", lambda: 4_000_000_000_000)
    assert "any more" in typed(capsys, f"history read {handle}", status=1)
    assert "numbers from 1 on" in typed(capsys, f"history read {handle} 0", status=2)


@pytest.mark.usefixtures("project")
def test_where_nothing_is_found_that_is_told(capsys: Screen) -> None:
    assert "Nothing was found." in typed(capsys, "history search amphora")
