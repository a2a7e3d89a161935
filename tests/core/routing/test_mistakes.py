"""Specification of routing, section 21: which results of tools are mistakes of the model that called them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage.core.content import Message, Part
from ullage.core.routing.escalation import NO_STREAKS, find_escalation, follow
from ullage.core.routing.mistakes import ROWS, ToolOutcome, find_mistake, judge_outcome, read_outcomes, tool_of
from ullage.sources import read_session


def outcome(tool: str, text: str, *, is_error: bool = False, arguments: str = "{}") -> ToolOutcome:
    return ToolOutcome(tool=tool, arguments=arguments, text=text, is_error=is_error)


@pytest.mark.parametrize(
    ("tool", "text", "kind"),
    [
        ("Edit", "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>", "text-not-found"),
        (
            "Edit",
            "<tool_use_error>Found 2 matches of the string to replace, but replace_all is false.</tool_use_error>",
            "text-ambiguous",
        ),
        (
            "MultiEdit",
            "<tool_use_error>No changes to make: old_string and new_string are exactly the same.</tool_use_error>",
            "nothing-changed",
        ),
        (
            "Write",
            "<tool_use_error>InputValidationError: Write failed due to the following issues:\nThe required</tool_use_error>",
            "invalid-arguments",
        ),
        ("Bash", "InputValidationError: Bash failed due to the following issue:\nx", "invalid-arguments"),
        (
            "exec",
            "Script failed\nWall time 0.1 seconds\nOutput:\n\nScript error:\napply_patch verification failed: Failed to find x",
            "text-not-found",
        ),
        ("apply_patch", "apply_patch verification failed: Failed to find context 'x' in a.rs", "text-not-found"),
        (
            "apply_patch",
            "apply_patch verification failed: invalid hunk at line 8, Unexpected line",
            "invalid-arguments",
        ),
        (
            "shell",
            "Invalid patch: The first line of the patch must be '*** Begin Patch'",
            "invalid-arguments",
        ),
        ("edit", "Could not find the exact text in /a.ts. The old text must match exactly", "text-not-found"),
        ("edit", "Could not find edits[0] in /a.md. The oldText must match exactly", "text-not-found"),
        ("edit", "Found 3 occurrences of the text in /a.ts. The text must be unique.", "text-ambiguous"),
        (
            "edit",
            "No changes made to /a/AGENTS.md. The replacement produced identical content. This might",
            "nothing-changed",
        ),
        ("edit", 'Validation failed for tool "edit":\n- oldText: must be string', "invalid-arguments"),
        ("edit", "Edit rejected: 37 anchors do not match the current file (marked *).", "text-not-found"),
        ("edit", 'line 1: expected a full anchor such as "119sr"; got "5".', "invalid-arguments"),
        ("edit", "Error: Could not find oldString in the file. It must match exactly", "text-not-found"),
        ("edit", "oldString not found in content", "text-not-found"),
        (
            "write",
            'The write tool was called with invalid arguments: SchemaError(Missing key\n  at ["content"]).',
            "invalid-arguments",
        ),
        ("shell", "failed to parse function arguments: missing field `command` at line 1", "invalid-arguments"),
        ("replace", '{"error":"Failed to edit, 0 occurrences found for old_string in /a."}', "text-not-found"),
        ("replace", "Error: Failed to edit, could not find the string to replace.", "text-not-found"),
        ("edit", "Found multiple matches for oldString. Provide more surrounding context", "text-ambiguous"),
        ("edit", "oldString found multiple times and requires more code context", "text-ambiguous"),
        (
            "str_replace_editor",
            "ERROR:\nNo replacement was performed, old_str `a` did not appear verbatim in /b.",
            "text-not-found",
        ),
        (
            "str_replace_editor",
            "ERROR:\nNo replacement was performed. Multiple occurrences of old_str `a` in lines [1, 2].",
            "text-ambiguous",
        ),
        (
            "str_replace_editor",
            "ERROR:\nInvalid `new_str` parameter: x. No replacement was performed. `new_str` and `old_str` must be different.",
            "nothing-changed",
        ),
        (
            "str_replace_editor",
            "ERROR:\nParameter `old_str` is required for command: str_replace.",
            "invalid-arguments",
        ),
    ],
)
def test_sentences_of_clients_are_recognised(tool: str, text: str, kind: str) -> None:
    found = find_mistake(outcome(tool, text, is_error=True))
    assert found is not None
    assert found.kind == kind
    assert judge_outcome(outcome(tool, text)).result == "mistake"


def test_every_row_says_where_it_was_seen() -> None:
    assert all(row.client and (row.seen.startswith("recorded") or "#" in row.seen) for row in ROWS)


@pytest.mark.parametrize(
    ("tool", "text", "is_error", "result"),
    [
        ("bash", "bash: ponyc: command not found\n[The command completed with exit code 127.]", False, "trouble"),
        ("bash", "Exit code 126\nbash: ./x: Permission denied", True, "trouble"),
        ("Edit", "The user doesn't want to proceed with this tool use. The tool use was rejected", True, "trouble"),
        ("edit", "File not found: README.md", True, "trouble"),
        ("bash", "===== 2 failed, 3 passed in 0.1s =====\n\nCommand exited with code 1", True, "trouble"),
        ("Bash", "AssertionError: 1 != 2", True, "trouble"),
        ("Read", "File content (403.3KB) exceeds maximum allowed size (256KB).", True, "failure"),
        ("Edit", "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>", True, "failure"),
        ("exec_command", "Process exited with code 1\nOutput:\nzsh:1: no matches found", False, "failure"),
        ("read", "the log says: String to replace not found in file, 2 failed", False, "success"),
        ("bash", "String to replace not found in file", False, "success"),
        ("Edit", "The file /a.ts has been updated.", False, "success"),
        ("bash", "exit code 0", False, "success"),
        ("edit", "", False, "success"),
    ],
)
def test_what_no_row_knows_is_no_mistake(tool: str, text: str, is_error: bool, result: str) -> None:
    assert find_mistake(outcome(tool, text, is_error=is_error)) is None
    assert judge_outcome(outcome(tool, text, is_error=is_error)).result == result


def test_a_patch_is_one_whoever_applies_it() -> None:
    assert tool_of(outcome("exec", "", arguments="await tools.apply_patch(p)")) == "apply_patch"
    assert tool_of(outcome("shell", "", arguments='{"command":["apply_patch","…"]}')) == "apply_patch"
    assert tool_of(outcome("shell", "", arguments='{"command":["ls"]}')) == "shell"
    assert tool_of(outcome("read", "", arguments='{"path":"apply_patch.rs"}')) == "read"


def test_outcomes_are_calls_with_their_results() -> None:
    def call(number: int) -> Message:
        part = Part(kind="tool_call", name="edit", call_id=f"c{number}", text=f'{{"n":{number}}}')
        return Message(role="assistant", parts=(part,))

    def result(number: int, *parts: Part, error: bool = False) -> Message:
        text = "" if parts else f"r{number}"
        found = Part(kind="tool_result", call_id=f"c{number}", text=text, parts=parts, is_error=error)
        return Message(role="tool", parts=(found,))

    user = Message(role="user", parts=(Part(kind="text", text="go"),))
    nested = Part(kind="text", text="nested")
    picture = Part(kind="image")
    messages = [
        user,
        call(2),
        result(2, error=True),
        call(3),
        result(3, nested, picture),
        call(4),
    ]
    assert read_outcomes(messages) == [
        ToolOutcome(tool="edit", arguments='{"n":2}', text="r2", is_error=True),
        ToolOutcome(tool="edit", arguments='{"n":3}', text="nested"),
    ]
    assert read_outcomes([]) == []
    nameless = [
        replace(one, parts=tuple(replace(part, call_id=None, name="f") for part in one.parts)) for one in messages
    ]
    assert [one.arguments for one in read_outcomes(nameless)] == ['{"n":2}', '{"n":3}']
    assert [one.tool for one in read_outcomes([result(9)])] == [""]


@given(st.text(max_size=300), st.sampled_from(["edit", "bash", "exec", ""]), st.booleans())
def test_no_text_breaks_the_judgement(text: str, tool: str, is_error: bool) -> None:
    found = judge_outcome(outcome(tool, text, is_error=is_error)).result
    assert found in ("mistake", "success", "trouble", "failure")
    assert not (is_error and found == "success")


@pytest.mark.shared
@pytest.mark.slow
def test_recorded_sessions_show_no_false_mistake(shared_data: Path) -> None:
    """Read by hand: each of these mistakes is one, and each of these turns was in need of help. `docs/how-to/route.md` names the
    figures."""
    results, mistakes, escalated = 0, [], []
    for path in sorted((shared_data / "sessions").rglob("*.json*")):
        session = read_session(path)
        seen = set()
        for call in [*session.calls, None]:
            messages = session.context(None if call is None else call.index).messages
            turn = max((at for at, message in enumerate(messages) if message.role == "user"), default=-1)
            outcomes = read_outcomes(messages[turn + 1 :])
            for one in outcomes:
                if (turn, one.arguments, one.text) not in seen:
                    seen.add((turn, one.arguments, one.text))
                    results += 1
                    mistakes += [found] if (found := find_mistake(one)) is not None else []
            if find_escalation(follow(NO_STREAKS, outcomes)) is not None and (path.name, turn) not in escalated:
                escalated.append((path.name, turn))
    assert results == 1_686
    assert len(mistakes) == 29
    assert [name for name, _ in escalated] == [
        "episodic-memory-large-conversation.jsonl",
        "openhands-ponylang-ponyc-4588.json",
        "openhands-ponylang-ponyc-4588.json",
    ]
