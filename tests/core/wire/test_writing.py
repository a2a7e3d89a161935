"""Messages of ours, and other texts in the client's, in every dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.errors import CallError
from ullage.core.wire import (
    DIALECTS,
    Dialect,
    parse_request,
    read_message,
    render,
    replace_result,
    result_texts,
    write_user_message,
)

KEYS: dict[Dialect, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}


def request(dialect: Dialect, *messages: bytes) -> bytes:
    return b'{"model": "m", "' + KEYS[dialect].encode() + b'": [' + b" , ".join(messages) + b' ], "z" : 1}'


def rendered(dialect: Dialect, body: bytes, **named: Any) -> list[Any]:
    found: list[Any] = json.loads(render(parse_request(body, dialect), **named))[KEYS[dialect]]
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", ["plain", 'quote " and \\ and \n', "ü 😀", ""])
def test_a_message_of_ours_reads_back_as_the_users_text(dialect: Dialect, text: str) -> None:
    (piece,) = parse_request(request(dialect, write_user_message(text, dialect)), dialect).messages
    message = read_message(piece, dialect)
    assert message.role == "user"
    assert "".join(part.text for part in message.parts) == text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ours_stand_where_they_were_put_and_the_rest_keeps_its_bytes(dialect: Dialect) -> None:
    theirs = [b'{ "a":%d }' % number for number in range(3)]
    ours = [b'{"o":%d}' % number for number in range(4)]
    body = request(dialect, *theirs)
    everything = render(
        parse_request(body, dialect), inserted={0: ours[:1], 2: ours[1:3], 3: ours[3:]}, replaced={1: b'{"r":1}'}
    )
    assert everything == body.replace(theirs[0], ours[0] + b"," + theirs[0]).replace(theirs[1], b'{"r":1}').replace(
        theirs[2], ours[1] + b"," + ours[2] + b"," + theirs[2] + b"," + ours[3]
    )


def test_what_stood_before_a_dropped_message_goes_before_the_next_kept_one() -> None:
    body = request("openai-chat", *(b'{"a":%d}' % number for number in range(4)))
    assert rendered("openai-chat", body, messages=[0, 3], inserted={1: [b'{"o":1}'], 2: [b'{"o":2}']}) == [
        {"a": 0}, {"o": 1}, {"o": 2}, {"a": 3},
    ]  # fmt: skip
    assert rendered("openai-chat", body, messages=[0], inserted={1: [b'{"o":1}']}) == [{"a": 0}, {"o": 1}]
    assert rendered("openai-chat", body, messages=[2], replaced={1: b"7", 2: b"8"}) == [8]
    assert rendered("openai-chat", body, messages=[], inserted={4: [b'{"o":1}']}) == [{"o": 1}]


def test_an_input_that_is_one_text_becomes_a_list() -> None:
    body = b'{"input":"hello \\ud83d","model":"m"}'
    first, second = rendered("openai-responses", body, inserted={0: [write_user_message("note", "openai-responses")]})
    assert first["content"][0]["text"] == "note"
    assert second["content"][0]["text"].startswith("hello")
    assert render(parse_request(body, "openai-responses")) == body


def test_a_number_that_is_not_there_is_an_error() -> None:
    conversation = parse_request(request("openai-chat", b"{}"), "openai-chat")
    for named in ({"inserted": {2: [b"{}"]}}, {"replaced": {1: b"{}"}}, {"inserted": {-1: [b"{}"]}}):
        with pytest.raises(CallError):
            render(conversation, **named)  # type: ignore[arg-type]
    with pytest.raises(CallError):
        render(parse_request(b'{"model":"m"}', "openai-chat"), inserted={0: [b"{}"]})


IMAGE = {"type": "image", "source": {"type": "url", "url": "http://a/b.png"}}
RESULTS: list[tuple[Dialect, Any, int, Any]] = [
    ("openai-chat", {"role": "tool", "tool_call_id": "c", "content": "long"}, 0,
     {"role": "tool", "tool_call_id": "c", "content": "SHORT"}),
    ("openai-chat", {"role": "tool", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, 0,
     {"role": "tool", "content": [{"type": "text", "text": "SHORT"}]}),
    ("openai-responses", {"type": "function_call_output", "call_id": "c", "output": "long"}, 0,
     {"type": "function_call_output", "call_id": "c", "output": "SHORT"}),
    ("openai-responses", {"type": "x_output", "output": {"content": [{"type": "input_text", "text": "a"}], "ok": True}}, 0,
     {"type": "x_output", "output": {"content": [{"type": "input_text", "text": "SHORT"}], "ok": True}}),
    ("anthropic", {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "text", "text": "beside"},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True, "cache_control": {"type": "ephemeral"},
         "content": [{"type": "text", "text": "two"}, IMAGE, {"type": "text", "text": "more"}]},
     ]}, 1,
     {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "text", "text": "beside"},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True, "cache_control": {"type": "ephemeral"},
         "content": [{"type": "text", "text": "SHORT"}, IMAGE]},
     ]}),
    ("gemini", {"role": "user", "parts": [
        {"functionResponse": {"name": "f", "response": {"output": "a long text", "status": "ok"}}},
        {"function_response": {"name": "g", "response": {"rows": [1, 2]}}},
     ]}, 0,
     {"role": "user", "parts": [
        {"functionResponse": {"name": "f", "response": {"output": "SHORT", "status": "ok"}}},
        {"function_response": {"name": "g", "response": {"rows": [1, 2]}}},
     ]}),
    ("gemini", {"role": "user", "parts": [{"function_response": {"name": "g", "response": {"rows": [1, 2]}}}]}, 0,
     {"role": "user", "parts": [{"function_response": {"name": "g", "response": {"output": "SHORT"}}}]}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "message", "ordinal", "expected"), RESULTS)
def test_a_result_gets_another_text_and_keeps_all_else(
    dialect: Dialect, message: Any, ordinal: int, expected: Any
) -> None:
    raw = json.dumps(message, indent=1).encode()
    (piece,) = parse_request(request(dialect, raw), dialect).messages
    replaced = replace_result(piece, dialect, ordinal, "SHORT")
    assert json.loads(replaced) == expected
    assert rendered(dialect, request(dialect, raw), replaced={0: replaced}) == [expected]


@pytest.mark.parametrize(
    ("dialect", "message", "ordinal"),
    [
        ("openai-chat", {"role": "tool", "content": "x"}, 1),
        ("openai-chat", {"role": "tool"}, 0),
        ("openai-chat", "a bare text", 0),
        ("anthropic", {"role": "user", "content": "x"}, 0),
        ("anthropic", {"role": "user", "content": [{"type": "tool_result", "content": [IMAGE]}]}, 0),
        ("anthropic", {"role": "user", "content": [{"type": "tool_result"}]}, 0),
        ("gemini", {"parts": [{"text": "x"}]}, 0),
    ],
)
def test_where_there_is_no_such_text_it_is_an_error(dialect: Dialect, message: Any, ordinal: int) -> None:
    (piece,) = parse_request(request(dialect, json.dumps(message).encode()), dialect).messages
    with pytest.raises(CallError):
        replace_result(piece, dialect, ordinal, "SHORT")


LONG_TEXTS: list[tuple[str | None, ...]] = [
    ("long",), ("a\nb",), ("long",), ("a",), ("one", "two\nmore"), ("a long text", '{"rows":[1,2]}'), ('{"rows":[1,2]}',),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "message", "ordinal", "texts"),
    [(*row[:3], texts) for row, texts in zip(RESULTS, LONG_TEXTS, strict=True)],
)
def test_what_is_replaced_can_be_read_before(
    dialect: Dialect, message: Any, ordinal: int, texts: tuple[str | None, ...]
) -> None:
    (piece,) = parse_request(request(dialect, json.dumps(message, indent=1).encode()), dialect).messages
    assert result_texts(piece, dialect) == texts
    (after,) = parse_request(request(dialect, replace_result(piece, dialect, ordinal, "new ü 😀")), dialect).messages
    assert result_texts(after, dialect) == (*texts[:ordinal], "new ü 😀", *texts[ordinal + 1 :])


@pytest.mark.parametrize(
    ("dialect", "message", "texts"),
    [
        ("openai-chat", {"role": "tool"}, (None,)),
        ("openai-chat", {"role": "tool", "content": 3}, (None,)),
        ("openai-chat", "a bare text", ()),
        ("anthropic", {"role": "user", "content": [{"type": "tool_result", "content": [IMAGE]}]}, (None,)),
        ("gemini", {"parts": [{"functionResponse": {"name": "f"}}]}, (None,)),
        ("gemini", {"parts": [{"functionResponse": {"name": "f", "response": "bare"}}]}, ("bare",)),
    ],
)
def test_a_result_without_text_reads_as_none(dialect: Dialect, message: Any, texts: tuple[str | None, ...]) -> None:
    (piece,) = parse_request(request(dialect, json.dumps(message).encode()), dialect).messages
    assert result_texts(piece, dialect) == texts
