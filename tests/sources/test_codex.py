"""Rollouts of Codex: items, counts, compactions, aborts, forks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sources.rows import (
    Row,
    codex_call,
    codex_count,
    codex_line,
    codex_message,
    codex_meta,
    codex_output,
    codex_reasoning,
    codex_turn,
    roles,
    texts,
    write_lines,
)
from ullage.sources import Session, read_session

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rollout.jsonl"


def read(path: Path, *rows: Row | str) -> Session:
    return read_session(write_lines(path, rows))


PROMPT = [codex_meta(), codex_turn(), codex_message("developer", "rules"), codex_message("user", "go")]


def test_a_session_tells_its_client_version_and_place(path: Path) -> None:
    session = read(path, *PROMPT, codex_message("assistant", "done"), codex_count(900, prompt=900))
    assert (session.client, session.client_version, session.id) == ("codex", "0.144.1", "thread-1")
    assert (session.cwd, session.window, session.calls[0].model) == ("/project", 353400, "gpt-5.6-sol")
    assert (session.calls[0].provider, session.calls[0].dialect) == ("openai", "openai-responses")


def test_cached_tokens_are_inside_the_input_and_reasoning_inside_the_output(path: Path) -> None:
    count = codex_count(22727, prompt=22727, cached=11008, output=299, reasoning=101)
    [call] = read(path, *PROMPT, codex_message("assistant", "done"), count).calls
    assert call.usage is not None
    assert (call.usage.input_fresh, call.usage.cache_read, call.usage.cache_write) == (11719, 11008, None)
    assert (call.usage.prompt, call.usage.output, call.usage.reasoning) == (22727, 299, 101)


def test_a_call_sends_what_stands_above_the_first_item_of_its_reply(path: Path) -> None:
    """The count comes after the outputs of the call's tools; they belong to the next prompt."""
    session = read(
        path,
        *PROMPT,
        codex_reasoning(),
        codex_message("assistant", "Looking."),
        codex_call("c1", cmd="ls"),
        codex_output("c1", "a.txt"),
        codex_count(900, prompt=900),
        codex_message("assistant", "One file."),
        codex_count(1900, prompt=1000),
    )
    assert texts(session, 0) == ["rules", "go"]
    assert roles(session, 1) == ["developer", "user", "assistant", "assistant", "assistant", "tool"]
    assert [call.reply for call in session.calls] == [(2, 3, 4), (6,)]
    [step] = session.steps()
    assert (step.start, step.stop, step.reply) == (2, 6, (2, 3, 4))


def test_base_instructions_are_the_system_prompt_and_tools_are_missing(path: Path) -> None:
    context = read(path, *PROMPT).context()
    assert (context.system, context.tools, context.complete) == (("Be exact.",), (), False)


def test_older_files_have_the_instructions_in_the_turn(path: Path) -> None:
    meta = codex_meta(base_instructions=None)
    session = read(path, meta, codex_turn(base_instructions="Be brief."), codex_message("user", "go"))
    assert session.context().system == ("Be brief.",)


def test_dynamic_tools_are_read_with_their_schemas(path: Path) -> None:
    tool = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}, "deferLoading": True}
    spaces = [{"type": "namespace", "name": "eyes", "description": "", "tools": [tool]}]
    [space] = read(path, codex_meta(dynamic_tools=spaces), codex_message("user", "go")).context().tools
    assert (space.kind, space.name) == ("namespace", "eyes")
    assert (space.tools[0].name, space.tools[0].parameters, space.tools[0].deferred) == (
        "look",
        {"type": "object"},
        True,
    )


def test_a_count_with_the_totals_of_an_earlier_one_is_no_call(path: Path) -> None:
    session = read(
        path,
        *PROMPT,
        codex_message("assistant", "done"),
        codex_count(900, prompt=900),
        codex_message("user", "more"),
        codex_count(900, prompt=900),
        codex_message("assistant", "more done"),
        codex_count(1900, prompt=1000),
    )
    assert [call.usage.prompt for call in session.calls if call.usage] == [900, 1000]
    assert session.calls[1].messages == 4


def test_a_count_without_info_tells_of_rate_limits_only(path: Path) -> None:
    session = read(path, *PROMPT, codex_line("event_msg", type="token_count", info=None, rate_limits={}))
    assert session.calls == ()


def test_a_repeated_count_behind_items_is_a_reply_that_broke_off_and_stays_in_the_prompt(path: Path) -> None:
    session = read(
        path,
        *PROMPT,
        codex_message("assistant", "done"),
        codex_count(900, prompt=900),
        codex_message("user", "more"),
        codex_reasoning(),
        codex_count(900, prompt=900),
        codex_message("assistant", "more done"),
        codex_count(1950, prompt=1050),
    )
    assert [call.trusted for call in session.calls] == [True, False, True]
    assert session.calls[2].messages == 5
    assert [(step.before, step.after) for step in session.steps()] == [(0, 2)]


def test_an_aborted_turn_leaves_its_items_and_an_untrusted_call(path: Path) -> None:
    session = read(
        path,
        *PROMPT,
        codex_reasoning(),
        codex_line("event_msg", type="turn_aborted", reason="interrupted"),
        codex_message("user", "<turn_aborted>"),
    )
    [call] = session.calls
    assert (call.trusted, call.stop_reason, call.usage) == (False, "aborted", None)
    assert roles(session) == ["developer", "user", "assistant", "user"]


def test_events_for_the_screen_repeat_items_and_are_not_counted(path: Path) -> None:
    session = read(
        path,
        *PROMPT,
        codex_line("event_msg", type="user_message", message="go"),
        codex_line("event_msg", type="agent_message", message="done"),
        codex_line("event_msg", type="exec_command_end", aggregated_output="x"),
        codex_line("world_state", full=True, state={}),
        codex_line("response_item", type="ghost_snapshot", ghost_commit={}),
        codex_line("from_the_future", text="skip me"),
    )
    assert texts(session) == ["rules", "go"]


def test_a_compaction_replaces_the_history_by_its_list(path: Path) -> None:
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "ghost_snapshot"},
        {"type": "compaction", "encrypted_content": "SEALEDSEALED"},
    ]
    after = codex_count(900, prompt=0, output=0, reasoning=0)
    after["payload"]["info"]["last_token_usage"]["total_tokens"] = 350
    session = read(
        path,
        *PROMPT,
        codex_message("assistant", "done"),
        codex_count(900, prompt=900),
        codex_line("compacted", message="", replacement_history=history),
        after,
        codex_line("event_msg", type="context_compacted"),
        codex_message("user", "more"),
        codex_message("assistant", "more done"),
        codex_count(1300, prompt=400),
    )
    messages = session.context(1).messages
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    assert messages[1].parts[0].sealed_chars == 12
    assert messages[1].parts[0].text == ""
    [compaction] = session.compactions
    assert (compaction.before_call, compaction.tokens_after) == (1, 350)
    assert (len(session.calls), session.calls[1].previous) == (2, None)


def test_without_a_list_the_summary_is_the_message(path: Path) -> None:
    session = read(path, *PROMPT, codex_line("compacted", message="the story"), codex_message("user", "more"))
    assert texts(session) == ["the story", "more"]


def test_a_fork_reads_the_items_of_its_parent_once(path: Path) -> None:
    parent = codex_meta("parent", cli_version="0.140.0", base_instructions={"text": "Be old."})
    rows = [codex_meta("child", forked_from_id="parent"), parent, *PROMPT[1:]]
    session = read(path, *rows, codex_message("assistant", "done"), codex_count(900, prompt=900))
    assert (session.id, session.parent) == ("child", "parent")
    assert texts(session, 0) == ["rules", "go"]
    assert session.context().system == ("Be exact.",)


def test_a_resumed_session_that_repeats_its_items_counts_them_once(path: Path) -> None:
    first = [codex_message("assistant", "done"), codex_count(900, prompt=900)]
    session = read(
        path,
        *PROMPT,
        *first,
        codex_meta(),
        *PROMPT[1:],
        *first,
        codex_message("user", "more"),
        codex_message("assistant", "more done"),
        codex_count(1900, prompt=1000),
    )
    assert texts(session) == ["rules", "go", "done", "more", "more done"]
    assert [call.trusted for call in session.calls] == [True, True]
    assert session.calls[1].previous == 0


def test_a_resumed_session_that_repeats_nothing_goes_on(path: Path) -> None:
    session = read(path, *PROMPT, codex_message("assistant", "done"), codex_meta(), codex_message("user", "more"))
    assert texts(session) == ["rules", "go", "done", "more"]


def test_the_thread_of_a_sub_agent_is_a_side_chain(path: Path) -> None:
    meta = codex_meta(source={"subagent": {"other": "x"}}, parent_thread_id="thread-0", agent_nickname="scout")
    session = read(path, meta, *PROMPT[1:], codex_message("assistant", "done"), codex_count(900, prompt=900))
    assert (session.parent, session.calls[0].sidechain, session.calls[0].agent) == ("thread-0", True, "scout")


def test_messages_of_other_agents_are_input(path: Path) -> None:
    content = [{"type": "input_text", "text": "found it"}]
    item = codex_line("response_item", type="agent_message", author="/root/a", recipient="/root", content=content)
    session = read(path, *PROMPT, item)
    assert (roles(session)[-1], texts(session)[-1]) == ("user", "found it")


def test_arguments_are_the_text_that_was_sent(path: Path) -> None:
    custom = codex_line("response_item", type="custom_tool_call", name="exec", input="raw text", call_id="c2")
    session = read(path, *PROMPT, codex_call("c1", cmd="ls"), custom)
    calls = [message.parts[0] for message in session.context().messages[2:]]
    assert [(part.kind, part.text) for part in calls] == [("tool_call", '{"cmd":"ls"}'), ("tool_call", "raw text")]


def test_encrypted_reasoning_counts_only_by_its_length(path: Path) -> None:
    [*_, message] = read(path, *PROMPT, codex_reasoning("S" * 40)).context().messages
    [part] = message.parts
    assert (part.kind, part.text, part.sealed_chars, part.carries_reasoning) == ("thinking", "", 40, True)


@pytest.mark.parametrize("output", ["a.txt", [{"type": "input_text", "text": "a.txt"}]], ids=["text", "blocks"])
def test_an_output_is_a_string_or_blocks(path: Path, output: object) -> None:
    session = read(path, *PROMPT, codex_output("c1", output))
    assert (roles(session)[-1], texts(session)[-1]) == ("tool", "a.txt")


POLICY = codex_turn(truncation_policy={"mode": "tokens", "limit": 1000})


def test_a_long_output_is_cut_as_the_policy_of_the_turn_says(path: Path) -> None:
    long = "a" * 5000 + "é" * 5000
    session = read(path, *PROMPT, POLICY, codex_output("c1", long), codex_output("c2", "short"))
    cut, short = texts(session)[2:]
    assert cut.startswith("a" * 2400 + "…")
    assert cut.endswith("…" + "é" * 1200)
    assert len(cut.encode()) < 4900
    assert short == "short"


def test_without_a_policy_outputs_stay_whole(path: Path) -> None:
    session = read(path, *PROMPT, codex_output("c1", "a" * 100_000))
    assert len(texts(session)[-1]) == 100_000


def test_a_head_that_is_missing_is_noticed(path: Path) -> None:
    assert read(path, codex_message("user", "go")).problems.headless


def test_models_may_change_in_the_middle(path: Path) -> None:
    session = read(
        path,
        *PROMPT,
        codex_message("assistant", "done"),
        codex_count(900, prompt=900),
        codex_turn("gpt-5.6-luna"),
        codex_message("user", "more"),
        codex_message("assistant", "done"),
        codex_count(1900, prompt=1000),
    )
    assert [call.model for call in session.calls] == ["gpt-5.6-sol", "gpt-5.6-luna"]
    assert [step.switched for step in session.steps()] == [True]
