"""The fit of measured constants: robust, deterministic, recordings kept apart."""

from __future__ import annotations

import random

import pytest

from scripts.fitting.bounds import shortest
from scripts.fitting.design import find_recordings, make_samples
from scripts.fitting.fitting import cross_validate, fit_all, fit_values
from scripts.fitting.laws import Row, fit
from scripts.fitting.plan import PLAN, Free, ratio, tokens
from scripts.fitting.writing import module_text
from ullage.core.profiles.families import ROWS, UNKNOWN_ROW
from ullage.evals.tokens import Case

BASE, EACH, SLOPE = ("g", "base"), ("g", "each"), ("g", "ratio")
FREE: dict[tuple[str, str], Free] = {BASE: tokens(0, 100), EACH: tokens(0, 100), SLOPE: ratio(1.0, 0.5, 3.0)}


def rows(outliers: int = 0) -> list[Row]:
    drawn = random.Random(7)
    made = []
    for number in range(60):
        each, size = drawn.randrange(1, 9), drawn.randrange(10, 300)
        truth = round(31 + 12 * each + 1.6 * size) + (900 if number < outliers else 0)
        made.append(Row(0.0, {BASE: 1.0, EACH: float(each), SLOPE: float(size)}, truth, 1 / truth))
    return made


@pytest.mark.parametrize("outliers", [0, 12])
def test_the_law_behind_the_rows_is_found_whatever_some_of_them_say(outliers: int) -> None:
    found = fit(rows(outliers), FREE)
    assert (found[BASE], found[EACH]) == (31, 12)
    assert found[SLOPE] == pytest.approx(1.6, abs=0.006)


def test_what_no_row_depends_on_stays_where_it_starts_and_all_stays_within_bounds() -> None:
    narrow = {BASE: tokens(5, 9), ("g", "other"): tokens(4, 9)}
    found = fit([Row(0.0, {BASE: 1.0}, 50, 1.0)] * 9, narrow)
    assert found == {BASE: 9.0, ("g", "other"): 4}


def test_one_odd_row_does_not_move_a_constant_that_starts_well() -> None:
    assert fit([Row(0.0, {BASE: 1.0}, 500, 1 / 500)], {BASE: tokens(20, 400, trust=3)}) == {BASE: 20.0}


def case(text: str, counted: int, source: str) -> Case:
    payload = {"messages": [{"role": "user", "content": text}]}
    return Case(
        provider="deepseek",
        model="deepseek-chat",
        api="openai-chat",
        what="request",
        payload=payload,
        tokens=counted,
        source=source,
    )


def cases() -> list[Case]:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    return [case(" ".join(words[: 1 + n % 8]) + f" {n}", 12 + n % 8, f"repo:{n % 12}") for n in range(48)]


def test_cases_of_one_file_or_of_equal_payloads_are_one_recording() -> None:
    found = find_recordings([case("a", 1, "x"), case("b", 1, "x"), case("b", 2, "y"), case("c", 1, "z")])
    assert found[0] == found[1] == found[2]
    assert found[3] != found[0]


def test_a_recording_lies_wholly_in_one_fold_and_is_estimated_without_itself() -> None:
    samples = make_samples(cases(), PLAN, 4)
    folds = {
        sample.recording: {other.fold for other in samples if other.recording == sample.recording} for sample in samples
    }
    assert all(len(found) == 1 for found in folds.values())
    held_out = cross_validate(samples, PLAN, 4)
    assert [one.sample for one in held_out] == samples
    first = samples[0]
    others = fit_values([sample for sample in samples if sample.fold != first.fold], PLAN)
    assert held_out[0].tokens == round(first.row.estimate(others))


def test_the_same_cases_give_the_same_file() -> None:
    texts = set()
    for _ in range(2):
        samples = make_samples(cases(), PLAN, 4)
        texts.add(module_text(fit_all(samples, PLAN), cross_validate(samples, PLAN, 4), b"data", "2026-01-31"))
    (text,) = texts
    assert 'DATE = "2026-01-31"' in text
    assert '("deepseek", "framing.base", ' in text
    compile(text, "fitted.py", "exec")


def test_every_place_of_the_plan_is_a_place_in_a_family() -> None:
    groups = {group: row for row in (*ROWS, UNKNOWN_ROW) for group in row.fitted}
    for group, places in PLAN.items():
        for place, free in places.items():
            part, _, name = place.rpartition(".")
            holder = getattr(groups[group], part) if part else groups[group]
            assert hasattr(holder, name), (group, place)
            assert free.low <= free.start <= free.high, (group, place)


def test_an_interval_is_the_shortest_around_no_error_that_holds_enough() -> None:
    assert shortest([0.0] * 95 + [5.0] * 5) == (0.0, 0.0)
    low, high = shortest([-0.2] * 10 + [0.0] * 80 + [0.1] * 10)
    assert (low, high) == (-0.2, 0.1)
    assert shortest([3.0]) == (0.0, 3.0)
