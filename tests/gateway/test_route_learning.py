"""What live routes leave in the store to learn from, and what comes of it: over real sockets."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, ask, run_routed
from ullage.daemon import Daemon
from ullage.stores import FeedbackRecord
from ullage.stores.shadow import report_shadow, watched_tasks
from ullage.stores.tasks import find_task, latest_task, list_tasks
from ullage.testing import Exchange, FakeProvider, make_request

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."


def learn(gateway: Daemon, now_ms: int) -> None:
    """What was written is heeded at once."""
    assert gateway.store.flush()
    gateway.engine.learning.read(now_ms)


async def test_votes_against_a_target_send_the_next_task_of_the_kind_elsewhere(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("anthropic", model="auto", turns=[EASY])
    async with run_routed(fake, tmp_path) as gateway:
        first = await ask(gateway, client, request)
        target, at_ms = first.route["target"], first.call.created_ms
        for number in range(6):
            gateway.store.put_feedback(
                FeedbackRecord(
                    id=f"v{number}",
                    created_ms=at_ms,
                    target=target,
                    good=False,
                    kinds=tuple(first.route["task"]["kinds"]),
                )
            )
        learn(gateway, at_ms)
        second = await ask(gateway, client, request, session="other")
    assert second.route["target"] != target
    (voted,) = [one for one in second.route["ranked"] if one["target"] == target]
    assert voted["preference"] == pytest.approx(-0.2, abs=1e-4)
    assert 0 < voted["terms"]["reliability"] < 1


async def test_a_live_task_is_accounted_for_by_its_calls(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        first = await ask(gateway, client, make_request("anthropic", model="auto", turns=[HARD]))
        loop = [HARD, Exchange()]
        second = await ask(gateway, client, make_request("anthropic", model="auto", turns=loop))
        third = await ask(gateway, client, make_request("anthropic", model="auto", turns=[*loop, "Done.", EASY]))
        task = find_task(gateway.store, first.route["task_id"])
        listed, latest = list_tasks(gateway.store, "s"), latest_task(gateway.store)
    assert task is not None
    assert second.route["task_id"] == first.route["task_id"] != third.route["task_id"]
    assert (task.targets, task.switches) == ({first.route["target"]: 2}, 0)
    assert (task.kinds, task.policy) == (tuple(first.route["task"]["kinds"]), "balanced")
    assert (task.delivery_outcome, task.settled, task.escalated) == ("unknown", True, False)
    assert task.cost_kind == "known"
    assert task.cost_usd is not None
    assert task.cost_usd > 0
    usages = [one.call.usage or {} for one in (first, second)]
    assert task.output_tokens == sum(usage["output"] for usage in usages)
    assert [one.task_id for one in listed] == [third.route["task_id"], first.route["task_id"]]
    assert latest is not None
    assert latest.task_id == third.route["task_id"]


async def test_a_watched_session_tells_what_its_tasks_would_have_cost_elsewhere(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing={"shadow": True}) as gateway:
        turns: list[str | Exchange] = [f"@model:{LIGHT} {EASY}"]
        await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        turns += ["Done.", HARD]
        await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        await ask(gateway, client, make_request("anthropic", model="auto", turns=[*turns, Exchange()]))
        report = report_shadow(watched_tasks(gateway.store))
    assert (report.tasks, report.differing) == (1, 1)
    (pair,) = report.pairs
    assert pair.kept == LIGHT
    assert pair.selected in (STRONG, FRONTIER)
    assert report.predicted.tasks == report.actual.tasks == 1
    assert report.actual.selected_usd > report.actual.kept_usd > 0
    assert report.predicted.selected_usd > report.predicted.kept_usd > 0


async def test_a_part_of_new_tasks_tries_another_target_and_all_chances_are_recorded(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("anthropic", model="auto", turns=[HARD])
    async with run_routed(fake, tmp_path, routing={"explore": 1.0}) as gateway:
        came = [await ask(gateway, client, request, session=f"s{number}") for number in range(4)]
    for one in came:
        chances = one.route["propensities"]
        assert chances[one.route["target"]] > 0
        assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
        if len(chances) > 1:
            assert any(reason.startswith("tried instead of ") for reason in one.route["reasons"])
