"""Sessions in the default folders of the clients."""

from __future__ import annotations

import os
from pathlib import Path

from ullage.sources import find_sessions


def test_sessions_of_all_clients_are_found_newest_first(tmp_path: Path) -> None:
    names = [
        ".pi/agent/sessions/--project--/1.jsonl",
        ".claude/projects/-project/2.jsonl",
        ".codex/sessions/2026/07/13/rollout-3.jsonl",
        ".claude/projects/-project/4.jsonl",
    ]
    for age, name in enumerate([*names, ".claude/projects/-project/2/subagents/5.jsonl", ".codex/history.jsonl"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
        os.utime(path, (1000 + age, 1000 + age))
    assert list(find_sessions(tmp_path)) == [tmp_path / name for name in reversed(names)]


def test_a_home_without_clients_has_no_sessions(tmp_path: Path) -> None:
    assert list(find_sessions(tmp_path)) == []


def test_links_that_lead_nowhere_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/-project"
    folder.mkdir(parents=True)
    (folder / "gone.jsonl").symlink_to(tmp_path / "nothing")
    assert list(find_sessions(tmp_path)) == []
