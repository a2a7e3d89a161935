"""Programs on the official SDKs hold long conversations with tools through a gateway in managed mode, in a window far too small.

They append what the SDK gives them and know of nothing. The provider refuses what real ones refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from google.genai import types as genai_types

from tests.faults.rig import LISTS, settings, words
from tests.testing.sdk_scenarios import anthropic_client, gemini_client, openai_client
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

if TYPE_CHECKING:
    from pathlib import Path

TURNS = 14
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
FOUND = words(40, "found")


def asks() -> list[str]:
    """What the user says: each gets one call of the tool, and an answer that quotes its result."""
    return [f"{number}: please use the tool. {words(30)}" for number in range(TURNS)]


async def chat(base_url: str, stream: bool) -> tuple[list[str], int]:
    tools: Any = [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]
    messages: list[Any] = []
    answers = []
    async with openai_client(base_url) as client:
        for ask in asks():
            messages.append({"role": "user", "content": ask})
            while True:
                if stream:
                    async with client.chat.completions.stream(model="gpt-x", messages=messages, tools=tools) as events:
                        message = (await events.get_final_completion()).choices[0].message
                else:
                    answer = await client.chat.completions.create(model="gpt-x", messages=messages, tools=tools)
                    message = answer.choices[0].message
                kept = message.model_dump(exclude_none=True)
                messages.append({key: value for key, value in kept.items() if key != "parsed"})
                if not message.tool_calls:
                    break
                messages += [{"role": "tool", "tool_call_id": call.id, "content": FOUND} for call in message.tool_calls]
            answers.append(message.content or "")
    return answers, len(messages)


async def responses(base_url: str, stream: bool) -> tuple[list[str], int]:
    tools: Any = [{"type": "function", "name": "bash", "parameters": SCHEMA, "strict": False}]
    shared: dict[str, Any] = {
        "model": "gpt-x",
        "tools": tools,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    items: list[Any] = []
    answers = []
    async with openai_client(base_url) as client:
        for ask in asks():
            items.append({"role": "user", "content": ask})
            while True:
                if stream:
                    async with client.responses.stream(input=items, **shared) as events:
                        answer: Any = await events.get_final_response()
                else:
                    answer = await client.responses.create(input=items, **shared)
                items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
                calls = [item for item in answer.output if item.type == "function_call"]
                if not calls:
                    break
                items += [{"type": "function_call_output", "call_id": call.call_id, "output": FOUND} for call in calls]
            answers.append(answer.output_text)
    return answers, len(items)


async def messages_api(base_url: str, stream: bool) -> tuple[list[str], int]:
    tools: Any = [{"name": "bash", "input_schema": SCHEMA}]
    shared: dict[str, Any] = {
        "model": "claude-x",
        "tools": tools,
        "max_tokens": 1_100,
        "thinking": {"type": "enabled", "budget_tokens": 1_024},
    }
    messages: list[Any] = []
    answers = []
    async with anthropic_client(base_url) as client:
        for ask in asks():
            messages.append({"role": "user", "content": ask})
            while True:
                if stream:
                    async with client.messages.stream(messages=messages, **shared) as events:
                        answer: Any = await events.get_final_message()
                else:
                    answer = await client.messages.create(messages=messages, **shared)
                messages.append({"role": "assistant", "content": answer.content})
                calls = [block for block in answer.content if block.type == "tool_use"]
                if not calls:
                    break
                results = [{"type": "tool_result", "tool_use_id": call.id, "content": FOUND} for call in calls]
                messages.append({"role": "user", "content": results})
            answers.append("".join(block.text for block in answer.content if block.type == "text"))
    return answers, len(messages)


async def gemini(base_url: str, stream: bool) -> tuple[list[str], int]:
    declared = genai_types.FunctionDeclaration(name="bash", parameters_json_schema=SCHEMA)
    config = genai_types.GenerateContentConfig(
        tools=[genai_types.Tool(function_declarations=[declared])],
        automatic_function_calling=genai_types.AutomaticFunctionCallingConfig(disable=True),
    )
    answers = []
    async with gemini_client(base_url) as client:
        conversation = client.chats.create(model="gemini-x", config=config)
        for ask in asks():
            said: Any = ask
            while True:
                calls: list[Any] = []
                text = ""
                if stream:
                    async for chunk in await conversation.send_message_stream(said):
                        calls += chunk.function_calls or []
                        text += chunk.text or "" if not chunk.function_calls else ""
                else:
                    answer = await conversation.send_message(said)
                    calls, text = answer.function_calls or [], (answer.text or "") if not answer.function_calls else ""
                if not calls:
                    break
                said = [
                    genai_types.Part.from_function_response(name=call.name, response={"output": FOUND})
                    for call in calls
                ]
            answers.append(text)
        return answers, len(conversation.get_history())


PROGRAMS = {"openai-chat": chat, "openai-responses": responses, "anthropic": messages_api, "gemini": gemini}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_long_conversation_of_an_sdk_goes_on_in_a_small_window(
    dialect: Dialect, stream: bool, tmp_path: Path
) -> None:
    async with FakeProvider(strict=True) as fake:
        async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **settings(1_600)) as gateway:
            answers, history = await PROGRAMS[dialect](gateway.url, stream)
        sent = [len(msgspec.json.decode(one.body)[LISTS[dialect]]) for one in fake.requests]
    assert [one.status for one in fake.requests] == [200] * (2 * TURNS)
    assert all("The tool returned" in answer and "found found" in answer for answer in answers)
    assert len(answers) == TURNS
    assert max(sent) < history * 0.75
