from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.wire.answers.streams import plain, read_stream
from ullage.core.content import ToolCall
from ullage.core.wire import read_answer


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "g-2", "responseId": "r1", **more}


def usage(output: int, thoughts: int = 0) -> dict[str, Any]:
    return {
        "usageMetadata": {
            "promptTokenCount": 10,
            "cachedContentTokenCount": 6,
            "candidatesTokenCount": output,
            "thoughtsTokenCount": thoughts,
        }
    }


CHUNKS = (
    chunk({"text": "hm", "thought": True}, **usage(0, 2)),
    chunk({"text": "Grüße "}, **usage(1, 2)),
    chunk({"text": "🦊"}, {"functionCall": {"name": "f", "args": {"a": 1}}}, **usage(4, 2)),
    chunk({"functionCall": {"id": "x", "name": "g"}, "thoughtSignature": "s"}, finish="STOP", **usage(5, 2)),
)


def check_whole(answer: Any) -> None:
    assert (answer.usage.input_fresh, answer.usage.cache_read, answer.usage.output) == (4, 6, 7)
    assert answer.usage.reasoning == 2
    assert (answer.text_chars, answer.thinking_chars, answer.malformed_events) == (7, 2, 0)
    assert answer.tool_calls == (
        ToolCall(id=None, name="f", arguments='{"a":1}'),
        ToolCall(id="x", name="g", arguments="{}"),
    )
    assert (answer.model, answer.response_id) == ("g-2", "r1")
    assert (answer.stop_reason, answer.stop_reason_raw, answer.complete) == ("tool_calls", "STOP", True)


def test_a_whole_stream_is_counted_and_the_last_usage_holds() -> None:
    check_whole(read_stream(plain(*CHUNKS), "gemini"))


def test_a_stream_written_as_a_list_is_counted_alike() -> None:
    check_whole(read_answer(json.dumps(CHUNKS, indent=1).encode(), "gemini"))
    check_whole(read_stream(json.dumps(CHUNKS, indent=1).encode(), "gemini"))


def test_a_stream_without_a_finish_reason_was_cut() -> None:
    assert not read_stream(plain(*CHUNKS[:3]), "gemini").complete


def test_a_blocked_prompt_is_a_refusal() -> None:
    answer = read_stream(plain({"promptFeedback": {"blockReason": "SAFETY"}}), "gemini")
    assert (answer.stop_reason, answer.stop_reason_raw, answer.complete) == ("refusal", "SAFETY", True)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        ("RECITATION", "refusal"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("OTHER", "other"),
    ],
)
def test_stop_reasons_are_named_alike(raw: str, expected: str) -> None:
    assert read_stream(plain(chunk({"text": "a"}, finish=raw)), "gemini").stop_reason == expected


@pytest.mark.parametrize("body", [{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}])
def test_errors_alone_in_a_list_or_in_a_stream_are_told(body: Any) -> None:
    for answer in (
        read_answer(json.dumps(body).encode(), "gemini"),
        read_answer(json.dumps([body]).encode(), "gemini"),
        read_stream(plain(CHUNKS[0], body), "gemini"),
    ):
        assert (answer.error_type, answer.error_message) == ("RESOURCE_EXHAUSTED", "m")


def test_a_count_of_tokens_is_a_prompt() -> None:
    answer = read_answer(b'{"totalTokens": 31}', "gemini")
    assert answer.usage is not None and answer.usage.prompt == 31


@pytest.mark.parametrize("content", [{}, {"role": "model"}, {"parts": None}, None])
def test_a_candidate_without_parts_is_read(content: Any) -> None:
    answer = read_stream(plain({"candidates": [{"content": content, "finishReason": "STOP"}]}), "gemini")
    assert (answer.complete, answer.malformed_events) == (True, 0)
