"""The evaluation of routes as a whole, with its tables and sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.evals.outcomes import layers, write_folder
from ullage.evals import routing_tables as tables
from ullage.evals.resampling import Interval
from ullage.evals.routing import RoutingEvaluation, evaluate
from ullage.evals.routing_data import read_aider, read_swe_bench
from ullage.evals.routing_methods import SHIPPED
from ullage.evals.routing_published import check_aider, check_set
from ullage.evals.routing_scores import Difference


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> RoutingEvaluation:
    return evaluate(write_folder(tmp_path_factory.mktemp("outcomes")), layers, draws=50)


def test_all_sets_are_scored(evaluation: RoutingEvaluation) -> None:
    assert [score.name for score in evaluation.sets] == [
        "swe_bench_verified",
        "llmrouter_nine_models",
        "gsm8k_two_models",
    ]
    assert evaluation.sets[0].best == "gpt-5"
    assert evaluation.switching is not None
    assert {one.share for one in evaluation.thresholds} == {0.25, 0.5, 0.75}


def test_what_the_router_knows_is_told_with_its_source(evaluation: RoutingEvaluation) -> None:
    known = {one.model: one for one in evaluation.knowledge}
    assert known["gpt-5"].capability == "capability frontier (catalog, medium confidence)"
    assert known["gpt-5"].price == "price $1.25/$10 per 1M (genai-prices)"
    assert known["codegemma-7b"].price is None


def test_the_guard_stays_where_no_route_beats_a_lot(evaluation: RoutingEvaluation) -> None:
    assert not evaluation.downgrades
    assert tables.guard_verdict(evaluation).endswith("automatic downgrades stay off by default.")


def test_a_router_that_sends_all_to_one_model_is_told_as_such(evaluation: RoutingEvaluation) -> None:
    told = "\n".join(tables.verdicts(evaluation))
    assert "swe_bench_verified, as it ships: every task goes to one model" in told
    assert "router, cost to gpt-5-mini" in told
    assert "cannot beat a lot" in told
    assert "Switching: comparing all calls of a task costs" in told


@pytest.mark.parametrize(
    ("low", "high", "word"), [(0.01, 0.03, "beats"), (-0.01, 0.03, "does not beat"), (-0.03, -0.01, "is worse than")]
)
def test_a_verdict_goes_by_the_interval(evaluation: RoutingEvaluation, low: float, high: float, word: str) -> None:
    score = evaluation.sets[0]
    one = next(one for one in score.methods if one.kind == SHIPPED)
    difference = Difference(mean=(low + high) / 2, interval=Interval(low, high))
    mixed = replace(one, constant=False, against_spend=difference, against_best=difference)
    told = next(tables.verdicts(replace(evaluation, sets=(replace(score, methods=(score.methods[0], mixed)),))))
    assert f"{one.method} {word} a lot of equal spend" in told


def test_a_constant_choice_and_the_best_single_model_have_no_differences(evaluation: RoutingEvaluation) -> None:
    rows = {row[0]: row for row in tables.set_table(evaluation.sets[0]).rows}
    assert rows["always gpt-5"][4:] == ("-", "-", "-")
    assert rows["oracle"][4] != "-"
    assert rows["always gpt-5"][2] == "$15.90"


def test_totals_of_a_part_are_not_compared_and_its_rates_are(tmp_path: Path) -> None:
    data = read_swe_bench(write_folder(tmp_path / "data") / "swe_bench_verified.csv")
    checks = {check.what: check for check in check_set(data)}
    assert checks["gpt-5, USD"].agrees is None
    assert checks["gpt-5, resolved"].agrees is False  # all solved, where 65 % are published
    assert checks["gpt-5-mini, resolved"].agrees is True
    assert (checks["gpt-5, USD"].tasks, checks["gpt-5, USD"].published_tasks) == (40, 500)


def test_runs_of_the_leaderboard_are_found_again(tmp_path: Path) -> None:
    found = check_aider(read_aider(write_folder(tmp_path / "data") / "aider_polyglot.csv"))
    assert [(check.what, check.agrees) for check in found] == [
        ("runs", None),
        ("gpt-5 (high), pass rate in %", True),
        ("gpt-5 (high), USD", True),
    ]


def test_every_table_has_its_rows(evaluation: RoutingEvaluation) -> None:
    assert len(tables.checks_table(evaluation.checks).rows) == len(evaluation.checks)
    assert len(tables.knowledge_table(evaluation.knowledge).rows) == 6
    assert len(tables.threshold_table(evaluation.thresholds).rows) == 9
    assert len(tables.share_table(evaluation.sets[0]).rows) == 7
    assert evaluation.switching is not None
    assert len(tables.switch_table(evaluation.switching).rows) == 6
