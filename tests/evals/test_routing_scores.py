"""Methods of routing, compared with lots on the same tasks."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evals.outcomes import issues, questions
from ullage.evals.resampling import Interval, interval_of, resample
from ullage.evals.routing_methods import Answer, Method
from ullage.evals.routing_scores import best_mix, score_methods

POINTS = [(10.0, 50.0), (20.0, 40.0), (30.0, 70.0), (50.0, 72.0)]


@pytest.mark.parametrize(
    ("spend", "score"),
    [
        (10, 50),
        (20, 60),  # half way between the first and the third, and better than the second alone
        (30, 70),
        (40, 71),
        (50, 72),
        (90, 72),
        (5, 50),  # less than the cheapest costs: that one all the same
    ],
)
def test_the_best_lot_mixes_two_models_for_the_same_money(spend: float, score: float) -> None:
    assert best_mix(POINTS, spend) == pytest.approx(score)


def test_models_of_one_price_leave_the_best_one() -> None:
    assert best_mix([(5.0, 1.0), (5.0, 3.0), (5.0, 2.0)], 5.0) == 3.0


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), min_size=1, max_size=6), st.floats(0, 100))
def test_a_lot_is_never_better_than_the_best_model(points: list[tuple[float, float]], spend: float) -> None:
    assert best_mix(points, spend) <= max(score for _, score in points) + 1e-9


def always(model: int) -> Method:
    data = issues()
    answers = [
        Answer(item.outcomes[model].quality, item.outcomes[model].spend, tuple(float(m == model) for m in (0, 1)))
        for item in data.items
    ]
    return Method(name=f"always {data.models[model]}", kind="fixed", answers=tuple(answers))


def test_a_method_that_knows_beats_both_lots() -> None:
    data = issues()
    answers = []
    for item in data.items:
        model = int(item.outcomes[1].quality == 1)
        answers.append(Answer(1.0, item.outcomes[model].spend, (float(model == 0), float(model == 1))))
    found = score_methods(
        data, [always(0), always(1), Method(name="knows", kind="bound", answers=tuple(answers))], draws=200
    )
    knows = found.methods[2]
    assert (found.best, found.best_quality, knows.quality) == ("gpt-5", 1.0, 1.0)
    assert knows.against_shares.sure
    assert knows.against_spend.sure
    assert knows.against_best.interval == (0, 0)
    assert knows.beside_best is not None
    assert knows.beside_best < 0.5
    assert not knows.constant


def test_a_constant_choice_beats_no_lot() -> None:
    data = issues()
    found = score_methods(data, [always(0), always(1)], draws=200).methods[1]
    assert found.constant
    assert found.shares == {"gpt-5-mini": 1.0}
    assert found.against_shares.interval == (0, 0)
    assert found.against_spend.interval.high <= 0


def test_the_same_tasks_have_the_same_intervals() -> None:
    data = questions()
    method = Method(name="half", kind="floor", answers=tuple(Answer(0.5, 0.5, (0.5, 0.5)) for _ in data.items))
    fixed = Method(
        name=f"always {data.models[1]}", kind="fixed", answers=tuple(Answer(1.0, 1.0, (0.0, 1.0)) for _ in data.items)
    )
    assert score_methods(data, [fixed, method], draws=50) == score_methods(data, [fixed, method], draws=50)


def test_an_interval_holds_the_middle_of_what_was_drawn() -> None:
    assert interval_of(list(range(1001))) == Interval(25, 975)
    assert interval_of([3.0]) == Interval(3, 3)
    assert not Interval(-1, 2).excludes_zero
    assert Interval(-2, -1).excludes_zero


def test_columns_of_a_row_are_drawn_together() -> None:
    for one, other in resample([(number, 2 * number) for number in range(10)], draws=20):
        assert other == 2 * one


@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(
            st.tuples(*[st.floats(-1e9, 1e9, allow_subnormal=False)] * width), min_size=1, max_size=40
        )
    )
)
def test_what_is_drawn_is_summed_up_as_it_stands(rows: list[tuple[float, ...]]) -> None:
    numbers = random.Random(7)
    for sums in resample(rows, draws=5, seed=7):
        drawn = numbers.choices(rows, k=len(rows))
        for column, found in zip(zip(*drawn, strict=True), sums, strict=True):
            assert found == pytest.approx(math.fsum(column), rel=1e-12, abs=1e-3)


def test_whole_numbers_and_halves_are_summed_up_exactly() -> None:
    rows = [(0.0, 1.0, -2.5), (1.0, 1.0, 4.0), (0.5, 1.0, 1e6)]
    numbers = random.Random(7)
    for sums in resample(rows, draws=20, seed=7):
        assert sums == tuple(map(sum, zip(*numbers.choices(rows, k=3), strict=True)))


def test_a_column_of_next_to_nothing_is_no_trouble() -> None:
    assert list(resample([(5e-324,), (0.0,)], draws=1)) == [(0.0,)]
