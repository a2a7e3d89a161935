"""What programs do with the official SDKs, as scenarios whose results are plain data.

A scenario is run against any base URL behind which a fake provider stands: directly, or through a gateway. What it returns must
not depend on the way.
"""

from __future__ import annotations

import asyncio
import gc
import warnings
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import anthropic
import msgspec
import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from ullage.core.content import Usage
from ullage.testing import FakeProvider, Fault, Reply, Rule, ToolUse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from ullage.core.wire import Dialect

    Script = tuple[Rule | Reply | Fault, ...]
    Run = Callable[[str, FakeProvider], Awaitable[Any]]

USAGE = Usage(input_fresh=100, cache_read=20, cache_write=0, cache_write_5m=0, cache_write_1h=0, output=50, reasoning=9)
CALLS = (
    ToolUse(id="call_a", name="weather", arguments={"city": "Zürich", "days": 2}),
    ToolUse(id="call_b", name="weather", arguments={"city": "Oslo", "days": 1}),
)
CALLED = [("weather", {"city": "Zürich", "days": 2}), ("weather", {"city": "Oslo", "days": 1})]
TEXT = Reply(text="Plain words, “quoted”, and a 🦊.", usage=USAGE, fragment_chars=3)
THOUGHT = Reply(text="So it is.", thinking="Let me see what it is.", usage=USAGE, fragment_chars=4)
TOOLS = Reply(text="I ask.", tool_calls=CALLS, usage=USAGE, fragment_chars=4)
LONG = Rule(reply=Reply(text="word " * 4000), fault=Fault(pause_ms=1))
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}


class Scenario(NamedTuple):
    """One use of one SDK: what the provider is told, what the program does, what comes out."""

    name: str
    dialect: Dialect
    script: Script
    run: Run
    expected: Any


SCENARIOS: list[Scenario] = []


def scenario(dialect: Dialect, *script: Rule | Reply | Fault, expected: Any) -> Callable[[Run], Run]:
    """Adds the decorated function to the list."""

    def add(run: Run) -> Run:
        name = getattr(run, "__name__", "")
        SCENARIOS.append(Scenario(name.replace("_", " "), dialect, script, run, expected))
        return run

    return add


async def left_behind(provider: FakeProvider) -> bool:
    """Whether the provider notices that its client left."""
    async with asyncio.timeout(30):
        while not provider.requests[-1].cancelled:
            await asyncio.sleep(0.005)
    return True


@asynccontextmanager
async def openai_client(base_url: str, retries: int = 0) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{base_url}/v1", api_key="k", max_retries=retries) as client:
        yield client


@asynccontextmanager
async def anthropic_client(base_url: str, retries: int = 0) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=base_url, api_key="k", max_retries=retries) as client:
        yield client


@asynccontextmanager
async def gemini_client(base_url: str) -> AsyncIterator[genai.client.AsyncClient]:
    client = genai.Client(api_key="k", http_options=genai_types.HttpOptions(base_url=base_url))
    with warnings.catch_warnings():
        # The SDK's own way with aiohttp; a program would not see it either.
        warnings.filterwarnings("ignore", "Inheritance class AiohttpClientSession", DeprecationWarning)
        try:
            yield client.aio
        finally:
            await client.aio.aclose()
            client.close()


# --- OpenAI Chat Completions ---

CHAT: dict[str, Any] = {"model": "gpt-x", "messages": [{"role": "user", "content": "Hello."}]}
CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]


def chat_usage(usage: Any) -> Any:
    details = usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens, *details


@scenario("openai-chat", TEXT, expected=(TEXT.text, "stop", "gpt-x", (120, 50, 170, 20, 9)))
async def chat_answers_json(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url) as client:
        answer = await client.chat.completions.create(**CHAT)
    choice = answer.choices[0]
    return choice.message.content, choice.finish_reason, answer.model, chat_usage(answer.usage)


@scenario("openai-chat", TEXT, expected=(TEXT.text, "stop", (120, 50, 170, 20, 9)))
async def chat_answers_as_a_stream(base_url: str, provider: FakeProvider) -> Any:
    text, finish, usage = "", None, None
    async with openai_client(base_url) as client:
        stream = await client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True})
        async for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
            usage = chunk.usage or usage
    return text, finish, chat_usage(usage)


@scenario("openai-chat", TOOLS, expected=("I ask.", "tool_calls", CALLED, ["call_a", "call_b"]))
async def chat_calls_tools_as_a_stream(base_url: str, provider: FakeProvider) -> Any:
    async with (
        openai_client(base_url) as client,
        client.chat.completions.stream(**CHAT, tools=CHAT_TOOLS) as stream,
    ):
        choice = (await stream.get_final_completion()).choices[0]
    calls = choice.message.tool_calls or []
    called = [(call.function.name, msgspec.json.decode(call.function.arguments)) for call in calls]
    return choice.message.content, choice.finish_reason, called, [call.id for call in calls]


@scenario("openai-chat", TOOLS, TEXT, expected=("tool_calls", TEXT.text, 2))
async def chat_goes_on_after_a_tool(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url) as client:
        first = (await client.chat.completions.create(**CHAT, tools=CHAT_TOOLS)).choices[0]
        results = [{"role": "tool", "tool_call_id": c.id, "content": "sun"} for c in first.message.tool_calls or []]
        messages: Any = [*CHAT["messages"], first.message.model_dump(exclude_none=True), *results]
        second = await client.chat.completions.create(model="gpt-x", messages=messages, tools=CHAT_TOOLS)
    return first.finish_reason, second.choices[0].message.content, len(provider.requests)


def openai_error(error: openai.APIStatusError) -> Any:
    headers = error.response.headers
    return (
        type(error).__name__,
        error.status_code,
        error.body,
        headers.get("retry-after"),
        headers.get("x-ratelimit-reset-tokens"),
        bool(error.request_id),
    )


OPENAI_ERRORS = [
    (
        "RateLimitError",
        429,
        {"message": "Slow down.", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded"},
        "7",
        "7s",
        True,
    ),
    (
        "InternalServerError",
        500,
        {"message": "Oh no.", "type": "server_error", "param": None, "code": None},
        None,
        None,
        True,
    ),
]


@scenario(
    "openai-chat",
    Fault(status=429, message="Slow down.", retry_after_s=7),
    Fault(status=500, message="Oh no."),
    expected=OPENAI_ERRORS,
)
async def chat_fails_with_the_providers_error(base_url: str, provider: FakeProvider) -> Any:
    seen = []
    async with openai_client(base_url) as client:
        for stream in (False, True):
            try:
                await client.chat.completions.create(**CHAT, stream=stream)
            except openai.APIStatusError as error:
                seen.append(openai_error(error))
    return seen


@scenario(
    "openai-chat",
    Fault(status=429, retry_after_s=0.01),
    Fault(status=500, retry_after_s=0.01),
    TEXT,
    expected=(TEXT.text, 3),
)
async def chat_repeats_by_itself(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url, retries=2) as client:
        answer = await client.chat.completions.create(**CHAT)
    return answer.choices[0].message.content, len(provider.requests)


@scenario("openai-chat", LONG, expected=True)
async def chat_is_cancelled_in_the_middle(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url) as client:
        stream = await client.chat.completions.create(**CHAT, stream=True)
        await anext(aiter(stream))
        await stream.close()
        return await left_behind(provider)


@scenario("openai-chat", Rule(reply=TEXT, fault=Fault(cut_after=700)), expected="APIConnectionError")
async def chat_notices_a_cut_stream(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url) as client:
        try:
            async for _ in await client.chat.completions.create(**CHAT, stream=True):
                pass
        except Exception as error:
            return type(error).__name__
    return "no error"


@scenario("openai-chat", expected=["fake-large", "fake-small"])
async def openai_lists_models(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url) as client:
        names = [model.id for model in (await client.models.list()).data]
    return [name for name in names if name.startswith("fake-")]


# --- OpenAI Responses ---

RESPONSES: dict[str, Any] = {"model": "gpt-x", "input": "Hello."}
RESPONSES_TOOLS: Any = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]


def responses_usage(usage: Any) -> Any:
    details = usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens
    return usage.input_tokens, usage.output_tokens, usage.total_tokens, *details


def responses_calls(output: Any) -> Any:
    return [(item.name, msgspec.json.decode(item.arguments)) for item in output if item.type == "function_call"]


@scenario("openai-responses", TEXT, expected=(TEXT.text, "completed", (120, 50, 170, 20, 9)))
async def responses_answers_json(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url) as client:
        answer = await client.responses.create(**RESPONSES)
    return answer.output_text, answer.status, responses_usage(answer.usage)


@scenario("openai-responses", THOUGHT, expected=(THOUGHT.text, THOUGHT.text, THOUGHT.thinking, (120, 50, 170, 20, 9)))
async def responses_answers_as_a_stream(base_url: str, provider: FakeProvider) -> Any:
    text = ""
    async with openai_client(base_url) as client, client.responses.stream(**RESPONSES) as stream:
        async for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
        answer = await stream.get_final_response()
    reasoning: Any = answer.output[0]
    return text, answer.output_text, reasoning.summary[0].text, responses_usage(answer.usage)


@scenario("openai-responses", TOOLS, expected=("I ask.", CALLED, CALLED))
async def responses_calls_tools_as_a_stream(base_url: str, provider: FakeProvider) -> Any:
    async with (
        openai_client(base_url) as client,
        client.responses.stream(**RESPONSES, tools=RESPONSES_TOOLS) as stream,
    ):
        done = [event.item async for event in stream if event.type == "response.output_item.done"]
        answer = await stream.get_final_response()
    return answer.output_text, responses_calls(answer.output), responses_calls(done)


@scenario("openai-responses", expected=(True, True, "NotFoundError", "previous_response_not_found"))
async def responses_goes_on_from_a_stored_one(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url) as client:
        first = await client.responses.create(**RESPONSES)
        second = await client.responses.create(**RESPONSES, previous_response_id=first.id)
        try:
            await client.responses.create(**RESPONSES, previous_response_id="resp_unknown")
        except openai.APIStatusError as error:
            refused = type(error).__name__, error.code
    assert first.usage is not None
    assert second.usage is not None
    return (
        second.previous_response_id == first.id,
        second.usage.input_tokens > first.usage.input_tokens,
        *refused,
    )


@scenario(
    "openai-responses",
    Fault(status=429, message="Slow down.", retry_after_s=7),
    Fault(status=500, message="Oh no."),
    expected=OPENAI_ERRORS,
)
async def responses_fails_with_the_providers_error(base_url: str, provider: FakeProvider) -> Any:
    seen = []
    async with openai_client(base_url) as client:
        for stream in (True, False):
            try:
                await client.responses.create(**RESPONSES, stream=stream)
            except openai.APIStatusError as error:
                seen.append(openai_error(error))
    return seen


@scenario("openai-responses", LONG, expected=True)
async def responses_is_cancelled_in_the_middle(base_url: str, provider: FakeProvider) -> Any:
    async with openai_client(base_url) as client:
        stream = await client.responses.create(**RESPONSES, stream=True)
        await anext(aiter(stream))
        await stream.close()
        return await left_behind(provider)


# --- Anthropic Messages ---

MESSAGES: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hello."}],
}
MESSAGES_TOOLS: Any = [{"name": "weather", "input_schema": SCHEMA}]


def messages_usage(usage: Any) -> Any:
    return usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens


@scenario("anthropic", TEXT, expected=(TEXT.text, "end_turn", "claude-x", (100, 20, 0, 50)))
async def anthropic_answers_json(base_url: str, provider: FakeProvider) -> Any:
    async with anthropic_client(base_url) as client:
        answer = await client.messages.create(**MESSAGES)
    block: Any = answer.content[0]
    return block.text, answer.stop_reason, answer.model, messages_usage(answer.usage)


@scenario("anthropic", THOUGHT, expected=(THOUGHT.text, THOUGHT.thinking, True, "end_turn", (100, 20, 0, 50)))
async def anthropic_thinks_and_answers_as_a_stream(base_url: str, provider: FakeProvider) -> Any:
    text = ""
    async with anthropic_client(base_url) as client, client.messages.stream(**MESSAGES) as stream:
        async for piece in stream.text_stream:
            text += piece
        answer = await stream.get_final_message()
    thinking: Any = answer.content[0]
    return (
        text,
        thinking.thinking,
        len(thinking.signature) > 100,
        answer.stop_reason,
        messages_usage(answer.usage),
    )


@scenario("anthropic", TOOLS, expected=("tool_use", CALLED, ["call_a", "call_b"]))
async def anthropic_calls_tools_as_a_stream(base_url: str, provider: FakeProvider) -> Any:
    async with (
        anthropic_client(base_url) as client,
        client.messages.stream(**MESSAGES, tools=MESSAGES_TOOLS) as stream,
    ):
        answer = await stream.get_final_message()
    calls = [block for block in answer.content if block.type == "tool_use"]
    return answer.stop_reason, [(call.name, call.input) for call in calls], [call.id for call in calls]


@scenario("anthropic", TOOLS, TEXT, expected=("tool_use", TEXT.text))
async def anthropic_goes_on_after_a_tool(base_url: str, provider: FakeProvider) -> Any:
    async with anthropic_client(base_url) as client:
        first = await client.messages.create(**MESSAGES, tools=MESSAGES_TOOLS)
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "sun"}
            for block in first.content
            if block.type == "tool_use"
        ]
        messages: Any = [
            *MESSAGES["messages"],
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": results},
        ]
        second = await client.messages.create(**{**MESSAGES, "messages": messages}, tools=MESSAGES_TOOLS)
    block: Any = second.content[0]
    return first.stop_reason, block.text


def anthropic_error(error: anthropic.APIStatusError) -> Any:
    headers = error.response.headers
    body: Any = error.body
    return (
        type(error).__name__,
        error.status_code,
        body["error"],
        headers.get("retry-after"),
        headers.get("anthropic-ratelimit-tokens-remaining"),
        bool(error.request_id),
    )


@scenario(
    "anthropic",
    Fault(status=429, message="Slow down.", retry_after_s=7),
    Fault(status=529),
    expected=[
        ("RateLimitError", 429, {"type": "rate_limit_error", "message": "Slow down."}, "7", "0", True),
        ("OverloadedError", 529, {"type": "overloaded_error", "message": "Overloaded"}, None, None, True),
    ],
)
async def anthropic_fails_with_the_providers_error(base_url: str, provider: FakeProvider) -> Any:
    seen = []
    async with anthropic_client(base_url) as client:
        for stream in (False, True):
            try:
                await client.messages.create(**MESSAGES, stream=stream)
            except anthropic.APIStatusError as error:
                seen.append(anthropic_error(error))
    return seen


@scenario("anthropic", Rule(reply=TEXT, fault=Fault(error_event=5, error_event_status=529)), expected="Overloaded")
async def anthropic_fails_inside_a_stream(base_url: str, provider: FakeProvider) -> Any:
    async with anthropic_client(base_url) as client:
        try:
            async for _ in await client.messages.create(**MESSAGES, stream=True):
                pass
        except anthropic.APIStatusError as error:
            body: Any = error.body
            return body["error"]["message"]
    return "no error"


@scenario(
    "anthropic",
    Fault(status=529, retry_after_s=0.01),
    Fault(status=500, retry_after_s=0.01),
    TEXT,
    expected=(TEXT.text, 3),
)
async def anthropic_repeats_by_itself(base_url: str, provider: FakeProvider) -> Any:
    async with anthropic_client(base_url, retries=2) as client:
        answer = await client.messages.create(**MESSAGES)
    block: Any = answer.content[0]
    return block.text, len(provider.requests)


@scenario("anthropic", LONG, expected=True)
async def anthropic_is_cancelled_in_the_middle(base_url: str, provider: FakeProvider) -> Any:
    async with anthropic_client(base_url) as client:
        stream = await client.messages.create(**MESSAGES, stream=True)
        await anext(aiter(stream))
        await stream.close()
        return await left_behind(provider)


@scenario("anthropic", expected=(3, ["fake-large", "fake-small"]))
async def anthropic_counts_tokens_and_lists_models(base_url: str, provider: FakeProvider) -> Any:
    async with anthropic_client(base_url) as client:
        count = await client.messages.count_tokens(model="claude-x", messages=MESSAGES["messages"])
        names = [model.id async for model in await client.models.list()]
    return count.input_tokens, [name for name in names if name.startswith("fake-")]


# --- Gemini ---

GEMINI: dict[str, Any] = {"model": "gemini-x", "contents": "Hello."}
GEMINI_TOOLS = genai_types.GenerateContentConfig(
    tools=[
        genai_types.Tool(
            function_declarations=[genai_types.FunctionDeclaration(name="weather", parameters_json_schema=SCHEMA)]
        )
    ],
    automatic_function_calling=genai_types.AutomaticFunctionCallingConfig(disable=True),
)


def gemini_usage(usage: Any) -> Any:
    return (
        usage.prompt_token_count,
        usage.cached_content_token_count,
        usage.candidates_token_count,
        usage.thoughts_token_count,
        usage.total_token_count,
    )


@scenario("gemini", TEXT, expected=(TEXT.text, "STOP", "gemini-x", (120, 20, 41, 9, 170)))
async def gemini_answers_json(base_url: str, provider: FakeProvider) -> Any:
    async with gemini_client(base_url) as client:
        answer = await client.models.generate_content(**GEMINI)
    assert answer.candidates is not None
    finish = answer.candidates[0].finish_reason
    return answer.text, finish and finish.name, answer.model_version, gemini_usage(answer.usage_metadata)


@scenario("gemini", THOUGHT, expected=(THOUGHT.text, THOUGHT.thinking, (120, 20, 41, 9, 170)))
async def gemini_thinks_and_answers_as_a_stream(base_url: str, provider: FakeProvider) -> Any:
    text, thoughts, usage = "", "", None
    async with gemini_client(base_url) as client:
        async for chunk in await client.models.generate_content_stream(**GEMINI):
            for part in chunk.parts or []:
                if part.thought:
                    thoughts += part.text or ""
                else:
                    text += part.text or ""
            usage = chunk.usage_metadata
    return text, thoughts, gemini_usage(usage)


@scenario("gemini", TOOLS, expected=CALLED)
async def gemini_calls_tools_as_a_stream(base_url: str, provider: FakeProvider) -> Any:
    called = []
    async with gemini_client(base_url) as client:
        async for chunk in await client.models.generate_content_stream(**GEMINI, config=GEMINI_TOOLS):
            called += [(call.name, call.args) for call in chunk.function_calls or []]
    return called


@scenario(
    "gemini",
    Fault(status=429, message="Slow down.", retry_after_s=7),
    Fault(status=500, message="Oh no."),
    expected=[
        ("ClientError", 429, "RESOURCE_EXHAUSTED", "Slow down."),
        ("ServerError", 500, "INTERNAL", "Oh no."),
    ],
)
async def gemini_fails_with_the_providers_error(base_url: str, provider: FakeProvider) -> Any:
    seen = []
    async with gemini_client(base_url) as client:
        for _ in range(2):
            try:
                await client.models.generate_content(**GEMINI)
            except genai_errors.APIError as error:
                seen.append((type(error).__name__, error.code, error.status, error.message))
    return seen


@scenario("gemini", LONG, expected=True)
async def gemini_is_cancelled_in_the_middle(base_url: str, provider: FakeProvider) -> Any:
    async with gemini_client(base_url) as client:
        stream: Any = await client.models.generate_content_stream(**GEMINI)
        await anext(stream)
        await stream.aclose()
        del stream
        # The SDK leaves the connection of such a stream to the garbage collector, which may come upon it in any later test.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
    return await left_behind(provider)


@scenario("gemini", expected=3)
async def gemini_counts_tokens(base_url: str, provider: FakeProvider) -> Any:
    async with gemini_client(base_url) as client:
        return (await client.models.count_tokens(**GEMINI)).total_tokens
