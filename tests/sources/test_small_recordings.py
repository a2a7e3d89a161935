"""One small real session per client and version, so that real files are read wherever the tests run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.sources import read_session

RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "sessions"

EXPECTED = [
    ("claude-code/episodic-memory-tiny-conversation.jsonl", "1.0.119", [25386, 25646, 25871], 6),
    ("claude-code/happy-cli-task-non-sdk.jsonl", "1.0.71", [22655, 18898, 20309, 20798, 23564], 4),
    ("claude-code/sniffly-fed8ce56.jsonl", "1.0.17", [14367, 14844, 15413, 16008], 14),
    ("claude-code/soltax.jsonl", "2.1.104", [27693, 29995, 30322], 9),
    ("codex/soul-first-calls.jsonl", "0.128.0", [17984, 18167], 9),
    ("openhands/openhands-wrong-initial-state.json", None, [3475, 3616, 3804, 3933], 8),
    ("pi/agent-complex-task-04-first-calls.jsonl", 3, [12647, 17985], 5),
    ("pi/pi-mono-version-1.jsonl", 1, [49214, None, 51095], 6),
]


@pytest.mark.parametrize(("name", "version", "prompts", "messages"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_a_recorded_session_reads(name: str, version: object, prompts: list[int | None], messages: int) -> None:
    """`prompts` are the sizes of trusted calls, `None` stands for a call that is not trusted."""
    session = read_session(RECORDINGS / name)
    assert session.client == name.split("/", maxsplit=1)[0]
    assert (session.client_version or session.format_version) == version
    assert [call.usage.prompt if call.trusted and call.usage else None for call in session.calls] == prompts
    assert len(session.context().messages) == messages


def test_a_side_chain_stands_inside_the_file_of_its_session() -> None:
    session = read_session(RECORDINGS / "claude-code/happy-cli-task-non-sdk.jsonl")
    assert [call.sidechain for call in session.calls] == [False, True, True, True, False]
    assert [(step.before, step.after) for step in session.steps()] == [(1, 2), (2, 3), (0, 4)]


def test_old_clients_log_outputs_from_the_first_chunk() -> None:
    session = read_session(RECORDINGS / "claude-code/sniffly-fed8ce56.jsonl")
    assert [call.output_unsure for call in session.calls] == [True, True, False, True]


def test_every_recording_is_listed_with_its_source() -> None:
    listed = (RECORDINGS / "README.md").read_text(encoding="utf-8")
    files = [str(path.relative_to(RECORDINGS)) for path in RECORDINGS.glob("*/*")]
    assert sorted(files) == sorted(row[0] for row in EXPECTED)
    assert all(f"`{name}`" in listed for name in files)
