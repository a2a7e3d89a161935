"""How fast targets answer, and what their calls cost beside what was expected (routing specification, sections 25.2 to 25.4)."""

from __future__ import annotations

import pytest

from ullage.core.routing.pace import Pace, Ratios, Timing, Usage, pace_of, percentile, ratio, ratios_of


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([100, 200, 300, 400], 0.5, 200),
        ([100, 200, 300, 400], 0.95, 400),
        (list(range(1, 101)), 0.95, 95),
        ([7], 0.5, 7),
        ([300, 100], 0.5, 100),
        ([300, 100], 0.95, 300),
        ([], 0.5, 0),
        ([3, 1, 2], 0.0, 1),
    ],
)
def test_percentiles_are_nearest_ranks(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == expected


def test_a_ratio_needs_three_pairs_and_is_a_half_to_two() -> None:
    assert ratio([(0.04, 0.01)] * 3) == 2
    assert ratio([(0.04, 0.01)] * 2) is None
    assert ratio([(1, 10)] * 3) == 0.5
    assert ratio([(11, 10), (12, 10), (10, 10)]) == pytest.approx(1.1)
    assert ratio([(1, 0)] * 3) is None


def answer(first_ms: float, whole_ms: float, output: int) -> Timing:
    return Timing(first_ms=first_ms, whole_ms=whole_ms, output=output)


def test_a_pace_is_the_usual_start_and_the_usual_time_of_a_token() -> None:
    pace = pace_of([answer(500, 2_500, 100), answer(900, 10_900, 1_000), answer(700, 4_700, 100)])
    assert pace == Pace(first_ms=700, token_ms=20)
    assert pace.answer_ms == 700 + 800 * 20


def test_who_was_given_long_tasks_is_not_slow_for_it() -> None:
    """Weakness 6 of section 33: the whole time of an answer was taken for speed."""
    short = pace_of([answer(500, 1_500, 100)] * 5)
    long = pace_of([answer(500, 50_500, 5_000)] * 5)
    assert short == long


def test_answers_that_tell_no_pace_are_left_out() -> None:
    useless = [answer(500, 900, 0), answer(500, 500, 10), answer(-1, 9, 10)]
    assert pace_of(useless + [answer(500, 1_500, 100)] * 2) is None
    assert pace_of(useless + [answer(500, 1_500, 100)] * 3) == Pace(first_ms=500, token_ms=10)


def test_old_answers_do_not_count() -> None:
    assert pace_of([answer(100, 200, 10)] * 256 + [answer(900, 9_000, 10)] * 600) == Pace(first_ms=100, token_ms=10)


def test_ratios_are_kept_apart() -> None:
    """Theirs folds all of them into one number per model."""
    usages = [
        Usage(estimated=100, prompt=120, cached=60, output=50),
        Usage(estimated=None, prompt=80, cached=0, output=10),
    ]
    assert ratios_of(usages) == Ratios(input=None, cached=None, output=None)
    known = ratios_of([*usages, *usages, usages[0]])
    assert known.input == pytest.approx(1.2)
    assert known.cached == pytest.approx(180 / 520)
    assert known.output == pytest.approx(34)


def test_calls_without_a_prompt_have_no_share_of_the_cache() -> None:
    empty = Usage(estimated=0, prompt=0, cached=0, output=3)
    assert ratios_of([empty] * 3) == Ratios(input=None, cached=None, output=3)


def reading(first_ms: float, read: int) -> Timing:
    return Timing(first_ms=first_ms, whole_ms=first_ms + 1_000, output=100, read=read)


def test_what_reading_takes_is_told_by_long_prompts_against_short_ones() -> None:
    """Complaint C18: 45,000 tokens were read anew for 408 seconds."""
    pace = pace_of([reading(1_900, 100)] * 3 + [reading(109_900, 12_100)] * 3)
    assert pace == Pace(first_ms=1_000, token_ms=10, read_ms=9)
    assert pace.first_ms + 45_000 * 9 == pytest.approx(406_000)


@pytest.mark.parametrize(
    "timings",
    [
        [reading(500, 100)] * 6,
        [reading(500, 100)] * 3 + [reading(900, 3_000)] * 3,
        [reading(500, 20_000)] * 6,
        [reading(500, 100)] * 8 + [reading(90_000, 50_000)] * 2,
        [reading(900, 100)] * 3 + [reading(500, 20_000)] * 3,
    ],
    ids=["all short", "none long", "all long", "two odd ones", "longer ones are quicker"],
)
def test_what_reading_takes_is_unknown_where_answers_do_not_tell(timings: list[Timing]) -> None:
    pace = pace_of(timings)
    assert pace is not None
    assert (pace.read_ms, pace.first_ms in (500, 900)) == (None, True)
