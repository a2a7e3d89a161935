"""A day of routed sessions, live: a gateway, five models of different price, window and quality, a clock that is moved on.

What is chosen and what it cost is held against never switching within a session, and against always taking the strongest.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from ullage.core.profiles import Prices
from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.stores import CallRecord, RouteOverride
from ullage.stores.metrics import cost_nano_usd
from ullage.testing import Exchange, FakeProvider, make_prose, make_request, make_tools
from ullage.testing.gateway import run_gateway
from ullage.testing.members import find_bad_member
from ullage.testing.recording import Received


class Offer(NamedTuple):
    """USD per million tokens of input, tokens of the window, and whether it reads pictures. Tiers are as published."""

    usd: float
    window: int
    images: bool


MID = "openrouter/qwen/qwen3.8-flash"
LIGHT = "openrouter/anthropic/claude-haiku-4-5"
WIDE = "openrouter/google/gemini-flash-latest"
STRONG = "openrouter/anthropic/claude-sonnet-4-5"
STRONGEST = "openrouter/openai/gpt-5"
OFFERS = {
    MID: Offer(0.3, 64_000, False),
    LIGHT: Offer(1.0, 200_000, True),
    WIDE: Offer(0.5, 1_000_000, True),
    STRONG: Offer(3.0, 200_000, True),
    STRONGEST: Offer(10.0, 400_000, True),
}

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
MINUTE_MS = 60_000


class Step(NamedTuple):
    """One request of the script: its session, what is said so far, how long nobody spoke before it."""

    name: str
    session: str
    turns: tuple[str | Exchange, ...]
    picture: bool = False
    idle_ms: int = 20_000


LOOP = (EASY, Exchange(), Exchange())
LONG = (make_prose(600_000), "Read.", "Summarize what this says.")
SCRIPT = (
    Step("simple", "a", LOOP[:1]),
    Step("simple, its tool loop", "a", LOOP[:2]),
    Step("simple, its tool loop goes on", "a", LOOP),
    Step("hard", "b", (HARD,)),
    Step("hard, its tool loop", "b", (HARD, Exchange())),
    Step("continuation", "b", (HARD, Exchange(), "Half of it is done.", "continue")),
    Step("long", "c", LONG),
    Step("image", "d", ("What does this picture show?",), picture=True),
    Step("switch", "a", (*LOOP, "Done.", "What does this picture show?"), picture=True),
    Step("warm", "b", (HARD, Exchange(), "Half of it is done.", "continue", "Done.", "继续")),
    Step(
        "cold cache",
        "b",
        (HARD, Exchange(), "Half of it is done.", "continue", "Done.", "继续", "Done.", EASY),
        idle_ms=12 * MINUTE_MS,
    ),
)


# Who answers with the settings as they come, what the provider counts of each step (fresh, from its cache, answer), and what that
# costs at the prices above, in nano-USD: fresh + read / 10 + 5 x answer.
EXPECTED = {
    "simple": (MID, (2_331, 0, 31), 745_800),
    "simple, its tool loop": (MID, (71, 2_304, 14), 111_420),
    "simple, its tool loop goes on": (MID, (115, 2_304, 14), 124_620),
    "hard": (STRONG, (2_346, 0, 45), 7_713_000),
    "hard, its tool loop": (STRONG, (86, 2_304, 14), 1_159_200),
    "continuation": (STRONG, (96, 2_304, 22), 1_309_200),
    "long": (WIDE, (152_332, 0, 26), 76_231_000),
    "image": (LIGHT, (3_329, 0, 27), 3_464_000),
    "switch": (LIGHT, (1_129, 2_304, 27), 1_494_400),
    "warm": (STRONG, (103, 2_304, 21), 1_315_200),
    "cold cache": (STRONG, (2_423, 0, 31), 7_734_000),
}
WHO = "jane-doe"
ASKED: dict[str, Any] = {"max_tokens": 4_000, "temperature": 0.2, "user": WHO, "metadata": {"user_id": WHO}}


class Day(NamedTuple):
    """The records of the script by the names of its steps; what was refused is not in `answered`. `sent` is the request that the
    provider got of each."""

    records: dict[str, CallRecord]
    events: list[tuple[str, Any]]
    sent: dict[str, Received]

    @property
    def answered(self) -> dict[str, CallRecord]:
        return {name: call for name, call in self.records.items() if call.status == 200}

    def target(self, name: str) -> str:
        return str(self.route(name)["target"])

    def route(self, name: str) -> dict[str, Any]:
        route = self.records[name].route
        assert route is not None
        return route

    def body(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.sent[name].body)
        return found

    def usage(self, name: str) -> tuple[int, int, int]:
        usage = self.records[name].usage
        assert usage is not None
        return usage["input_fresh"], usage["cache_read"], usage["output"]

    def paid(self, *names: str) -> int:
        """Nano-USD that the steps cost, all that were answered if none is named, by what the provider counted."""
        return sum(paid_nano(self.answered[name]) for name in names or self.answered)


def paid_nano(call: CallRecord) -> int:
    assert call.usage is not None
    nano = cost_nano_usd(
        call.usage, prices_of(f"{call.provider}/{call.model}"), find_cache_rule(call.provider, call.model)
    )
    assert nano is not None
    return nano


def prices_of(target: str) -> Prices:
    usd = OFFERS[target].usd
    return Prices(input=usd, output=5 * usd, cache_read=usd / 10, cache_write=usd)


def sections(url: str, routing: Mapping[str, Any]) -> dict[str, Any]:
    known = {
        target: {
            "context_window": offer.window,
            "max_output_tokens": 32_000,
            "reasoning": True,
            "images": offer.images,
            "input_price": offer.usd,
            "output_price": 5 * offer.usd,
            "cache_read_price": offer.usd / 10,
            "cache_write_price": offer.usd,
        }
        for target, offer in OFFERS.items()
    }
    provider = {
        "url": url,
        "dialects": ["openai-chat"],
        "key": "none",
        "models": [target.removeprefix("openrouter/") for target in OFFERS],
    }
    return {
        "models": {"refresh": False, "overrides": known},
        "providers": {"openrouter": provider},
        "routing": dict(routing),
    }


async def play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pins: Mapping[str, str] | None = None, **routing: Any
) -> Day:
    """Runs the script; `pins` hold sessions at one target each. The provider is as strict as real ones."""
    now_ms = 1_800_000_000_000
    monkeypatch.setattr("ullage.daemon._clock_ms", lambda: now_ms)
    # What is learned is read before the next request, not beside it, and how fast this machine is counts for nothing: else the
    # script would hang on both.
    monkeypatch.setattr("ullage.engine.learning._start_thread", lambda read: read())
    monkeypatch.setattr("ullage.engine.learning.pace_of", lambda _: None)
    records: dict[str, CallRecord] = {}
    sent: dict[str, Received] = {}
    nowhere = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")
    async with (
        FakeProvider(clock=lambda: now_ms / 1000, strict=True) as fake,
        aiohttp.ClientSession() as client,
        run_gateway(nowhere, tmp_path, **sections(fake.url, routing)) as gateway,
    ):
        for session, target in (pins or {}).items():
            gateway.store.put_route_override(RouteOverride(session=session, key="pin", value=target, at_ms=now_ms))
        assert gateway.store.flush()
        for step in SCRIPT:
            now_ms += step.idle_ms
            before = len(fake.requests)
            records[step.name] = await say(gateway, client, step)
            if len(fake.requests) > before:
                sent[step.name] = fake.requests[before]
                assert len(fake.requests) == before + 1, "one attempt is enough"
        events = [(event.kind, event.details) for event in gateway.store.events()]
    return Day(records, events, sent)


async def say(gateway: Daemon, client: aiohttp.ClientSession, step: Step) -> CallRecord:
    request = make_request(
        "openai-chat",
        model="ullage/auto",
        turns=step.turns,
        tools=make_tools(3),
        system=make_prose(8_000),
        extra={**ASKED, "prompt_cache_key": f"{WHO}-{step.session}"},
    )
    payload = request.payload
    if step.picture:
        last = payload["messages"][-1]
        last["content"] = [{"type": "text", "text": last["content"]}, PICTURE]
    headers = {**request.headers, "x-ullage-session": step.session, "x-auth-token": WHO, "x-forwarded-for": WHO}
    async with client.post(gateway.url + request.path, data=json.dumps(payload), headers=headers) as response:
        await response.read()
    assert await asyncio.to_thread(gateway.engine.flush)
    assert gateway.store.flush()
    call = gateway.store.find_call(response.headers["x-ullage-request"])
    assert call is not None
    return call


async def test_each_task_goes_where_it_is_worth_it_for_what_is_known_to_be_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = await play(tmp_path, monkeypatch)
    found = {name: (day.target(name), day.usage(name), day.paid(name)) for name in day.records}
    assert found == EXPECTED
    assert day.paid() == 101_401_840
    assert [day.route(name)["kept"] for name in ("simple, its tool loop", "hard, its tool loop")] == [True, True]
    assert day.route("continuation")["task"]["inherited"] == 1
    assert day.route("warm")["task"]["inherited"] == 2
    assert any(one["code"] == "window-too-small" for one in day.route("long")["excluded"])
    assert {one["target"]: one["code"] for one in day.route("switch")["excluded"]}[MID] == "no-vision"
    assert day.route("cold cache")["notes"] == ["cache cold (idle 11m)"]
    switches = [(details["from"], details["to"]) for kind, details in day.events if kind == "model_switch"]
    assert switches == [(MID, LIGHT)]
    check_bodies(day)
    # Claude has budgets by its own protocol; this host takes words.
    efforts = {name: effort for name in day.sent if (effort := day.body(name).get("reasoning_effort")) is not None}
    assert efforts == dict.fromkeys(("hard", "hard, its tool loop", "continuation", "warm"), "high")


def check_bodies(day: Day) -> None:
    """Every target was asked by its own name, to think in words of the protocol, and not told who asks."""
    for name, received in day.sent.items():
        body = day.body(name)
        assert body["model"] == day.target(name).removeprefix("openrouter/")
        assert find_bad_member("openai-chat", body, body["model"]) is None
        assert {"user", "metadata"}.isdisjoint(body)
        told = b"\n".join([received.body, *(b": ".join(pair) for pair in received.headers)])
        assert WHO.encode() not in told
    sessions = {step.name: step.session for step in SCRIPT}
    keys = {(sessions[name], day.body(name)["prompt_cache_key"]) for name in day.sent}
    assert len(keys) == len({session for session, _ in keys}), "one key a session"


async def test_what_a_switch_costs_was_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = await play(tmp_path, monkeypatch, guards={"downgrades": True})
    assert {name: day.target(name) for name in day.records} == {
        **{name: target for name, (target, _, _) in EXPECTED.items()},
        "cold cache": MID,
    }
    switches = [(details["from"], details["to"]) for kind, details in day.events if kind == "model_switch"]
    assert sorted(switches) == sorted([(MID, LIGHT), (STRONG, MID)])
    warm, cold = day.route("warm")["switch"], day.route("cold cache")["switch"]
    assert (warm["current"], cold["current"]) == (STRONG, STRONG)
    assert warm["cache_loss_usd"] > 0
    assert cold["stay_usd"] > cold["switch_usd"]
    for name in ("hard, its tool loop", "continuation", "warm"):
        fresh, read, _ = day.usage(name)
        assert read > 5 * fresh
    assert day.usage("cold cache")[1] == 0
    # A tenth of what the one costs that the session leaves.
    assert (day.paid("cold cache"), EXPECTED["cold cache"][2]) == (773_400, 7_734_000)
    assert day.paid() == 101_401_840 - 7_734_000 + 773_400


async def test_routes_cost_less_than_the_strongest_and_do_what_never_switching_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = {step.session for step in SCRIPT}
    strongest = await play(tmp_path / "strongest", monkeypatch, dict.fromkeys(sessions, STRONGEST))
    first = {step.session: EXPECTED[step.name][0] for step in reversed(SCRIPT)}
    settled = await play(tmp_path / "settled", monkeypatch, first)
    assert {strongest.target(name) for name in strongest.answered} == {STRONGEST}
    assert len(strongest.answered) == len(SCRIPT)
    # Nearly sixteen times of what the routes cost.
    assert strongest.paid() == 1_608_826_000
    check_bodies(strongest)
    body = strongest.body("hard")
    assert body["max_completion_tokens"] == 4_000
    assert {"max_tokens", "temperature"}.isdisjoint(body)
    assert strongest.body("simple")["reasoning_effort"] == "minimal"
    # Whoever stays with the first target of a session has none for its picture, and pays the same for the rest.
    assert set(settled.records) - set(settled.answered) == {"switch"}
    stop = settled.records["switch"].route
    assert stop is not None and stop["stop"]["code"] == "incompatible"
    assert settled.paid() == 99_907_440 == sum(nano for _, _, nano in EXPECTED.values()) - EXPECTED["switch"][2]
