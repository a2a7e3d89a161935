"""Sessions of Claude Code: rows of one reply, side chains, compactions, rewinds, attachments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.sources.rows import (
    TIME,
    Row,
    called,
    claude_prompt,
    claude_reply,
    claude_result,
    claude_row,
    claude_usage,
    roles,
    said,
    texts,
    write_lines,
)
from ullage.sources import Session, read_session

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def read(path: Path, *rows: Row | str) -> Session:
    return read_session(write_lines(path, rows))


def boundary(name: str, before: str, **metadata: Any) -> Row:
    fields = {"subtype": "compact_boundary", "logicalParentUuid": before}
    return claude_row(
        "system", name, None, compactMetadata={"trigger": "auto", "preTokens": 120000} | metadata, **fields
    )


def summary(name: str, parent: str, text: str = "the story") -> Row:
    return claude_prompt(name, parent, text, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def attachment(name: str, parent: str, kind: str, **fields: Any) -> Row:
    return claude_row("attachment", name, parent, attachment={"type": kind, **fields})


def test_a_session_tells_its_client_version_and_place(path: Path) -> None:
    session = read(path, claude_prompt("u1", None, "hi"), claude_prompt("u2", "u1", "ho", version="2.1.127"))
    assert (session.client, session.id, session.cwd) == ("claude-code", "s-1", "/project")
    assert (session.client_version, session.client_versions) == ("2.1.127", ("2.1.126", "2.1.127"))


def test_the_rows_of_a_reply_are_one_call_with_its_usage_once(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "go"),
        claude_reply("a1", "u1", "m1", {"type": "thinking", "thinking": "", "signature": "SEAL"}),
        claude_reply("a2", "a1", "m1", said("Reading.")),
        claude_reply("a3", "a2", "m1", called("t1")),
    )
    [call] = session.calls
    assert call.usage is not None
    assert (call.usage.output, call.response_id, call.messages, call.reply) == (50, "m1", 1, (1,))
    assert [part.kind for part in session.context().messages[1].parts] == ["thinking", "text", "tool_call"]


def test_the_three_inputs_stand_beside_each_other(path: Path) -> None:
    usage = claude_usage(fresh=3, write=24112, read=1000) | {
        "cache_creation": {"ephemeral_5m_input_tokens": 24000, "ephemeral_1h_input_tokens": 112},
        "output_tokens_details": {"thinking_tokens": 7},
    }
    [call] = read(path, claude_prompt("u1", None, "go"), claude_reply("a1", "u1", "m1", said("x"), usage)).calls
    assert call.usage is not None
    assert (call.usage.input_fresh, call.usage.cache_read, call.usage.cache_write) == (3, 1000, 24112)
    assert (call.usage.cache_write_5m, call.usage.cache_write_1h, call.usage.prompt) == (24000, 112, 25115)
    assert (call.usage.reasoning, call.dialect, call.provider) == (7, "anthropic", "anthropic")


def test_the_row_with_the_largest_usage_is_the_true_one(path: Path) -> None:
    zero = claude_usage(fresh=0, output=0)
    session = read(
        path,
        claude_prompt("u1", None, "go"),
        claude_reply("a1", "u1", "m1", said("Reading."), zero),
        claude_reply("a2", "a1", "m1", called("t1"), claude_usage(fresh=27693, output=80)),
    )
    assert session.calls[0].usage is not None
    assert session.calls[0].usage.prompt == 27693
    assert session.calls[0].trusted


def test_all_zero_usage_of_a_proxied_model_is_not_trusted(path: Path) -> None:
    zero = claude_usage(fresh=0, output=0)
    [call] = read(path, claude_prompt("u1", None, "go"), claude_reply("a1", "u1", "m1", said("x"), zero)).calls
    assert (call.trusted, call.reply) == (False, (1,))


@pytest.mark.parametrize(("output", "unsure"), [(1, True), (22, True), (300, False)])
def test_an_output_smaller_than_the_visible_reply_is_unsure(path: Path, output: int, unsure: bool) -> None:
    reply = claude_reply("a1", "u1", "m1", said("a long reply " * 50), claude_usage(output=output))
    [call] = read(path, claude_prompt("u1", None, "go"), reply).calls
    assert (call.trusted, call.output_unsure) == (True, unsure)


def test_parallel_results_are_all_sent_though_parents_pass_only_one(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "go"),
        claude_reply("a1", "u1", "m1", called("t1")),
        claude_result("r1", "a1", "t1", "one"),
        claude_reply("a2", "a1", "m1", called("t2")),
        claude_result("r2", "a2", "t2", "two"),
        claude_reply("a3", "r2", "m2", said("done"), claude_usage(fresh=80)),
    )
    assert roles(session) == ["user", "assistant", "tool", "tool", "assistant"]
    assert [part.call_id for part in session.context().messages[1].parts] == ["t1", "t2"]
    assert texts(session, 1)[2:] == ["one", "two"]
    assert (session.rewinds, session.calls[1].previous) == (0, 0)


def test_a_prompt_below_an_older_row_is_a_rewind(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "one"),
        claude_reply("a1", "u1", "m1", said("first")),
        claude_prompt("u2", "a1", "a way that is left"),
        claude_reply("a2", "u2", "m2", said("dead end")),
        claude_prompt("u3", "a1", "another way"),
        claude_reply("a3", "u3", "m3", said("good")),
    )
    assert texts(session) == ["one", "first", "another way", "good"]
    assert (session.rewinds, session.calls[2].previous) == (1, 0)


def test_a_prompt_without_parent_goes_back_to_the_beginning(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "one"),
        claude_reply("a1", "u1", "m1", said("first")),
        claude_prompt("u2", None, "anew"),
    )
    assert (texts(session), session.rewinds) == (["anew"], 1)


def test_notes_and_attachments_between_parent_and_prompt_are_no_rewind(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "one"),
        claude_reply("a1", "u1", "m1", said("first")),
        claude_row("system", "s1", "a1", subtype="turn_duration", durationMs=5),
        attachment("x1", "a1", "date_change", newDate="2026-07-14"),
        claude_prompt("u2", "a1", "two"),
    )
    assert (texts(session), session.rewinds) == (["one", "first", "2026-07-14", "two"], 0)


def test_after_a_boundary_the_context_is_the_summary_and_what_follows(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "one"),
        claude_reply("a1", "u1", "m1", said("first")),
        boundary("b1", "a1", postTokens=900),
        summary("s1", "b1"),
        claude_prompt("u2", "s1", "two"),
        claude_reply("a2", "u2", "m2", said("second")),
    )
    assert texts(session, 1) == ["the story", "two"]
    [compaction] = session.compactions
    assert (compaction.before_call, compaction.tokens_before, compaction.tokens_after) == (1, 120000, 900)
    assert (compaction.trigger, session.calls[1].previous, session.messages_before(0)) == ("auto", None, 0)


def test_old_files_have_the_summary_without_a_boundary(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "one"),
        claude_reply("a1", "u1", "m1", said("first")),
        summary("s1", "a1"),
        claude_prompt("u2", "s1", "two"),
    )
    assert (texts(session), len(session.compactions)) == (["the story", "two"], 1)


def test_a_summary_at_the_head_of_a_file_continues_another_session(path: Path) -> None:
    session = read(path, summary("s1", "elsewhere"), claude_prompt("u1", "s1", "two"))
    assert (texts(session), session.compactions) == (["the story", "two"], ())
    assert session.problems.headless


PRESERVED = [
    claude_prompt("u1", None, "one"),
    claude_reply("a1", "u1", "m1", said("first")),
    claude_prompt("u2", "a1", "two"),
    claude_reply("a2", "u2", "m2", said("second")),
    claude_reply("a3", "a2", "m2", called("t1")),
    claude_result("r1", "a3", "t1", "output"),
]


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedMessages": {"anchorUuid": "s1", "uuids": ["u2", "a2", "a3", "r1"]}},
        {"preservedSegment": {"headUuid": "u2", "anchorUuid": "s1", "tailUuid": "r1"}},
    ],
    ids=["listed", "segment"],
)
def test_preserved_rows_stay_verbatim_behind_the_summary(path: Path, metadata: Row) -> None:
    session = read(path, *PRESERVED, boundary("b1", "r1", **metadata), summary("s1", "b1"))
    assert texts(session)[:2] == ["the story", "two"]
    assert [part.kind for part in session.context().messages[2].parts] == ["text", "tool_call"]
    assert texts(session)[3] == "output"


def test_a_segment_anchored_at_the_boundary_stands_before_the_summary(path: Path) -> None:
    segment = {"headUuid": "u1", "anchorUuid": "b1", "tailUuid": "a1"}
    session = read(path, *PRESERVED, boundary("b1", "r1", preservedSegment=segment), summary("s1", "b1"))
    assert texts(session) == ["one", "first", "the story"]


def test_a_prompt_below_a_preserved_row_is_no_rewind(path: Path) -> None:
    metadata = {"preservedMessages": {"anchorUuid": "s1", "uuids": ["u2"]}}
    rows = [boundary("b1", "r1", **metadata), summary("s1", "b1"), claude_prompt("u3", "u2", "three")]
    session = read(path, *PRESERVED, *rows)
    assert (texts(session), session.rewinds) == (["the story", "two", "three"], 0)


def test_a_preserved_segment_with_unknown_ends_keeps_nothing(path: Path) -> None:
    segment = {"headUuid": "gone", "anchorUuid": "s1", "tailUuid": "r1"}
    session = read(path, *PRESERVED, boundary("b1", "r1", preservedSegment=segment), summary("s1", "b1"))
    assert texts(session) == ["the story"]


def test_a_side_chain_has_a_context_of_its_own(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "main task"),
        claude_reply("a1", "u1", "m1", called("t1")),
        claude_prompt("x1", None, "sub task", isSidechain=True),
        claude_reply("x2", "x1", "m2", said("sub answer"), claude_usage(fresh=9000), isSidechain=True),
        claude_result("r1", "a1", "t1", "sub answer"),
        claude_reply("a2", "r1", "m3", said("done"), claude_usage(fresh=90)),
    )
    assert [call.sidechain for call in session.calls] == [False, True, False]
    assert texts(session, 1) == ["sub task"]
    assert texts(session, 2) == ["main task", '{"command":"ls"}', "sub answer"]
    assert [(step.before, step.after) for step in session.steps()] == [(0, 2)]


def test_side_chains_of_two_agents_do_not_mix(path: Path) -> None:
    session = read(
        path,
        claude_prompt("x1", None, "task of A", isSidechain=True, agentId="A"),
        claude_prompt("y1", None, "task of B", isSidechain=True, agentId="B"),
        claude_reply("x2", "x1", "m1", said("answer of A"), isSidechain=True, agentId="A"),
        claude_reply("y2", "y1", "m2", said("answer of B"), isSidechain=True, agentId="B"),
    )
    assert [texts(session, call.index) for call in session.calls] == [["task of A"], ["task of B"]]
    assert [call.agent for call in session.calls] == ["A", "B"]


def test_the_file_of_a_sub_agent_stands_where_its_chain_does(path: Path) -> None:
    session = read(
        path,
        claude_prompt("x1", None, "sub task", isSidechain=True, agentId="A"),
        claude_reply("x2", "x1", "m1", said("answer"), isSidechain=True, agentId="A"),
    )
    assert texts(session) == ["sub task", "answer"]
    assert (session.anchor(), session.id, session.parent) == (0, "A", "s-1")


def test_synthetic_replies_are_sent_but_are_no_calls(path: Path) -> None:
    synthetic = claude_reply("a1", "u1", "m1", said("No response requested."))
    synthetic["message"]["model"] = "<synthetic>"
    session = read(path, claude_prompt("u1", None, "go"), synthetic)
    assert (roles(session), session.calls) == (["user", "assistant"], ())


def test_an_api_error_is_a_failed_call_and_never_sent(path: Path) -> None:
    error = claude_reply("a1", "u1", "m1", said("API Error: 529"), claude_usage(fresh=0), isApiErrorMessage=True)
    error["message"]["model"] = "<synthetic>"
    session = read(path, claude_prompt("u1", None, "go"), error)
    [call] = session.calls
    assert (call.trusted, call.stop_reason, call.model, call.reply) == (False, "error", None, ())
    assert roles(session) == ["user"]


def test_a_reply_that_was_broken_off_is_not_trusted(path: Path) -> None:
    broken = claude_reply("a1", "u1", "m1", said("half"), isAbortedMidStream=True)
    [call] = read(path, claude_prompt("u1", None, "go"), broken).calls
    assert not call.trusted


def test_cleared_results_show_as_a_prompt_that_shrank(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "go"),
        claude_reply("a1", "u1", "m1", called("t1"), claude_usage(fresh=90000)),
        claude_result("r1", "a1", "t1", "output"),
        claude_reply("a2", "r1", "m2", said("done"), claude_usage(fresh=40000)),
    )
    [step] = session.steps()
    assert (step.shrank, step.start, step.stop, step.reply) == (True, 1, 3, (1,))


def test_rows_that_are_repeated_count_once(path: Path) -> None:
    rows = [claude_prompt("u1", None, "one"), claude_reply("a1", "u1", "m1", said("first"))]
    session = read(path, *rows, *rows, claude_prompt("u2", "a1", "two"))
    assert (texts(session), len(session.calls), session.rewinds) == (["one", "first", "two"], 1, 0)


def test_texts_of_the_client_are_sent_and_notes_for_the_screen_are_not(path: Path) -> None:
    session = read(
        path,
        claude_prompt("u1", None, "<skill body>", isMeta=True),
        claude_prompt("u2", "u1", "only for the eye", isVisibleInTranscriptOnly=True),
        {"type": "summary", "summary": "a title", "leafUuid": "x"},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s-1", "timestamp": TIME},
        claude_row("progress", "p1", "u2", data={"type": "hook_progress"}),
        claude_row("from-the-future", "f1", "p1", text="skip me"),
        claude_prompt("u3", "f1", "go"),
    )
    assert texts(session) == ["<skill body>", "go"]


def test_the_text_of_a_result_is_what_was_sent_not_its_copy_for_display(path: Path) -> None:
    result = claude_result("r1", None, "t1", "sent", toolUseResult={"stdout": "for display"})
    session = read(path, result)
    assert (texts(session), roles(session)) == (["sent"], ["tool"])


def test_a_first_row_with_an_unknown_parent_means_that_the_head_is_elsewhere(path: Path) -> None:
    session = read(path, claude_reply("a1", "gone", "m1", said("on"), claude_usage(fresh=286513)))
    assert session.problems.headless
    assert session.problems.unknown_parents == 1


@pytest.mark.parametrize(
    ("kind", "fields", "sent"),
    [
        ("skill_listing", {"content": "- a: does a"}, ["- a: does a"]),
        ("deferred_tools_delta", {"addedNames": ["X"], "addedLines": ["X", "Y"]}, ["X", "Y"]),
        ("file", {"filename": "/a", "content": {"type": "text", "file": {"content": "body"}}}, ["body"]),
        ("nested_memory", {"path": "/m", "content": {"type": "memory", "content": "remember"}}, ["remember"]),
        ("hook_additional_context", {"content": ["one", "two"]}, ["one", "two"]),
        ("hook_blocking_error", {"blockingError": {"blockingError": "no"}}, ["no"]),
        ("edited_text_file", {"filename": "/a", "snippet": "1\tx"}, ["1\tx"]),
        ("task_reminder", {"content": [{"id": "1", "subject": "s"}]}, ['{"id":"1","subject":"s"}']),
        ("invoked_skills", {"skills": [{"name": "a", "content": "skill body"}]}, ["skill body"]),
        ("queued_command", {"prompt": "by the way"}, ["by the way"]),
        ("mcp_instructions_delta", {"addedBlocks": ["## Figma"]}, ["## Figma"]),
        ("command_permissions", {"allowedTools": ["Bash"]}, None),
        ("task_reminder", {"content": []}, None),
        ("hook_success", {"content": "", "stdout": "{}"}, None),
        ("from_the_future", {"content": "skip me"}, None),
    ],
)
def test_an_attachment_brings_its_text_if_it_has_one(
    path: Path, kind: str, fields: Row, sent: list[str] | None
) -> None:
    session = read(path, claude_prompt("u1", None, "go"), attachment("x1", "u1", kind, **fields))
    messages = session.context().messages[1:]
    assert [[part.text for part in message.parts] for message in messages] == ([] if sent is None else [sent])
    assert all(part.wire_type == kind for message in messages for part in message.parts)


def test_a_queued_prompt_may_hold_pictures(path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    session = read(path, attachment("x1", "u0", "queued_command", prompt=[picture, said("look")]))
    assert [part.kind for part in session.context().messages[0].parts] == ["image", "text"]


def test_models_may_change_in_the_middle(path: Path) -> None:
    other = claude_reply("a2", "u2", "m2", said("second"), claude_usage(fresh=60))
    other["message"]["model"] = "glm-5"
    session = read(
        path,
        claude_prompt("u1", None, "one"),
        claude_reply("a1", "u1", "m1", said("first")),
        claude_prompt("u2", "a1", "two"),
        other,
    )
    assert [(call.model, call.provider) for call in session.calls] == [
        ("claude-opus-4-7", "anthropic"),
        ("glm-5", None),
    ]
    assert [step.switched for step in session.steps()] == [True]
