"""Reservations of calls that pass, beside the event loop (routing specification, section 17)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.engine.observing import ANSWERS, Bench, asked
from ullage.cli.why import explain
from ullage.core.content import Usage
from ullage.core.errors import CallError
from ullage.core.profiles import Prices
from ullage.core.spend import Spend, SpendLimits
from ullage.core.wire import Dialect
from ullage.engine.budgets import put_session_limits, report_budget
from ullage.engine.classifying import Reply
from ullage.engine.costing import is_free
from ullage.engine.departure import Departure
from ullage.engine.pricing import local_day, time_zone
from ullage.engine.spending import KEPT_UNDER, SessionLimits, Spending, overlay, read_session_limits
from ullage.settings import Settings
from ullage.stores import MemoryStore, RouteOverride
from ullage.stores.exports import Selection, export
from ullage.stores.metrics import report_metrics
from ullage.stores.usage import report_usage

USD = 1_000_000_000
AT_MS = 1_780_000_000_000
DAY = local_day(AT_MS)
CAPPED = {"budget": {"daily_usd": 1.0, "on_exceed": "block"}}


def spend(name: str = "x", usd: float | None = 0.75, **fields: Any) -> Spend:
    common: dict[str, Any] = {"at_ms": AT_MS, "day": DAY, "provider": "openai", "model": "m", "session": "s"}
    return Spend(id=name, estimate=None if usd is None else round(usd * USD), **(common | fields))


def departing(name: str = "x", **fields: Any) -> Departure:
    return Departure(body=b"{}", spend=spend(name, **fields))


def exchange(name: str = "x") -> Any:
    return SimpleNamespace(id=name, created_ms=AT_MS, last_ms=5.0)


async def nowhere(*_: Any) -> Departure:
    raise AssertionError("nobody else is looked for")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def spending(store: MemoryStore) -> Iterator[Spending]:
    made = Spending(msgspec.convert(CAPPED, Settings), store)
    yield made
    made.close()


def used(store: MemoryStore) -> float:
    return sum(one.used for one in store.ledger.totals("day")) / USD


async def test_a_call_is_reserved_before_it_is_sent_and_settled_after_it(
    spending: Spending, store: MemoryStore
) -> None:
    departure = await spending.admit("x", departing(), nowhere)
    assert (departure.refusal, departure.budget, used(store)) == (None, "", 0.75)
    told = spending.settle(exchange(), spend(), USD // 10, free=False)
    assert spending.flush(5)
    assert (told["usd"], told["reserved_usd"], used(store)) == (0.1, 0.75, 0.1)


async def test_a_call_beyond_the_limit_is_refused_and_leaves_no_trace(spending: Spending, store: MemoryStore) -> None:
    await spending.admit("x", departing(), nowhere)
    refused = await spending.admit("y", departing("y"), nowhere)
    assert refused.refusal is not None
    assert refused.refusal.code == "budget_exceeded"
    spending.settle(exchange("y"), spend("y"), None, free=True)
    assert spending.flush(5)
    assert used(store) == 0.75


async def test_a_client_that_leaves_before_its_call_is_sent_pays_nothing(
    spending: Spending, store: MemoryStore
) -> None:
    waiting = spending._reserve("x", spend(), may_move=False)  # the client is gone when the answer comes
    await asyncio.wrap_future(waiting)
    assert used(store) == 0.75
    spending.settle(exchange(), spend(), None, free=False)
    assert spending.flush(5)
    assert (used(store), store.ledger.open_attempts()) == (0.0, [])


async def test_of_a_call_whose_cost_nobody_knows_the_reservation_stays(spending: Spending, store: MemoryStore) -> None:
    await spending.admit("x", departing(), nowhere)
    spending.settle(exchange(), spend(), None, free=False)
    assert spending.flush(5)
    assert (used(store), store.ledger.open_attempts()) == (0.75, [])


def question() -> Any:
    destination = SimpleNamespace(provider="openai", model="m", root="https://usual.test")
    prices, worded = Prices(input=1.0, output=5.0), SimpleNamespace(body=b"x" * 3_000)
    return SimpleNamespace(destination=destination, prices=prices, worded=worded, session="s", task="t")


async def test_a_client_that_leaves_while_a_question_is_reserved_for_pays_nothing(
    spending: Spending, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, left, reserve = threading.Event(), threading.Event(), store.ledger.reserve

    def slowly(*args: Any, **kwargs: Any) -> Any:
        known.set()
        assert left.wait(30)
        return reserve(*args, **kwargs)

    async def nothing() -> Reply:
        raise AssertionError("nobody is asked")

    monkeypatch.setattr(store.ledger, "reserve", slowly)
    passing = SimpleNamespace(id="x", now_ms=lambda: AT_MS)
    asking = asyncio.create_task(spending.ask(question(), passing, nothing))
    await asyncio.to_thread(known.wait)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    left.set()
    assert await asyncio.to_thread(spending.flush, 5)
    assert (used(store), store.ledger.open_attempts()) == (0.0, [])


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (Reply(failure="provider-error", status=200, code="upstream_closed"), True),
        (Reply(failure="provider-error", status=504, code="upstream_failed"), True),
        (Reply(failure="provider-error", status=429, code="upstream_limited"), False),
        (Reply(failure="provider-error", code="upstream_refused"), False),
        (Reply(failure="timeout"), True),
    ],
)
async def test_a_question_whose_answer_breaks_may_have_cost_something(
    reply: Reply, kept: bool, spending: Spending, store: MemoryStore
) -> None:
    async def put() -> Reply:
        return reply

    passing = SimpleNamespace(id="x", now_ms=lambda: AT_MS)
    assert await spending.ask(question(), passing, put) is reply
    assert await asyncio.to_thread(spending.flush, 5)
    assert ((used(store) > 0), store.ledger.open_attempts()) == (kept, [])


async def test_what_a_provider_says_that_a_question_cost_is_what_it_cost(
    spending: Spending, store: MemoryStore
) -> None:
    async def put() -> Reply:
        return Reply(text="{}", usage=Usage(input_fresh=1, output=1, raw={"cost": 0.25}), status=200)

    await spending.ask(question(), SimpleNamespace(id="x", now_ms=lambda: AT_MS), put)
    assert await asyncio.to_thread(spending.flush, 5)
    assert used(store) == 0.25


async def test_a_call_without_a_price_is_sent_and_that_is_told(spending: Spending, store: MemoryStore) -> None:
    departure = await spending.admit("x", departing(usd=None), nowhere)
    assert departure.refusal is None
    assert departure.budget == "not held to daily: its price is not known"
    assert [one.unpriced for one in store.ledger.totals("day")] == [1]


def test_limits_of_a_session_hold_in_place_of_the_settings(store: MemoryStore) -> None:
    put_session_limits(store, "s", {"session_usd": 2, "on_exceed": "warn"}, AT_MS)
    put_session_limits(store, "s", {"task_usd": 1}, AT_MS + 1)
    limits = SpendLimits(session=5 * USD, day=9 * USD, on_exceed="block")
    held = overlay(limits, read_session_limits(store)["s"])
    assert (held.session, held.task, held.day, held.on_exceed) == (2 * USD, USD, 9 * USD, "warn")
    assert put_session_limits(store, "s", None, AT_MS + 2) == SessionLimits()
    assert read_session_limits(store) == {}


def test_a_row_that_makes_no_sense_is_no_limit(store: MemoryStore) -> None:
    for number, value in enumerate(["much", {"session_usd": "much"}, {"session_usd": -1}, {"else": 1}]):
        store.put_route_override(RouteOverride(session=KEPT_UNDER, key=f"s{number}", value=value, at_ms=1))
    assert read_session_limits(store) == {"s3": SessionLimits()}


@pytest.mark.parametrize("given", [{"session_usd": -1}, {"session_usd": "much"}, {"on_exceed": "stop"}])
def test_limits_that_make_no_sense_are_not_kept(store: MemoryStore, given: dict[str, Any]) -> None:
    with pytest.raises(CallError):
        put_session_limits(store, "s", given, 1)


def test_a_limit_of_a_session_is_told_with_what_it_used(store: MemoryStore) -> None:
    store.ledger.book(spend(), USD, at_ms=AT_MS)
    put_session_limits(store, "s", {"session_usd": 1.5}, AT_MS)
    report = report_budget(store, SpendLimits(), session="s", now_ms=AT_MS)
    (row,) = [one for one in report["rows"] if one["name"] == "session"]
    assert (row["limit_usd"], row["used_usd"], row["left_usd"], row["frees"]) == (1.5, 1.0, 0.5, "with a new session")


@pytest.mark.parametrize(
    ("status", "code", "free"),
    [
        (400, "", True),
        (429, "", True),
        (500, "", True),
        (529, "", True),
        (408, "", False),
        (504, "", False),
        (524, "", False),
        (200, "", False),
        (None, "upstream_refused", True),
        (None, "upstream_dns", True),
        (None, "upstream_timeout", False),
        (None, "upstream_closed", False),
    ],
)
def test_an_error_in_place_of_an_answer_is_free_and_a_wait_in_vain_is_not(
    status: int | None, code: str, free: bool
) -> None:
    assert is_free(status, code) == free


def test_the_time_zone_is_told_with_its_distance() -> None:
    assert time_zone(AT_MS).endswith(")")
    assert time_zone(AT_MS)[-7] in "+-"


# What a call cost


def priced(**prices: float) -> dict[str, Any]:
    known = {"input_price": 1.0, "output_price": 10.0, "cache_read_price": 0.1, **prices}
    return {"models": {"overrides": {"provider.example/m": known}}}


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_without_a_report_the_usage_is_counted_at_list_prices_and_cache_hits_once__litellm_14849_aider_5516(
    dialect: Dialect,
) -> None:
    path = {"openai-chat": "/v1/chat/completions", "anthropic": "/v1/messages"}[dialect]
    bench = Bench(sections=priced())
    request = asked(path, {"model": "m", "messages": [{"role": "user", "content": "Hello."}], "max_tokens": 9})
    call = bench.ask(request, ANSWERS[dialect])
    assert call.spend == {"usd": pytest.approx((40 * 1.0 + 60 * 0.1 + 5 * 10.0) / 1_000_000)}
    bench.engine.close()


def test_what_a_provider_says_of_a_cost_comes_before_its_usage() -> None:
    bench = Bench(sections=priced())
    answer = {**ANSWERS["openai-chat"], "usage": {**ANSWERS["openai-chat"]["usage"], "cost": 0.0123}}
    request = asked("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Hello."}]})
    call = bench.ask(request, answer)
    assert call.spend == {"usd": 0.0123}
    assert bench.engine.flush()
    [quota] = bench.engine.quotas.report(call.created_ms)
    usage = report_usage(bench.store, since_ms=0, until_ms=call.created_ms)["total"]
    [target] = report_metrics(bench.store, since_ms=0, until_ms=call.created_ms)["targets"]
    [attempt] = export(bench.store, "attempts", Selection())
    told = [row.cost_usd for row in export(bench.store, "events", Selection()) if row.kind == "usage_actual"]
    everywhere = [quota["usd"], usage["cost_usd"], target["cost_usd"], attempt.cost_usd, *told]
    assert everywhere == [0.0123] * 5
    assert "It cost $0.0123." in list(explain(call))
    bench.engine.close()


def test_of_a_model_without_a_price_nobody_knows_the_cost() -> None:
    bench = Bench()
    request = asked("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Hello."}]})
    call = bench.ask(request, ANSWERS["openai-chat"])
    assert call.spend == {"usd": None}
    bench.engine.flush()
    assert [(one.used, one.unpriced) for one in bench.store.ledger.totals("day")] == [(0, 1)]
    bench.engine.close()


def test_what_is_written_to_a_cache_is_priced__litellm_33772() -> None:
    bench = Bench(sections=priced(cache_write_price=2.0))
    usage = {"input_tokens": 0, "cache_creation_input_tokens": 1000, "output_tokens": 0}
    request = asked(
        "/v1/messages", {"model": "m", "messages": [{"role": "user", "content": "Hello."}], "max_tokens": 9}
    )
    call = bench.ask(request, {**ANSWERS["anthropic"], "usage": usage})
    assert call.spend == {"usd": pytest.approx(1000 * 2.0 / 1_000_000)}
    bench.engine.close()
