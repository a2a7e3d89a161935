from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.wire.answers.streams import named, read_stream
from ullage.core.content import ToolCall
from ullage.core.wire import read_answer

USAGE = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 6}, "output_tokens": 4}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": ""}
WHOLE_CALL = {**CALL, "arguments": '{"a":1}', "status": "completed"}


def event(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **members}


def created() -> dict[str, Any]:
    return event("created", response={"id": "r1", "model": "m", "status": "in_progress", "tools": [{}] * 3})


def completed(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    response = {"id": "r1", "model": "m-2", "status": status, "output": list(output), "usage": USAGE, **more}
    return event(status, response=response)


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def test_a_whole_stream_is_counted() -> None:
    answer = read_stream(
        named(
            created(),
            event("output_item.added", output_index=0, item={"type": "reasoning", "summary": []}),
            event("reasoning_summary_text.delta", output_index=0, delta="hm"),
            event("output_item.added", output_index=1, item={**message(""), "content": []}),
            event("output_text.delta", output_index=1, delta="Grüße "),
            event("output_text.delta", output_index=1, delta="🦊"),
            event("output_text.done", output_index=1, text="Grüße 🦊"),
            event("output_item.done", output_index=1, item=message("Grüße 🦊")),
            completed(message("Grüße 🦊")),
        ),
        "openai-responses",
    )
    assert answer.usage is not None
    assert (answer.usage.input_fresh, answer.usage.cache_read, answer.usage.output) == (4, 6, 4)
    assert (answer.text_chars, answer.thinking_chars, answer.malformed_events) == (7, 2, 0)
    assert (answer.model, answer.response_id) == ("m-2", "r1")
    assert (answer.stop_reason, answer.stop_reason_raw, answer.complete) == ("end", "completed", True)


DELTAS = [
    event("function_call_arguments.delta", output_index=0, item_id="fc_1", delta='{"a"'),
    event("function_call_arguments.delta", output_index=0, item_id="fc_1", delta=":1}"),
]
ARGUMENTS_DONE = event("function_call_arguments.done", output_index=0, item_id="fc_1", arguments='{"a":1}')


@pytest.mark.parametrize(
    "events",
    [
        [event("output_item.added", output_index=0, item=CALL), *DELTAS, ARGUMENTS_DONE],
        [event("output_item.added", output_index=0, item=CALL), *DELTAS],
        [event("output_item.added", output_index=0, item=CALL), ARGUMENTS_DONE],
        [
            event("output_item.added", output_index=0, item=CALL),
            event("output_item.done", output_index=0, item=WHOLE_CALL),
        ],
        [event("output_item.done", output_index=0, item=WHOLE_CALL)],
        [*DELTAS, event("output_item.done", output_index=0, item=WHOLE_CALL)],
        [],
    ],
    ids=["all", "deltas", "done only", "item done", "no added", "deltas without added", "snapshot only"],
)
@pytest.mark.parametrize("snapshot", [[WHOLE_CALL], [message("x"), WHOLE_CALL]], ids=["alone", "moved"])
def test_a_call_is_found_wherever_a_host_puts_its_arguments(events: list[dict[str, Any]], snapshot: list[Any]) -> None:
    """litellm#27144, openclaude#1259: arguments only in the `done` event; litellm#22102: no `output_item.added`."""
    answer = read_stream(named(created(), *events, completed(*snapshot)), "openai-responses")
    assert answer.tool_calls == (ToolCall(id="c1", name="f", arguments='{"a":1}'),)
    assert answer.stop_reason == "tool_calls"


def test_custom_shell_and_hosted_calls() -> None:
    answer = read_stream(
        named(
            event(
                "output_item.added", output_index=0, item={"type": "custom_tool_call", "call_id": "c1", "name": "patch"}
            ),
            event("custom_tool_call_input.delta", output_index=0, delta="*** "),
            event("custom_tool_call_input.delta", output_index=0, delta="Begin"),
            event(
                "output_item.done",
                output_index=1,
                item={"type": "local_shell_call", "call_id": "c2", "action": {"command": ["ls"]}},
            ),
            event("output_item.done", output_index=2, item={"type": "web_search_call", "id": "ws"}),
            completed(),
        ),
        "openai-responses",
    )
    assert answer.tool_calls == (
        ToolCall(id="c1", name="patch", arguments="*** Begin"),
        ToolCall(id="c2", name="local_shell", arguments='{"command":["ls"]}'),
    )


@pytest.mark.parametrize(
    ("last", "reason", "raw"),
    [
        (
            completed(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "length",
            "max_output_tokens",
        ),
        (completed(status="incomplete", incomplete_details={"reason": "content_filter"}), "refusal", "content_filter"),
        (completed(status="failed", error={"code": "server_error", "message": "m"}), "error", "failed"),
    ],
)
def test_every_terminal_event_completes_the_answer_and_has_usage(last: dict[str, Any], reason: str, raw: str) -> None:
    answer = read_stream(named(created(), last), "openai-responses")
    assert (answer.stop_reason, answer.stop_reason_raw, answer.complete) == (reason, raw, True)
    assert answer.usage is not None


def test_a_failure_says_why() -> None:
    failed = completed(status="failed", error={"code": "server_error", "message": "m"}, usage=None)
    answer = read_stream(named(failed), "openai-responses")
    assert (answer.error_type, answer.error_message, answer.usage) == ("server_error", "m", None)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "rate_limit", "message": "m"},
        {"type": "error", "error": {"type": "rate_limit", "message": "m"}},
    ],
)
def test_an_error_event_is_told_and_completes_nothing(error: dict[str, Any]) -> None:
    answer = read_stream(named(created(), error), "openai-responses")
    assert (answer.error_type, answer.error_message, answer.complete) == ("rate_limit", "m", False)


def test_a_bare_completed_event_is_enough() -> None:
    """llm-rosetta#56: `response.completed` lacks id, model and output."""
    answer = read_stream(
        named(event("output_item.done", output_index=0, item=message("text")), event("completed", response={})),
        "openai-responses",
    )
    assert (answer.complete, answer.text_chars, answer.stop_reason) == (True, 4, None)


def test_a_cut_stream_counts_what_came() -> None:
    whole = named(created(), event("output_item.done", output_index=0, item=message("text")), completed())
    answer = read_stream(whole[: whole.index(b"event: response.completed") + 60], "openai-responses")
    assert (answer.complete, answer.text_chars) == (False, 4)


def test_a_body_is_read_like_its_stream() -> None:
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    body = completed(reasoning, message("text"), WHOLE_CALL)["response"]
    answer = read_answer(json.dumps(body).encode(), "openai-responses")
    assert answer.tool_calls == (ToolCall(id="c1", name="f", arguments='{"a":1}'),)
    assert (answer.text_chars, answer.thinking_chars, answer.complete) == (4, 2, True)
