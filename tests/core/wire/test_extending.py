from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.errors import RequestError
from ullage.core.wire import Conversation, parse_request
from ullage.core.wire.extending import extend

TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]
MESSAGES = [{"role": "user", "content": f"message {number}"} for number in range(8)]


def body(messages: list[Any], **more: Any) -> bytes:
    return json.dumps({"model": "m", "tools": TOOLS, "messages": messages, **more}).encode()


def extended(previous: bytes, following: bytes) -> Conversation | None:
    return extend(parse_request(previous, "anthropic"), following, "anthropic", path_model=None, path_stream=None)


@pytest.mark.parametrize(
    "following",
    [
        body([*MESSAGES, {"role": "user", "content": "new"}]),
        body(MESSAGES),
        body([*MESSAGES[:-1], {"role": "user", "content": [{"type": "text", "text": "changed"}]}, {"new": 1}]),
        body(MESSAGES[:-2]),
        body([*MESSAGES, {"new": 1}], system="rules", stream=True),
    ],
    ids=["added", "repeated", "last changed", "shorter", "members behind"],
)
def test_what_goes_on_from_the_request_before_is_not_cut_again(following: bytes) -> None:
    found = extended(body(MESSAGES, max_tokens=1), following)
    whole = parse_request(following, "anthropic")
    assert found == whole
    assert found is not None and found.messages[0] is not whole.messages[0]


def test_slices_so_far_are_taken_over() -> None:
    previous = parse_request(body(MESSAGES), "anthropic")
    following = parse_request(body([*MESSAGES, {"new": 1}]), "anthropic", previous=previous)
    assert all(new is old for new, old in zip(following.messages, previous.messages, strict=False))
    assert following.tools is previous.tools


def test_tools_behind_the_messages_are_cut_again() -> None:
    previous = json.dumps({"messages": MESSAGES, "tools": TOOLS}).encode()
    following = json.dumps({"messages": [*MESSAGES, 1], "tools": [*TOOLS, *TOOLS]}).encode()
    assert extended(previous, following) == parse_request(following, "anthropic")


@pytest.mark.parametrize(
    ("previous", "following"),
    [
        (body([]), body(MESSAGES)),
        (body(MESSAGES), body([{"other": 1}, *MESSAGES])),
        (body(MESSAGES), json.dumps({"model": "n", "messages": MESSAGES}).encode()),
        (body(MESSAGES), body(MESSAGES)[:-1] + b',"messages":[]}'),
        (b'{"messages":[],"messages":[1]}', b'{"messages":[],"messages":[1,2]}'),
        (b'{"messages":[1]}', b'{"messages":[12]}'),
        (b'{"messages":[1]}', b'{"messages":[1,]}'),
        (b'{"messages":"one"}', b'{"messages":"one"}'),
    ],
    ids=["nothing yet", "other start", "other head", "repeated", "repeated before", "longer number", "comma", "string"],
)
def test_what_does_not_go_on_is_parsed_whole(previous: bytes, following: bytes) -> None:
    assert extended(previous, following) is None


def test_tools_behind_the_messages_that_are_gone_are_gone() -> None:
    previous = json.dumps({"messages": MESSAGES, "tools": TOOLS}).encode()
    assert extended(previous, json.dumps({"messages": [*MESSAGES, 1]}).encode()).tools == ()  # type: ignore[union-attr]


@pytest.mark.parametrize("rest", [b', "\xff"]}', b',"a]}', b"]} x", b"]"])
def test_a_rest_that_is_no_json_is_refused_like_the_whole(rest: bytes) -> None:
    previous = parse_request(body(MESSAGES), "anthropic")
    following = body(MESSAGES)[:-2] + rest
    with pytest.raises(RequestError) as whole:
        parse_request(following, "anthropic")
    with pytest.raises(RequestError) as refused:
        parse_request(following, "anthropic", previous=previous)
    assert refused.value.message == whole.value.message


def test_another_dialect_is_parsed_whole() -> None:
    previous = parse_request(body(MESSAGES), "anthropic")
    following = body([*MESSAGES, 1])
    assert parse_request(following, "openai-chat", previous=previous) == parse_request(following, "openai-chat")


def test_a_rest_that_nests_too_deep_is_refused() -> None:
    previous = parse_request(body(MESSAGES), "anthropic")
    deep: list[Any] = []
    for _ in range(210):
        deep = [deep]
    with pytest.raises(RequestError, match="nests deeper"):
        parse_request(body([*MESSAGES, deep]), "anthropic", previous=previous)


def test_a_wrapped_request_is_parsed_whole_so_that_a_missing_brace_is_seen() -> None:
    previous = parse_request(b'{"generateContentRequest":{"contents":[{"parts":[]}]}}', "gemini")
    assert len(previous.messages) == 1
    with pytest.raises(RequestError):
        parse_request(b'{"generateContentRequest":{"contents":[{"parts":[]}]}', "gemini", previous=previous)
