from __future__ import annotations

import json

import pytest

from ullage.core.errors import CallError
from ullage.core.wire import Dialect, parse_request, render

CHAT = b'{ "messages" : [ {"a":1} ,{"b":2},\t{"c":3} ], "tools":[{"t":1}, {"t":2}] , "model":"m" }'
GEMINI = (
    b'{"contents":[{"parts":[]}],"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]},'
    b'{"googleSearch":{}}],"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]}}'
)


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([0, 1, 2], b' [ {"a":1} ,{"b":2},\t{"c":3} ]'),
        ([0], b' [ {"a":1} ]'),
        ([1], b' [ {"b":2} ]'),
        ([2], b' [ {"c":3} ]'),
        ([0, 2], b' [ {"a":1},\t{"c":3} ]'),
        ([1, 2], b' [ {"b":2},\t{"c":3} ]'),
        ([2, 1, 1], b' [ {"b":2},\t{"c":3} ]'),
        ([], b" []"),
    ],
)
def test_what_is_left_out_goes_with_one_comma(kept: list[int], expected: bytes) -> None:
    before, _, after = CHAT.partition(b' [ {"a":1} ,{"b":2},\t{"c":3} ]')
    assert render(parse_request(CHAT, "openai-chat"), messages=kept) == before + expected + after


def test_the_member_of_tools_of_which_none_is_kept_goes_whole() -> None:
    rendered = render(parse_request(CHAT, "openai-chat"), tools=[])
    assert rendered == b'{ "messages" : [ {"a":1} ,{"b":2},\t{"c":3} ] , "model":"m" }'


def test_an_empty_list_stays_as_the_client_sent_it() -> None:
    body = b'{"tools":[],"messages":[]}'
    assert render(parse_request(body, "openai-chat"), tools=[], messages=[]) == body


def test_a_system_string_that_is_dropped_takes_its_member_along() -> None:
    body = b'{"system":"be kind","messages":[],"model":"m"}'
    assert render(parse_request(body, "anthropic"), system=[]) == b'{"messages":[],"model":"m"}'


def test_everything_may_go_but_the_object() -> None:
    conversation = parse_request(b'{ "system":"a", "tools":[1] }', "anthropic")
    assert render(conversation, system=[], tools=[]) == b"{  }"
    assert json.loads(render(conversation, system=[], tools=[], model="m")) == {"model": "m"}


def test_an_earlier_duplicate_does_not_come_back_when_the_last_one_goes() -> None:
    body = b'{"system":"old","messages":[],"system":"new"}'
    assert render(parse_request(body, "anthropic"), system=[]) == b'{"messages":[]}'


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([0, 2], [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]),
        ([2], [{"googleSearch": {}}]),
        ([1], [{"functionDeclarations": [{"name": "g"}]}]),
        ([], None),
    ],
)
def test_declarations_of_gemini_leave_one_by_one_and_an_emptied_tool_with_them(
    tools: list[int], expected: object
) -> None:
    rendered = json.loads(render(parse_request(GEMINI, "gemini"), tools=tools))
    assert rendered.get("tools") == expected


@pytest.mark.parametrize(
    ("system", "expected"),
    [([1], {"parts": [{"text": "b"}]}), ([], None), ([0, 1], {"parts": [{"text": "a"}, {"text": "b"}]})],
)
def test_system_parts_of_gemini_leave_one_by_one(system: list[int], expected: object) -> None:
    rendered = json.loads(render(parse_request(GEMINI, "gemini"), system=system))
    assert rendered.get("systemInstruction") == expected


@pytest.mark.parametrize(
    ("dialect", "body", "expected"),
    [
        ("openai-chat", b'{"model" : "m","messages":[]}', b'{"model" : "n\\"\xc3\xa9","messages":[]}'),
        ("openai-chat", b' {"messages":[]}', b' {"model":"n\\"\xc3\xa9","messages":[]}'),
        ("openai-chat", b"{ }", b'{"model":"n\\"\xc3\xa9" }'),
        ("gemini", b'{"contents":[]}', b'{"contents":[]}'),
        ("gemini", b'{"model":"models/m","contents":[]}', b'{"model":"n\\"\xc3\xa9","contents":[]}'),
    ],
)
def test_a_model_replaces_the_value_of_its_member_alone(dialect: Dialect, body: bytes, expected: bytes) -> None:
    assert render(parse_request(body, dialect, path_model="p"), model='n"\u00e9') == expected


def test_a_selection_and_a_model_go_together() -> None:
    rendered = render(parse_request(CHAT, "openai-chat"), messages=[2], tools=[1], model="n")
    assert json.loads(rendered) == {"messages": [{"c": 3}], "tools": [{"t": 2}], "model": "n"}


def test_an_unchanged_request_is_the_same_object() -> None:
    conversation = parse_request(CHAT, "openai-chat")
    assert render(conversation) is CHAT
    assert render(conversation, messages=[0, 1, 2], tools=[0, 1], model="m") is CHAT


@pytest.mark.parametrize("kept", [[3], [-1]])
def test_an_index_out_of_range_is_the_callers_fault(kept: list[int]) -> None:
    with pytest.raises(CallError, match="no message number"):
        render(parse_request(CHAT, "openai-chat"), messages=kept)
