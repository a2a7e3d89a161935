"""The next target gets a request of its own: for its window, its provider's privacy and its protocol. Faults users report."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, ask, know_targets, run_routed
from ullage.core.errors import PrivacyError
from ullage.core.privacy.guard import PrivacyGuard
from ullage.core.wire import DIALECTS, AnswerReader, Dialect
from ullage.stores.metrics import attempts_of
from ullage.telemetry.access_log import make_line
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_request, make_turns
from ullage.testing.gateway import run_gateway

HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
DOWN = Fault(status=503)
FACTS = {"context_window": 200_000, "max_output_tokens": 64_000, "images": True, "reasoning": True}
PRICES = {"input_price": 1.0, "output_price": 5.0, "cache_read_price": 0.1, "cache_write_price": 1.25}
NOWHERE = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")


def providers(url: str, targets: Mapping[str, Dialect], **sections: Any) -> dict[str, Any]:
    """Settings with a provider of its own for each target."""
    rows = {
        target.partition("/")[0]: {
            "url": url,
            "dialects": [dialect],
            "key": "none",
            "models": [target.partition("/")[2]],
        }
        for target, dialect in targets.items()
    }
    known = {target: {**FACTS, **PRICES} for target in targets}
    return {"providers": rows, "models": {"refresh": False, "overrides": known}, **sections}


def bodies(fake: FakeProvider) -> list[dict[str, Any]]:
    return [json.loads(one.body) for one in fake.requests]


async def test_the_next_target_gets_what_fits_its_window(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    windows = {LIGHT: 16_000, STRONG: 30_000, FRONTIER: 200_000}
    sizes = {target: {"context_window": window, "max_output_tokens": 4_096} for target, window in windows.items()}
    request = make_request(
        "anthropic", model="auto", turns=[*make_turns(160, 2_000), HARD], extra={"max_tokens": 4_000}
    )
    async with (
        FakeProvider([Rule(model=FRONTIER.partition("/")[2], fault=DOWN)]) as fake,
        run_routed(fake, tmp_path, overrides=sizes, mode="managed") as gateway,
    ):
        came = await ask(gateway, client, request)
        first, second = bodies(fake)
    assert [one["target"] for one in came.route["attempts"]] == [FRONTIER, STRONG]
    assert (came.status, came.headers["x-ullage-plan"]) == (200, "managed")
    assert len(second["messages"]) < len(first["messages"])
    assert int(came.headers["x-ullage-input-estimate"]) < 30_000
    assert came.call.awareness is not None and came.call.awareness["profile"]["key"] == STRONG
    assert came.call.plan is not None and came.call.plan["limit"] < 30_000


@pytest.mark.parametrize("trusted", ["one", "two"])
async def test_the_next_target_gets_what_its_provider_may_see(
    trusted: str, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    targets: dict[str, Dialect] = {"one/claude-opus-5": "anthropic", "two/claude-haiku-4-5": "anthropic"}
    private = {"privacy": {"enabled": True, "local_providers": [trusted]}}
    prompt = f"{HARD} [ullage:local-only]the-hidden-word[/ullage:local-only]"
    async with FakeProvider([Rule(model="claude-opus-5", fault=DOWN)]) as fake:
        async with run_gateway(NOWHERE, tmp_path, **providers(fake.url, targets, **private)) as gateway:
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=(prompt,)))
        assert [one["target"] for one in came.route["attempts"]] == list(targets)
        seen = [b"the-hidden-word" in one.body for one in fake.requests]
    assert seen == [trusted == "one", trusted == "two"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_next_target_is_asked_in_its_own_protocol_and_answers_in_the_clients(
    dialect: Dialect, stream: bool, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    other: Dialect = "anthropic" if dialect != "anthropic" else "openai-chat"
    targets: dict[str, Dialect] = {"one/claude-opus-5": dialect, "two/claude-haiku-4-5": other}
    rules = [
        Rule(model="claude-opus-5", reply=Reply(thinking="Hm.", text="No."), fault=Fault(error_event=1)),
        Rule(model="claude-haiku-4-5", reply=Reply(text="Yes.")),
    ]
    if not stream:
        rules[0] = Rule(model="claude-opus-5", fault=DOWN)
    async with FakeProvider(rules) as fake:
        async with run_gateway(NOWHERE, tmp_path, **providers(fake.url, targets)) as gateway:
            came = await ask(gateway, client, make_request(dialect, model="auto", turns=(HARD,), stream=stream))
        assert [one["target"] for one in came.route["attempts"]] == list(targets)
        assert [one.dialect for one in fake.requests] == [dialect, other]
    reader = AnswerReader(dialect, streamed=stream)
    reader.feed(came.body)
    answer = reader.close()
    assert (came.status, answer.complete, answer.error_type) == (200, True, None)
    assert b"Yes." in came.body and b"No." not in came.body


async def test_a_target_that_privacy_keeps_everything_from_is_passed_over(
    tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets: dict[str, Dialect] = {
        "one/claude-opus-5": "anthropic",
        "two/claude-sonnet-4-5": "anthropic",
        "three/claude-haiku-4-5": "anthropic",
    }
    prepare = PrivacyGuard.prepare

    def refuse_two(self: PrivacyGuard, conversation: Any, destination: Any) -> Any:
        if destination.provider == "two":
            raise PrivacyError("nothing may go there", hint="", code="privacy_refused")
        return prepare(self, conversation, destination)

    monkeypatch.setattr(PrivacyGuard, "prepare", refuse_two)
    async with FakeProvider([Rule(model="claude-opus-5", fault=DOWN)]) as fake:
        sections = providers(fake.url, targets, privacy={"enabled": True})
        async with run_gateway(NOWHERE, tmp_path, **sections) as gateway:
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD,)))
    assert [one["target"] for one in came.route["attempts"]] == ["one/claude-opus-5", "three/claude-haiku-4-5"]
    assert (came.status, came.headers["x-ullage-attempts"]) == (200, "2")


async def test_a_target_that_costs_more_than_may_be_spent_is_not_asked(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """What the one before has said is the answer, and the record's."""
    prices = {target: {"input_price": 900.0, "output_price": 9_000.0} for target in (LIGHT, STRONG)}
    prices[FRONTIER] = {"input_price": 0.001, "output_price": 0.002}
    limits = {"daily_usd": 1.0, "on_exceed": "block"}
    async with FakeProvider([Rule(times=1, fault=DOWN)]) as fake:
        async with run_routed(fake, tmp_path, overrides=prices, budget=limits, routing={"policy": "best"}) as gateway:
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD,)))
        assert len(fake.requests) == 1
    assert (came.status, came.headers["x-ullage-attempts"]) == (503, "1")
    assert (came.route["target"], came.call.model) == (FRONTIER, FRONTIER.partition("/")[2])
    assert [one["target"] for one in came.route["attempts"]] == [FRONTIER]
    assert came.route["notes"][-1].startswith("nobody else is asked: ")


async def test_what_is_reserved_for_an_attempt_that_comes_too_late_is_free_again(
    tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"daily_usd": 100.0, "on_exceed": "block"}
    failover = {"failover": {"request_timeout_ms": 600}}
    async with FakeProvider([Rule(times=1), Rule(times=1, fault=DOWN)]) as fake:
        async with run_routed(fake, tmp_path, budget=limits, routing=failover) as gateway:
            request = make_request("anthropic", model="auto", turns=(HARD,))
            know_targets(gateway)
            assert (await ask(gateway, client, request)).status == 200
            reserve, calls = gateway.store.ledger.reserve, itertools.count()

            def slowly(*args: Any, **kwargs: Any) -> Any:
                if next(calls):
                    time.sleep(0.8)
                return reserve(*args, **kwargs)

            monkeypatch.setattr(gateway.store.ledger, "reserve", slowly)
            came = await ask(gateway, client, request, session="other")
            assert len(fake.requests) == 2
            assert await asyncio.to_thread(gateway.engine.flush)
            assert gateway.store.ledger.open_attempts() == []
            [day] = gateway.store.ledger.totals("day")
            first = gateway.store.find_call(came.call.id)
    assert (came.status, came.headers["x-ullage-attempts"]) == (504, "1")
    assert first is not None and first.asked
    [attempt] = came.route["attempts"]
    assert came.route["target"] == attempt["target"] == f"anthropic/{bodies(fake)[1]['model']}"
    assert (day.calls, day.estimated) == (1, 0)


async def test_a_request_that_is_late_before_anybody_is_asked_is_no_attempt_and_costs_nothing(
    tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    failover = {"failover": {"request_timeout_ms": 30}}
    async with FakeProvider() as fake:
        limits = {"daily_usd": 100.0, "on_exceed": "block"}
        async with run_routed(fake, tmp_path, budget=limits, routing=failover) as gateway:
            know_targets(gateway)
            reserve = gateway.store.ledger.reserve

            def slowly(*args: Any, **kwargs: Any) -> Any:
                time.sleep(0.05)
                return reserve(*args, **kwargs)

            monkeypatch.setattr(gateway.store.ledger, "reserve", slowly)
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD,)))
            assert await asyncio.to_thread(gateway.engine.flush)
            totals = gateway.store.ledger.totals("day")
            [facts] = gateway.store.attempts()
        assert len(fake.requests) == 0
    assert (came.status, came.headers["x-ullage-attempts"]) == (504, "0")
    assert (came.call.asked, came.call.outcome, came.route["attempts"]) == (False, "answered", [])
    assert attempts_of(facts) == ()
    assert [(one.used, one.calls) for one in totals] == [(0, 0)]
    assert make_line(facts).target == ""


@pytest.mark.parametrize("limits", [{}, {"daily_usd": 100.0, "on_exceed": "block"}])
async def test_a_client_that_leaves_before_anybody_is_asked_leaves_no_attempt_and_no_money(
    limits: dict[str, Any], tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While its request is looked at, before it is routed, and while what it may cost is reserved."""
    known, left = threading.Event(), threading.Event()
    over: list[Any] = []
    async with FakeProvider() as fake, run_routed(fake, tmp_path, budget=limits) as gateway:
        know_targets(gateway)
        ledger = gateway.store.ledger
        place, name = (ledger, "reserve") if limits else (gateway.engine._observer._routing, "decide")
        act, finish = getattr(place, name), gateway.engine.finish

        def slowly(*args: Any, **kwargs: Any) -> Any:
            known.set()
            assert left.wait(30)
            return act(*args, **kwargs)

        def end(exchange: Any) -> None:
            over.append(exchange)
            finish(exchange)

        monkeypatch.setattr(place, name, slowly)
        monkeypatch.setattr(gateway.engine, "finish", end)
        requests = [make_request("anthropic", model="auto", turns=(f"{HARD} {number}",)) for number in range(2)]
        waiting = [
            asyncio.ensure_future(client.post(gateway.url + one.path, data=one.body, headers=one.headers))
            for one in requests
        ]
        while not known.is_set():
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.02)
        for one in waiting:
            one.cancel()
        while len(over) < 2:
            await asyncio.sleep(0.002)
        left.set()
        assert await asyncio.to_thread(gateway.engine.flush)
        calls = gateway.store.attempts()
        totals = gateway.store.ledger.totals("day")
        assert (len(fake.requests), ledger.open_attempts()) == (0, [])
    assert [(call.outcome, call.asked, attempts_of(call)) for call in calls] == [("left", False, ())] * 2
    assert not any("auto" in call.target for call in calls)
    assert not any(one.used or one.calls or one.unpriced for one in totals)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stream_that_fails_at_its_start_goes_on_elsewhere__litellm_6957(
    dialect: Dialect, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    rules = [Rule(times=1, fault=Fault(error_event=0)), Rule(reply=Reply(text="Yes."))]
    async with FakeProvider(rules) as fake, run_routed(fake, tmp_path) as gateway:
        came = await ask(gateway, client, make_request(dialect, model="auto", turns=(HARD,), stream=True))
    assert (came.status, came.headers["x-ullage-attempts"]) == (200, "2")
    assert b"Yes." in came.body


async def test_the_next_target_is_asked_the_same_and_nothing_else__litellm_27967(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """No beginning of an answer that it did not give (also BerriAI/litellm PR#36267)."""
    async with FakeProvider([Rule(times=1, fault=DOWN)]) as fake, run_routed(fake, tmp_path) as gateway:
        await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD, "Done.", HARD)))
        first, second = bodies(fake)
    assert first["model"] != second["model"]
    assert first["messages"] == second["messages"]


async def test_pings_and_an_end_are_no_answer__headroom_3266(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    rules = [Rule(times=1, fault=Fault(only_pings=3)), Rule(reply=Reply(text="Yes."))]
    async with FakeProvider(rules) as fake, run_routed(fake, tmp_path) as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD,), stream=True))
    assert b"Yes." in came.body


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_words_pass_as_they_come__litellm_26102__dstack_4269(
    dialect: Dialect, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """What is held back is let go with the first word, not at the end."""
    slow = Rule(reply=Reply(text="one two three four five six", fragment_chars=4), fault=Fault(pause_ms=20))
    async with FakeProvider([slow]) as fake, run_routed(fake, tmp_path) as gateway:
        request = make_request(dialect, model="auto", turns=(HARD,), stream=True)
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            body = b""
            async for chunk in response.content.iter_any():
                body += chunk
                if b"one" in body:
                    break
            assert not fake.requests[0].finished
            assert b"six" not in body


async def test_a_target_that_is_dead_does_not_hold_a_session__complaint_c14(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider() as fake, run_routed(fake, tmp_path) as gateway:
        request = make_request("anthropic", model="auto", turns=(HARD,))
        home = (await ask(gateway, client, request)).route["target"]
        fake.script.add(Rule(model=home.partition("/")[2], fault=DOWN))
        turns = [HARD]
        for number in range(4):
            turns += ["Done.", f"{HARD} Part {number}."]
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
            assert came.status == 200 and came.route["target"] != home
        asked = [body["model"] for body in bodies(fake)].count(home.partition("/")[2])
    # Once before it died, and twice at most until its circuit was open.
    assert asked <= 3


async def test_a_name_of_the_routers_own_fails_over_as_well__complaint_c12(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    aliases = {"aliases": {"house/best": {"policy": "best"}}}
    async with (
        FakeProvider([Rule(times=1, fault=DOWN)]) as fake,
        run_routed(fake, tmp_path, routing=aliases) as gateway,
    ):
        came = await ask(gateway, client, make_request("openai-chat", model="house/best", turns=(HARD,)))
        assert [body["model"] for body in bodies(fake)] == [
            one["target"].partition("/")[2] for one in came.route["attempts"]
        ]
    assert (came.status, len(came.route["attempts"])) == (200, 2)


async def test_many_requests_at_once_never_ask_more_than_is_set__complaint_c30(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Rule(fault=Fault(hang_up=True))]) as fake, run_routed(fake, tmp_path) as gateway:
        requests = [make_request("anthropic", model="auto", turns=(f"{HARD} {number}",)) for number in range(11)]

        async def send(number: int) -> int:
            one = requests[number]
            async with client.post(gateway.url + one.path, data=one.body, headers=one.headers) as response:
                return response.status

        statuses = await asyncio.gather(*map(send, range(11)))
        assert all(status in (502, 503) for status in statuses)
        assert len(fake.requests) <= 33
