"""Managed mode with models whose thinking holds for one conversation alone: what is left out takes it along."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.test_managed import control
from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.testing import FakeProvider, make_prose
from ullage.testing.gateway import run_gateway

BOUND = "claude-fable-5-1"
MODES: dict[str, Any] = {
    "mode": "managed",
    "models": {"refresh": False, "overrides": {"*": {"context_window": 12_000, "max_output_tokens": 1_000}}},
}
BASH = {"name": "bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}


@pytest.fixture
async def strict() -> AsyncIterator[FakeProvider]:
    async with FakeProvider(strict=True) as provider:
        yield provider


class Agent:
    """A client that thinks and calls tools, and sends all of its conversation each time."""

    def __init__(
        self, gateway: Daemon, client: aiohttp.ClientSession, *, model: str = BOUND, binding: str | None = None
    ) -> None:
        self._gateway = gateway
        self._client = client
        thinking: dict[str, Any] = {"type": "adaptive"}
        if binding is not None:
            thinking["block_binding"] = {"prefix_mismatch_behavior": binding}
        self._head = {"model": model, "max_tokens": 500, "system": "Be brief.", "tools": [BASH], "thinking": thinking}
        self.messages: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self.calls: list[str] = []

    async def say(self, text: str, results: int = 0) -> None:
        """A turn: the user says something; so many calls of the answer get large results."""
        self.messages.append({"role": "user", "content": text})
        answer = await self._ask()
        while calls := [block for block in answer if block["type"] == "tool_use"]:
            found = make_prose(results, len(self.messages))
            told = [{"type": "tool_result", "tool_use_id": call["id"], "content": found} for call in calls]
            self.messages.append({"role": "user", "content": told})
            answer = await self._ask()

    async def _ask(self) -> list[dict[str, Any]]:
        body = {**self._head, "messages": self.messages}
        headers = {"x-ullage-session": "agent", "anthropic-version": "2023-06-01", "x-ullage-trace": "1"}
        async with self._client.post(f"{self._gateway.url}/v1/messages", json=body, headers=headers) as response:
            answer = json.loads(await response.read())
            self.statuses.append(response.status)
            assert response.status == 200, answer
            self.calls.append(response.headers["x-ullage-request"])
        self.messages.append({"role": "assistant", "content": answer["content"]})
        content: list[dict[str, Any]] = answer["content"]
        return content


Sent = list[dict[str, Any]]


def list_sent(fake: FakeProvider) -> list[Sent]:
    return [json.loads(received.body)["messages"] for received in fake.requests]


def count_thinking(messages: Sent) -> int:
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    return sum(block["type"] == "thinking" for block in blocks)


async def talk(agent: Agent, turns: int, *, results: int = 1_000, first: int = 0) -> None:
    for turn in range(first, first + turns):
        await agent.say(f"Please use the tool. {make_prose(1_500, turn)}", results=results)


async def read_plans(daemon: Daemon, agent: Agent) -> list[dict[str, Any]]:
    assert await asyncio.to_thread(daemon.engine.flush)
    assert daemon.store.flush()
    calls = [daemon.store.find_call(request) for request in agent.calls]
    return [call.plan for call in calls if call is not None and call.plan is not None]


async def test_a_conversation_that_outgrows_its_window_is_never_refused(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, strict.url), tmp_path, **MODES) as gateway:
        agent = Agent(gateway, client)
        await talk(agent, 25)
        plans = await read_plans(gateway, agent)
    sent = list_sent(strict)
    assert len(plans) == len(sent) == 50
    assert len(sent[-1]) < len(agent.messages) - 1
    # What is thought after something has left is sent again; what was thought before is not, and the manifest says how much.
    assert all(count_thinking(messages) > 0 for messages in sent[1::2])
    for messages, plan in zip(sent, plans, strict=True):
        answers = sum(message["role"] == "assistant" for message in messages)
        assert count_thinking(messages) + plan["thinking_left_out"] == answers
        assert ("thinking_unbound" in plan["warnings"]) == (plan["thinking_left_out"] > 0)
    assert any(plan["thinking_left_out"] for plan in plans)


async def test_what_was_left_out_stays_out_so_that_caches_hold(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, strict.url), tmp_path, **MODES) as gateway:
        await talk(Agent(gateway, client), 25)
    sent = list_sent(strict)
    goes_on = [after[: len(before)] == before for before, after in pairwise(sent)]
    # Inside a turn nothing moves; between turns it does now and then.
    assert all(goes_on[0::2])
    assert 2 <= goes_on.count(False) <= 8


@pytest.mark.parametrize("placement", ["latest-user", "stable-prefix", "hybrid"])
async def test_what_is_put_in_with_one_turn_and_not_with_the_next_is_no_reason_to_be_refused(
    placement: str, tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    modes = {**MODES, "planning": {"placement": placement}}
    async with run_gateway(dict.fromkeys(DIALECTS, strict.url), tmp_path, **modes) as gateway:
        agent = Agent(gateway, client)
        await talk(agent, 2)
        pin = await control(client, gateway, "pins", action="add", text="Use pnpm.", scope="session", session="agent")
        await talk(agent, 3, first=2)
        await control(client, gateway, "pins", action="unpin", id=pin["pin"]["id"])
        await talk(agent, 3, first=5)
    sent = list_sent(strict)
    assert all(count_thinking(messages) > 0 for messages in sent[1::2])
    assert ["pnpm" in json.dumps(messages) for messages in sent] == 4 * [False] + 6 * [True] + 6 * [False]


async def test_a_restart_is_no_reason_to_be_refused(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    upstreams = dict.fromkeys(DIALECTS, strict.url)
    async with run_gateway(upstreams, tmp_path, store="sqlite", **MODES) as gateway:
        agent = Agent(gateway, client)
        await control(client, gateway, "pins", action="add", text="Use pnpm.", scope="session", session="agent")
        await talk(agent, 3)
    async with run_gateway(upstreams, tmp_path, store="sqlite", **MODES) as gateway:
        again = Agent(gateway, client)
        again.messages = agent.messages
        await talk(again, 12, first=3)
    assert count_thinking(list_sent(strict)[6]) == 0
    assert count_thinking(list_sent(strict)[7]) == 1


async def test_what_is_refused_all_the_same_is_not_sent_again(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Nothing is left of an earlier run, neither what was pinned nor on what answers were made."""
    upstreams = dict.fromkeys(DIALECTS, strict.url)
    async with run_gateway(upstreams, tmp_path, **MODES) as gateway:
        agent = Agent(gateway, client)
        await control(client, gateway, "pins", action="add", text="Use pnpm.", scope="session", session="agent")
        await talk(agent, 2)
    async with run_gateway(upstreams, tmp_path, **MODES) as gateway:
        again = Agent(gateway, client)
        again.messages = agent.messages
        with pytest.raises(AssertionError, match="bound to a different conversation"):
            await talk(again, 1, first=2)
        again.messages.pop()
        await talk(again, 2, first=2)
    assert [count_thinking(messages) for messages in list_sent(strict)[-5:]] == [4, 0, 1, 2, 3]


async def test_a_count_of_what_a_plan_would_have_changed_is_not_refused_either(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, strict.url), tmp_path, **MODES) as gateway:
        agent = Agent(gateway, client)
        await talk(agent, 12)
        body = {"model": BOUND, "messages": [*agent.messages, {"role": "user", "content": "Well?"}], "tools": [BASH]}
        statuses = {}
        for mode in ("managed", "observe"):
            headers = {"x-ullage-mode": mode, "anthropic-version": "2023-06-01"}
            url = f"{gateway.url}/v1/messages/count_tokens"
            async with client.post(url, json={**body, "system": "Be brief."}, headers=headers) as response:
                statuses[mode] = response.status, json.loads(await response.read()).get("input_tokens", 0)
    assert statuses["managed"] == (200, pytest.approx(13_000, rel=0.3))
    assert statuses["observe"] == (400, 0)


async def test_large_results_that_become_references_are_no_reason_to_be_refused(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, strict.url), tmp_path, **MODES) as gateway:
        agent = Agent(gateway, client)
        await talk(agent, 8, results=14_000)
        plans = await read_plans(gateway, agent)
    assert any(plan["replaced"] for plan in plans)


@pytest.mark.parametrize(("model", "binding"), [(BOUND, "drop_block"), ("claude-opus-5", None)])
async def test_where_nothing_would_be_refused_thinking_stays(
    model: str, binding: str | None, tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, strict.url), tmp_path, **MODES) as gateway:
        agent = Agent(gateway, client, model=model, binding=binding)
        await talk(agent, 12)
        plans = await read_plans(gateway, agent)
    assert len(list_sent(strict)[-1]) < len(agent.messages) - 1
    assert {plan["thinking_left_out"] for plan in plans} == {0}
    for messages in list_sent(strict):
        assert count_thinking(messages) == sum(message["role"] == "assistant" for message in messages)


async def test_a_request_that_fits_is_sent_whole_but_for_what_was_thought_on_something_else(
    tmp_path: Path, strict: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """A model with a larger window goes on with the conversation."""
    target = f"{strict.url.removeprefix('http://')}/claude-opus-5-5"
    overrides = {**MODES["models"]["overrides"], target: {"context_window": 500_000}}
    modes = {**MODES, "models": {"refresh": False, "overrides": overrides}}
    async with run_gateway(dict.fromkeys(DIALECTS, strict.url), tmp_path, **modes) as gateway:
        agent = Agent(gateway, client)
        await talk(agent, 12)
        larger = Agent(gateway, client, model="claude-opus-5-5")
        larger.messages = agent.messages
        await talk(larger, 1, first=12)
        plan, _ = await read_plans(gateway, larger)
    first = list_sent(strict)[-2]
    assert len(first) == 2 * 24 + 1
    assert plan["status"] == "managed" and plan["messages"]["excluded"] == 0
    assert plan["thinking_left_out"] > 0 and count_thinking(first) > 0
