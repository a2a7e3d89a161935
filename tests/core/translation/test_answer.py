"""Answers in forms that were not asked for, odd habits of hosts, and errors in the client's words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.translation.relay import CALLS, MODELS, USAGE
from tests.core.translation.speaking import calling, chunk, events_of, sse, stream_through, translator
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import Reply
from ullage.testing.dialects import DIALECT_MODULES, gemini
from ullage.testing.faults import HTML_PAGE
from ullage.testing.prompt import Generation, Prompt

REPLY = Reply(text="Hello.", thinking="Hm.", tool_calls=CALLS, usage=USAGE, fragment_chars=4)
ERRORS: dict[Dialect, dict[str, Any]] = {
    "openai-chat": {
        "error": {"message": "No.", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded"}
    },
    "openai-responses": {
        "error": {"message": "No.", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded"}
    },
    "anthropic": {"type": "error", "error": {"type": "rate_limit_error", "message": "No."}},
    "gemini": {"error": {"code": 429, "message": "No.", "status": "RESOURCE_EXHAUSTED"}},
}


def generation(dialect: Dialect, *, stream: bool) -> Generation:
    prompt = Prompt(dialect=dialect, model=MODELS[dialect], stream=stream)
    return Generation(number=1, prompt=prompt, reply=REPLY, usage=USAGE, created_s=1.0)


@pytest.mark.parametrize("to", DIALECTS)
@pytest.mark.parametrize("source", DIALECTS)
def test_a_body_where_a_stream_was_promised_becomes_a_stream(source: Dialect, to: Dialect) -> None:
    body = DIALECT_MODULES[source].answer(generation(source, stream=False))
    one = translator(source, to)
    assert one.feed(body[:9]) + one.feed(body[9:]) == b""
    stream = one.finish()
    assert one.complete
    assert stream.count(b"Oslo") >= 1
    assert stream.startswith((b"data: ", b"event: "))


@pytest.mark.parametrize("to", ["openai-chat", "openai-responses", "anthropic"])
def test_the_array_form_of_gemini_is_read(to: Dialect) -> None:
    parts = gemini.array_parts(generation("gemini", stream=True))
    events = b"".join(gemini.events(generation("gemini", stream=True)))
    assert stream_through("gemini", to, parts) == stream_through("gemini", to, [events])


def test_the_array_form_of_gemini_is_written() -> None:
    events = b"".join(DIALECT_MODULES["anthropic"].events(generation("anthropic", stream=True)))
    array = json.loads(stream_through("anthropic", "gemini", [events], array=True))
    assert array == events_of(stream_through("anthropic", "gemini", [events]))


def test_a_failing_array_is_closed() -> None:
    events = DIALECT_MODULES["anthropic"].events(generation("anthropic", stream=True))
    array = json.loads(stream_through("anthropic", "gemini", events[:6], array=True))
    assert array[-1]["error"]["status"] == "INTERNAL"


@pytest.mark.parametrize("to", DIALECTS)
@pytest.mark.parametrize("source", DIALECTS)
def test_an_error_is_told_in_the_clients_words(source: Dialect, to: Dialect) -> None:
    one = translator(source, to)
    assert json.loads(one.whole(429, json.dumps(ERRORS[source]).encode())) == ERRORS[to]
    assert one.status == 429
    assert not one.complete


@pytest.mark.parametrize("to", DIALECTS)
@pytest.mark.parametrize("body", [HTML_PAGE, b"", b"upstream connect error", b'{"detail":"Not here"}', b"[]"])
def test_the_page_of_a_proxy_is_an_error_to_the_client(to: Dialect, body: bytes) -> None:
    for status in (200, 502):
        one = translator("openai-chat", to)
        told = json.loads(one.whole(status, body))
        assert told["error"]["message"]
        assert b"<html" not in json.dumps(told).encode()
        assert one.status >= 500


TOO_LONG = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("openai-responses", {"type": "invalid_request_error", "param": None, "code": "context_length_exceeded"}),
        ("gemini", {"code": 400, "status": "INVALID_ARGUMENT"}),
    ],
)
def test_a_prompt_that_is_too_long_is_told_so_that_clients_compact(to: Dialect, expected: dict[str, Any]) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": TOO_LONG}}
    told = json.loads(translator("anthropic", to).whole(400, json.dumps(body).encode()))
    assert told["error"] == {"message": TOO_LONG, **expected}


def test_a_prompt_that_is_too_long_has_anthropics_words_for_its_clients() -> None:
    body = {"error": {"message": TOO_LONG, "type": "invalid_request_error", "code": "context_length_exceeded"}}
    told = json.loads(translator("openai-chat", "anthropic").whole(400, json.dumps(body).encode()))
    assert told["error"]["message"] == f"prompt is too long: {TOO_LONG}"


def test_an_empty_account_is_not_told_as_a_moments_limit() -> None:
    body = {"error": {"message": "Pay.", "type": "insufficient_quota", "code": "insufficient_quota"}}
    told = json.loads(translator("openai-chat", "openai-responses").whole(429, json.dumps(body).encode()))
    assert told["error"]["code"] == "insufficient_quota"


# --- Habits of hosts ---

CHATS: dict[str, list[dict[str, Any] | str]] = {
    "no done": [chunk({"content": "Hello"}), chunk({}, "stop")],
    "done without a reason": [chunk({"content": "Hello"}), "[DONE]"],
    "usage in the last choice": [chunk({"content": "Hello"}), chunk({}, "stop", usage={"prompt_tokens": 1}), "[DONE]"],
    "text in blocks": [chunk({"content": [{"type": "text", "text": "Hello"}]}), chunk({}, "stop"), "[DONE]"],
    "an empty event": ["", chunk({"content": "Hello"}), chunk({}, "stop"), "[DONE]"],
    "null members": [chunk({"content": "Hello", "tool_calls": None, "role": None}), chunk({}, "stop"), "[DONE]"],
}


@pytest.mark.parametrize("events", CHATS.values(), ids=CHATS)
def test_a_host_of_chat_completions_may_end_with(events: list[dict[str, Any] | str]) -> None:
    one = translator("openai-chat", "anthropic")
    stream = events_of(one.feed(sse(*events)) + one.finish())
    assert one.complete
    assert [event["delta"]["text"] for event in stream if event["type"] == "content_block_delta"] == ["Hello"]
    assert stream[-2]["delta"]["stop_reason"] == "end_turn"


CALLED: dict[str, list[dict[str, Any]]] = {
    "a stop that is no tool_calls": [calling(0, "{}", call_id="a", name="ls"), chunk({}, "stop")],
    "every call number 0": [
        calling(0, "{}", call_id="a", name="ls"),
        calling(0, "{}", call_id="b", name="ls"),
        chunk({}, "tool_calls"),
    ],
    "no arguments at all": [calling(0, call_id="a", name="ls"), chunk({}, "tool_calls")],
    "a name that comes late": [
        calling(0, call_id="a"),
        chunk({"tool_calls": [{"index": 0, "function": {"name": "ls", "arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
    ],
    "its name in every piece": [
        calling(0, "{", call_id="a", name="ls"),
        calling(0, "}", call_id="a", name="ls"),
        chunk({}, "tool_calls"),
    ],
    "no number": [
        chunk({"tool_calls": [{"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}),
        chunk({}, "tool_calls"),
    ],
}


@pytest.mark.parametrize("events", CALLED.values(), ids=CALLED)
def test_a_host_of_chat_completions_may_call_with(events: list[dict[str, Any]]) -> None:
    stream = events_of(stream_through("openai-chat", "openai-responses", [sse(*events, "[DONE]")]))
    items = stream[-1]["response"]["output"]
    assert [(item["name"], item["arguments"]) for item in items] == [("ls", "{}")] * len(items)
    assert [item["call_id"] for item in items] == ["a", "b"][: len(items)]
    assert len(items) == (
        2 if len(events) == 3 and events[1]["choices"][0]["delta"]["tool_calls"][0].get("id") == "b" else 1
    )


def test_a_malformed_event_is_an_error_and_nothing_is_sent_after_it() -> None:
    one = translator("openai-chat", "anthropic")
    stream = one.feed(sse(chunk({"content": "He"}), '{"broken', chunk({"content": "llo"}), chunk({}, "stop"), "[DONE]"))
    assert events_of(stream)[-1]["type"] == "error"
    assert one.finish() == b""
    assert one.failure is not None


def test_a_call_that_the_length_cut_off_does_not_reach_gemini() -> None:
    events = [calling(0, '{"path": "/us', call_id="a", name="ls"), chunk({}, "length"), "[DONE]"]
    last = events_of(stream_through("openai-chat", "gemini", [sse(*events)]))[-1]["candidates"][0]
    assert (last["finishReason"], last["content"]["parts"]) == ("MAX_TOKENS", [{"text": ""}])


def test_a_call_without_sense_is_malformed_for_gemini() -> None:
    events = [calling(0, '{"path": ', call_id="a", name="ls"), chunk({}, "tool_calls"), "[DONE]"]
    last = events_of(stream_through("openai-chat", "gemini", [sse(*events)]))[-1]["candidates"][0]
    assert last["finishReason"] == "MALFORMED_FUNCTION_CALL"


def test_names_and_free_input_are_told_as_the_client_of_responses_knows_them() -> None:
    events = [
        calling(0, '{"input":', call_id="a", name="patch_1"),
        calling(0, '"*** Begin"}'),
        calling(1, "{}", call_id="b", name="multi__spawn"),
        chunk({}, "tool_calls"),
        "[DONE]",
    ]
    terms = {
        "names": {"patch_1": "patch 1"},
        "custom": frozenset({"patch 1"}),
        "namespaces": {"multi__spawn": ("multi", "spawn")},
    }
    stream = events_of(stream_through("openai-chat", "openai-responses", [sse(*events)], **terms))
    patch, spawn = stream[-1]["response"]["output"]
    assert (patch["type"], patch["name"], patch["input"]) == ("custom_tool_call", "patch 1", "*** Begin")
    assert (spawn["type"], spawn["namespace"], spawn["name"]) == ("function_call", "multi", "spawn")
    assert [event["delta"] for event in stream if event["type"] == "response.custom_tool_call_input.delta"] == [
        "*** Begin"
    ]


def test_a_refusal_in_words_stays_one_for_clients_of_openai() -> None:
    body = {"id": "c", "choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}
    answer = json.loads(translator("openai-chat", "openai-responses").whole(200, json.dumps(body).encode()))
    assert answer["output"][0]["content"] == [{"type": "refusal", "refusal": "I cannot."}]
    text = json.loads(translator("openai-chat", "anthropic").whole(200, json.dumps(body).encode()))["content"]
    assert text == [{"type": "text", "text": "I cannot."}]


def test_a_blocked_prompt_is_a_refusal() -> None:
    body = json.dumps({"promptFeedback": {"blockReason": "SAFETY"}, "responseId": "r"}).encode()
    assert json.loads(translator("gemini", "anthropic").whole(200, body))["stop_reason"] == "refusal"


def test_an_answer_that_gemini_could_not_finish_is_an_error() -> None:
    body = json.dumps({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}).encode()
    one = translator("gemini", "openai-chat")
    assert "error" in json.loads(one.whole(200, body))
    assert one.status == 502


def test_what_an_answer_cites_is_told_as_left_out() -> None:
    content = [
        {"type": "text", "text": "Yes.", "citations": [{"cited_text": "x"}]},
        {"type": "server_tool_use", "id": "s"},
    ]
    body = {"id": "msg_1", "content": content, "stop_reason": "end_turn", "usage": {}}
    one = translator("anthropic", "openai-chat")
    one.whole(200, json.dumps(body).encode())
    assert [(loss.code, loss.where) for loss in one.dropped] == [
        ("citations", "answer.citations"),
        ("not_carried", "answer.server_tool_use"),
    ]


def test_what_nobody_reported_is_not_told_as_zero() -> None:
    body = json.dumps({"id": "c", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}).encode()
    assert json.loads(translator("openai-chat", "openai-responses").whole(200, body))["usage"] is None
    assert "usageMetadata" not in json.loads(translator("openai-chat", "gemini").whole(200, body))
