"""Requests read and answers written, dialect by dialect."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from ullage.core.content import Usage
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import Exchange, FakeProvider, Reply, ToolUse, make_request, make_tools
from ullage.testing.dialects import DIALECT_MODULES, catalogue

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.testing.conftest import Result

    Ask = Callable[..., Awaitable[Result]]

FULL = Reply(
    text="The folder holds two files, one of them large.",
    thinking="I should look at the folder before I answer.",
    tool_calls=(
        ToolUse(name="bash", arguments={"command": "ls -la", "timeout_ms": 500}),
        ToolUse(name="tool_1", arguments={"command": "wc -l *"}),
    ),
    usage=Usage(
        input_fresh=100, cache_read=20, cache_write=7, cache_write_5m=4, cache_write_1h=3, output=50, reasoning=9
    ),
    fragment_chars=5,
)


def read(dialect: Dialect, payload: dict[str, Any]) -> Any:
    return DIALECT_MODULES[dialect].read({"model": "m", **payload}, "m", True)


async def answer(ask: Ask, dialect: Dialect, *, stream: bool, reply: Reply = FULL, **fields: Any) -> Result:
    async with FakeProvider([reply]) as provider:
        return await ask(provider, make_request(dialect, tools=make_tools(2), stream=stream, extra=fields))


async def test_anthropic_streams_blocks_one_after_the_other(ask: Ask) -> None:
    events = (await answer(ask, "anthropic", stream=True)).events
    kinds = [kind for kind, _ in itertools.groupby(event["type"] for event in events)]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert kinds == ["message_start", "ping", *block * 4, "message_delta", "message_stop"]
    starts = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert starts == ["thinking", "text", "tool_use", "tool_use"]


async def test_anthropic_fragments_add_up_to_the_whole_answer(ask: Ask) -> None:
    whole = (await answer(ask, "anthropic", stream=False)).json
    built: dict[int, dict[str, Any]] = {}
    for event in (await answer(ask, "anthropic", stream=True)).events:
        if event["type"] == "content_block_delta":
            parts = built.setdefault(event["index"], {})
            for key, value in event["delta"].items():
                parts[key] = value if key == "type" else parts.get(key, "") + value
    thinking, text, call, _ = whole["content"]
    assert (built[0]["thinking"], built[0]["signature"]) == (thinking["thinking"], thinking["signature"])
    assert built[1]["text"] == text["text"]
    assert built[2]["partial_json"] == '{"command":"ls -la","timeout_ms":500}'
    assert call["input"] == {"command": "ls -la", "timeout_ms": 500}


async def test_anthropic_tells_usage_at_the_start_and_at_the_end(ask: Ask) -> None:
    events = (await answer(ask, "anthropic", stream=True)).events
    end = events[-2]["usage"]
    assert (end["input_tokens"], end["cache_read_input_tokens"], end["cache_creation_input_tokens"]) == (100, 20, 7)
    assert end["cache_creation"] == {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 3}
    assert events[0]["message"]["usage"] == {**end, "output_tokens": 1}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


async def test_chat_streams_role_deltas_finish_and_done(ask: Ask) -> None:
    events = (await answer(ask, "openai-chat", stream=True)).events
    assert events[0]["choices"][0]["delta"]["role"] == "assistant"
    assert events[-1] == "[DONE]"
    assert events[-2]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "tool_calls"}
    assert not any("usage" in event for event in events[:-1])


async def test_chat_sends_a_usage_chunk_without_choices_only_when_asked(ask: Ask) -> None:
    events = (await answer(ask, "openai-chat", stream=True, stream_options={"include_usage": True})).events
    assert events[-2]["choices"] == []
    assert events[-2]["usage"]["prompt_tokens"] == 127
    assert events[-2]["usage"]["prompt_tokens_details"]["cached_tokens"] == 20
    assert all(event["usage"] is None for event in events[:-2])


async def test_chat_fragments_add_up_to_the_whole_answer(ask: Ask) -> None:
    message = (await answer(ask, "openai-chat", stream=False)).json["choices"][0]["message"]
    deltas = [event["choices"][0]["delta"] for event in (await answer(ask, "openai-chat", stream=True)).events[:-1]]
    assert "".join(delta.get("content", "") for delta in deltas) == message["content"] == FULL.text
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == message["reasoning_content"]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    arguments = ["".join(c["function"]["arguments"] for c in calls if c["index"] == index) for index in (0, 1)]
    assert arguments == [call["function"]["arguments"] for call in message["tool_calls"]]
    assert [call["id"] for call in calls if "id" in call] == [call["id"] for call in message["tool_calls"]]


async def test_responses_streams_every_event_of_every_item(ask: Ask) -> None:
    events = (await answer(ask, "openai-responses", stream=True)).events
    kinds = [kind.removeprefix("response.") for kind, _ in itertools.groupby(event["type"] for event in events)]
    call = ["function_call_arguments.delta", "function_call_arguments.done"]
    reasoning = ["part.added", "text.delta", "text.done", "part.done"]
    text = ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"]
    inner = [[f"reasoning_summary_{kind}" for kind in reasoning], text, call, call]
    items = [["output_item.added", *kinds, "output_item.done"] for kinds in inner]
    assert kinds == ["created", "in_progress", *itertools.chain(*items), "completed"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


async def test_responses_completes_with_id_model_output_and_usage(ask: Ask) -> None:
    events = (await answer(ask, "openai-responses", stream=True)).events
    whole = (await answer(ask, "openai-responses", stream=False)).json
    completed = events[-1]["response"]
    assert completed["output"] == whole["output"]
    assert completed["id"] == events[0]["response"]["id"]
    assert completed["usage"]["input_tokens"] == 127
    assert completed["usage"]["output_tokens_details"] == {"reasoning_tokens": 9}
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == completed["output"]
    deltas = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
    assert "".join(deltas) == "".join(item["arguments"] for item in completed["output"][2:])


async def test_responses_says_incomplete_when_the_length_ends_it(ask: Ask) -> None:
    events = (await answer(ask, "openai-responses", stream=True, reply=Reply(text="a", stop="length"))).events
    assert events[-1]["type"] == "response.incomplete"
    assert events[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


async def test_gemini_streams_parts_and_never_cuts_a_call(ask: Ask) -> None:
    result = await answer(ask, "gemini", stream=True)
    parts = [event["candidates"][0]["content"]["parts"][0] for event in result.events]
    assert "".join(part["text"] for part in parts if part.get("thought")) == FULL.thinking
    assert "".join(part["text"] for part in parts if "text" in part and not part.get("thought")) == FULL.text
    calls = [part for part in parts if "functionCall" in part]
    assert [part["functionCall"]["args"]["command"] for part in calls] == ["ls -la", "wc -l *"]
    assert ["thoughtSignature" in part for part in calls] == [True, False]
    assert result.events[-1]["candidates"][0]["finishReason"] == "STOP"
    assert result.body.endswith(b"\r\n\r\n")


async def test_gemini_counts_thoughts_beside_the_candidates(ask: Ask) -> None:
    usage = (await answer(ask, "gemini", stream=False)).json["usageMetadata"]
    assert (usage["promptTokenCount"], usage["cachedContentTokenCount"]) == (127, 20)
    assert (usage["candidatesTokenCount"], usage["thoughtsTokenCount"], usage["totalTokenCount"]) == (41, 9, 177)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_that_ends_with_a_result_is_known(dialect: Dialect) -> None:
    ended = read(dialect, make_request(dialect, turns=("Look.", Exchange(result="a\nb"))).payload)
    assert (ended.user_text, ended.result_text) == ("Look.", "a\nb")
    gone_on = read(dialect, make_request(dialect, turns=("Look.", Exchange(), "Two.", "Thanks.")).payload)
    assert (gone_on.user_text, gone_on.result_text) == ("Thanks.", None)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_request_counts_the_same_in_tokens_whatever_its_form(dialect: Dialect) -> None:
    payload = make_request(dialect, system="Be brief.", turns=("One?", "One.", "Two?")).payload
    assert read(dialect, payload).tokens == pytest.approx(
        len("Be brief.One?One.Two?systemuserassistantuser") / 4, abs=3
    )


def test_a_system_message_among_the_messages_hides_no_user_text() -> None:
    messages = [{"role": "user", "content": "Hello."}, {"role": "system", "content": "Reminder."}]
    assert read("anthropic", {"messages": messages}).user_text == "Hello."


def test_a_picture_counts_the_same_whatever_its_size() -> None:
    counts = []
    for data in ("A" * 100, "B" * 100_000):
        source = {"type": "base64", "media_type": "image/png", "data": data}
        content = [{"type": "image", "source": source}]
        counts.append(read("anthropic", {"messages": [{"role": "user", "content": content}]}).tokens)
    assert counts[0] == counts[1]
    assert 1_000 <= counts[0] <= 1_010


def test_tools_of_a_namespace_are_offered_under_it() -> None:
    inner = {"type": "function", "name": "shell", "parameters": {"type": "object"}}
    tools = [{"type": "namespace", "name": "local", "tools": [inner]}, {"type": "web_search"}]
    (tool,) = read("openai-responses", {"input": "x", "tools": tools}).tools
    assert (tool.name, tool.namespace) == ("shell", "local")


def test_tools_that_an_item_of_the_input_defines_are_offered_and_counted() -> None:
    script = {"type": "custom", "name": "exec", "description": "Runs a script. " * 40}
    inside = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{"type": "namespace", "name": "f", "tools": [script]}],
    }
    items = [{"type": "message", "role": "user", "content": "x"}]
    found = read("openai-responses", {"input": [inside, *items]})
    assert [(tool.name, tool.namespace, tool.custom) for tool in found.tools] == [("exec", "f", True)]
    assert found.tokens > read("openai-responses", {"input": items}).tokens + 100


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("payload", [{}, {"messages": [], "contents": [], "input": []}])
def test_a_request_without_a_conversation_is_refused(dialect: Dialect, payload: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="field required"):
        read(dialect, payload)


def test_more_marks_than_the_provider_takes_are_refused() -> None:
    block = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    with pytest.raises(ValueError, match=r"maximum of 4 blocks.*Found 5"):
        read("anthropic", {"messages": [{"role": "user", "content": [block] * 5}]})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_lists_of_models_have_the_shape_of_their_dialect(dialect: Dialect) -> None:
    assert b'"a"' in catalogue.models(dialect, ("a",)) or b'"models/a"' in catalogue.models(dialect, ("a",))
