"""Calibrated estimates of whole requests, judged before each call was answered (planner specification, section 7)."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.evals.calibrated import (
    AFTER,
    BAR,
    CalibratedFile,
    Weighed,
    follow_ratio,
    judge_file,
    judged_after,
    spread,
    spreads,
    summarize,
)
from ullage.evals.files import Skipped


def weighed(prompt: int, raw: int, **changes: Any) -> Weighed:
    return Weighed(**{"provider": "p", "model": "m", "prompt": prompt, "raw": {"chars-v1": raw}, **changes})


def steady(count: int, ratio: float = 1.2, **changes: Any) -> list[Weighed]:
    return [weighed(round(raw * ratio), raw, **changes) for raw in range(1_000, 1_000 + 100 * count, 100)]


def judge(calls: list[Weighed]) -> CalibratedFile:
    judged = judge_file("s.jsonl", "pi", calls)
    assert isinstance(judged, CalibratedFile)
    return judged


def test_a_call_is_estimated_with_what_the_calls_before_it_taught() -> None:
    applied = [one.applied_ratio for one in follow_ratio(steady(5), "chars-v1")]
    assert applied == [1.0, 1.0, 1.0, 1.2, 1.2]


def test_what_comes_later_changes_nothing_of_what_was_estimated_earlier() -> None:
    calls = steady(12)
    assert list(follow_ratio(calls, "chars-v1"))[:6] == list(follow_ratio(calls[:6], "chars-v1"))


def test_another_model_or_provider_teaches_nothing() -> None:
    calls = [*steady(4), *steady(4, 1.5, model="n"), *steady(4, 0.8, provider="q"), *steady(1)]
    applied = [one.applied_ratio for one in follow_ratio(calls, "chars-v1")]
    assert applied == [1.0, 1.0, 1.0, 1.2, 1.0, 1.0, 1.0, 1.5, 1.0, 1.0, 1.0, 0.8, 1.2]


def test_the_estimate_is_exact_where_one_ratio_explains_all() -> None:
    figures = judge(steady(10)).judgements[-1].ratio["chars-v1"]
    assert figures.raw.median == pytest.approx(1 - 1 / 1.2)
    assert (figures.calibrated.median, figures.calibrated.p90) == pytest.approx((0, 0), abs=1e-9)
    assert figures.uncalibrated == 0


def test_ratios_beyond_the_bounds_leave_the_estimate_raw() -> None:
    """A prefix that the file does not hold makes the first ratios large (planner specification, section 7.3, last row)."""
    figures = judge(steady(10, ratio=3.0)).judgements[-1].ratio["chars-v1"]
    assert figures.calibrated == figures.raw
    assert figures.uncalibrated == figures.raw.calls == 5


def test_an_offset_is_what_no_ratio_explains() -> None:
    calls = [weighed(20_000 + raw, raw) for raw in range(20_000, 120_000, 10_000)]
    figures = judge(calls).judgements[-1].ratio["chars-v1"]
    assert figures.uncalibrated == 0
    assert figures.calibrated.median > BAR


def test_calls_are_judged_behind_three_and_behind_five() -> None:
    assert [(one.after, one.calls) for one in judge(steady(10)).judgements] == [(3, 7), (5, 5)]
    assert AFTER == (3, 5)


def test_calls_before_count_for_their_own_model() -> None:
    judged = judge([*steady(6), *steady(4, model="n")])
    assert [(one.after, one.calls) for one in judged.judgements] == [(3, 4), (5, 1)]


def test_growth_is_judged_on_the_same_calls_as_far_as_it_had_one_to_start_from() -> None:
    calls = [weighed(1_000, 1_000, grown=None if number == 6 else 1_010, line=990.0) for number in range(8)]
    judgement = judge(calls).judgements[-1]
    assert judgement.growth is not None and judgement.line is not None
    assert (judgement.calls, judgement.growth.calls, judgement.line.calls) == (3, 2, 3)
    assert judgement.growth.median == judgement.line.median == pytest.approx(0.01)
    assert list(spreads(judgement)) == ["chars-v1", "ratio-v1 × chars-v1", "growth-v1, its line", "growth-v1"]


def test_ratios_that_a_gateway_applied_are_taken_as_they_were() -> None:
    calls = [weighed(2_000, 1_000, applied={"chars-v1": None if number < 6 else 2.0}) for number in range(9)]
    figures = judge(calls).judgements[-1].ratio["chars-v1"]
    assert (figures.uncalibrated, figures.calibrated.median, figures.calibrated.p90) == (1, 0.0, 0.5)


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        (steady(7), "fewer than 8 trusted calls: 7"),
        ([*steady(8), *steady(9, lossy=True)], "texts of 9 of its 17 calls are no longer in the file"),
        ([*steady(7), *steady(1, lossy=True)], "texts of 1 of its 8 calls are no longer in the file"),
        ([weighed(1_000, 1_000, model=str(number)) for number in range(8)], "no model has more than 3 trusted calls"),
    ],
    ids=["short", "gone", "too few whole", "many models"],
)
def test_a_file_that_is_left_out_says_why(calls: list[Weighed], reason: str) -> None:
    assert judge_file("s.jsonl", "pi", calls) == Skipped(path="s.jsonl", reason=reason)


def test_calls_without_their_text_are_neither_judged_nor_learned_from() -> None:
    mixed = [call for pair in zip(steady(10), steady(10, 5.0, lossy=True), strict=True) for call in pair]
    assert judge(mixed) == judge(steady(10))


def test_errors_are_shares_of_the_prompt() -> None:
    found = spread((estimate, 100) for estimate in (100, 101, 102, 103, 104, 105, 106, 107, 108, 150))
    assert found is not None
    assert (found.calls, found.median, found.p90) == (10, pytest.approx(0.045), 0.08)
    assert spread([]) is None


def test_a_method_is_summed_up_by_the_median_calls_of_the_files() -> None:
    files = [judge(steady(10)), judge(steady(10, ratio=3.0)), judge(steady(4) * 2)]
    by_method = {(one.method, one.after): one for one in summarize(files)}
    one = by_method["ratio-v1 × chars-v1", 5]
    assert (one.files, one.within, one.worst) == (3, 2, pytest.approx(2 / 3))
    assert by_method["chars-v1", 5].within == 0
    assert [file.calls for file, _ in judged_after(files, 5)] == [10, 10, 8]
