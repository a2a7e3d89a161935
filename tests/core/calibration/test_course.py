"""How a ratio came about, sample by sample: the course ends where `calibrate` stands."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.calibration import Bounds, Refused, Sample, calibrate, draw_course, follow_ratio, report_course


def sample(index: int, ratio: float, estimated: int = 1_000) -> Sample:
    return Sample(id=f"{index:03}", created_ms=index, estimated=estimated, input_fresh=round(ratio * estimated))


STANDARD = Bounds()


def course(*ratios: float, bounds: Bounds = STANDARD) -> list[tuple[float | None, str, bool, float]]:
    steps = follow_ratio([sample(index, ratio) for index, ratio in enumerate(ratios)], bounds)
    return [(step.ratio, step.verdict, step.counts, step.applied_ratio) for step in steps]


def test_a_ratio_is_applied_from_the_third_accepted_sample_on() -> None:
    assert course(1.2, 1.18, 1.22, 1.9) == [
        (1.2, "accepted", True, 1.0),
        (1.18, "accepted", True, 1.0),
        (1.22, "accepted", True, 1.2),
        (1.9, "outlier", True, 1.2),
    ]


def test_a_ratio_outside_the_bounds_is_told_apart_from_an_outlier() -> None:
    assert [verdict for _, verdict, _, _ in course(1.0, 1.0, 1.0, 3.0, 1.5, 0.5)] == [
        "accepted",
        "accepted",
        "accepted",
        "hard_bound",
        "outlier",
        "outlier",
    ]


def test_a_sample_that_left_the_window_keeps_its_last_verdict() -> None:
    bounds = Bounds(window=3)
    assert course(1.0, 1.0, 1.5, 1.5, 1.5, bounds=bounds) == [
        (1.0, "accepted", False, 1.0),
        (1.0, "outlier", False, 1.0),
        (1.5, "accepted", True, 1.0),
        (1.5, "accepted", True, 1.0),
        (1.5, "accepted", True, 1.5),
    ]


def test_figures_that_no_call_has_are_no_sample() -> None:
    [step] = follow_ratio([Sample(id="a", created_ms=1, estimated=0, input_fresh=10)], STANDARD)
    assert (step.ratio, step.verdict, step.applied_ratio) == (None, "invalid", 1.0)


def test_nothing_seen_is_no_course() -> None:
    assert follow_ratio([], STANDARD) == ()


def test_the_report_of_a_course_is_its_calibration_and_every_call() -> None:
    course = draw_course(
        [sample(index, 1.7) for index in range(3)],
        STANDARD,
        target="openai/gpt-5",
        estimator="chars-v1",
        refused=[Refused(id="003", created_ms=0, reason="no_usage")],
        complete=False,
    )
    report = report_course(course, time_text=str, name_of=int)
    assert (report["target"], report["applied_ratio"], report["calibrated"]) == ("openai/gpt-5", 1.7, True)
    assert report["drift"] == {
        "code": "persistent-underestimate",
        "severity": "critical",
        "samples": 3,
        "ratio": 1.7,
    }
    assert report["samples"][1:] == [
        {
            "call": number,
            "time": str(number),
            "estimated": 1_000,
            "actual": 1_700,
            "ratio": 1.7,
            "verdict": "accepted",
            "counts": True,
            "applied_ratio": applied,
        }
        for number, applied in [(1, 1.0), (2, 1.7)]
    ]
    assert report["refused"] == [{"call": 3, "time": None, "reason": "no_usage"}]


SAMPLES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3_000)), max_size=60)


@given(figures=SAMPLES, window=st.integers(3, 30), half_life=st.sampled_from([0.0, 10.0]))
@pytest.mark.parametrize("enabled", [True, False])
def test_the_course_ends_with_the_counts_and_the_ratio_of_the_calibration(
    figures: list[tuple[int, int]], window: int, half_life: float, enabled: bool
) -> None:
    samples = [
        Sample(id=f"{index:03}", created_ms=created, estimated=1_000 if prompt != 7 else 0, input_fresh=prompt)
        for index, (created, prompt) in enumerate(figures)
    ]
    bounds = Bounds(window=window, half_life_ms=half_life)
    steps = follow_ratio(samples, bounds, enabled=enabled)
    calibration = calibrate(samples, bounds, enabled=enabled)
    verdicts = Counter(step.verdict for step in steps if step.counts)
    assert verdicts.total() == calibration.observed
    assert (verdicts["accepted"], verdicts["outlier"], verdicts["hard_bound"]) == (
        calibration.accepted,
        calibration.outliers,
        calibration.hard_bound,
    )
    assert (steps[-1].applied_ratio if steps else 1.0) == calibration.applied_ratio
