"""Trajectories of OpenHands: replies that stand in several events, observations, condensations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.sources.rows import (
    Row,
    hands_action,
    hands_event,
    hands_observation,
    hands_reply,
    hands_user,
    roles,
    texts,
)
from ullage.sources import Session, read_session

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trajectory.json"


def read(path: Path, *events: Row, **members: Any) -> Session:
    document: Any = {**members, "history": events, "metrics": members.get("metrics")} if members else events
    path.write_text(json.dumps(document))
    return read_session(path)


TOOL = {"type": "function", "function": {"name": "execute_bash", "description": "Runs.", "parameters": {"a": 1}}}
SYSTEM = hands_event(0, action="system", args={"content": "You are OpenHands.", "tools": [TOOL]})


def test_system_prompt_and_tools_are_in_the_file(path: Path) -> None:
    context = read(path, SYSTEM, hands_user(1, "fix it")).context()
    assert (context.system, context.complete) == (("You are OpenHands.",), True)
    assert [(tool.name, tool.parameters) for tool in context.tools] == [("execute_bash", {"a": 1})]
    assert not read(path, hands_user(1, "fix it")).context().complete


def test_a_reply_that_stands_in_several_events_is_one_call(path: Path) -> None:
    metadata = hands_reply("r1", "t1", prompt=5282)
    session = read(path, hands_user(1, "fix it"), hands_action(2, metadata), hands_observation(3, metadata, "a.txt"))
    [call] = session.calls
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.output, call.response_id) == (5282, 12, "r1")
    assert (call.model, call.dialect, call.reply) == ("meta-llama/llama-4-maverick", "openai-chat", (1,))
    assert roles(session) == ["user", "assistant", "tool"]


def test_parallel_calls_of_a_reply_are_one_message(path: Path) -> None:
    one, two = hands_reply("r1", "t1"), hands_reply("r1", "t2")
    events = [
        hands_action(2, one),
        hands_observation(3, one, "1"),
        hands_action(4, two),
        hands_observation(5, two, "2"),
    ]
    session = read(path, hands_user(1, "fix it"), *events)
    assert (roles(session), len(session.calls)) == (["user", "assistant", "tool", "tool"], 1)


def test_the_prompt_contains_what_was_read_from_and_written_to_the_cache(path: Path) -> None:
    cached = {"prompt_tokens_details": {"cached_tokens": 3471}, "cache_creation_input_tokens": 139}
    [call] = read(path, hands_user(1, "go"), hands_action(2, hands_reply("r1", "t1", prompt=3616, **cached))).calls
    assert call.usage is not None
    assert (call.usage.input_fresh, call.usage.cache_read, call.usage.cache_write) == (6, 3471, 139)


def test_metrics_give_the_usage_that_a_reply_lacks(path: Path) -> None:
    metadata = hands_reply("r1", "t1")
    metadata["model_response"]["usage"] = None
    usage = {"response_id": "r1", "prompt_tokens": 900, "completion_tokens": 9, "cache_read_tokens": 400}
    session = read(
        path,
        hands_user(1, "go"),
        hands_action(2, metadata),
        instance_id="repo-1",
        metrics={"token_usages": [usage], "accumulated_token_usage": {"prompt_tokens": 99999}},
    )
    [call] = session.calls
    assert session.id == "repo-1"
    assert call.usage is not None
    assert (call.usage.prompt, call.usage.cache_read, call.usage.output, call.trusted) == (900, 400, 9, True)


def test_arguments_are_the_json_text_that_was_sent(path: Path) -> None:
    [_, message] = read(path, hands_user(1, "go"), hands_action(2, hands_reply("r1", "t1"))).context().messages
    assert [(part.kind, part.text) for part in message.parts] == [
        ("text", "Let me look."),
        ("tool_call", '{"command": "ls"}'),
    ]


def test_a_command_result_says_where_it_ran_and_how_it_ended(path: Path) -> None:
    shell = {
        "prefix": "[below] ",
        "suffix": "\n[done]",
        "working_dir": "/w",
        "exit_code": 1,
        "py_interpreter_path": "/py",
    }
    metadata = hands_reply("r1", "t1")
    session = read(path, hands_user(1, "go"), hands_observation(2, metadata, "output", metadata=shell))
    text = texts(session)[1]
    assert text.startswith("[below] output\n[done]")
    assert "/w" in text
    assert "/py" in text
    assert "exit code 1" in text


def test_older_edits_answered_apart_from_the_difference_they_made(path: Path) -> None:
    edit = hands_observation(2, hands_reply("r1", "t1"), "--- a\n+++ b", formatted_output_and_error="File created.")
    assert texts(read(path, hands_user(1, "go"), edit))[1] == "File created."


def test_a_recall_brings_its_texts_and_bookkeeping_nothing(path: Path) -> None:
    knowledge = [{"name": "git", "trigger": "git", "content": "use rebase"}]
    extras = {"recall_type": "workspace_context", "repo_instructions": "be kind", "microagent_knowledge": knowledge}
    session = read(
        path,
        hands_user(1, "go"),
        hands_event(2, "user", action="recall", args={"query": "go"}),
        hands_event(3, "environment", observation="recall", content="Added", extras=extras),
        hands_event(4, "environment", observation="recall", content="Added", extras={"microagent_knowledge": []}),
        hands_event(5, "environment", observation="agent_state_changed", content="", extras={"agent_state": "running"}),
        hands_event(6, "environment", action="change_agent_state", args={}),
        hands_event(7, "environment", observation="null", content=""),
    )
    assert texts(session) == ["go", "be kinduse rebase"]


@pytest.mark.parametrize(("config", "sent"), [(None, False), ({"enable_prompt_extensions": True}, True)])
def test_evaluations_run_without_what_they_recall(path: Path, config: Row | None, sent: bool) -> None:
    recall = hands_event(2, "environment", observation="recall", extras={"repo_instructions": "be kind"})
    session = read(path, hands_user(1, "go"), recall, instance_id="i", metadata={"agent_config": config})
    assert texts(session) == ["go", "be kind"][: 1 + sent]


def test_texts_of_the_agent_without_a_reply_are_sent_but_are_no_calls(path: Path) -> None:
    session = read(
        path,
        hands_event(1, action="message", args={"content": "Shall I?"}),
        hands_event(2, action="run", args={"thought": "look", "command": "ls"}),
        hands_event(3, observation="error", content="it failed", extras={}),
    )
    assert (roles(session), session.calls) == (["assistant", "assistant", "user"], ())
    assert texts(session) == ["Shall I?", 'look{"command":"ls"}', "it failed"]


def test_pictures_of_a_prompt_are_media(path: Path) -> None:
    prompt = hands_event(1, "user", action="message", args={"content": "see", "image_urls": ["https://x/a.png"]})
    [message] = read(path, prompt).context().messages
    assert [part.kind for part in message.parts] == ["text", "image"]


FIRST = hands_reply("r1", "t1")
LONG = [
    hands_user(1, "fix it"),
    hands_action(2, FIRST),
    hands_observation(3, FIRST, "output"),
    hands_user(4, "more"),
]


@pytest.mark.parametrize(
    "forgotten",
    [{"forgotten_event_ids": [2, 3]}, {"forgotten_events_start_id": 2, "forgotten_events_end_id": 3}],
    ids=["listed", "range"],
)
def test_a_condensation_puts_a_summary_in_place_of_forgotten_events(path: Path, forgotten: Row) -> None:
    condensation = hands_event(5, action="condensation", args={**forgotten, "summary": "the story"})
    after = hands_action(6, hands_reply("r2", "t2"))
    session = read(path, *LONG, hands_event(5, action="condensation_request", args={}), condensation, after)
    assert texts(session, 1) == ["fix it", "the story", "more"]
    assert [compaction.before_call for compaction in session.compactions] == [1]
    assert session.calls[1].previous is None


def test_a_condensation_of_nothing_changes_nothing(path: Path) -> None:
    condensation = hands_event(5, action="condensation", args={"forgotten_event_ids": []})
    session = read(path, *LONG, condensation)
    assert (len(texts(session)), session.compactions) == (4, ())
