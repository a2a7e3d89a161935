"""What the user has set, what went wrong and what is only watched, in routes over real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, ask, override, run_routed
from ullage.testing import Exchange, FakeProvider, make_request, make_tools, make_turns

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
MISTAKE = Exchange(
    tool="Edit",
    arguments={"file_path": "a.py", "old_string": "x"},
    result="<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>",
)


async def test_a_pin_of_the_user_holds_from_the_next_request_on(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    turns: list[str | Exchange] = [EASY]
    async with run_routed(fake, tmp_path, routing={"policy": "cost"}) as gateway:
        first = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        override(gateway, "pin", FRONTIER)
        turns.append(Exchange())
        second = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        override(gateway, "pin", None)
        other = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]), session="other")
    assert (first.route["target"], second.route["target"]) == (LIGHT, FRONTIER)
    assert second.route["notes"][0] == f"{FRONTIER} is pinned now"
    assert other.route["target"] == LIGHT


async def test_a_policy_and_a_level_of_the_user_hold_for_all_sessions(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        override(gateway, "policy", "cost", session="")
        override(gateway, "thinking", "max", session="")
        came = await ask(gateway, client, make_request("openai-responses", model="auto", turns=[HARD]))
    assert came.route["policy"] == "cost"
    assert came.route["thinking"] == "max"


async def test_where_routing_is_off_the_session_stays_where_it_is(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        first = await ask(gateway, client, make_request("anthropic", model="auto", turns=[f"@model:{LIGHT} {EASY}"]))
        override(gateway, "activation", "off")
        turns = [f"@model:{LIGHT} {EASY}", "Done.", HARD]
        second = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
    assert first.route["target"] == second.route["target"] == LIGHT
    assert "routing is off for this session" in second.route["notes"]


TITLE = make_request(
    "anthropic",
    model="auto",
    turns=("Name this.",),
    extra={
        "output_config": {
            "format": {"type": "json_schema", "schema": {"type": "object", "properties": {"title": {"type": "string"}}}}
        }
    },
)
"""An errand of Claude Code, which goes to the cheapest target by itself."""


async def test_a_pin_holds_for_errands_too(tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    """Who pins a target may do so for where the words go."""
    async with run_routed(fake, tmp_path) as gateway:
        before = await ask(gateway, client, TITLE, user_agent="claude-cli/2.1.0")
        override(gateway, "pin", FRONTIER)
        pinned = await ask(gateway, client, TITLE, user_agent="claude-cli/2.1.0")
        override(gateway, "pin", "corp/gone")
        stopped = await ask(gateway, client, TITLE, user_agent="claude-cli/2.1.0")
    assert (before.route["reason"], before.route["target"]) == ("helper", LIGHT)
    assert (pinned.route["reason"], pinned.route["target"], pinned.route["thinking"]) == ("helper", FRONTIER, "off")
    assert stopped.status == 400
    assert len(fake.requests) == 2


async def test_where_routing_is_off_errands_stay_as_well(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        turns = [f"@model:{FRONTIER} {EASY}"]
        await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        override(gateway, "activation", "off")
        errand = await ask(gateway, client, TITLE, user_agent="claude-cli/2.1.0")
    assert (errand.route["reason"], errand.route["target"]) == ("helper", FRONTIER)
    assert errand.route["reasons"][-2:] == [f"stays at {FRONTIER}", f"would select {LIGHT}"]


@pytest.mark.parametrize("how", ["off", "shadow"])
async def test_where_routing_is_off_or_only_watched_nothing_is_escalated(
    how: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    came = []
    async with run_routed(fake, tmp_path, routing={"policy": "cost", "shadow": how == "shadow"}) as gateway:
        for mistakes in range(4):
            turns: list[str | Exchange] = [EASY, *[MISTAKE] * mistakes]
            came.append(await ask(gateway, client, make_request("anthropic", model="auto", turns=turns)))
            if how == "off":
                override(gateway, "activation", "off")
    assert [one.route["target"] for one in came] == [LIGHT] * 4
    told = [note for one in came for note in one.route["notes"] if "mistakes of Edit" in note]
    assert len(told) == (how == "shadow")
    assert all(note.startswith("would go on at anthropic/claude-") for note in told)


async def test_what_is_told_of_an_escalated_task_is_told_of_where_it_went(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing={"policy": "cost"}) as gateway:
        for mistakes in range(3):
            turns: list[str | Exchange] = [EASY, *[MISTAKE] * mistakes]
            request = make_request("anthropic", model="auto", turns=turns)
            came = await ask(gateway, client, request, x_ullage_trace="1")
    assert came.route["target"] == STRONG
    line, why = came.headers["x-ullage-route"], came.headers["x-ullage-why"]
    assert line.count("2 mistakes of Edit") == why.count("2 mistakes of Edit") == 1
    for told in (line, why, ", ".join(came.route["reasons"])):
        assert "low cost" not in told and "$1/$5" not in told and "cache-aware stickiness" not in told
        assert "$3/$15" in told
        assert "capability strong" in told
    assert "confidence=" not in why
    assert came.route["confidence"] is None


async def test_shadow_records_what_it_would_have_taken(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing={"shadow": True}) as gateway:
        await ask(gateway, client, make_request("anthropic", model="auto", turns=[f"@model:{LIGHT} {EASY}"]))
        turns = [f"@model:{LIGHT} {EASY}", "Done.", HARD]
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
    assert came.route["target"] == LIGHT
    assert came.route["shadow"] in (STRONG, FRONTIER)
    assert f"would select {came.route['shadow']}" in came.headers["x-ullage-route"]
    assert came.route["propensities"] == {LIGHT: 1.0} or came.route["shadow"] in came.route["propensities"]


async def test_two_mistakes_of_a_tool_in_a_row_go_to_a_stronger_model_once(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    came = []
    async with run_routed(fake, tmp_path, routing={"policy": "cost"}) as gateway:
        for mistakes in range(6):
            turns: list[str | Exchange] = [EASY, *[MISTAKE] * mistakes]
            request = make_request("anthropic", model="auto", turns=turns, tools=make_tools(1))
            came.append(await ask(gateway, client, request))
    targets = [one.route["target"] for one in came]
    assert targets[:2] == [LIGHT, LIGHT]
    assert len(set(targets[2:])) == 1 and targets[2] in (STRONG, FRONTIER)
    assert any(note.startswith("escalated: 2 mistakes of Edit in a row") for note in came[2].route["notes"])
    assert [one.route["kept"] for one in came] == [False, True, False, True, True, True]
    assert len({one.route["task_id"] for one in came}) == 1


async def test_a_pin_is_never_escalated(tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    came = []
    async with run_routed(fake, tmp_path) as gateway:
        for mistakes in range(4):
            turns: list[str | Exchange] = [f"@model:{LIGHT} {EASY}", *[MISTAKE] * mistakes]
            came.append(await ask(gateway, client, make_request("anthropic", model="auto", turns=turns)))
    assert {one.route["target"] for one in came} == {LIGHT}


async def test_a_fault_of_planning_takes_the_fail_safe_route(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("ullage.engine.route_planning.resolve_route", fail)
    async with run_routed(fake, tmp_path) as gateway:
        came = await ask(gateway, client, make_request("openai-chat", model="auto", turns=[HARD]))
    assert came.status == 200
    assert came.route["target"] in (LIGHT, STRONG, FRONTIER)
    assert "fail-safe" in came.headers["x-ullage-route"]


async def test_a_fault_of_routing_itself_never_sends_the_virtual_name(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("ullage.engine.routing.read_turn", fail)
    async with run_routed(fake, tmp_path) as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[HARD]))
    assert came.status == 503
    assert b"routing_failed" in came.body
    assert not len(fake.requests)


async def test_a_fault_of_planning_the_context_sends_the_request_as_routed(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("ullage.engine.managing.plan_live", fail)
    async with run_routed(fake, tmp_path, mode="managed") as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[HARD]))
    assert (came.status, came.headers["x-ullage-plan"]) == (200, "fallback")
    assert b'"auto"' not in fake.requests[0].body


async def test_a_routed_request_is_planned_for_its_target(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, mode="managed") as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[HARD]))
    assert came.headers["x-ullage-plan"] == "unchanged"
    assert came.call.awareness is not None
    assert came.call.awareness["profile"]["key"] == came.route["target"]
    assert came.call.plan is not None and came.call.plan["limit"] > 100_000


async def test_what_fits_nobody_whole_is_planned_for_the_widest_window(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    windows = {LIGHT: 20_000, STRONG: 30_000, FRONTIER: 60_000}
    small = {target: {"context_window": window, "max_output_tokens": 4_096} for target, window in windows.items()}
    turns = [*make_turns(160, 2_000), EASY]
    request = make_request("anthropic", model="auto", turns=turns, extra={"max_tokens": 4_000})
    async with run_routed(fake, tmp_path, overrides=small, mode="managed") as gateway:
        came = await ask(gateway, client, request)
    async with run_routed(fake, tmp_path / "b", overrides=small) as gateway:
        refused = await ask(gateway, client, request)
    assert (came.status, came.headers["x-ullage-plan"], came.route["target"]) == (200, "managed", FRONTIER)
    assert (refused.status, refused.route["stop"]["code"]) == (400, "incompatible")


@pytest.mark.parametrize("trusted", [True, False])
async def test_privacy_is_that_of_the_target(
    trusted: bool, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    hidden = "the-hidden-word"
    text = f"{EASY} [ullage:local-only]{hidden}[/ullage:local-only]"
    rules = {"enabled": True, "local_providers": ["anthropic"] if trusted else []}
    async with run_routed(fake, tmp_path, privacy=rules) as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[text]))
    assert came.status == 200
    assert (hidden.encode() in fake.requests[0].body) == trusted
    assert came.call.plan is not None
    assert came.call.plan["privacy"]["destination"] == ("local" if trusted else "remote")
    assert hidden not in str(came.route)
