"""What the fake provider writes is what our readers of answers read: two views of each dialect that were written apart."""

from __future__ import annotations

from typing import Any

import aiohttp
import msgspec
import pytest

from ullage.core.content import Usage
from ullage.core.wire import DIALECTS, AnswerReader, Dialect
from ullage.testing import FakeProvider, Fault, Reply, Rule, ToolUse, make_request, make_tools

REPLY = Reply(
    text="I look at the folder, “now”. 🦊",
    thinking="First the folder, then the rest.",
    tool_calls=(
        ToolUse(id="call_a", name="bash", arguments={"command": "ls", "timeout_ms": 5}),
        ToolUse(id="call_b", name="tool_1", arguments={"command": "pwd"}),
    ),
    usage=Usage(
        input_fresh=100, cache_read=20, cache_write=7, cache_write_5m=4, cache_write_1h=3, output=50, reasoning=9
    ),
    fragment_chars=5,
)
FAULTS = {
    "plain": Fault(),
    "comments": Fault(comments=True),
    "split": Fault(chunk_bytes=3),
    "huge": Fault(huge_event_bytes=500_000),
}


async def answer_of(dialect: Dialect, rule: Rule, *, stream: bool) -> tuple[Any, Usage | None]:
    """What the reader makes of the answer as it arrives, and what the provider says it reported."""
    request = make_request(dialect, tools=make_tools(2), stream=stream, extra=usage_wanted(dialect, stream))
    async with (
        FakeProvider([rule]) as provider,
        aiohttp.ClientSession() as session,
        session.post(provider.url + request.path, data=request.body, headers=request.headers) as response,
    ):
        reader = AnswerReader(dialect, streamed=stream)
        async for chunk in response.content.iter_any():
            reader.feed(chunk)
        return reader.close(), provider.requests[0].usage


def usage_wanted(dialect: Dialect, stream: bool) -> dict[str, Any]:
    return {"stream_options": {"include_usage": True}} if dialect == "openai-chat" and stream else {}


def reported(dialect: Dialect, usage: Usage) -> tuple[int | None, ...]:
    """The parts that this dialect can tell: only Anthropic splits its writes, Gemini leaves a zero out."""
    read = (usage.cache_read or None) if dialect == "gemini" else usage.cache_read
    parts = (usage.prompt, read, usage.output)
    return (*parts, usage.cache_write_5m, usage.cache_write_1h) if dialect == "anthropic" else parts


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_answer_is_read_as_it_was_meant(dialect: Dialect, stream: bool) -> None:
    answer, usage = await answer_of(dialect, Rule(reply=REPLY), stream=stream)
    assert usage is not None
    assert answer.complete
    assert answer.malformed_events == 0
    assert (answer.stop_reason, answer.model) == (
        "tool_calls" if dialect != "gemini" else answer.stop_reason,
        "fake-large",
    )
    assert (answer.text_chars, answer.thinking_chars) == (len(REPLY.text), len(REPLY.thinking))
    assert [(call.name, msgspec.json.decode(call.arguments)) for call in answer.tool_calls] == [
        (call.name, call.arguments) for call in REPLY.tool_calls
    ]
    assert reported(dialect, answer.usage) == reported(dialect, usage)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_usage_survives_what_a_relay_meets(dialect: Dialect, fault: Fault) -> None:
    answer, usage = await answer_of(dialect, Rule(fault=fault), stream=True)
    assert usage is not None
    assert answer.complete
    assert reported(dialect, answer.usage) == reported(dialect, usage)


@pytest.mark.parametrize(
    "fault",
    [Fault(end_after_events=3), Fault(error_event=3, error_event_status=529), Fault(status=529)],
    ids=["ends early", "error inside", "error instead"],
)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_broken_stream_is_never_read_as_whole(dialect: Dialect, fault: Fault) -> None:
    answer, _ = await answer_of(dialect, Rule(reply=REPLY, fault=fault), stream=fault.status is None)
    assert not answer.complete or answer.error_type is not None
    assert (answer.error_message is not None) == (fault.end_after_events is None)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_malformed_event_is_counted_and_the_rest_is_read(dialect: Dialect) -> None:
    answer, usage = await answer_of(dialect, Rule(fault=Fault(malformed_event=2)), stream=True)
    assert usage is not None
    assert answer.malformed_events == 1
    assert reported(dialect, answer.usage) == reported(dialect, usage)
