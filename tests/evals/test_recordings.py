"""Recorded sessions as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.evals.sessions import OUTPUT_TOKENS, PREFIX_TOKENS, growing, reply, tokens, words
from tests.sources.rows import (
    called,
    claude_prompt,
    claude_reply,
    claude_result,
    claude_usage,
    codex_count,
    codex_message,
    codex_meta,
    codex_reasoning,
    codex_turn,
    pi_entry,
    pi_header,
    pi_result,
    pi_user,
    said,
    write_lines,
)
from ullage.core.errors import SessionError
from ullage.evals.recordings import Recording, read_recording

if TYPE_CHECKING:
    from pathlib import Path


def test_a_call_has_what_was_reported_and_what_was_sent(tmp_path: Path) -> None:
    recording = read_recording(growing(tmp_path / "s.jsonl", calls=3))
    first, second, _ = recording.calls
    assert (first.prompt, first.o200k, first.unscored) == (PREFIX_TOKENS, tokens("Go."), "first")
    assert second.o200k == tokens("Go.") + tokens("yes") + tokens(words(0))
    assert second.chars == len("Go.yes") + len(words(0))


def test_what_came_since_the_call_before_is_its_output_and_the_new_texts(tmp_path: Path) -> None:
    call = read_recording(growing(tmp_path / "s.jsonl", calls=3)).calls[1]
    assert call.growing is not None
    assert (call.growing.output, call.growing.o200k, call.growing.chars) == (
        OUTPUT_TOKENS,
        tokens(words(0)),
        len(words(0)),
    )
    assert (call.growing.addition.prompt, call.growing.addition.items) == (PREFIX_TOKENS, 1)
    assert call.growing.addition.new_tokens == tokens(words(0))


def test_a_file_that_is_no_session_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"note": "hello"}\n' * 100)
    with pytest.raises(SessionError):
        read_recording(file)


def test_the_first_call_after_a_compaction_stands_alone(tmp_path: Path) -> None:
    rows = [
        pi_header(),
        pi_user("u1", None, "Go."),
        reply("a1", "u1", 9_000),
        pi_entry("compaction", "c", "a1", summary="It went.", firstKeptEntryId="u2", tokensBefore=9_000),
        pi_user("u2", "c", "On."),
        reply("a2", "u2", 6_000),
        pi_user("u3", "a2", "And on."),
        reply("a3", "u3", 6_100),
    ]
    recording = read_recording(write_lines(tmp_path / "s.jsonl", rows))
    assert [call.unscored for call in recording.calls] == ["first", "first", None]


def test_a_call_of_another_model_is_no_anchor(tmp_path: Path) -> None:
    rows = [
        pi_header(),
        pi_user("u1", None, "Go."),
        reply("a1", "u1", 9_000),
        pi_user("u2", "a1", "On."),
        reply("a2", "u2", 12_000, provider="anthropic", model="claude-opus-4-8"),
    ]
    recording = read_recording(write_lines(tmp_path / "s.jsonl", rows))
    assert [call.unscored for call in recording.calls] == ["first", "switched"]
    assert recording.calls[1].growing is None


def test_a_text_that_is_gone_cannot_be_judged(tmp_path: Path) -> None:
    gone = {
        **pi_result("r1", "a1", "[gone]"),
        "evictedContent": {"payloads": {"message.content.0.text": {"originalChars": 9_000}}},
    }
    rows = [
        pi_header(),
        pi_user("u1", None, "Go."),
        reply("a1", "u1", 9_000),
        gone,
        reply("a2", "r1", 12_000),
        pi_user("u2", "a2", "On."),
        reply("a3", "u2", 12_060),
    ]
    recording = read_recording(write_lines(tmp_path / "s.jsonl", rows))
    assert [call.unscored for call in recording.calls] == ["first", "lossy", None]
    assert [call.lossy for call in recording.calls] == [False, True, True]


def test_an_answer_that_failed_in_between_is_a_trap(tmp_path: Path) -> None:
    rows = [
        pi_header(),
        pi_user("u1", None, "Go."),
        reply("a1", "u1", 9_000),
        pi_user("u2", "a1", "On."),
        reply("x", "u2", 0, stopReason="error"),
        pi_user("u3", "x", "Again."),
        reply("a2", "u3", 9_070),
    ]
    call = read_recording(write_lines(tmp_path / "s.jsonl", rows)).calls[-1]
    assert call.growing is not None
    assert call.growing.addition.trap == "broken_off"
    assert call.growing.o200k == tokens("On.") + tokens("Again.")


def test_a_picture_is_a_trap(tmp_path: Path) -> None:
    shown = {"role": "user", "content": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}
    rows = [
        pi_header(),
        pi_user("u1", None, "Go."),
        reply("a1", "u1", 9_000),
        pi_entry("message", "u2", "a1", message=shown),
        reply("a2", "u2", 10_200),
    ]
    call = read_recording(write_lines(tmp_path / "s.jsonl", rows)).calls[-1]
    assert call.growing is not None
    assert call.growing.addition.trap == "media"


def test_an_output_logged_from_the_first_chunk_is_counted(tmp_path: Path) -> None:
    long = "The quick brown fox jumps over the lazy dog. " * 30
    rows = [
        claude_prompt("u1", None, "Go."),
        claude_reply("a1", "u1", "m1", said(long), claude_usage(fresh=9_000, output=1)),
        claude_prompt("u2", "a1", "On."),
        claude_reply("a2", "u2", "m2", said("Done."), claude_usage(fresh=9_500)),
    ]
    call = read_recording(write_lines(tmp_path / "s.jsonl", rows)).calls[-1]
    assert call.growing is not None
    assert call.growing.output == 1
    assert call.growing.addition.output > 300
    assert call.growing.addition.trap == "short_output"


def codex_session(tmp_path: Path, prompts: list[int]) -> Recording:
    """Each call reasons 5 of its 20 tokens of output; the user speaks behind every second call."""
    rows = [codex_meta(), codex_turn("gpt-5.5"), codex_message("user", "Go.")]
    for number, prompt in enumerate(prompts):
        rows += [codex_reasoning(), codex_message("assistant", f"Step {number}.")]
        rows += [codex_count(prompt * (number + 1), prompt=prompt)]
        rows += [codex_message("user", f"On with {number}.")]
    return read_recording(write_lines(tmp_path / "s.jsonl", rows))


def test_reasoning_adds_up_until_the_user_speaks(tmp_path: Path) -> None:
    calls = codex_session(tmp_path, [9_000, 9_030, 9_060]).calls
    added = [call.growing.addition for call in calls if call.growing is not None]
    assert [(one.reasoning, one.turn_reasoning, one.ends_turn) for one in added] == [(5, 5, True), (5, 5, True)]


def test_a_sub_agents_calls_are_a_transcript_of_their_own(tmp_path: Path) -> None:
    side = {"isSidechain": True, "agentId": "explorer"}
    rows = [
        claude_prompt("u1", None, "Go."),
        claude_reply("a1", "u1", "m1", called("t1"), claude_usage(fresh=9_000)),
        claude_prompt("s1", None, "Look.", **side),
        claude_reply("b1", "s1", "m2", said("Looked."), claude_usage(fresh=4_000), **side),
        claude_result("r1", "a1", "t1", "Looked."),
        claude_reply("a2", "r1", "m3", said("Done."), claude_usage(fresh=9_100)),
    ]
    recording = read_recording(write_lines(tmp_path / "s.jsonl", rows))
    assert [(call.identity.agent, call.unscored) for call in recording.calls] == [
        ("", "first"),
        ("explorer", "first"),
        ("", None),
    ]
