"""How much a model should think (routing specification, section 15)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.routing.routes import CHINESE, DEBUG, PRODUCTION, REFACTOR, REVIEW, SUMMARY, task_of
from ullage.core.routing.thinking import LEVELS, Level, choose_level, demanded_level, fit_level, thinking_demand


@pytest.mark.parametrize(
    ("prompt", "demand", "level"),
    [
        (SUMMARY, 0.0896, "off"),
        (DEBUG, 0.3529, "low"),
        (PRODUCTION, 0.525325, "medium"),
        (REVIEW, 0.4848, "medium"),
        (CHINESE, 0.69, "high"),
        (REFACTOR, 0.09135, "off"),
    ],
)
def test_demand_and_level_are_as_in_the_worked_examples(prompt: str, demand: float, level: Level) -> None:
    found = thinking_demand(task_of(prompt))
    assert found == pytest.approx(demand, abs=1e-6)
    assert demanded_level(found) == level


def test_the_hardest_task_asks_for_all_there_is() -> None:
    task = task_of(CHINESE)
    hardest = replace(
        task,
        complexity=1.0,
        risk=0.7375,
        demand=replace(task.demand, reasoning=1.0),
        semantic=replace(task.semantic, debugging=0.95, architecture=0.85),
    )
    assert thinking_demand(hardest) == pytest.approx(0.940625)
    assert choose_level(hardest) == "max"


@pytest.mark.parametrize(
    ("demand", "level"), [(0.1499, "off"), (0.15, "minimal"), (0.30, "low"), (0.82, "xhigh"), (0.93, "max")]
)
def test_a_bound_belongs_to_the_level_above_it(demand: float, level: Level) -> None:
    assert demanded_level(demand) == level


def test_a_level_that_a_model_lacks_becomes_the_next_lower_one() -> None:
    assert fit_level("high", reasoning=True, levels={"high": None, "medium": None}) == "low"
    assert fit_level("low", reasoning=True, levels=dict.fromkeys(LEVELS)) == "off"
    assert fit_level("max", reasoning=True, levels=None) == "max"


def test_a_model_without_reasoning_does_not_think() -> None:
    assert fit_level("max", reasoning=False) == "off"


def test_what_is_fixed_comes_before_the_host_a_rule_and_the_task() -> None:
    task = task_of(DEBUG)
    assert choose_level(task, fixed="max", host="high", ruled="off") == "max"
    assert choose_level(task, host="high", ruled="off") == "high"
    assert choose_level(task, ruled="off") == "off"
    assert choose_level(task) == "low"
