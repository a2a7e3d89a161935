"""How much a routed model thinks, and what becomes of thinking when another target goes on: with a provider that is strict."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import LIGHT, STRONG, Came, ask, override, run_routed
from ullage.daemon import Daemon
from ullage.testing import BuiltRequest, FakeProvider, Fault, Rule, make_request, make_tools
from ullage.testing.script import Reply, ToolUse

HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
CALL = Reply(thinking="Let me think.", tool_calls=(ToolUse(name="bash", arguments={"command": "ls"}),))
BUDGETED: dict[str, Any] = {"routing": {"thinking": "high", "models": [LIGHT, STRONG]}}


@pytest.fixture
async def strict() -> AsyncIterator[FakeProvider]:
    async with FakeProvider([Rule(reply=CALL)], strict=True) as provider:
        yield provider


class Talk:
    """An Anthropic client that sends back what it was answered, as real ones do."""

    def __init__(self, gateway: Daemon, client: aiohttp.ClientSession, **extra: Any) -> None:
        self._gateway = gateway
        self._client = client
        self._extra = {"max_tokens": 32_000, **extra}
        self.messages: list[dict[str, Any]] = []

    async def say(self, text: str) -> Came:
        self.messages.append({"role": "user", "content": text})
        return await self._send()

    async def run_tools(self) -> Came:
        calls = [block for block in self.messages[-1]["content"] if block["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "a.py"} for call in calls]
        self.messages.append({"role": "user", "content": results})
        return await self._send()

    async def _send(self) -> Came:
        request = make_request("anthropic", model="auto", tools=make_tools(1), extra=self._extra)
        body = json.dumps({**request.payload, "messages": self.messages}).encode()
        sent = BuiltRequest(dialect="anthropic", path=request.path, headers=request.headers, body=body)
        came = await ask(self._gateway, self._client, sent)
        if came.status == 200:
            self.messages.append({"role": "assistant", "content": json.loads(came.body)["content"]})
        return came


def last_body(fake: FakeProvider) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fake.requests[len(fake.requests) - 1].body)
    return found


def thought(messages: list[dict[str, Any]]) -> int:
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    return sum(block["type"] == "thinking" for block in blocks)


async def test_a_loop_keeps_its_thinking_and_its_setting(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(strict, tmp_path, **BUDGETED) as gateway:
        talk = Talk(gateway, client)
        came = [await talk.say(HARD), await talk.run_tools(), await talk.run_tools()]
    assert {one.status for one in came} == {200}
    assert {one.headers["x-ullage-thinking"] for one in came} == {"high"}
    assert last_body(strict)["thinking"] == {"type": "enabled", "budget_tokens": 16_384}
    assert thought(last_body(strict)["messages"]) == 2


async def test_another_target_goes_on_without_the_thinking_of_the_first(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(strict, tmp_path, **BUDGETED) as gateway:
        talk = Talk(gateway, client)
        first = await talk.say(HARD)
        strict.script.clear()
        strict.script.add(Rule(times=1, fault=Fault(status=529)), Rule(reply=CALL))
        moved = await talk.run_tools()
        assert [one["status"] for one in moved.route["attempts"]] == [529, 200]
        assert moved.route["target"] != first.route["target"]
        # A loop that has lost its thinking goes on without; the next turn thinks again, with what is its own.
        assert moved.headers["x-ullage-thinking"] == "off"
        assert "thinking" not in last_body(strict)
        assert thought(last_body(strict)["messages"]) == 0
        talk.messages[-1] = {"role": "assistant", "content": "Done."}
        later = await talk.say(HARD)
        assert (later.status, later.headers["x-ullage-thinking"]) == (200, "high")
        assert thought(last_body(strict)["messages"]) == 0


async def test_the_clients_own_thinking_can_be_left_to_it(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    asked = {"type": "enabled", "budget_tokens": 5_000}
    async with run_routed(strict, tmp_path, **BUDGETED) as gateway:
        override(gateway, "thinking", "pi")
        talk = Talk(gateway, client, thinking=asked)
        came = await talk.say(HARD)
    assert last_body(strict)["thinking"] == asked
    assert "x-ullage-thinking" not in came.headers


async def test_what_is_left_to_the_client_is_said_as_the_model_takes_it(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    asked = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
    async with run_routed(strict, tmp_path, **BUDGETED) as gateway:
        override(gateway, "thinking", "pi")
        came = await Talk(gateway, client, **asked).say(HARD)
    assert came.status == 200
    assert last_body(strict)["thinking"] == {"type": "enabled", "budget_tokens": 2_048}
    assert came.headers["x-ullage-thinking"] == "low"


async def test_an_answer_is_asked_to_be_no_longer_than_the_model_gives(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    short = {LIGHT: {"max_output_tokens": 8_192}}
    async with run_routed(strict, tmp_path, overrides=short, routing={"models": [LIGHT], "thinking": "off"}) as gateway:
        await Talk(gateway, client).say(HARD)
    assert last_body(strict)["max_tokens"] == 8_192


async def test_reasoning_items_of_another_target_are_not_sent_on(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("openai-responses", model="auto", turns=(HARD,), tools=make_tools(1))
    async with run_routed(strict, tmp_path, **BUDGETED) as gateway:
        first = await ask(gateway, client, request)
        answered = json.loads(first.body)["output"]
        assert any(item["type"] == "reasoning" for item in answered)
        call = next(item for item in answered if item["type"] == "function_call")
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.py"}
        items = [*request.payload["input"], *answered, result]
        body = json.dumps({**request.payload, "input": items}).encode()
        second = BuiltRequest(dialect="openai-responses", path=request.path, headers=request.headers, body=body)
        kept = await ask(gateway, client, second)
        assert json.loads(strict.requests[1].body)["input"] == items
        override(gateway, "pin", LIGHT if kept.route["target"] == STRONG else STRONG)
        moved = await ask(gateway, client, second)
    assert moved.status == 200
    sent = last_body(strict)["input"]
    assert [item.get("type") for item in sent] == ["message", "function_call", "function_call_output"]
    assert "id" not in sent[1]
