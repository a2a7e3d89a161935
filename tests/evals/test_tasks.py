"""The user's own tasks, run in pairs (routing specification, section 28)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.errors import InputError
from ullage.evals.tasks import Cost, Quality, Suppressed, evaluate, mcnemar


def run(task: str, arm: str, **more: Any) -> dict[str, Any]:
    usual = {"accepted": True, "costUsd": 0.5, "durationMs": 1000, "model": "a/b"}
    return {"taskId": task, "revision": "r1", "arm": arm, **usual, **more}


def runs(router: list[bool], baseline: list[bool]) -> list[dict[str, Any]]:
    """A pair for each place in the lists of who was accepted."""
    found = []
    for number, (one, other) in enumerate(zip(router, baseline, strict=True)):
        found += [run(f"t{number}", "router", accepted=one), run(f"t{number}", "baseline", accepted=other)]
    return found


def lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def test_ten_pairs_that_disagree_once_either_way_are_alike() -> None:
    """The first example of the section."""
    found = evaluate(lines(runs([True] * 8 + [False] * 2, [True] * 7 + [False, True, False])), "runs.jsonl")
    assert (found.n, found.router.accepted, found.baseline.accepted) == (10, 8, 8)
    assert found.quality == Quality(router_only=1, baseline_only=1, p=1.0)


def test_six_pairs_that_all_disagree_one_way_are_not_by_chance() -> None:
    """The second example of the section."""
    found = evaluate(lines(runs([True] * 6, [False] * 6)), "runs.jsonl")
    assert found.quality == Quality(router_only=6, baseline_only=0, p=0.03125)


def test_a_task_without_both_runs_is_named() -> None:
    records = [*runs([True, True], [True, True])[:3]]
    with pytest.raises(InputError, match="t1 at r1 has 0 runs of the baseline") as caught:
        evaluate(lines(records), "runs.jsonl")
    assert caught.value.code == "unpaired"


def test_a_task_with_two_runs_in_one_arm_is_named_too() -> None:
    with pytest.raises(InputError, match="t0 at r1 has 2 runs of the router"):
        evaluate(lines([*runs([True], [True]), run("t0", "router")]), "runs.jsonl")


def test_the_same_task_at_another_revision_is_another_pair() -> None:
    later = [{**record, "revision": "r2"} for record in runs([True], [False])]
    found = evaluate(lines([*runs([True], [True]), *later]), "runs.jsonl")
    assert (found.n, found.provenance.revisions) == (2, 2)


def test_one_cost_that_is_not_known_suppresses_the_comparison_of_costs_only() -> None:
    records = runs([True, False], [True, True])
    records[0]["costUsd"] = None
    found = evaluate(lines(records), "runs.jsonl")
    assert found.cost == Suppressed(missing=1, reason="1 run does not say what they cost")
    assert isinstance(found.quality, Quality)
    assert found.router.cost_usd is None
    assert found.baseline.cost_usd == 1.0


def test_one_acceptance_that_is_not_known_suppresses_the_comparison_of_quality_only() -> None:
    records = runs([True, False], [True, True])
    records[0]["accepted"] = records[1]["accepted"] = None
    found = evaluate(lines(records), "runs.jsonl")
    assert found.quality == Suppressed(missing=2, reason="2 runs do not say whether they were accepted")
    assert isinstance(found.cost, Cost)


def test_the_ratio_of_costs_has_a_paired_interval_that_is_the_same_every_time() -> None:
    records = runs([True] * 12, [True] * 12)
    for number, record in enumerate(records):
        record["costUsd"] = 0.1 + number % 7 if record["arm"] == "router" else 1.0 + number % 5
    found = evaluate(lines(records), "runs.jsonl")
    assert isinstance(found.cost, Cost)
    assert found.cost.ratio is not None
    assert found.cost.interval is not None
    assert found.cost.interval.low < found.cost.ratio < found.cost.interval.high
    assert found.cost.draws == 10_000
    assert evaluate(lines(records), "runs.jsonl").cost == found.cost


def test_arms_that_go_up_and_down_together_differ_by_no_chance() -> None:
    records = runs([True] * 5, [True] * 5)
    for number, record in enumerate(records):
        record["costUsd"] = (number // 2 + 1) * (0.5 if record["arm"] == "router" else 1.0)
    found = evaluate(lines(records), "runs.jsonl").cost
    assert isinstance(found, Cost)
    assert (found.ratio, found.interval) == (0.5, (0.5, 0.5))


def test_a_baseline_that_cost_nothing_has_no_ratio() -> None:
    records = runs([True], [True])
    records[1]["costUsd"] = 0
    found = evaluate(lines(records), "runs.jsonl").cost
    assert isinstance(found, Cost)
    assert (found.ratio, found.interval) == (None, None)


def test_durations_are_medians_and_models_are_counted() -> None:
    records = runs([True] * 3, [True] * 3)
    for number, record in enumerate(records):
        record["durationMs"] = [100, 7, 300, 7, 200, 7][number]
    records[0]["model"] = "z/z"
    found = evaluate(lines(records), "runs.jsonl")
    assert (found.router.duration_ms, found.baseline.duration_ms) == (200, 7)
    assert found.router.models == {"a/b": 2, "z/z": 1}


def test_runs_that_are_made_up_are_counted_as_such() -> None:
    records = [{**record, "synthetic": True, "seed": 7} for record in runs([True], [True])]
    assert evaluate(lines(records), "runs.jsonl").provenance.synthetic == 2


@pytest.mark.parametrize(
    "change",
    [{"arm": "control"}, {"costUsd": -1}, {"accepted": "yes"}, {"durationMs": None}, {"taskId": ""}, {"model": 3}],
)
def test_a_line_that_is_no_run_is_named(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="line 2"):
        evaluate(lines([run("t", "router"), {**run("t", "baseline"), **change}]), "runs.jsonl")


def test_a_file_without_runs_is_refused() -> None:
    with pytest.raises(InputError, match="holds no runs"):
        evaluate(b"\n\n", "runs.jsonl")


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_exact_p_is_a_probability_that_does_not_mind_who_is_who(one: int, other: int) -> None:
    assert 0 < mcnemar(one, other) <= 1
    assert mcnemar(one, other) == mcnemar(other, one)
