from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.wire.answers.streams import plain, read_stream
from ullage.core.content import Answer, ToolCall
from ullage.core.wire import read_answer


def chunk(delta: dict[str, Any] | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if delta is not None else []
    return {"id": "r1", "model": "m-2", "choices": choices, **more}


def calls(answer: Answer) -> list[tuple[str | None, str, str]]:
    return [(call.id, call.name, call.arguments) for call in answer.tool_calls]


def piece(index: int | None, **function: Any) -> dict[str, Any]:
    call_id = function.pop("id", None)
    call: dict[str, Any] = {"function": function}
    if index is not None:
        call["index"] = index
    if call_id is not None:
        call["id"] = call_id
    return {"tool_calls": [call]}


USAGE = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}


def test_a_whole_stream_is_counted() -> None:
    answer = read_stream(
        plain(
            chunk({"role": "assistant", "content": ""}),
            chunk({"reasoning_content": "hm"}),
            chunk({"content": "Grüße "}),
            chunk({"content": "🦊"}),
            chunk({}, finish="stop"),
            chunk(usage=USAGE),
            done=True,
        ),
        "openai-chat",
    )
    assert answer.usage is not None
    assert (answer.usage.input_fresh, answer.usage.cache_read, answer.usage.output) == (4, 6, 4)
    assert (answer.text_chars, answer.thinking_chars, answer.events) == (7, 2, 7)
    assert (answer.stop_reason, answer.stop_reason_raw, answer.complete) == ("end", "stop", True)
    assert (answer.model, answer.response_id) == ("m-2", "r1")


def test_a_usage_chunk_without_choices_is_read() -> None:
    """Portkey-AI/gateway#1627: `choices: []` raises, the process ends."""
    answer = read_stream(plain({"choices": [], "usage": USAGE}, {"choices": None}, done=True), "openai-chat")
    assert answer.usage is not None and answer.malformed_events == 0


@pytest.mark.parametrize(
    "extra",
    [
        {"usage": USAGE},
        {"x_groq": {"usage": USAGE}},
        {"choices": [{"index": 0, "delta": {}, "usage": USAGE}]},
    ],
)
def test_usage_is_found_where_hosts_put_it(extra: dict[str, Any]) -> None:
    answer = read_stream(plain(chunk({"content": "a"}, usage=None), {**chunk({}), **extra}), "openai-chat")
    assert answer.usage is not None and answer.usage.output == 4


@pytest.mark.parametrize("last", [{}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": None}])
def test_a_later_usage_without_figures_takes_nothing_back(last: dict[str, Any]) -> None:
    answer = read_stream(plain(chunk(usage=USAGE), chunk(usage=last), done=True), "openai-chat")
    assert answer.usage is not None and answer.usage.output == 4


@pytest.mark.parametrize(
    ("finish", "done", "complete"), [(None, False, False), (None, True, True), ("stop", False, True)]
)
def test_a_stream_is_complete_at_done_or_after_a_finish_reason(finish: str | None, done: bool, complete: bool) -> None:
    assert read_stream(plain(chunk({"content": "a"}, finish=finish), done=done), "openai-chat").complete is complete


def test_parallel_calls_are_put_together_from_their_pieces() -> None:
    """claude-code-router#129: arguments are whole only when the stream says so."""
    answer = read_stream(
        plain(
            chunk(piece(0, id="c1", name="read", arguments="")),
            chunk(piece(0, arguments='{"pa')),
            chunk(piece(1, id="c2", name="ls", arguments="{}")),
            chunk(piece(0, arguments='th":1}')),
            chunk({}, finish="tool_calls"),
        ),
        "openai-chat",
    )
    assert calls(answer) == [("c1", "read", '{"path":1}'), ("c2", "ls", "{}")]
    assert answer.stop_reason == "tool_calls"


def test_calls_that_a_host_numbers_alike_or_not_at_all_stay_apart() -> None:
    alike = plain(chunk(piece(0, id="a", name="f", arguments="{}")), chunk(piece(0, id="b", name="g", arguments="{}")))
    without = plain(
        chunk(piece(None, name="f", arguments='{"a"')),
        chunk(piece(None, arguments=":1}")),
        chunk(piece(None, name="g")),
    )
    assert calls(read_stream(alike, "openai-chat")) == [("a", "f", "{}"), ("b", "g", "{}")]
    assert calls(read_stream(without, "openai-chat")) == [(None, "f", '{"a":1}'), (None, "g", "")]


def test_an_id_that_is_repeated_with_every_piece_is_one_call() -> None:
    stream = plain(chunk(piece(0, id="a", name="f", arguments="{")), chunk(piece(0, id="a", name="f", arguments="}")))
    assert calls(read_stream(stream, "openai-chat")) == [("a", "f", "{}")]


def test_a_new_id_without_a_name_goes_on_with_the_call() -> None:
    stream = plain(chunk(piece(0, id="a", name="f", arguments="{")), chunk(piece(0, id="b", arguments="}")))
    assert [arguments for _, _, arguments in calls(read_stream(stream, "openai-chat"))] == ["{}"]


def test_custom_calls_and_the_old_function_call() -> None:
    custom = chunk({"tool_calls": [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "p", "input": "x"}}]})
    old = chunk({"function_call": {"name": "f", "arguments": "{}"}})
    assert read_stream(plain(custom), "openai-chat").tool_calls == (ToolCall(id="c", name="p", arguments="x"),)
    assert calls(read_stream(plain(old), "openai-chat")) == [(None, "f", "{}")]


def test_a_body_is_read_like_its_stream() -> None:
    message = {
        "content": "text",
        "reasoning": "hm",
        "tool_calls": [
            {"id": "c1", "function": {"name": "f", "arguments": "{}"}},
            {"id": "c2", "function": {"name": "g", "arguments": "{}"}},
        ],
    }
    body = {
        "id": "r1",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": USAGE,
    }
    answer = read_answer(json.dumps(body).encode(), "openai-chat")
    assert calls(answer) == [("c1", "f", "{}"), ("c2", "g", "{}")]
    assert (answer.text_chars, answer.thinking_chars, answer.complete, answer.events) == (4, 2, True, 0)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [("length", "length"), ("content_filter", "refusal"), ("function_call", "tool_calls"), ("odd", "other")],
)
def test_stop_reasons_are_named_alike(raw: str, expected: str) -> None:
    answer = read_stream(plain(chunk({}, finish=raw)), "openai-chat")
    assert (answer.stop_reason, answer.stop_reason_raw) == (expected, raw)


def test_an_error_in_the_stream_is_told() -> None:
    error = {"error": {"message": "Overloaded", "type": "server_error", "code": 503}}
    answer = read_stream(plain(chunk({"content": "a"}), error), "openai-chat")
    assert (answer.error_type, answer.error_message, answer.complete) == ("server_error", "Overloaded", False)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": {"message": "m", "type": None, "code": "rate_limit_exceeded"}}, ("rate_limit_exceeded", "m")),
        ({"error": "plain text"}, ("error", "plain text")),
        ({"detail": "Not Found"}, ("error", "Not Found")),
        ({"object": "error", "message": "m", "type": "invalid"}, ("invalid", "m")),
        ([{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}], ("INVALID_ARGUMENT", "m")),
    ],
)
def test_error_bodies_of_all_sorts_are_told(body: Any, expected: tuple[str, str]) -> None:
    answer = read_answer(json.dumps(body).encode(), "openai-chat")
    assert (answer.error_type, answer.error_message) == expected
    assert answer.complete


def test_odd_events_are_counted_and_the_rest_is_read() -> None:
    stream = (
        plain(chunk({"content": "a"}), [1], {"choices": "x"}) + b"data: {broken\n\n" + plain(chunk({"content": "b"}))
    )
    answer = read_stream(stream, "openai-chat")
    assert (answer.text_chars, answer.malformed_events, answer.events) == (2, 3, 5)


def test_half_an_emoji_in_a_chunk_is_a_character() -> None:
    stream = b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83e"}}]}\n\n'
    answer = read_stream(stream, "openai-chat")
    assert (answer.text_chars, answer.malformed_events) == (1, 0)
