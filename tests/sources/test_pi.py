"""Sessions of Pi: trees, compactions, edits, and what a fork adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sources.rows import (
    Row,
    first_version,
    pi_entry,
    pi_header,
    pi_reply,
    pi_result,
    pi_user,
    roles,
    texts,
    write_lines,
)
from ullage.sources import Compaction, Session, read_session

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def read(path: Path, *rows: Row | str) -> Session:
    return read_session(write_lines(path, rows))


def test_a_session_tells_its_client_version_and_place(path: Path) -> None:
    session = read(path, pi_header(parentSession="/older.jsonl"), pi_user("u1", None, "hello"))
    assert (session.client, session.format_version, session.id) == ("pi", 3, "0198-pi")
    assert (session.cwd, session.parent, session.problems.headless) == ("/project", "/older.jsonl", False)


def test_usage_of_pi_is_disjoint_already(path: Path) -> None:
    usage = {"input": 10, "output": 649, "cacheRead": 134208, "cacheWrite": 5, "reasoning": 40}
    [call] = read(path, pi_header(), pi_user("u1", None, "go"), pi_reply("a1", "u1", usage=usage)).calls
    assert call.usage is not None
    assert (call.usage.input_fresh, call.usage.cache_read, call.usage.cache_write) == (10, 134208, 5)
    assert (call.usage.output, call.usage.reasoning, call.usage.prompt) == (649, 40, 134223)
    assert (call.provider, call.api, call.dialect) == ("anthropic", "anthropic-messages", "anthropic")
    assert call.trusted


def test_a_call_sends_what_stands_above_it(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1", "first"),
        pi_result("r1", "a1", "output"),
        pi_reply("a2", "r1", "second", prompt=140),
    )
    assert texts(session, 0) == ["one"]
    assert texts(session, 1) == ["one", "first", "output"]
    assert roles(session) == ["user", "assistant", "tool", "assistant"]
    assert [call.reply for call in session.calls] == [(1,), (3,)]
    assert [call.previous for call in session.calls] == [None, 0]


def test_a_rewind_leaves_the_other_branch_behind(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1", "first"),
        pi_user("u2", "a1", "a way that is left"),
        pi_reply("a2", "u2", "dead end"),
        pi_user("u3", "a1", "another way"),
        pi_reply("a3", "u3", "good"),
    )
    assert texts(session) == ["one", "first", "another way", "good"]
    assert session.rewinds == 1
    assert session.calls[2].previous == 0
    assert session.messages_before(1) == 2


def test_a_compaction_by_id_keeps_the_entries_from_there_on(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1", "first", prompt=5000),
        pi_user("u2", "a1", "two"),
        pi_reply("a2", "u2", "second", prompt=6000),
        pi_entry("compaction", "c1", "a2", summary="the story", firstKeptEntryId="u2", tokensBefore=6010),
        pi_user("u3", "c1", "three"),
        pi_reply("a3", "u3", "third", prompt=900),
    )
    assert texts(session, 2) == ["the story", "two", "second", "three"]
    assert session.compactions == (Compaction(before_call=2, tokens_before=6010),)
    assert session.calls[2].previous is None
    assert session.messages_before(1) == 0


def test_a_second_compaction_starts_from_all_messages_not_from_what_was_sent(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_user("u2", "u1", "two"),
        pi_entry("compaction", "c1", "u2", summary="story", firstKeptEntryId="u2", tokensBefore=900),
        pi_user("u3", "c1", "three"),
        pi_entry("compaction", "c2", "u3", summary="longer story", firstKeptEntryId="u2", tokensBefore=900),
        pi_user("u4", "c2", "four"),
    )
    assert texts(session) == ["longer story", "two", "three", "four"]


def test_a_compaction_that_names_itself_keeps_nothing(path: Path) -> None:
    compaction = pi_entry("compaction", "c1", "u1", summary="story", firstKeptEntryId="c1", tokensBefore=9)
    session = read(path, pi_header(), pi_user("u1", None, "one"), compaction, pi_user("u2", "c1", "two"))
    assert texts(session) == ["story", "two"]


def test_version_1_follows_the_file_and_compacts_by_index(path: Path) -> None:
    rows = [
        pi_user("", None, "one"),
        pi_reply("", None, "first", prompt=5000),
        {"type": "compaction", "summary": "story", "firstKeptEntryIndex": 2, "tokensBefore": 5010, "timestamp": ""},
        pi_user("", None, "two"),
        pi_reply("", None, "second", prompt=300),
    ]
    header = pi_header(version=None, provider="anthropic", modelId="claude-opus-4-5", branchedFrom="/a.jsonl")
    session = read(path, header, *map(first_version, rows))
    assert session.format_version == 1
    assert texts(session, 1) == ["story", "first", "two"]


def test_a_call_as_large_as_before_a_compaction_was_made_without_it(path: Path) -> None:
    """A fork writes the compaction while the agent runs on with the whole context."""
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1", "first", prompt=5000),
        pi_entry("compaction", "c1", "a1", summary="story", firstKeptEntryId="c1", tokensBefore=5010),
        pi_reply("a2", "c1", "still running", prompt=5010),
        pi_user("u2", "a2", "two"),
        pi_reply("a3", "u2", "third", prompt=400),
    )
    assert texts(session, 1) == ["one", "first"]
    assert texts(session, 2) == ["story", "still running", "two"]
    assert session.compactions[0].before_call == 2
    assert session.calls[1].previous == 0


@pytest.mark.parametrize("reason", ["aborted", "error"])
def test_a_failed_reply_is_no_sample_and_is_not_sent_again(path: Path, reason: str) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1", "half a sen", stopReason=reason),
        pi_user("u2", "a1", "again"),
        pi_reply("a2", "u2", "whole"),
    )
    assert [call.trusted for call in session.calls] == [False, True]
    assert texts(session, 1) == ["one", "again"]
    assert session.calls[0].reply == ()
    assert session.anchor() == 1


def test_version_1_sends_the_text_of_a_failed_reply_but_not_its_calls(path: Path) -> None:
    content = [{"type": "text", "text": "half"}, {"type": "toolCall", "id": "t", "name": "read", "arguments": {}}]
    failed = pi_reply("", None, content=content, stopReason="aborted")
    rows = [pi_header(version=None), *map(first_version, [pi_user("", None, "one"), failed, pi_reply("", None)])]
    session = read(path, *rows)
    assert [part.kind for part in session.context(1).messages[1].parts] == ["text"]


def test_all_zero_usage_is_not_trusted(path: Path) -> None:
    usage = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    [call] = read(path, pi_header(), pi_user("u1", None, "go"), pi_reply("a1", "u1", usage=usage)).calls
    assert not call.trusted


def test_a_file_without_its_head_is_read_from_where_it_begins(path: Path) -> None:
    session = read(path, pi_user("u9", "gone", "go on"), pi_reply("a9", "u9", prompt=137431))
    assert session.problems.headless
    assert session.problems.unknown_parents == 1
    assert texts(session, 0) == ["go on"]


def test_an_unknown_parent_counts_as_the_line_before(path: Path) -> None:
    broken = '{"type":"message","id":"r1","parentId":"a1","message":{"role":"toolResult","content":"\\x"}}'
    session = read(
        path, pi_header(), pi_user("u1", None, "one"), pi_reply("a1", "u1", "first"), broken, pi_user("u2", "r1", "two")
    )
    assert session.problems.malformed_lines == 1
    assert session.problems.unknown_parents == 1
    assert texts(session) == ["one", "first", "two"]


def test_evicted_texts_are_counted_and_mark_the_calls_that_sent_them(path: Path) -> None:
    evicted = pi_result("r1", "a1", "[evicted]") | {
        "evictedContent": {"reason": "compacted_history", "payloads": {"message.content.0.text": {"originalChars": 9}}}
    }
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1"),
        evicted,
        pi_reply("a2", "r1", prompt=140),
        pi_user("u2", "a2", "two"),
        pi_reply("a3", "u2", prompt=180),
    )
    assert session.problems.evicted_texts == 1
    assert [call.lossy for call in session.calls] == [False, True, True]
    assert [step.lossy for step in session.steps()] == [True, False]


def test_custom_messages_shell_runs_and_summaries_go_out_as_user_text(path: Path) -> None:
    shell = {"role": "bashExecution", "command": "ls", "output": "a.txt", "exitCode": 2}
    session = read(
        path,
        pi_header(),
        pi_entry("custom_message", "e1", None, customType="note", content="from an extension", display=False),
        pi_entry("message", "e2", "e1", message=shell),
        pi_entry("message", "e3", "e2", message=shell | {"excludeFromContext": True}),
        pi_entry("branch_summary", "e4", "e3", summary="learned there", fromId="e1"),
        pi_entry("custom", "e5", "e4", customType="state", data={"a": 1}),
        pi_entry("model_change", "e6", "e5", provider="zai", modelId="glm-5.2"),
        pi_entry("from_the_future", "e7", "e6", text="skip me"),
    )
    assert roles(session) == ["user"] * 3
    assert texts(session)[0::2] == ["from an extension", "learned there"]
    assert "ls" in texts(session)[1]
    assert "a.txt" in texts(session)[1]


def test_arguments_that_are_objects_read_as_minified_json(path: Path) -> None:
    call = {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"path": "ä.py", "limit": 5}}
    session = read(path, pi_header(), pi_user("u1", None, "go"), pi_reply("a1", "u1", content=[call]))
    [part] = session.context().messages[1].parts
    assert (part.kind, part.name, part.call_id, part.text) == ("tool_call", "read", "t1", '{"path":"ä.py","limit":5}')


@pytest.mark.parametrize(
    ("signature", "sealed_chars", "replays"),
    [
        ("SIGNED", 6, True),
        ("", 0, False),
        ("reasoning_content", 0, False),
        ('{"id":"rs_1","encrypted_content":"XX"}', 38, True),
        ('{"id":"rs_1"}', 13, False),
    ],
)
def test_a_signature_counts_only_by_its_length(path: Path, signature: str, sealed_chars: int, replays: bool) -> None:
    block = {"type": "thinking", "thinking": "hm", "thinkingSignature": signature}
    session = read(path, pi_header(), pi_user("u1", None, "go"), pi_reply("a1", "u1", content=[block]))
    [part] = session.context().messages[1].parts
    assert (part.kind, part.text, part.sealed_chars, part.carries_reasoning) == (
        "thinking",
        "hm",
        sealed_chars,
        replays,
    )


def test_redacted_thinking_has_no_text(path: Path) -> None:
    block = {"type": "thinking", "thinking": "[redacted]", "thinkingSignature": "S", "redacted": True}
    session = read(path, pi_header(), pi_user("u1", None, "go"), pi_reply("a1", "u1", content=[block]))
    assert session.context().messages[1].parts[0].text == ""


def test_a_picture_is_media_and_never_text(path: Path) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAACAAAAAQCAYAAAB3AH1ZAAAAC0lEQVR4nGNgGAUjAAAB"
    blocks = [{"type": "text", "text": "shot"}, {"type": "image", "data": pixel, "mimeType": "image/png"}]
    blocks.append({"type": "image", "data": "blob:sha256:00ff", "mimeType": "image/webp"})
    result = pi_entry("message", "r1", None, message={"role": "toolResult", "toolCallId": "t", "content": blocks})
    [part] = read(path, pi_header(), result).context().messages[0].parts
    assert [inner.kind for inner in part.parts] == ["text", "image", "image"]
    inline, elsewhere = part.parts[1].media, part.parts[2].media
    assert inline is not None
    assert elsewhere is not None
    assert (inline.mime, inline.width, inline.height) == ("image/png", 32, 16)
    assert (elsewhere.mime, elsewhere.size_bytes) == ("image/webp", None)


def test_system_messages_make_prompt_and_tools(path: Path) -> None:
    read_tool = {"name": "read", "description": "Read a file", "parameters": {"type": "object"}}
    read_tool["sourceInfo"] = {"scope": "temporary", "source": "builtin"}
    first = {"role": "system", "content": "You are Pi.", "sections": {"skills": "none", "tone": "dry"}}
    later = {"role": "system", "content": "", "sections": {"skills": None, "tone": "kind"}}
    session = read(
        path,
        pi_header(),
        pi_entry("message", "s1", None, message=first | {"toolsAdded": [read_tool, {"name": "bash"}]}),
        pi_user("u1", "s1", "go"),
        pi_reply("a1", "u1"),
        pi_entry("message", "s2", "a1", message=later | {"toolsRemoved": [{"name": "bash"}]}),
        pi_user("u2", "s2", "on"),
    )
    before, now = session.context(0), session.context()
    assert before.system == ("You are Pi.", "none", "dry")
    assert [tool.name for tool in before.tools] == ["read", "bash"]
    assert now.system == ("You are Pi.", "kind")
    assert [tool.name for tool in now.tools] == ["read"]
    assert now.tools[0].parameters == {"type": "object"}
    assert now.tools[0].source == "temporary · builtin"
    assert now.complete
    assert roles(session) == ["user", "assistant", "user"]


def test_without_system_messages_the_context_is_not_complete(path: Path) -> None:
    assert not read(path, pi_header(), pi_user("u1", None, "go")).context().complete


def test_a_compaction_may_bring_a_new_system_message(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_entry("message", "s1", None, message={"role": "system", "content": "old"}),
        pi_user("u1", "s1", "one"),
        pi_entry("compaction", "c1", "u1", summary="story", firstKeptEntryId="c1", systemMessage={"content": "new"}),
    )
    assert session.context().system == ("new",)


def test_an_edit_of_the_context_changes_what_is_sent_from_there_on(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_result("r1", "u1", "a very long output"),
        pi_reply("a1", "r1"),
        pi_entry("context_edit", "x1", "a1", targetId="r1", replacement={"content": "short"}),
        pi_entry("context_edit", "x2", "x1", targetId="u1", replacement=None),
        pi_entry("context_edit", "x3", "x2", targetId="nobody", replacement=None),
        pi_user("u2", "x3", "two"),
    )
    assert texts(session, 0) == ["one", "a very long output"]
    assert texts(session) == ["short", "yes", "two"]


def test_time_stamps_that_no_client_writes_mark_a_file_as_made_by_hand(path: Path) -> None:
    row = pi_user("u1", None, "go") | {"timestamp": "[trimmed]"}
    assert read(path, pi_header(), row).handmade
    assert not read(path, pi_header(), pi_user("u1", None, "go")).handmade


def test_models_may_change_in_the_middle(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1"),
        pi_user("u2", "a1", "two"),
        pi_reply("a2", "u2", provider="zai", model="glm-5.2", prompt=150),
    )
    assert [call.model for call in session.calls] == ["claude-opus-4-5", "glm-5.2"]
    assert [step.switched for step in session.steps()] == [True]


def pi_label(name: str, parent: str, target: str, label: str | None = None) -> Row:
    return pi_entry("label", name, parent, targetId=target, **({} if label is None else {"label": label}))


def test_labels_are_told_by_the_messages_that_they_are_on(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1", "first"),
        pi_label("l1", "a1", "u1", "ds4:pin"),
        pi_label("l2", "l1", "a1", "bookmark"),
        pi_label("l3", "l2", "a1", "ds4:pin the answer"),
        pi_user("u2", "l3", "two"),
        pi_label("l4", "u2", "u2", "ds4:pin"),
        pi_label("l5", "l4", "u2"),
        pi_label("l6", "l5", "nobody", "ds4:pin"),
        pi_reply("a2", "l6", "second", prompt=140),
    )
    assert session.labels() == {0: "ds4:pin", 1: "ds4:pin the answer"}
    assert session.labels(0) == {0: "ds4:pin"}


def test_a_label_of_a_message_that_was_compacted_is_on_nothing(path: Path) -> None:
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_reply("a1", "u1", "first"),
        pi_user("u2", "a1", "two"),
        pi_entry("compaction", "c1", "u2", summary="so far", firstKeptEntryId="u2", tokensBefore=100),
        pi_label("l1", "c1", "u1", "ds4:pin"),
        pi_label("l2", "l1", "c1", "ds4:pin"),
        pi_label("l3", "l2", "u2", "mine"),
    )
    assert texts(session) == ["so far", "two"]
    assert session.labels() == {0: "ds4:pin", 1: "mine"}


def test_what_was_left_about_what_is_kept_is_told_with_its_places_on_the_branch(path: Path) -> None:
    def pin(name: str, parent: str, leaf: str) -> Row:
        data = {"operation": "add", "item": {"branchLeafId": leaf}}
        return pi_entry("custom", name, parent, customType="ds4-context-pin-v1", data=data)

    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_user("x1", "u1", "left behind"),
        pin("p1", "u1", "u1"),
        pin("p2", "p1", "x1"),
        pi_entry("custom", "k1", "p2", customType="another", data={"item": {"branchLeafId": "p1"}}),
        pi_entry("custom", "k2", "k1", customType="ullage.kept", data={"id": "mut_1"}),
        pi_entry("custom", "k3", "k2", customType="ullage.kept"),
    )
    assert [one.name for one in session.left()] == ["ds4-context-pin-v1"] * 2 + ["ullage.kept"] * 2
    assert [one.data for one in session.left()[2:]] == [{"id": "mut_1"}, None]
    assert session.places == {"u1"}


def test_entries_that_lead_back_to_each_other_end_the_branch(path: Path) -> None:
    item = {"item": {"branchLeafId": "u1"}}
    session = read(
        path,
        pi_header(),
        pi_user("u1", None, "one"),
        pi_entry("custom", "k1", "u1", customType="ds4-context-pin-v1", data=item),
        pi_user("u1", "k1", "again"),
    )
    assert session.places == {"u1"}
