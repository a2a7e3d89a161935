"""Whatever stands in a file, a session comes out of it or a clear error, and its numbers agree with one another."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sources import rows as made
from ullage.core.errors import SessionError
from ullage.sources import Session, read_session

ODD_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    1e300,
    "",
    "x",
    "\ud83d",
    10**30,
    [],
    {},
    [1],
    ["a"],
    [{}],
    [[]],
    {"a": 1},
]

PI = [
    made.pi_header(),
    made.pi_entry("message", "s1", None, message={"role": "system", "content": "x", "toolsAdded": [{"name": "read"}]}),
    made.pi_user("u1", "s1", "one"),
    made.pi_reply("a1", "u1", prompt=5000),
    made.pi_result("r1", "a1", "output") | {"evictedContent": {"payloads": {"a": {}}}},
    made.pi_entry("context_edit", "x1", "r1", targetId="r1", replacement={"content": "short"}),
    made.pi_reply("a2", "x1", prompt=6000),
    made.pi_entry("compaction", "c1", "a2", summary="story", firstKeptEntryId="u1", tokensBefore=6000),
    made.pi_user("u2", "a1", "two"),
    made.pi_reply("a3", "u2", stopReason="error"),
]
CLAUDE = [
    made.claude_prompt("u1", None, "one"),
    made.claude_reply("a1", "u1", "m1", made.called("t1")),
    made.claude_result("r1", "a1", "t1", "output"),
    made.claude_reply("a2", "a1", "m1", made.called("t2")),
    made.claude_row("attachment", "x1", "r1", attachment={"type": "queued_command", "prompt": [made.said("hm")]}),
    made.claude_row("attachment", "x2", "x1", attachment={"type": "file", "content": {"file": {"content": "b"}}}),
    made.claude_prompt("y1", None, "sub", isSidechain=True, agentId="A"),
    made.claude_row(
        "system",
        "b1",
        None,
        subtype="compact_boundary",
        compactMetadata={"preTokens": 9, "preservedSegment": {"headUuid": "u1", "anchorUuid": "s1", "tailUuid": "r1"}},
    ),
    made.claude_prompt("s1", "b1", "story", isCompactSummary=True),
    made.claude_prompt("u2", "u1", "back"),
    made.claude_reply("a3", "u2", "m2", made.said("ok")),
]
CODEX = [
    made.codex_meta(dynamic_tools=[{"name": "look", "tools": [{"name": "a"}]}]),
    made.codex_turn(truncation_policy={"mode": "tokens", "limit": 1}),
    made.codex_message("user", "go"),
    made.codex_reasoning(),
    made.codex_call("c1", cmd="ls"),
    made.codex_output("c1", "a" * 50),
    made.codex_count(900, prompt=900),
    made.codex_line("compacted", message="", replacement_history=[{"type": "message", "role": "user", "content": "x"}]),
    made.codex_meta(),
    made.codex_message("user", "go"),
    made.codex_message("assistant", "done"),
    made.codex_count(1900, prompt=1000),
]
REPLY = made.hands_reply("r1", "t1")
HANDS = [
    made.hands_event(0, action="system", args={"content": "x", "tools": [{"function": {"name": "a"}}]}),
    made.hands_user(1, "go"),
    made.hands_action(2, REPLY),
    made.hands_observation(3, REPLY, "out", metadata={"prefix": "", "exit_code": 1}),
    made.hands_event(4, observation="recall", extras={"microagent_knowledge": [{"content": "k"}]}),
    made.hands_event(5, action="condensation", args={"forgotten_event_ids": [2, 3], "summary": "story"}),
    made.hands_action(6, made.hands_reply("r2", "t2")),
]


def mutated(value: Any, random: Random, share: float) -> Any:
    """The value with some of its parts replaced by odd ones, or left out."""
    if random.random() < share:
        return random.choice(ODD_VALUES)
    if isinstance(value, dict):
        return {key: mutated(item, random, share) for key, item in value.items() if random.random() > share / 3}
    if isinstance(value, list):
        return [mutated(item, random, share) for item in value]
    return value


def check(session: Session) -> None:
    for call in session.calls:
        assert len(session.context(call.index).messages) == call.messages
        assert session.messages_before(call.index, call.index) == call.messages
        assert call.previous is None or call.previous < call.index
    for step in session.steps():
        assert session.messages_before(step.before, step.after) == step.start <= step.stop
        assert all(step.start <= index < step.stop for index in step.reply)
    anchor = session.anchor()
    assert anchor is None or session.messages_before(anchor) == session.calls[anchor].messages
    session.context()


def read_and_check(path: Path) -> None:
    try:
        session = read_session(path)
    except SessionError as error:
        assert error.code in {"empty_session", "unknown_session"}
    else:
        check(session)


@pytest.mark.parametrize("lines", [PI, CLAUDE, CODEX], ids=["pi", "claude-code", "codex"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(random=st.randoms(use_true_random=False), share=st.sampled_from([0.0, 0.01, 0.05, 0.2]))
def test_odd_values_in_lines_do_no_harm(tmp_path: Path, lines: list[made.Row], random: Random, share: float) -> None:
    rows = [row for line in lines if isinstance(row := mutated(line, random, share), dict)]
    read_and_check(made.write_lines(tmp_path / "s", [json.dumps(row) for row in rows]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(random=st.randoms(use_true_random=False), share=st.sampled_from([0.0, 0.01, 0.05, 0.2]))
def test_odd_values_in_events_do_no_harm(tmp_path: Path, random: Random, share: float) -> None:
    path = tmp_path / "s"
    path.write_text(json.dumps(mutated({"instance_id": "i", "history": HANDS, "metrics": {}}, random, share)))
    read_and_check(path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_session_or_a_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s"
    path.write_bytes(content)
    read_and_check(path)


@pytest.mark.parametrize("lines", [PI, CLAUDE, CODEX], ids=["pi", "claude-code", "codex"])
def test_a_session_cut_at_any_byte_still_reads(tmp_path: Path, lines: list[made.Row]) -> None:
    whole = made.write_lines(tmp_path / "whole", lines).read_bytes()
    path = tmp_path / "s"
    for stop in range(0, len(whole), 37):
        path.write_bytes(whole[:stop])
        read_and_check(path)


@pytest.mark.parametrize("lines", [PI, CLAUDE, CODEX], ids=["pi", "claude-code", "codex"])
def test_a_session_without_any_one_of_its_lines_still_reads(tmp_path: Path, lines: list[made.Row]) -> None:
    for gone in range(len(lines)):
        read_and_check(made.write_lines(tmp_path / "s", lines[:gone] + lines[gone + 1 :]))
