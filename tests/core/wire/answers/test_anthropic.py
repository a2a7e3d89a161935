from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.wire.answers.streams import named, read_stream
from ullage.core.content import ToolCall
from ullage.core.wire import read_answer


def start(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "msg_1", "model": "c-2", "content": [], "usage": usage}}


def block(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, **change: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": change}


def end(reason: str | None = "end_turn", **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage or None}


STOP = {"type": "message_stop"}


def test_a_whole_stream_is_counted() -> None:
    answer = read_stream(
        named(
            start(input_tokens=3, cache_read_input_tokens=100, cache_creation_input_tokens=20, output_tokens=1),
            {"type": "ping"},
            block(0, type="thinking", thinking=""),
            delta(0, type="thinking_delta", thinking="hm"),
            delta(0, type="signature_delta", signature="sig"),
            block(1, type="text", text=""),
            delta(1, type="text_delta", text="Grüße "),
            delta(1, type="text_delta", text="🦊"),
            {"type": "content_block_stop", "index": 1},
            end("end_turn", output_tokens=40),
            STOP,
        ),
        "anthropic",
    )
    assert answer.usage is not None
    assert (answer.usage.prompt, answer.usage.input_fresh, answer.usage.output) == (123, 3, 40)
    assert (answer.text_chars, answer.thinking_chars, answer.malformed_events) == (7, 2, 0)
    assert (answer.model, answer.response_id) == ("c-2", "msg_1")
    assert (answer.stop_reason, answer.complete) == ("end", True)


@pytest.mark.parametrize(
    "events",
    [
        [start(input_tokens=3, cache_read_input_tokens=100), end(output_tokens=40)],
        [start(input_tokens=3, cache_read_input_tokens=100, output_tokens=1), end(input_tokens=0, output_tokens=40)],
        [start(input_tokens=0, output_tokens=0), end(input_tokens=3, cache_read_input_tokens=100, output_tokens=40)],
        [start(), end(input_tokens=3, cache_read_input_tokens=100, output_tokens=40)],
        [start(input_tokens=3, cache_read_input_tokens=100, output_tokens=40), end()],
        [start(input_tokens=3, output_tokens=40), end(input_tokens=None, cache_read_input_tokens=100)],
    ],
)
def test_usage_is_merged_over_both_events_and_either_may_lack_it(events: list[dict[str, Any]]) -> None:
    """envoyproxy/ai-gateway#2290: usage in one of the two events only, tokens lost."""
    usage = read_stream(named(*events, STOP), "anthropic").usage
    assert usage is not None
    assert (usage.input_fresh, usage.cache_read, usage.output) == (3, 100, 40)


def test_parallel_calls_are_put_together_from_their_pieces() -> None:
    answer = read_stream(
        named(
            start(),
            block(0, type="tool_use", id="t1", name="read", input={}),
            block(1, type="tool_use", id="t2", name="ls", input={}),
            delta(0, type="input_json_delta", partial_json=""),
            delta(0, type="input_json_delta", partial_json='{"pa'),
            delta(1, type="input_json_delta", partial_json="{}"),
            delta(0, type="input_json_delta", partial_json='th":1}'),
            block(2, type="server_tool_use", id="s1", name="web_search", input={}),
            delta(2, type="input_json_delta", partial_json='{"query":"q"}'),
            end("tool_use"),
            STOP,
        ),
        "anthropic",
    )
    assert answer.tool_calls == (
        ToolCall(id="t1", name="read", arguments='{"path":1}'),
        ToolCall(id="t2", name="ls", arguments="{}"),
    )
    assert answer.stop_reason == "tool_calls"


def test_a_stream_without_its_last_event_was_cut() -> None:
    assert not read_stream(named(start(), end("end_turn", output_tokens=4)), "anthropic").complete
    assert not read_stream(named(start())[:-3], "anthropic").complete


def test_a_stream_of_pings_alone_is_complete_and_empty() -> None:
    """headroom#3266: only pings, then `message_stop`."""
    answer = read_stream(named({"type": "ping"}, {"type": "ping"}, STOP), "anthropic")
    assert (answer.complete, answer.text_chars, answer.usage, answer.response_id) == (True, 0, None, None)


def test_an_error_event_is_told() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    answer = read_stream(named(start(), error), "anthropic")
    assert (answer.error_type, answer.error_message, answer.complete) == ("overloaded_error", "Overloaded", False)


def test_a_body_is_read_like_its_stream() -> None:
    body = {
        "type": "message",
        "id": "msg_1",
        "model": "c-2",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "text"},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4, "cache_creation": {"ephemeral_1h_input_tokens": 7}},
    }
    answer = read_answer(json.dumps(body).encode(), "anthropic")
    assert answer.usage is not None and answer.usage.cache_write_1h == 7
    assert answer.tool_calls == (ToolCall(id="t1", name="f", arguments='{"a":1}'),)
    assert (answer.text_chars, answer.thinking_chars, answer.complete, answer.stop_reason) == (4, 2, True, "tool_calls")


def test_a_count_of_tokens_is_a_prompt() -> None:
    answer = read_answer(b'{"input_tokens": 2095}', "anthropic")
    assert answer.usage is not None and answer.usage.prompt == 2095


def test_an_error_body_is_told() -> None:
    answer = read_answer(b'{"type":"error","error":{"type":"not_found_error","message":"m"}}', "anthropic")
    assert (answer.error_type, answer.error_message, answer.complete) == ("not_found_error", "m", True)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("max_tokens", "length"),
        ("stop_sequence", "stop_sequence"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("model_context_window_exceeded", "length"),
        ("later_word", "other"),
    ],
)
def test_stop_reasons_are_named_alike(raw: str, expected: str) -> None:
    assert read_stream(named(end(raw), STOP), "anthropic").stop_reason == expected


def test_a_foreign_end_mark_is_no_odd_event() -> None:
    assert read_stream(named(start(), STOP) + b"data: [DONE]\n\n", "anthropic").malformed_events == 0
