"""Limits of what may be spent, over real sockets (routing specification, section 17)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, PRICES, STRONG, Came, ask, run_routed, sent_model
from ullage.cli.why import explain
from ullage.core.content import Usage
from ullage.core.health import classify
from ullage.core.spend import SpendTotal
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.engine.budgets import put_session_limits
from ullage.engine.health import Outcome
from ullage.engine.pricing import local_day
from ullage.stores import open_store
from ullage.stores.exports import Selection, export
from ullage.stores.tasks import list_tasks
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_request
from ullage.testing.gateway import run_gateway

USD = 1_000_000_000
EASY = "Rename the variable x in this line to count."


def limited(fake: FakeProvider, tmp_path: Path, *, usd: float = 1.0, store: str = "memory", **budget: Any) -> Any:
    """A gateway before a provider one of whose models costs `usd` for an answer of a thousand tokens, and nothing to read."""
    known = {
        "context_window": 200_000,
        "max_output_tokens": 1000,
        "input_price": 0.0,
        "output_price": usd * 1000,
    }
    return run_gateway(
        dict.fromkeys(DIALECTS, fake.url),
        tmp_path,
        store=store,
        models={"refresh": False, "overrides": {f"{urlsplit(fake.url).netloc}/pricey": known}},
        budget=budget,
    )


def answers(fake: FakeProvider, tokens: int, **rule: Any) -> None:
    """Has the provider say that each answer was so long."""
    usage = Usage(input_fresh=10, cache_read=0, cache_write=0, output=tokens)
    fake.script.add(Rule(reply=Reply(text="Done.", usage=usage), **rule))


def ask_plain(dialect: Dialect = "anthropic", **fields: Any) -> Any:
    return make_request(dialect, model="pricey", **fields)


def total(gateway: Daemon, scope: Any = "day") -> SpendTotal:
    assert gateway.engine.flush()
    (found,) = gateway.store.ledger.totals(scope)
    return found


async def test_parallel_calls_never_pass_a_cap_of_five_dollars__litellm_34732_40095_26672(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Complaint C15."""
    answers(fake, 1000)
    async with limited(fake, tmp_path, store="sqlite", daily_usd=5, on_exceed="block") as gateway:
        came = await asyncio.gather(
            *(ask(gateway, client, ask_plain(stream=number % 2 == 0), session=f"s{number}") for number in range(16))
        )
        spent = await asyncio.to_thread(total, gateway)
    assert sorted(one.status for one in came) == [200] * 5 + [402] * 11
    assert len(fake.requests) == 5
    assert (spent.used, spent.calls, spent.estimated) == (5 * USD, 5, 0)


async def test_what_an_answer_did_not_cost_is_free_again_before_the_next_call(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Complaint C16."""
    answers(fake, 1)
    async with limited(fake, tmp_path, daily_usd=1.5, on_exceed="block") as gateway:
        for _ in range(20):
            assert (await ask(gateway, client, ask_plain())).status == 200
        spent = await asyncio.to_thread(total, gateway)
    assert spent.used == 20 * USD // 1000


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_block_is_told_in_the_words_of_the_client_and_nothing_is_sent(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with limited(fake, tmp_path, daily_usd=0.5, on_exceed="block") as gateway:
        came = await ask(gateway, client, ask_plain(dialect))
    error = json.loads(came.body)["error"]
    reason = error["details"][0]["reason"] if dialect == "gemini" else error["code"]
    assert (came.status, error["type"], reason) == (402, "ullage_error", "budget_exceeded")
    assert (came.call.outcome, came.call.status) == ("answered", 402)
    assert "the daily limit of 0.50 USD" in error["message"]
    assert "0.00 USD are spent or reserved" in error["message"]
    assert "up to 1.00 USD" in error["message"]
    assert "It frees at " in error["hint"]
    assert "budget.daily_usd" in error["hint"]
    assert came.headers["x-ullage-budget"].startswith("block; daily:")
    assert (len(fake.requests), came.call.outcome) == (0, "answered")


async def test_a_warning_goes_along_with_the_answer_and_stands_in_the_record(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    answers(fake, 500)
    async with limited(fake, tmp_path, session_usd=0.25, on_exceed="warn") as gateway:
        request = ask_plain()
        came = await ask(gateway, client, request)
    assert came.status == 200
    assert came.headers["x-ullage-budget"] == "warn; session: 0.00 of 0.25 USD are used, this call may cost 1.00"
    assert fake.requests[0].body == request.body
    assert came.call.spend == {
        "usd": 0.5,
        "reserved_usd": 1.0,
        "capped": False,
        "action": "warn",
        "exceeded": ["session"],
        "unenforced": [],
    }


@pytest.mark.parametrize(("action", "status"), [("avoid", 402), ("downgrade", 200)])
async def test_where_the_client_names_the_model_nobody_else_is_asked(
    action: str, status: int, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with limited(fake, tmp_path, daily_usd=0.5, on_exceed=action) as gateway:
        came = await ask(gateway, client, ask_plain())
    assert came.status == status
    assert came.headers["x-ullage-budget"].startswith(f"{action}; daily:")


async def test_the_answer_that_a_client_asks_for_is_what_it_may_cost(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with limited(fake, tmp_path, daily_usd=0.5, on_exceed="block") as gateway:
        came = await ask(gateway, client, ask_plain(extra={"max_tokens": 400}))
    assert came.status == 200
    assert came.call.spend is not None
    assert came.call.spend["reserved_usd"] == 0.4


@pytest.mark.parametrize(
    ("fault", "used"),
    [
        (Fault(status=429), 0.0),
        (Fault(status=500), 0.0),
        (Fault(status=504), 1.0),
        (Fault(hang_up=True), 1.0),
        (Fault(cut_after=60), 1.0),
        (Fault(error_event=2), 1.0),
    ],
    ids=["turned away", "failed", "waited in vain", "hung up", "cut", "failed in the middle"],
)
async def test_what_nobody_knows_the_cost_of_keeps_its_reservation(
    fault: Fault, used: float, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=fault))
    async with limited(fake, tmp_path, daily_usd=5, on_exceed="block") as gateway:
        request = ask_plain(stream=True)
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            with contextlib.suppress(aiohttp.ClientError):
                await response.read()
        spent = await asyncio.to_thread(total, gateway)
        assert gateway.store.ledger.open_attempts() == []
    assert (spent.used, spent.estimated) == (used * USD, used * USD)


async def test_a_provider_that_cannot_be_reached_costs_nothing(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    await fake.__aexit__(None, None, None)
    async with limited(fake, tmp_path, daily_usd=5) as gateway:
        assert (await ask(gateway, client, ask_plain())).status == 502
        assert (await asyncio.to_thread(total, gateway)).used == 0


async def test_without_a_limit_nothing_is_reserved_and_what_is_spent_is_known(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    answers(fake, 250)
    async with limited(fake, tmp_path) as gateway:
        came = await ask(gateway, client, ask_plain(stream=True))
        spent = await asyncio.to_thread(total, gateway)
        by_session = await asyncio.to_thread(total, gateway, "session")
    assert "x-ullage-budget" not in came.headers
    assert came.call.spend == {"usd": 0.25}
    assert (spent.name, spent.used, spent.estimated, spent.unpriced) == (
        local_day(came.call.created_ms),
        USD // 4,
        0,
        0,
    )
    assert (by_session.name, by_session.used) == ("s", USD // 4)


async def test_a_price_that_nobody_knows_cannot_be_held_to_a_limit_and_that_is_told(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """On this machine what has no price is free: so the provider is told apart by a name that is not this machine's."""
    async with limited(fake, tmp_path, daily_usd=5, on_exceed="block") as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="local"))
    assert came.status == 200
    assert "x-ullage-budget" not in came.headers
    assert came.call.spend is not None
    assert came.call.spend["usd"] == 0.0


async def test_a_turn_of_the_user_has_a_limit_of_its_own(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    answers(fake, 1000)
    async with limited(fake, tmp_path, task_usd=1.5, on_exceed="block") as gateway:
        first = await ask(gateway, client, ask_plain(turns=["Do one thing."]))
        again = await ask(gateway, client, ask_plain(turns=["Do one thing."]))
        other = await ask(gateway, client, ask_plain(turns=["Do one thing.", "Done.", "Do another."]))
    assert [first.status, again.status, other.status] == [200, 402, 200]


async def test_a_routed_request_goes_to_a_cheaper_target_where_a_limit_asks_for_that(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Complaint C34: it is announced."""
    hard = "Plan and review the architecture of our payment service, then debug the failing production deployment."
    request = make_request("anthropic", model="ullage/auto", turns=[hard], extra={"max_tokens": 64_000})
    worst = 64_000 * 5 * PRICES[FRONTIER] / 1_000_000
    async with run_routed(fake, tmp_path, routing={"policy": "best"}, budget={"daily_usd": worst / 2}) as gateway:
        came = await ask(gateway, client, request)
        spent = await asyncio.to_thread(total, gateway)
    assert came.status == 200
    assert came.headers["x-ullage-target"] == LIGHT == f"anthropic/{sent_model(fake)}"
    assert came.route["policy"] == "cost"
    assert f"{FRONTIER} is left for the daily limit" in came.route["notes"]
    assert "is left for the daily limit" in came.headers["x-ullage-route"]
    assert "retry failover" not in came.route["notes"]
    assert [one["target"] for one in came.route["attempts"]] == [LIGHT]
    assert "x-ullage-budget" not in came.headers
    assert spent.calls == 1


async def test_where_nobody_is_cheaper_a_downgrade_goes_on_with_a_warning(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("anthropic", model="ullage/auto", turns=[EASY])
    routing = {"policy": "cost", "models": [LIGHT]}
    async with run_routed(fake, tmp_path, routing=routing, budget={"daily_usd": 0}) as gateway:
        came = await ask(gateway, client, request)
    assert (came.status, came.headers["x-ullage-target"]) == (200, LIGHT)
    assert came.headers["x-ullage-budget"].startswith("downgrade; daily: 0.00 of 0.00 USD")


async def test_a_provider_whose_limit_is_used_up_is_passed_over(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("anthropic", model="ullage/auto", turns=[EASY])
    budget = {"providers": {"anthropic": {"daily_usd": 0, "on_exceed": "avoid"}}}
    async with run_routed(
        fake, tmp_path, routing={"policy": "cost", "models": [LIGHT, STRONG]}, budget=budget
    ) as gateway:
        came = await ask(gateway, client, request)
    assert (came.status, json.loads(came.body)["error"]["code"]) == (402, "budget_exceeded")
    assert "the anthropic daily limit of 0.00 USD" in json.loads(came.body)["error"]["message"]
    assert len(fake.requests) == 0


@pytest.mark.parametrize("action", ["block", "downgrade"])
async def test_a_target_that_a_limit_refuses_may_be_tried_by_whoever_comes_next(
    action: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Its circuit is half open: whoever is let through is the one that tries it."""
    request = make_request("anthropic", model="ullage/auto", turns=[EASY])
    scope = {"policy": "best", "models": [FRONTIER] if action == "block" else [FRONTIER, LIGHT]}
    budget = {"daily_usd": 0, "on_exceed": action}
    async with run_routed(fake, tmp_path, routing=scope, budget=budget) as gateway:
        health, long_ago = gateway.engine.health, gateway.engine._clock_ms() - 600_000
        for at_ms in range(long_ago, long_ago + 5):
            health.note(Outcome(target=FRONTIER, asked_ms=at_ms, at_ms=at_ms, failure=classify(503)))
        came = await ask(gateway, client, request)
        told = {one["target"]: one for one in health.report(gateway.engine._clock_ms())}
    assert (came.status, came.headers["x-ullage-target"]) == ((402, FRONTIER) if action == "block" else (200, LIGHT))
    assert (told[FRONTIER]["state"], told[FRONTIER]["trying"]) == ("half-open", False)


async def test_every_attempt_of_a_routed_request_is_reserved_and_settled(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(times=1, fault=Fault(status=503)))
    answers(fake, 100)
    request = make_request("anthropic", model="ullage/auto", turns=[EASY])
    async with run_routed(fake, tmp_path, budget={"daily_usd": 100, "on_exceed": "block"}) as gateway:
        came = await ask(gateway, client, request)
        spent = await asyncio.to_thread(total, gateway)
        assert gateway.store.ledger.open_attempts() == []
    assert came.status == 200
    assert len(came.route["attempts"]) == 2
    assert spent.calls == 1
    assert came.call.spend is not None
    assert spent.used / USD == pytest.approx(came.call.spend["usd"])


async def test_a_task_counts_what_was_reserved_for_an_attempt_that_was_given_up(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """What the ledger keeps for it and what is told of the task are the same."""
    fake.script.add(Rule(times=1, fault=Fault(delay_ms=10_000)))
    answers(fake, 100)
    request = make_request("anthropic", model="ullage/auto", turns=[EASY])
    routing = {"failover": {"first_output_timeout_ms": 100}}
    budget = {"daily_usd": 100, "on_exceed": "block"}
    async with run_routed(fake, tmp_path, routing=routing, budget=budget) as gateway:
        came = await ask(gateway, client, request)
        spent = await asyncio.to_thread(total, gateway)
        [task] = list_tasks(gateway.store)
        told = [row for row in export(gateway.store, "events", Selection()) if row.kind == "budget_usage"]
    first, last = came.route["attempts"]
    assert (first["usd"], first["failure"]) == (None, "timeout")
    assert task.cost_usd == pytest.approx(first["reserved_usd"] + last["usd"])
    assert task.cost_usd == pytest.approx(spent.used / USD)
    assert (task.cost_kind, task.targets) == ("estimated", {first["target"]: 1, last["target"]: 1})
    assert [row.target_id for row in told] == [first["target"], last["target"]]
    assert [row.cost_usd for row in told] == [None, last["usd"]]
    asked = f"Asked was {first['target']}, which failed (timeout)."
    assert [line for line in explain(came.call) if first["target"] in line] == [
        asked,
        f"Note: {first['target']} is left: it failed at this request, after first_output_timeout.",
    ]


async def test_a_cap_holds_for_all_attempts_of_a_request_together(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """The first attempt may have cost all that there is: nobody else is asked."""
    fake.script.add(Rule(times=1, fault=Fault(hang_up=True)))
    request = make_request("anthropic", model="ullage/auto", turns=[EASY], extra={"max_tokens": 60_000})
    worst = 60_000 * 5 * PRICES[LIGHT] / 1_000_000
    budget = {"daily_usd": 1.5 * worst, "on_exceed": "block"}
    async with run_routed(fake, tmp_path, routing={"policy": "cost"}, budget=budget) as gateway:
        came: Came = await ask(gateway, client, request)
        spent = await asyncio.to_thread(total, gateway)
    assert came.status == 502
    assert len(fake.requests) == 1
    assert spent.used <= 1.5 * worst * USD


VAGUE = "Please have a look at the thing we talked about"
GRADE = '{"complexity":0.8,"requiresReasoning":true,"minTier":"strong"}'


@pytest.mark.parametrize("limit", ["daily_usd", "task_usd"])
@pytest.mark.parametrize(("usd", "asked"), [(100, True), (0, False)])
async def test_a_question_about_a_task_is_spending_too(
    usd: float, asked: bool, limit: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(times=asked, reply=Reply(text=GRADE)))
    routing = {"classifier": {"enabled": True, "target": LIGHT, "timeout_ms": 2_000}}
    async with run_routed(fake, tmp_path, routing=routing, budget={limit: usd, "on_exceed": "block"}) as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[VAGUE]))
        spent = await asyncio.to_thread(gateway.store.ledger.totals, "day")
        tasks = await asyncio.to_thread(gateway.store.ledger.totals, "task")
        assert gateway.store.ledger.open_attempts() == []
    assert came.status == (200 if asked else 402)
    assert len(fake.requests) == 2 * asked
    assert [one.calls for one in spent] == [2] * asked
    if asked:
        question, [last] = came.route["question"], came.route["attempts"]
        assert question["target"] == LIGHT
        assert sum(one.used for one in spent) / USD == pytest.approx(question["usd"] + last["usd"])
        assert [(one.name, one.calls) for one in tasks] == [(came.route["task_id"], 2)]


async def test_a_call_that_cannot_be_priced_for_a_fault_of_ours_is_not_sent(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Routing specification, section 17.3: where the check throws, the target is not called."""

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    async with limited(fake, tmp_path, daily_usd=5) as gateway:
        monkeypatch.setattr("ullage.engine.pricing.worst_cost", fail)
        priced = await ask(gateway, client, ask_plain())
        monkeypatch.undo()
        monkeypatch.setattr(gateway.store.ledger, "reserve", fail)
        judged = await ask(gateway, client, ask_plain())
    for came in (priced, judged):
        assert (came.status, json.loads(came.body)["error"]["code"]) == (503, "budget_failed")
    assert len(fake.requests) == 0


async def test_what_a_sub_agent_spends_is_its_sessions(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    answers(fake, 1000)
    async with limited(fake, tmp_path, session_usd=1.5, on_exceed="block") as gateway:
        mine = await ask(gateway, client, ask_plain())
        agents = await ask(
            gateway, client, ask_plain(), user_agent="claude-cli/2.1.0", x_claude_code_agent_id="explorer"
        )
        other = await ask(gateway, client, ask_plain(), session="other")
    assert [mine.status, agents.status, other.status] == [200, 402, 200]
    assert agents.call.session == "s/explorer"


async def control(gateway: Daemon, client: aiohttp.ClientSession, body: Any = None) -> tuple[int, Any]:
    """What the control route says; with a body it is posted."""
    url, headers = f"{gateway.url}/ullage/v1/budget", {"authorization": f"Bearer {gateway.token_file.read_text()}"}
    method = "GET" if body is None else "POST"
    data = None if body is None else json.dumps(body).encode()
    async with client.request(method, url, data=data, headers=headers) as response:
        return response.status, await response.json()


async def test_limits_of_a_session_hold_from_its_next_call_on_and_are_taken_back(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    answers(fake, 1000)
    async with limited(fake, tmp_path) as gateway:
        assert (await ask(gateway, client, ask_plain())).status == 200
        status, told = await control(gateway, client, {"session": "s", "session_usd": 1.5, "on_exceed": "block"})
        assert (status, told["limits"]) == (200, {"session_usd": 1.5, "on_exceed": "block"})
        blocked = await ask(gateway, client, ask_plain())
        other = await ask(gateway, client, ask_plain(), session="other")
        _, shown = await control(gateway, client)
        await control(gateway, client, {"session": "s", "session_usd": None, "on_exceed": None})
        again = await ask(gateway, client, ask_plain())
    assert [blocked.status, other.status, again.status] == [402, 200, 200]
    assert "the session limit of 1.50 USD" in json.loads(blocked.body)["error"]["message"]
    assert shown["session"] == "other"
    assert shown["session_limits"] == {"s": {"session_usd": 1.5, "on_exceed": "block"}}
    assert next(one for one in shown["rows"] if one["name"] == "daily")["used_usd"] == 2.0


@pytest.mark.parametrize(
    "body", [{"session": "s"}, {"session": "s", "session_usd": -1}, {"session": "s", "on_exceed": "stop"}, {"usd": 1}]
)
async def test_limits_that_make_no_sense_are_refused(
    body: dict[str, Any], tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with limited(fake, tmp_path) as gateway:
        status, told = await control(gateway, client, body)
    assert (status, told["error"]["type"]) == (400, "ullage_error")


async def test_a_command_limits_a_session_of_a_running_daemon(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.engine.spending._HEED_EVERY_S", 0.005)
    answers(fake, 1000)
    async with limited(fake, tmp_path, store="sqlite") as gateway:
        assert (await ask(gateway, client, ask_plain())).status == 200
        other = open_store("sqlite", tmp_path, lambda: 1_780_000_000_000)
        put_session_limits(other, "s", {"session_usd": 0, "on_exceed": "block"}, 1)
        other.close()
        while not gateway.engine.spending.watches:
            await asyncio.sleep(0.005)
        assert (await ask(gateway, client, ask_plain())).status == 402


async def test_two_daemons_on_one_database_never_pass_a_cap_together(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    answers(fake, 1000)
    held: dict[str, Any] = {"store": "sqlite", "daily_usd": 5, "on_exceed": "block"}
    async with limited(fake, tmp_path, **held) as one, limited(fake, tmp_path, **held) as two:
        came = await asyncio.gather(
            *(ask((one, two)[number % 2], client, ask_plain(), session=f"s{number}") for number in range(12))
        )
        spent = await asyncio.to_thread(total, one)
    assert sorted(each.status for each in came) == [200] * 5 + [402] * 7
    assert spent.used == 5 * USD


async def test_an_answer_that_its_client_leaves_keeps_its_reservation(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=Fault(stall_after=80)))
    async with limited(fake, tmp_path, daily_usd=5, on_exceed="block") as gateway:
        request = ask_plain(stream=True)
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            await response.content.readany()
            waiting = [one.amount for one in gateway.store.ledger.open_attempts()]
        while gateway.store.ledger.open_attempts():
            await asyncio.sleep(0.005)
        spent = await asyncio.to_thread(total, gateway)
    assert waiting == [USD]
    assert (spent.used, spent.estimated) == (USD, USD)


async def test_a_preview_says_what_limits_say_of_it_and_reserves_nothing(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    budget = {"daily_usd": 0, "on_exceed": "block"}
    async with run_routed(fake, tmp_path, routing={"policy": "cost", "models": [LIGHT]}, budget=budget) as gateway:
        url, headers = f"{gateway.url}/ullage/v1/route", {"authorization": f"Bearer {gateway.token_file.read_text()}"}
        async with client.get(url, params={"prompt": EASY}, headers=headers) as response:
            told = await response.json()
        assert gateway.store.ledger.open_attempts() == []
    assert told["target"] == LIGHT
    (note,) = [note for note in told["notes"] if note.startswith("budget: ")]
    assert note.startswith("budget: block; daily: 0.00 of 0.00 USD are used, this call may cost 0.0")
