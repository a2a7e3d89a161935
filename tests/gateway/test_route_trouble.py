"""Routed requests where a provider is spent, a model is not enough, choosing fails, or a task is unclear: over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, Came, ask, routed, run_routed
from ullage.core.routing.thinking import LEVELS
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.stores import CallRecord
from ullage.testing import Exchange, FakeProvider, Fault, Reply, Rule, make_request
from ullage.testing.gateway import run_gateway

ONE, TWO = "one/claude-haiku-4-5", "two/claude-sonnet-4-5"
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."


def _two_providers(url: str, **sections: Any) -> dict[str, Any]:
    """The light model, which is chosen, at one provider, the strong one at another, both at the same address."""
    plain = routed(url, **sections)
    known, row = plain["models"]["overrides"], plain["providers"].popitem()[1]
    plain["models"]["overrides"] = {ONE: known[LIGHT], TWO: known[STRONG]}
    plain["providers"] = {"one": {**row, "models": [ONE[4:]]}, "two": {**row, "models": [TWO[4:]]}}
    return plain


@contextlib.asynccontextmanager
async def _run_two(fake: FakeProvider, tmp_path: Path, **sections: Any) -> AsyncIterator[Daemon]:
    nowhere = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")
    async with run_gateway(nowhere, tmp_path, store="sqlite", **_two_providers(fake.url, **sections)) as gateway:
        yield gateway


async def _is_chosen(gateway: Daemon, client: aiohttp.ClientSession, prompt: str = HARD, session: str = "s") -> Came:
    return await ask(gateway, client, make_request("anthropic", model="auto", turns=(prompt,)), session)


OUT_OF_CREDIT = [
    Fault(status=402, message="Insufficient credits"),
    Fault(
        status=400, message="You have reached your specified API usage limits. You will regain access on 2099-01-01."
    ),
    Fault(status=429, retry_after_s=60),
]


@pytest.mark.parametrize("fault", OUT_OF_CREDIT, ids=["402", "usage limit", "429"])
async def test_a_provider_without_credit_is_left_alone_by_later_tasks(
    fault: Fault, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Complaint C13."""
    rules = [Rule(model=ONE[4:], fault=fault)]
    async with FakeProvider(rules) as fake:
        async with _run_two(fake, tmp_path, routing={"failover": {"max_attempts": 1}}) as gateway:
            first = await _is_chosen(gateway, client)
            assert (first.status, first.headers["x-ullage-target"]) == (fault.status, ONE)
            other = await _is_chosen(gateway, client, session="other")
            assert (other.status, other.headers["x-ullage-target"]) == (200, TWO)
            [left] = [one for one in other.route["excluded"] if one["target"] == ONE]
            assert left["code"] == ("circuit-open" if fault.status == 429 else "quota-blocked")
            [one, two] = gateway.engine.quotas.report(first.call.created_ms + 1_000)
        assert (one["status"], one["requests"]) == ("cooldown", 1)
        assert (two["requests"], two["usd"]) == (1, pytest.approx(two["usd"]))
        assert two["usd"] > 0
        async with _run_two(fake, tmp_path) as gateway:
            third = await _is_chosen(gateway, client, session="third")
            assert third.headers["x-ullage-target"] == TWO


async def test_where_all_providers_are_spent_routing_goes_on_and_says_so(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Rule(times=1, fault=Fault(status=402))]) as fake:
        async with run_routed(fake, tmp_path) as gateway:
            first = await _is_chosen(gateway, client)
            second = await _is_chosen(gateway, client, session="other")
            assert (first.status, second.status) == (402, 200)
            assert f"{second.headers['x-ullage-target']}: quota cooldown" in second.route["warnings"]
            third = await _is_chosen(gateway, client, session="third")
    assert third.route["warnings"] == []  # it was answered


async def test_limits_of_the_settings_weigh(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    quota = {"quota": {"providers": {"one": {"max_requests": 1}}}}
    async with FakeProvider([Reply(text="Done.")]) as fake:
        async with _run_two(fake, tmp_path, routing=quota) as gateway:
            targets = [
                (await _is_chosen(gateway, client, session=f"s{n}")).headers["x-ullage-target"] for n in range(2)
            ]
    assert targets == [ONE, TWO]


async def test_the_fail_safe_route_avoids_a_provider_that_asked_to_wait(
    tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [Rule(model=ONE[4:], fault=Fault(status=402))]
    async with FakeProvider(rules) as fake:
        async with _run_two(fake, tmp_path) as gateway:
            await _is_chosen(gateway, client)
            monkeypatch.setattr("ullage.engine.route_planning.resolve_route", lambda *_, **__: 1 / 0)
            came = await _is_chosen(gateway, client, session="other")
    assert came.headers["x-ullage-target"] == TWO
    assert "fail-safe" in came.route["reasons"]
    assert [one["code"] for one in came.route["excluded"]] == ["quota-blocked"]


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_target_that_is_not_there_is_left_alone_by_all_sessions(
    status: int, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """The cheapest one would be chosen for ever, with a bonus for staying."""
    rules = [Rule(model=ONE[4:], fault=Fault(status=status))]
    async with FakeProvider(rules) as fake:
        async with _run_two(fake, tmp_path) as gateway:
            came = [await _is_chosen(gateway, client, f"{HARD} {n}", session=f"s{n % 4}") for n in range(5)]
    assert [one.status for one in came] == [status, 200, 200, 200, 200]
    assert [one.headers["x-ullage-target"] for one in came] == [ONE, TWO, TWO, TWO, TWO]
    for one in came[1:]:
        assert {"target": ONE, "code": "circuit-open"}.items() <= one.route["excluded"][0].items()
    assert "cache-aware stickiness" not in came[4].route["reasons"]


async def test_a_session_does_not_stick_to_a_target_that_refused_its_newest_request(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    rules = [Rule(times=1, fault=Fault(status=400, message="messages: field required"))]
    async with FakeProvider(rules) as fake:
        async with _run_two(fake, tmp_path) as gateway:
            came = []
            for number in range(1, 4):
                turns = [turn for index in range(number) for turn in (f"{HARD} {index}", "Done.")][:-1]
                came.append(await ask(gateway, client, make_request("anthropic", model="auto", turns=turns)))
    assert [one.status for one in came] == [400, 200, 200]
    target = came[1].route["target"]
    assert [one.route["target"] for one in came] == [target] * 3
    assert came[1].route["notes"] == [f"{target} did not answer the newest request, so nothing keeps the session there"]
    assert [("cache-aware stickiness" in one.route["reasons"]) for one in came] == [False, False, True]
    assert came[1].route["ranked"][0]["terms"]["stickiness"] == 0
    assert came[2].route["excluded"] == came[2].route["notes"] == []


MISTAKE = Exchange(
    tool="edit",
    arguments={"path": "a.py", "oldText": "x"},
    result="Could not find the exact text in a.py. The old text must match exactly including all whitespace and newlines.",
)


async def _blunder(
    gateway: Daemon, client: aiohttp.ClientSession, dialect: Dialect = "anthropic", times: int = 4
) -> list[Came]:
    """What comes of the requests of a tool loop in which every call is a mistake."""
    loops = [["Rename x to count in this line.", *[MISTAKE] * number] for number in range(times)]
    return [await ask(gateway, client, make_request(dialect, model="auto", turns=turns)) for turns in loops]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_mistakes_are_read_from_the_results_of_every_dialect(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing={"policy": "cost"}) as gateway:
        came = await _blunder(gateway, client, dialect)
    assert [one.route["target"] == LIGHT for one in came] == [True, True, False, False]
    assert any(note.startswith("escalated: 2 mistakes of edit") for note in came[2].route["notes"])
    assert "escalated" in came[2].headers["x-ullage-route"]


async def test_escalation_can_be_switched_off(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing={"policy": "cost", "escalation": False}) as gateway:
        came = await _blunder(gateway, client)
    assert {one.route["target"] for one in came} == {LIGHT}


async def test_without_a_stronger_target_the_same_one_thinks_more_once(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing={"models": [FRONTIER]}) as gateway:
        came = await _blunder(gateway, client, times=6)
    levels = [LEVELS.index(one.route["thinking"]) for one in came]
    assert [level - levels[0] for level in levels] == [0, 0, 1, 1, 1, 1]
    assert {one.route["target"] for one in came} == {FRONTIER}


async def test_a_level_that_the_user_has_settled_is_not_raised(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing={"models": [FRONTIER], "thinking": "low"}) as gateway:
        came = await _blunder(gateway, client)
    assert {one.route["thinking"] for one in came} == {"low"}
    assert [one.route["kept"] for one in came] == [False, True, True, True]


async def test_where_nothing_is_stronger_a_task_stays_where_it_is(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Nobody else takes over in the middle of a task, even where another would be chosen now."""
    routing = {
        "models": [FRONTIER, LIGHT],
        "rules": [{"name": "top", "then": {"only": [FRONTIER]}, "when": {"min_complexity": 0}}],
    }
    overrides = {FRONTIER: {"reasoning": False}}
    async with run_routed(fake, tmp_path, routing=routing, overrides=overrides) as gateway:
        came = await _blunder(gateway, client)
    assert [(one.route["target"], one.route["kept"]) for one in came[1:]] == [(FRONTIER, True)] * 3


VAGUE = "Please have a look at the thing we talked about"
GRADE = '{"complexity":0.8,"requiresReasoning":true,"minTier":"strong"}'


def _classifier(**fields: Any) -> dict[str, Any]:
    return {"classifier": {"enabled": True, "target": LIGHT, "timeout_ms": 2_000, **fields}}


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_small_model_is_asked_about_an_unclear_task(
    dialect: Dialect, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Rule(times=1, reply=Reply(text=GRADE)), Reply(text="Done.")]) as fake:
        async with run_routed(fake, tmp_path, routing=_classifier()) as gateway:
            request = make_request(dialect, model="auto", turns=(VAGUE,))
            came = await ask(gateway, client, request, x_ullage_trace="1")
            again = await ask(gateway, client, request)
        asked, sent, resent = fake.requests
    assert VAGUE.encode() in asked.body and b"untrusted" in asked.body
    assert b"untrusted" not in sent.body + resent.body
    assert came.status == 200
    assert came.route["task"]["complexity"] == 0.8
    assert came.route["task"]["minimum_tier"] == "strong"
    assert gateway.engine.classifying.report()["counts"] == {"answered": 1}
    assert came.headers["x-ullage-target"] != LIGHT
    assert f"classified by {LIGHT}" in came.headers["x-ullage-why"]
    assert again.route["reason"] == "retry"
    assert "look at the thing" not in json.dumps(came.route)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (Rule(times=1, fault=Fault(delay_ms=60_000)), "timeout"),
        (Rule(times=1, fault=Fault(status=500)), "provider-error"),
        (Rule(times=1, reply=Reply(text=f"Certainly: {GRADE}")), "bad-answer"),
    ],
    ids=["slow", "broken", "prose"],
)
async def test_whatever_goes_wrong_with_it_the_task_stays_as_it_was_read(
    wrong: Rule, why: str, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([wrong, Reply(text="Done.")]) as fake:
        async with run_routed(
            fake, tmp_path, routing=_classifier(timeout_ms=20 if why == "timeout" else 2_000)
        ) as gateway:
            came = await _is_chosen(gateway, client, VAGUE)
    assert came.status == 200
    assert any(note.startswith(f"classifier {LIGHT}: {why}") for note in came.route["notes"])
    assert came.route["task"]["minimum_tier"] is None


async def test_what_privacy_withholds_never_reaches_it(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    marked = f"{VAGUE} [ullage:sensitive]my secret words[/ullage:sensitive]"
    async with FakeProvider([Reply(text="Done.")]) as fake:
        async with run_routed(fake, tmp_path, routing=_classifier(), privacy={"enabled": True}) as gateway:
            came = await _is_chosen(gateway, client, marked)
            assert gateway.engine.classifying.report()["counts"] == {"privacy": 1}
        bodies = [request.body for request in fake.requests]
    assert came.status == 200
    assert "classifier not asked: privacy" in came.route["notes"]
    assert len(bodies) == 1
    assert b"my secret words" not in bodies[0]


async def test_a_clear_task_and_a_pin_ask_nobody(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with FakeProvider([Reply(text="Done.")]) as fake:
        async with run_routed(fake, tmp_path, routing=_classifier()) as gateway:
            await _is_chosen(gateway, client)
            await _is_chosen(gateway, client, f"@model:{STRONG} {VAGUE}", session="pinned")
        assert len(fake.requests) == 2


async def test_a_client_that_leaves_while_it_is_asked_is_recorded_and_nothing_is_sent(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Fault(delay_ms=60_000)]) as fake:
        async with run_routed(fake, tmp_path, routing=_classifier()) as gateway:
            request = make_request("anthropic", model="auto", turns=(VAGUE,))
            patience = aiohttp.ClientTimeout(total=0.2)
            with pytest.raises(TimeoutError):
                await client.post(
                    gateway.url + request.path, data=request.body, headers=request.headers, timeout=patience
                )
            while not (calls := await asyncio.to_thread(_recorded, gateway)):
                await asyncio.sleep(0.01)
        assert len(fake.requests) == 1
    assert [(call.outcome, call.status) for call in calls] == [("left", None)]


def _recorded(gateway: Daemon) -> list[CallRecord]:
    assert gateway.engine.flush()
    return gateway.store.calls(limit=9)


async def test_two_daemons_on_one_database_count_the_calls_of_a_provider_together(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    routing = {"quota": {"providers": {"one": {"max_requests": 4}}}}
    async with _run_two(fake, tmp_path, routing=routing) as one, _run_two(fake, tmp_path, routing=routing) as two:
        came = [await _is_chosen((one, two)[number % 2], client, session=f"s{number}") for number in range(6)]
        left = [gateway.engine.quotas.report(came[-1].call.created_ms)[0] for gateway in (one, two)]
    targets = [each.headers["x-ullage-target"] for each in came]
    assert (targets.count(ONE), targets[-2:]) == (4, [TWO, TWO])
    assert [(each["status"], each["requests"]) for each in left] == [("blocked", 4)] * 2


async def test_a_provider_that_one_daemon_found_without_credit_is_left_alone_by_the_other(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Complaint C13."""
    async with (
        FakeProvider([Rule(model=ONE[4:], fault=OUT_OF_CREDIT[0])]) as fake,
        _run_two(fake, tmp_path, routing={"failover": {"max_attempts": 1}}) as one,
        _run_two(fake, tmp_path) as two,
    ):
        first, other = await _is_chosen(one, client), await _is_chosen(two, client, session="other")
        assert (first.status, other.headers["x-ullage-target"]) == (402, TWO)
        again = await _is_chosen(one, client, session="third")
    assert again.headers["x-ullage-target"] == TWO
