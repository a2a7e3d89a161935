"""Complaints about other routers that only a whole gateway can show to be met (routing specification, section 34.3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, Came, ask, override, run_routed
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.testing import BuiltRequest, FakeProvider, Fault, Rule, make_request
from ullage.testing.script import Reply

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."


@pytest.mark.parametrize("thought", [True, False])
async def test_c01_thinking_counts_when_a_window_is_chosen(
    thought: bool, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """C1: a counter that ignores thinking is 30 to 60 % low, and the slot for long contexts fires late."""
    thinking = [{"type": "thinking", "thinking": "so it goes " * 4_000, "signature": "c2lnbmVk"}] * thought
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": HARD},
        {"role": "assistant", "content": [*thinking, {"type": "text", "text": "Done."}]},
        {"role": "user", "content": EASY},
    ]
    plain = make_request("anthropic", model="auto", turns=[EASY])
    request = _with(plain, messages=messages)
    small = {LIGHT: {"context_window": 12_000, "max_output_tokens": 2_048}}
    async with run_routed(fake, tmp_path, overrides=small, routing={"policy": "cost"}) as gateway:
        came = await ask(gateway, client, request)
    out = {one["target"]: one["code"] for one in came.route["excluded"]}
    assert came.status == 200
    assert (came.route["target"] == LIGHT, out.get(LIGHT)) == ((False, "window-too-small") if thought else (True, None))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_c05_who_answers_is_told_with_the_first_word(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """C5: the chosen model was invisible until the end, or hidden behind an icon."""
    fake.script.add(Rule(reply=Reply(text="word " * 2_000), fault=Fault(stall_after=4_000)))  # the end never comes
    request = make_request(dialect, model="auto", turns=(HARD,), stream=True)
    async with (
        run_routed(fake, tmp_path) as gateway,
        client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response,
    ):
        told = response.headers["x-ullage-target"], response.headers["x-ullage-route"]
    assert told[0] in (LIGHT, STRONG, FRONTIER)
    assert told[1]


async def test_c10_nobody_is_sent_thinking_that_another_model_signed(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """C10: after a switch the signature of thinking was invalid, and the request was refused."""
    rule = Rule(reply=Reply(thinking="Let me think.", text="Done."))
    settled: dict[str, Any] = {"routing": {"thinking": "high", "models": [LIGHT, STRONG]}}
    async with FakeProvider([rule], strict=True) as strict, run_routed(strict, tmp_path, **settled) as gateway:
        messages: list[dict[str, Any]] = []
        came = []
        for target in (LIGHT, STRONG, LIGHT, STRONG):
            messages.append({"role": "user", "content": HARD})
            came.append(await _say(gateway, client, messages, target))
            messages.append({"role": "assistant", "content": json.loads(came[-1].body)["content"]})
        sent = [json.loads(one.body)["messages"] for one in strict.requests]
    assert [(one.status, one.route["target"]) for one in came] == [
        (200, LIGHT),
        (200, STRONG),
        (200, LIGHT),
        (200, STRONG),
    ]
    assert [block["type"] for block in messages[1]["content"]] == ["thinking", "text"]
    assert [_thoughts(one) for one in sent] == [0, 0, 1, 1]


async def _say(gateway: Daemon, client: aiohttp.ClientSession, messages: list[dict[str, Any]], target: str) -> Came:
    override(gateway, "pin", target)
    plain = make_request("anthropic", model="auto", extra={"max_tokens": 32_000})
    return await ask(gateway, client, _with(plain, messages=messages))


def _with(request: BuiltRequest, **fields: Any) -> BuiltRequest:
    body = json.dumps({**request.payload, **fields}).encode()
    return BuiltRequest(dialect=request.dialect, path=request.path, headers=request.headers, body=body)


def _thoughts(messages: list[dict[str, Any]]) -> int:
    return sum(
        block["type"] == "thinking" for one in messages if isinstance(one["content"], list) for block in one["content"]
    )
