from __future__ import annotations

import json
import tracemalloc

import pytest

from ullage.core.wire import DIALECTS, AnswerReader, Dialect, read_answer
from ullage.core.wire.answers.tally import ARGUMENTS_LIMIT_CHARS

HTML = b"<html><head><title>502 Bad Gateway</title></head></html>"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("streamed", [True, False])
def test_a_page_of_some_proxy_is_told_as_it_is(dialect: Dialect, streamed: bool) -> None:
    reader = AnswerReader(dialect, streamed=streamed)
    reader.feed(b"\r\n ")
    reader.feed(HTML)
    answer = reader.close()
    assert (answer.error_type, answer.complete, answer.malformed_events) == ("unreadable_answer", False, 1)
    assert answer.error_message is not None and "502 Bad Gateway" in answer.error_message


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_body_in_place_of_a_stream_is_told(dialect: Dialect) -> None:
    reader = AnswerReader(dialect, streamed=True)
    for byte in b'\xef\xbb\xbf {"error":{"type":"t","message":"m"}}':
        reader.feed(bytes([byte]))
    answer = reader.close()
    assert (answer.error_type, answer.error_message, answer.complete) == ("t", "m", True)


def test_a_stream_in_place_of_a_body_is_read() -> None:
    answer = read_answer(b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n', "openai-chat")
    assert (answer.text_chars, answer.complete, answer.events) == (2, True, 1)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("streamed", [True, False])
def test_nothing_at_all_is_an_incomplete_answer(dialect: Dialect, streamed: bool) -> None:
    answer = AnswerReader(dialect, streamed=streamed).close()
    assert (answer.complete, answer.error_type, answer.usage) == (False, None, None)


def test_a_body_that_was_cut_is_unreadable() -> None:
    answer = read_answer(b'{"id":"msg_1","usage":{"input_tok', "anthropic")
    assert (answer.complete, answer.malformed_events) == (False, 1)


def test_closing_twice_gives_the_same() -> None:
    reader = AnswerReader("gemini", streamed=True)
    reader.feed(b'data: {"candidates":[{"finishReason":"STOP"}]}')
    assert reader.close() is reader.close()


def test_pings_and_comments_are_no_events() -> None:
    """Portkey-AI/gateway#1035: an SSE comment crashes the gateway."""
    reader = AnswerReader("anthropic", streamed=True)
    reader.feed(b': ping\n\n: OPENROUTER PROCESSING\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n')
    assert (reader.close().complete, reader.close().events) == (True, 1)


def test_memory_stays_bounded_over_a_long_stream() -> None:
    reader = AnswerReader("openai-chat", streamed=True)
    call = {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": "x" * 10_000}}]}}]}
    text = {"choices": [{"delta": {"content": "y" * 10_000}}]}
    stream = b"".join(f"data: {json.dumps(payload)}\n\n".encode() for payload in (call, text))
    tracemalloc.start()
    for _ in range(1_000):
        reader.feed(stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    answer = reader.close()
    assert answer.text_chars == 10_000_000
    assert len(answer.tool_calls[0].arguments) == ARGUMENTS_LIMIT_CHARS
    assert peak < 4 * ARGUMENTS_LIMIT_CHARS


def test_white_space_before_an_answer_is_not_kept() -> None:
    reader = AnswerReader("openai-chat", streamed=True)
    tracemalloc.start()
    for _ in range(64):
        reader.feed(b" \n" * 16_384)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000
    reader.feed(b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}')
    assert (reader.close().text_chars, reader.close().complete) == (2, True)
