"""The weaknesses of the described system, each met by a test (routing specification, section 33).

Those that tests elsewhere name are listed in `ELSEWHERE`.
"""

from __future__ import annotations

import multiprocessing
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from msgspec.structs import replace

from tests.core.routing.routes import CHINESE, DEBUG, model
from tests.evals.outcomes import issues, layers
from tests.gateway.routes import FRONTIER, LIGHT, STRONG, ask, override, run_routed
from tests.gateway.test_control_routing import control
from tests.routing.naming import find_test, words
from ullage.core.routing.route import RouteSession, resolve_route
from ullage.core.routing.selection import Guards
from ullage.evals.routing_data import RoutingSet
from ullage.evals.routing_methods import SHIPPED, plan_methods
from ullage.evals.routing_scores import SetScore, score_methods
from ullage.evals.routing_targets import find_candidates
from ullage.settings import Settings
from ullage.stores import FeedbackRecord, SqliteStore
from ullage.stores.files import is_sound
from ullage.stores.judging import quality_of
from ullage.testing import Exchange, FakeProvider, Fault, Rule, make_request, make_turns
from ullage.testing.script import Reply, ToolUse

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ELSEWHERE = (
    (1, "core/routing/test_task.py::test_the_weaknesses_of_keywords_are_gone"),
    (2, "core/routing/test_capability.py::test_unknown_is_a_range_and_neither_above_nor_below_light"),
    (2, "core/routing/test_scoring.py::test_an_unknown_model_does_not_outrank_a_light_one_for_being_unknown"),
    (3, "core/routing/test_scoring.py::test_the_estimate_knows_what_a_cache_holds"),
    (5, "core/routing/test_learning.py::test_a_call_that_was_not_routed_speaks_for_its_target_and_provider_too"),
    (5, "core/routing/test_learning.py::test_deliveries_say_nothing_of_quality_and_users_nothing_of_reliability"),
    (5, "core/routing/test_scoring.py::test_feedback_counts_in_every_route"),
    (6, "core/routing/test_pace.py::test_who_was_given_long_tasks_is_not_slow_for_it"),
    (6, "core/routing/test_pools.py::test_a_small_imbalance_weighs_little"),
    (7, "core/routing/test_settings_reading.py::test_a_wrong_field_is_left_out_alone_and_told_with_its_path"),
    (7, "settings/test_routing.py::test_one_wrong_entry_leaves_the_others"),
    (10, "core/routing/test_selection.py::test_a_small_margin_is_told_as_little_more_than_a_coin_toss"),
    (11, "core/routing/test_route.py::test_a_step_up_or_down_is_for_one_prompt_on_any_turn_and_told"),
)
ROOT = Path(__file__).resolve().parents[2]
EASY = "Rename the variable x in this line to count."
NOW_MS = 1_780_000_000_000

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.mark.parametrize(("number", "place"), ELSEWHERE)
def test_what_is_tested_elsewhere_is_named_there(number: int, place: str) -> None:
    assert {"33", str(number)} & words(find_test(place))


def test_there_is_a_test_of_every_weakness() -> None:
    here = {int(found[1]) for name in globals() if (found := re.match(r"test_w(\d\d)_", name))}
    assert here | {number for number, _ in ELSEWHERE} == set(range(1, 13))


DATED = (
    model("openai/gpt-5-2025-08-07", 5, 25),
    model("anthropic/claude-sonnet-4-20250514", 3, 15),
    model("anthropic/claude-haiku-4-5-20251001", 1, 5),
)


def test_w04_models_of_other_names_than_seventeen_have_a_tier() -> None:
    """Where none is known, all are alike and the cheapest takes every task."""
    best = resolve_route(DATED, CHINESE, policy="best")
    assert best.target == DATED[0].target
    assert [one.rank for one in best.ranked] == sorted((one.rank for one in best.ranked), reverse=True)
    assert {one.candidate.capability.exact for one in best.ranked} == {False}
    assert resolve_route(DATED, "Rename x to y", policy="cost").target == DATED[2].target


def test_w04_filling_a_cache_is_paid_for() -> None:
    """The price of cache writes was never read."""
    dear, cheap = model("anthropic/claude-opus-5", 3, 15, 0.3, 6), model("anthropic/claude-sonnet", 3, 15, 0.3, 3)
    route = resolve_route((dear, cheap), DEBUG, context_tokens=90_000, session=RouteSession(first_turn=False))
    usd = {one.target: one.cost_usd for one in route.ranked}
    assert usd[dear.target] == pytest.approx((usd[cheap.target] or 0) + 0.27, rel=0.05)


def _vote(number: int, *, writer: str = "v") -> FeedbackRecord:
    return FeedbackRecord(
        id=f"{writer}{number:04}", created_ms=NOW_MS + number, target="p/a", good=True, kinds=("debug",)
    )


def _vote_and_tell(database: Path, writer: str, told: Connection) -> None:
    """Tells after each vote that it is durable, until it is killed."""
    store = SqliteStore(database, clock_ms=lambda: NOW_MS)
    for number in range(10_000):
        store.put_feedback(_vote(number, writer=writer))
        store.flush()
        told.send(number)


def test_w08_no_vote_is_lost_or_torn_by_processes_that_write_at_once_and_are_killed(tmp_path: Path) -> None:
    """Files of metrics and of what was learned were written over whole."""
    database, context = tmp_path / "ullage.db", multiprocessing.get_context("fork")
    SqliteStore(database, clock_ms=lambda: NOW_MS).close()
    writers = {}
    for writer in ("a", "b"):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_vote_and_tell, args=(database, writer, there))
        process.start()
        writers[writer] = process, here
    told = {}
    for writer, (process, here) in writers.items():
        told[writer] = [here.recv() for _ in range(16)][-1]
        process.kill()
        process.join(30)
    assert is_sound(database)
    store = SqliteStore(database, clock_ms=lambda: NOW_MS)
    kept = [one.id for one in store.feedback()]
    assert len(kept) == len(set(kept))
    assert {f"{writer}{number:04}" for writer, last in told.items() for number in range(last + 1)} <= set(kept)
    assert quality_of(store, "p/a", ("debug",), NOW_MS + 1_000).voted == pytest.approx(0.1)
    store.close()


async def test_w08_what_one_gateway_learns_of_a_failing_target_another_one_knows(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Circuits lived in one process only."""
    request = make_request("anthropic", model="auto", turns=[EASY])
    once = {"failover": {"max_attempts": 1}}
    async with (
        run_routed(fake, tmp_path, store="sqlite", routing=once) as one,
        run_routed(fake, tmp_path, store="sqlite") as other,
    ):
        fake.script.add(Rule(times=1, fault=Fault(status=429)))
        failed = await ask(one, client, request)
        came = await ask(other, client, request, session="elsewhere")
    out = {one["target"]: one["code"] for one in came.route["excluded"]}
    assert (failed.status, came.status) == (429, 200)
    assert out == {failed.route["target"]: "circuit-open"}


def _score(data: RoutingSet) -> SetScore:
    methods = [carry_out() for carry_out in plan_methods(data, find_candidates(data, layers))]
    return score_methods(data, methods, draws=50)


def test_w09_routes_are_judged_by_what_models_did_and_not_by_labels_of_ours() -> None:
    """Twelve prompts with two models and the author's labels said that all was well."""
    data = issues()
    turned = tuple(
        replace(item, outcomes=tuple(one._replace(quality=1 - one.quality) for one in item.outcomes))
        for item in data.items
    )
    one, other = _score(data), _score(replace(data, items=turned))
    assert (one.best, other.best) == ("gpt-5", "gpt-5-mini")
    for before in one.methods:
        after = next(method for method in other.methods if method.method == before.method)
        if before.kind == SHIPPED:  # the router sees no outcome, and its choice is the same
            assert after.shares == before.shares
            assert after.quality == pytest.approx(1 - before.quality)


def test_w09_thousands_of_tasks_were_judged_and_what_was_found_decides() -> None:
    """No gate is passed by being always the strongest: what beats no lot changes no default."""
    page = (ROOT / "docs" / "reference" / "routing-quality.md").read_text(encoding="utf-8")
    sizes = {name: int(size.replace(",", "")) for size, name in re.findall(r"([\d,]+) tasks of (\w+)", page)}
    assert len(sizes) >= 3
    assert min(sizes.values()) >= 500
    assert "No route as it ships beats a lot of equal spend by more than chance" in page
    assert not Guards().downgrades
    assert not Settings().routing.guards.downgrades


WINDOWS = {LIGHT: 60_000, STRONG: 200_000, FRONTIER: 200_000}
SMALL = {target: {"context_window": size, "max_output_tokens": 4_096} for target, size in WINDOWS.items()}
CALLS = Rule(reply=Reply(tool_calls=(ToolUse(name="bash", arguments={"command": "ls"}),)))


@pytest.mark.parametrize(
    ("mode", "share", "target"), [("observe", 0.5, STRONG), ("managed", 0.5, LIGHT), ("managed", None, STRONG)]
)
async def test_w12_a_context_is_reduced_so_that_a_cheaper_model_fits(
    mode: str, share: float | None, target: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """It never was. Nothing is left out to save money unless somebody asks for it."""
    routing: dict[str, Any] = {"policy": "cost", **({"cost": {"least_share": share}} if share is not None else {})}
    request = make_request(
        "anthropic", model="auto", turns=[*make_turns(160, 2_000), EASY], extra={"max_tokens": 4_000}
    )
    async with run_routed(fake, tmp_path, overrides=SMALL, mode=mode, routing=routing) as gateway:
        came = await ask(gateway, client, request, x_ullage_trace="1")
    assert (came.status, came.route["target"]) == (200, target)
    sent = len(fake.requests[0].body)
    assert (sent < len(request.body) * 0.9) == (mode == "managed")
    for told in ("gets what fits of", "reduced for the price: $"):
        assert any(told in note for note in came.route["notes"]) == (target == LIGHT)
        assert (told in came.headers["x-ullage-why"]) == (target == LIGHT)


@pytest.mark.parametrize(
    "settled", [{}, {"pools": {"light": {"targets": {LIGHT: 1}}}, "pool": "light"}], ids=["pin", "pool"]
)
async def test_w12_whoever_is_wanted_gets_what_fits(
    settled: dict[str, Any], tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """A pinned or pooled model was refused once the conversation had outgrown it."""
    request = make_request(
        "anthropic", model="auto", turns=[*make_turns(160, 2_000), EASY], extra={"max_tokens": 4_000}
    )
    async with run_routed(fake, tmp_path, overrides=SMALL, mode="managed", routing=settled) as gateway:
        if not settled:
            override(gateway, "pin", LIGHT)
        came = await ask(gateway, client, request)
    assert (came.status, came.headers["x-ullage-plan"], came.route["target"]) == (200, "managed", LIGHT)


@pytest.mark.parametrize(("mode", "target"), [("observe", None), ("managed", LIGHT)])
async def test_w12_a_preview_knows_that_what_is_sent_will_fit(
    mode: str, target: str | None, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request(
        "anthropic", model="auto", turns=[*make_turns(160, 2_000), EASY], extra={"max_tokens": 4_000}
    )
    async with run_routed(fake, tmp_path, overrides=SMALL, mode=mode) as gateway:
        came = await ask(gateway, client, request)
        override(gateway, "pin", LIGHT)
        status, plan = await control(gateway, client, "route", prompt=EASY, session="s")
    assert (came.route["target"], status, plan["target"]) == (STRONG, 200, target)


@pytest.mark.parametrize("mode", ["observe", "managed"])
async def test_w12_a_task_leaves_its_target_only_where_it_must(
    mode: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """The route was fixed for a whole task: one that had outgrown its window failed."""
    fake.script.add(CALLS)
    small = {LIGHT: {"context_window": 20_000, "max_output_tokens": 2_048}}
    came = []
    async with run_routed(fake, tmp_path, overrides=small, mode=mode, routing={"policy": "cost"}) as gateway:
        for calls in range(8):
            turns: list[str | Exchange] = [EASY, *[Exchange(result="word " * 3_000)] * calls]
            came.append(await ask(gateway, client, make_request("openai-chat", model="auto", turns=turns)))
    assert {one.status for one in came} == {200}
    assert len({one.route["task_id"] for one in came}) == 1
    assert came[0].route["target"] == LIGHT
    assert (came[-1].route["target"] == LIGHT) == (mode == "managed")
    if mode == "managed":
        assert came[-1].headers["x-ullage-plan"] == "managed"
