"""Programs on the official SDKs, answered by targets of every protocol through one gateway, over real sockets.

What a target gets, and what a program sees, is what the translation alone gives, which golden files hold.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.conformance.test_managed_sdks import PROGRAMS, TURNS
from tests.core.translation.relay import (
    MODELS,
    PAIR_IDS,
    PAIRS,
    REPLIES,
    STOPS,
    Asked,
    Program,
    Programs,
    Relay,
    Seen,
    usage_in,
)
from tests.gateway.routes import override
from ullage.core.translation import Target
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.engine.steering import HOST
from ullage.stores import CallRecord, RouteOverride
from ullage.testing import FakeProvider, Fault, Received, Recorder, Reply, Rule
from ullage.testing.gateway import run_gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL_PAIRS = [(client, target) for client in DIALECTS for target in DIALECTS]
ALL_IDS = [f"{client} client, {target} target" for client, target in ALL_PAIRS]
KNOWN = {"context_window": 200_000, "images": True, "reasoning": True, "input_price": 1.0, "output_price": 5.0}


def settings(root: str) -> dict[str, Any]:
    """Providers that speak one protocol each, one for each kind of client, so that no failure of one is held against another;
    programs ask for them by aliases."""
    providers = {f"{target}-for-{client}": target for client, target in ALL_PAIRS}
    return {
        "models": {
            "refresh": False,
            "overrides": {f"{name}/{MODELS[target]}": KNOWN for name, target in providers.items()},
        },
        "providers": {
            name: {"url": root, "dialects": [target], "key": "none", "models": [MODELS[target]]}
            for name, target in providers.items()
        },
        "routing": {"aliases": {name: {"models": [f"{name}/*"]} for name in providers}},
    }


class Stage(NamedTuple):
    """A gateway, the provider behind it, and a program of each protocol in front of it."""

    fake: FakeProvider
    gateway: Daemon
    programs: dict[Dialect, Program]
    alone: Programs

    async def ask(
        self, client: Dialect, target: Dialect, asked: Asked, said: Reply | Fault | Rule, *, stream: bool
    ) -> Seen:
        self.fake.script.clear()
        self.fake.script.add(said)
        program = self.programs[client]
        program.model = f"{target}-for-{client}"
        return await asyncio.to_thread(program.ask, asked, stream=stream)

    async def newest(self) -> CallRecord:
        """The record of the request that was answered last."""
        assert await asyncio.to_thread(self.gateway.engine.flush)
        assert self.gateway.store.flush()
        return self.gateway.store.calls(limit=1)[0]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with FakeProvider(strict=True) as fake:
        nowhere = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")
        async with run_gateway(nowhere, tmp_path_factory.mktemp("data"), **settings(fake.url)) as gateway:
            gateway.store.put_route_override(RouteOverride(session="", key="thinking", value=HOST, at_ms=1))
            programs = {client: Program(client, root=gateway.url) for client in DIALECTS}
            yield Stage(fake, gateway, programs, Programs())
            for program in programs.values():
                program.close()


@pytest.mark.parametrize("case", REPLIES)
@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize(("client", "target"), ALL_PAIRS, ids=ALL_IDS)
async def test_a_program_is_answered_by_any_target(
    stage: Stage, client: Dialect, target: Dialect, stream: bool, case: str
) -> None:
    asked, reply = REPLIES[case]
    seen = await stage.ask(client, target, asked, reply, stream=stream)
    assert seen.error is None
    assert (seen.text, seen.thinking) == (reply.text, reply.thinking)
    assert list(seen.calls) == [(call.name, call.arguments) for call in reply.tool_calls]
    assert list(seen.call_ids) == [call.id for call in reply.tool_calls]
    assert seen.stop == STOPS[client][reply.stop_reason]
    assert seen.usage == usage_in(client, target)
    received = stage.fake.requests[-1]
    assert received.dialect == target
    if client != target:
        alone = stage.alone.ask(
            client, Relay(Target(dialect=target, model=MODELS[target]), reply), asked, stream=stream
        )
        assert json.loads(received.body) == alone.sent


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize(("client", "target"), ALL_PAIRS, ids=ALL_IDS)
async def test_an_error_keeps_its_status_and_words(
    stage: Stage, client: Dialect, target: Dialect, stream: bool
) -> None:
    seen = await stage.ask(client, target, Asked(), Fault(status=400, message="That is not done."), stream=stream)
    assert seen.error == (400, "That is not done.")


@pytest.mark.parametrize(
    ("fault", "outcome", "words"),
    [
        (Fault(error_event=12), "error", "The server had an error while processing your request."),
        (Fault(end_after_events=12), "cut", "The provider's answer ended before it was complete."),
    ],
    ids=["fails", "breaks off"],
)
@pytest.mark.parametrize(("client", "target"), PAIRS, ids=PAIR_IDS)
async def test_a_stream_that_does_not_end_well_never_looks_whole(
    stage: Stage, client: Dialect, target: Dialect, fault: Fault, outcome: str, words: str
) -> None:
    """Two failures open a circuit, so this comes last."""
    reply = Reply(text="word " * 20, fragment_chars=5)
    seen = await stage.ask(client, target, Asked(), Rule(reply=reply, fault=fault), stream=True)
    assert seen.error is not None
    assert seen.error[1] == words
    assert (await stage.newest()).outcome == outcome


# --- Long conversations that are moved from protocol to protocol ---


class Restless(Recorder):
    """Pins a target of another protocol at every third request that arrives, in the middle of tool loops too."""

    def __init__(self) -> None:
        super().__init__()
        self.gateway: Daemon | None = None
        self._pins = cycle(DIALECTS)

    def add(self, received: Received) -> None:
        super().add(received)
        if self.gateway is not None and self.total % 3 == 0:
            target = next(self._pins)
            override(self.gateway, "pin", f"at-{target}/{MODELS[target]}", session="")


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("client", DIALECTS)
async def test_a_conversation_of_an_sdk_goes_on_in_whatever_protocol(
    client: Dialect, stream: bool, tmp_path: Path
) -> None:
    recorder = Restless()
    names: Any = {"gpt-x": {}, "claude-x": {}, "gemini-x": {}}
    async with FakeProvider(recorder=recorder, strict=True) as fake:
        sections = {
            "models": {"refresh": False, "overrides": {f"at-{one}/{MODELS[one]}": KNOWN for one in DIALECTS}},
            "providers": {
                f"at-{one}": {"url": fake.url, "dialects": [one], "key": "none", "models": [MODELS[one]]}
                for one in DIALECTS
            },
            "routing": {"aliases": names, "thinking": "high"},
        }
        nowhere = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")
        async with run_gateway(nowhere, tmp_path, **sections) as gateway:
            recorder.gateway = gateway
            answers, _ = await PROGRAMS[client](gateway.url, stream)
    assert [one.status for one in fake.requests] == [200] * (2 * TURNS)
    assert all("The tool returned" in answer and "found found" in answer for answer in answers)
    assert {one.dialect for one in fake.requests} == set(DIALECTS)


@pytest.mark.parametrize("client", ["openai-responses", "gemini"])
async def test_a_model_that_binds_its_thinking_gets_none_behind_another_history(
    client: Dialect, tmp_path: Path
) -> None:
    """Managed mode leaves turns out; what such a model had thought behind them is refused by its provider."""
    model = "claude-opus-5-5"
    facts = {**KNOWN, "context_window": 8_000, "max_output_tokens": 4_200, "safety_margin_tokens": 0}
    async with FakeProvider(strict=True) as fake:
        sections = {
            "mode": "managed",
            "models": {"refresh": False, "overrides": {f"at-it/{model}": facts}},
            "providers": {"at-it": {"url": fake.url, "dialects": ["anthropic"], "key": "none", "models": [model]}},
            "routing": {"aliases": {"gpt-x": {}, "gemini-x": {}}, "thinking": "high"},
        }
        nowhere = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")
        async with run_gateway(nowhere, tmp_path, **sections) as gateway:
            answers, history = await PROGRAMS[client](gateway.url, True)
        sent = [json.loads(one.body) for one in fake.requests]
    assert [one.status for one in fake.requests] == [200] * (2 * TURNS)
    assert all("found found" in answer for answer in answers)
    assert len(sent[-1]["messages"]) < history * 0.6
    assert any(b'"type":"thinking"' in one.body for one in fake.requests)
