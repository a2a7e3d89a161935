"""The turn of a request: the user's own words, where pins stand, and whether it is a further step."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.planning import facts_of
from ullage.core.routing.turn import Turn, find_pins, gather_evidence, read_turn
from ullage.core.wire import DIALECTS, Conversation, Dialect, parse_request, read_message, render
from ullage.testing import Exchange, make_request

REMINDER = "<system-reminder>\nUse tabs.\n</system-reminder>"


def facts(conversation: Conversation) -> Any:
    return [
        facts_of(read_message(piece, conversation.dialect), conversation.dialect) for piece in conversation.messages
    ]


def parse(dialect: Dialect, *turns: str | Exchange) -> Conversation:
    return parse_request(make_request(dialect, turns=turns).body, dialect)


def chat(*messages: tuple[str, Any]) -> Conversation:
    body = {"model": "auto", "messages": [{"role": role, "content": content} for role, content in messages]}
    return parse_request(json.dumps(body).encode(), "openai-chat")


def turn(conversation: Conversation) -> Turn:
    return read_turn(conversation, facts(conversation))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_turn_is_read_in_every_dialect(dialect: Dialect) -> None:
    assert turn(parse(dialect, "one")) == Turn(index=0, text="one", images=0, first=True, going_on=False, loop=False)
    loop = turn(parse(dialect, "one", Exchange(), Exchange()))
    assert (loop.text, loop.first, loop.going_on, loop.loop) == ("one", True, True, True)
    later = turn(parse(dialect, "one", "yes", "two"))
    assert (later.text, later.first, later.going_on, later.loop) == ("two", False, False, False)


def test_what_a_client_adds_is_not_what_the_user_says() -> None:
    conversation = chat(
        ("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        ("user", "# AGENTS.md instructions for /x\n\nUse tabs."),
        ("user", f"{REMINDER}\nfix it"),
        ("user", REMINDER),
    )
    assert (turn(conversation).index, turn(conversation).text) == (2, "fix it")
    only = chat(("user", REMINDER))
    assert (turn(only).index, turn(only).text) == (0, "")


def test_a_request_without_words_has_none() -> None:
    found = turn(chat(("system", "Be brief.")))
    assert (found.index, found.text, found.first, found.going_on) == (None, "", True, False)


def test_pictures_count_wherever_they_are() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    conversation = chat(
        ("user", [picture, {"type": "text", "text": "what is it"}]), ("assistant", "A cat."), ("user", "ok")
    )
    assert turn(conversation).images == 1


@pytest.mark.parametrize(
    ("messages", "changed"),
    [
        ([("user", "@high debug this")], {0: "debug this"}),
        ([("user", "@low")], {}),
        ([("user", "@lower case")], {}),
        ([("user", "hi"), ("assistant", "yes"), ("user", "@high x")], {}),
        ([("user", "@high a"), ("assistant", "b"), ("user", "@again-stronger c")], {0: "a", 2: "c"}),
        ([("user", REMINDER), ("user", "@ultra a")], {1: "a"}),
        ([("user", f"{REMINDER}\n@ultra a")], {0: f"{REMINDER}\na"}),
        ([("user", "a"), ("assistant", "@again-stronger b")], {}),
        ([("system", "@high"), ("user", "@model:a/b go")], {1: "go"}),
    ],
)
def test_pins_are_found_where_they_count(messages: list[tuple[str, str]], changed: dict[int, str]) -> None:
    conversation = chat(*messages)
    found = find_pins(conversation, facts(conversation))
    assert {index: json.loads(raw)["content"] for index, raw in found.items()} == changed


texts = st.sampled_from(["@high a", "a", "@again-cheaper b", "@model:x/y c", "@low", "d @high", "  @ultra  e"])


@given(st.lists(texts, min_size=1, max_size=9), st.sampled_from(DIALECTS))
def test_what_is_sent_of_a_history_stays_the_same_as_it_grows(history: list[str], dialect: Dialect) -> None:
    sent: list[list[bytes]] = []
    for length in range(1, len(history) + 1, 2):
        conversation = parse(dialect, *history[:length])
        pins = find_pins(conversation, facts(conversation))
        stripped = parse_request(render(conversation, replaced=pins), dialect)
        sent.append([piece.raw for piece in stripped.messages])
    for earlier, later in pairwise(sent):
        assert later[: len(earlier)] == earlier


def test_evidence_is_of_the_task_before() -> None:
    failed = {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True}
    body = {
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}, failed]},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "two"},
        ]
    }
    conversation = parse_request(json.dumps(body).encode(), "anthropic")
    evidence = gather_evidence(conversation, facts(conversation), turn(conversation))
    assert (evidence.tool_calls, evidence.tool_errors) == (2, 1)
    first = parse("anthropic", "one")
    assert gather_evidence(first, facts(first), turn(first)).tool_calls == 0
