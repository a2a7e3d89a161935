"""Planner specification, section 35, by row: limits and what they are drawn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.faults.conftest import Managed
from tests.faults.rig import Gate, Planner, Story, settings, words
from ullage.core.calibration import Bounds, Sample, calibrate, convert_ratio, find_drift, tune
from ullage.core.planning import Limits, draw_budget
from ullage.core.profiles.overrides import ModelOverride
from ullage.core.profiles.profile import resolve_profile
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def samples(*calls: tuple[int, int]) -> list[Sample]:
    return [
        Sample(id=f"{number:03}", created_ms=number, estimated=estimated, input_fresh=actual)
        for number, (estimated, actual) in enumerate(calls)
    ]


def test_r03_a_ratio_below_one_raises_no_limit() -> None:
    """0.3.10: short prompts gave a ratio below 1, by which the hard limit was divided."""
    calibration = calibrate(samples(*[(100_000, 67_000)] * 8), Bounds())
    made = draw_budget(
        window=128_000,
        max_output=16_384,
        safety_margin=2_560,
        limits=Limits(),
        conversion=convert_ratio(calibration),
    )
    assert calibration.applied_ratio == 0.67
    assert (made.hard, made.soft, made.preferred) == (109_056, 102_400, 89_600)


async def test_r04_what_one_estimator_learned_is_not_applied_to_another(tmp_path: Path) -> None:
    """Wrong limits after another estimator was chosen: its ratios were those of the first."""
    ratios: list[tuple[str, int, float]] = []
    async with FakeProvider(strict=True) as fake, aiohttp.ClientSession() as client:
        for estimator in ("o200k-base-v1", "chars-v1", "o200k-base-v1"):
            plain = settings(50_000, calibration={"method": "ratio-v1", "estimator": estimator, "minimum_samples": 3})
            store = f"sqlite:///{tmp_path / 'store.db'}"
            async with run_gateway({"anthropic": fake.url}, tmp_path, store=store, **plain) as daemon:
                ratios.append(await _learn(Gate(daemon, fake, client)))
    assert [(estimator, observed) for estimator, observed, _ in ratios] == [
        ("o200k-base-v1", 0),
        ("chars-v1", 0),
        ("o200k-base-v1", 4),
    ]
    assert ratios[0][2] == ratios[1][2] == 1.0
    assert ratios[2][2] != 1.0


def test_r05_a_call_near_the_limit_ends_the_expansion_though_its_ratio_is_odd() -> None:
    """The tail stayed expanded after such a call, as a ratio that is an outlier was left out of everything."""
    calls = [*[(1_000, 1_000)] * 8, (50_000, 80_000)]
    before, after = (calibrate(samples(*seen), Bounds()) for seen in (calls[:8], calls))
    assert after.outliers == 1
    assert (before.applied_ratio, after.applied_ratio) == (1.0, 1.0)
    assert tune(before, enabled=True, target=89_600).status == "expanded"
    assert tune(after, enabled=True, target=89_600).status == "no-headroom"


ASKED: dict[Dialect, dict[str, Any]] = {
    "openai-chat": {"max_tokens": 4_000},
    "openai-responses": {"max_output_tokens": 4_000},
    "anthropic": {"max_tokens": 4_000},
    "gemini": {"generationConfig": {"maxOutputTokens": 4_000}},
}


@every_dialect
async def test_r44_the_limit_leaves_room_for_the_output_that_is_asked_for(dialect: Dialect, managed: Managed) -> None:
    """qwen-code #5950, claude-code #408: 400, as input and output exceeded the window."""
    lengths = []
    for extra in ({}, ASKED[dialect]):
        story = Story(dialect, **extra)
        for number in range(100):
            story.turn(f"{number} {words(40)}", words(40))
        story.user("And now?")
        async with managed(4_900) as gate:
            reply = await gate.send(story)
            record = await gate.record(reply)
        assert (reply.status, reply.plan) == (200, "managed")
        assert record.plan is not None and record.awareness is not None
        window = record.awareness["budget"]["context_window"]
        assert window == 7_000
        assert record.plan["tokens"] + (4_000 if extra else 0) <= window
        lengths.append(record.plan["tokens"])
    assert lengths[1] < 3_000 < lengths[0]


def test_r44_a_window_is_that_of_the_exact_model() -> None:
    """The same: the name of a model was shortened to one with another window."""
    overrides = {"openai/gpt-x": ModelOverride(context_window=8_000)}
    windows = [
        resolve_profile("openai", model, overrides=overrides).context_window
        for model in ("gpt-x", "gpt-x-mini", "gpt-x-2026-01-01", "GPT-X", "gpt-")
    ]
    assert windows == [8_000, None, None, None, None]


@every_dialect
@pytest.mark.parametrize(("window", "output"), [(40_000, 32_768), (16_384, None), (8_192, 8_192)], ids=str)
async def test_r45_a_small_window_with_a_large_output_is_planned(
    dialect: Dialect, window: int, output: int | None, managed: Managed
) -> None:
    """OpenHands #9937: endless condensation, as the largest output was the whole window and nothing was left for input."""
    override = {"context_window": window} | ({"max_output_tokens": output} if output else {})
    story = Story(dialect)
    for number in range(900):
        story.turn(f"{number} {words(20)}", words(20))
    story.user("And now?")
    async with managed(1, models={"refresh": False, "overrides": {"*": override}}) as gate:
        reply = await gate.send(story)
        record = await gate.record(reply)
    assert (reply.status, reply.plan) == (200, "managed")
    assert record.plan is not None
    assert window / 4 < record.plan["tokens"] <= record.plan["limit"] < window


@pytest.mark.parametrize("asked", [8_192, 100_000])
async def test_r45_a_request_for_the_whole_window_starves_no_input(asked: int, managed: Managed) -> None:
    """The same, where the client asks for all of it."""
    story = Story("anthropic", max_tokens=asked)
    for number in range(200):
        story.turn(f"{number} {words(20)}", words(20))
    story.user("And now?")
    override = {"context_window": 8_192, "max_output_tokens": 8_192}
    async with managed(1, models={"refresh": False, "overrides": {"*": override}}) as gate:
        reply = await gate.send(story)
        record = await gate.record(reply)
    assert (reply.status, reply.plan) == (200, "managed")
    assert record.plan is not None and record.plan["tokens"] > 4_000


@every_dialect
async def test_r49_every_request_of_a_tool_loop_is_planned(dialect: Dialect, managed: Managed) -> None:
    """pi #3660: overflow in the middle of a tool loop, as the budget was checked once for each turn of the user."""
    story = Story(dialect)
    story.user("Read them all.")
    statuses = []
    async with managed(1_500) as gate:
        for _ in range(12):
            story.exchange(words(250))
            reply = await gate.send(story, x_ullage_session="s")
            record = await gate.record(reply)
            assert reply.status == 200
            assert record.plan is not None and record.plan["tokens"] <= record.plan["limit"]
            statuses.append(reply.plan)
    assert statuses[0] == "unchanged"
    assert set(statuses[8:]) == {"managed"}


def test_r36_a_drift_is_told_long_before_the_window_is_full() -> None:
    """riftor #122, github/app #3862: the meter showed 657,843 where 921,487 were charged."""
    ratio = 921_487 / 657_843
    calls = [(estimated, round(estimated * ratio)) for estimated in (10_000, 12_000, 15_000)]
    drift = find_drift(calibrate(samples(*calls), Bounds()), Bounds())
    assert drift is not None
    assert (drift.code, drift.severity) == ("persistent-underestimate", "warning")
    assert calls[-1][1] < 0.03 * 1_000_000


def test_r45_the_zero_rows_of_the_table_give_plans_of_the_newest_turn() -> None:
    """The same, without a gateway: no limit is so small that there is no plan at all, and none is exceeded."""
    story = Story("openai-chat")
    story.turn(words(30), words(30))
    story.user("And now?")
    planner = Planner(story)
    for window in (16_384, 8_192, 64, 8):
        budget = draw_budget(window=window, max_output=window, safety_margin=1_024, limits=Limits())
        made = planner.within(budget.hard)
        assert made.plan.tokens <= budget.hard or made.plan.status == "fallback"


async def _learn(gate: Gate) -> tuple[str, int, float]:
    """Four calls; what was known at the first of them."""
    first: dict[str, Any] = {}
    for number in range(4):
        story = Story("anthropic")
        story.user(f"{number} {words(500)}")
        record = await gate.record(await gate.send(story))
        assert record.awareness is not None
        first = first or record.awareness["calibration"]
    return first["estimator"], first["observed"], first["applied_ratio"]
