"""Planner specification, section 7."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.core.calibration import Bounds, Calibration, Sample, calibrate, newest, report_calibration
from ullage.core.calibration.rounding import round_ratio
from ullage.settings.records import CalibrationSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

DAY_MS = 86_400_000


def samples(ratios: Iterable[float], *, estimated: int = 1_000, every_ms: int = 1) -> list[Sample]:
    """Samples of these ratios, the oldest first."""
    return [
        Sample(
            id=f"call-{number:03}",
            created_ms=(number + 1) * every_ms,
            estimated=estimated,
            input_fresh=round(ratio * estimated),
        )
        for number, ratio in enumerate(ratios)
    ]


def calibrated(*ratios: float, **bounds: Any) -> Calibration:
    return calibrate(samples(ratios), Bounds(**bounds))


@pytest.mark.parametrize(
    ("ratios", "accepted", "outliers", "hard_bound", "median", "applied"),
    [
        ([1.20, 1.18, 1.22, 1.90], 3, 1, 0, 1.2, 1.2),
        ([1.0, 1.0, 1.0, 1.12], 3, 1, 0, 1.0, 1.0),
        ([1.0, 1.1, 1.2, 1.3, 1.4], 5, 0, 0, 1.2, 1.2),
        ([0.5, 0.5, 2.0, 2.0], 4, 0, 0, 1.25, 1.25),
        ([3, 3, 3], 0, 0, 3, None, 1.0),
        ([1.3, 1.3], 2, 0, 0, 1.3, 1.0),
        ([], 0, 0, 0, None, 1.0),
    ],
)
def test_a_ratio_is_that_of_the_table(
    ratios: list[float], accepted: int, outliers: int, hard_bound: int, median: float | None, applied: float
) -> None:
    found = calibrated(*ratios)
    assert (found.observed, found.accepted, found.rejected) == (len(ratios), accepted, len(ratios) - accepted)
    assert (found.outliers, found.hard_bound) == (outliers, hard_bound)
    assert (found.median_ratio, found.applied_ratio) == (median, applied)
    assert found.calibrated == (accepted >= 3)


@pytest.mark.parametrize(
    ("spread", "accepted"),
    [
        # center 1.21, MAD 0.02: a tenth of the center is the widest of the three tolerances
        ([1.20, 1.18, 1.22, 1.332], 3),
        ([1.20, 1.18, 1.22, 1.330], 4),
        # center 0.5: five hundredths are more than a tenth of it
        ([0.5, 0.5, 0.5, 0.549], 4),
        ([0.5, 0.5, 0.5, 0.551], 3),
        # center 1.2, MAD 0.1: 0.44478, three scaled deviations
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.2, 1.64], 7),
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.2, 1.65], 6),
    ],
)
def test_the_widest_of_three_tolerances_counts(spread: list[float], accepted: int) -> None:
    assert calibrated(*spread).accepted == accepted


def test_both_bounds_are_inclusive() -> None:
    found = calibrated(0.5, 2.0, 0.499, 2.001)
    assert (found.accepted, found.hard_bound) == (2, 2)


def test_the_newest_of_the_window_count_and_of_one_moment_those_of_the_last_id() -> None:
    old = [Sample(id=f"z{number}", created_ms=1, estimated=100, input_fresh=180) for number in range(3)]
    tied = [Sample(id=name, created_ms=2, estimated=100, input_fresh=fresh) for name, fresh in (("a", 100), ("b", 120))]
    window = newest([*tied, *old], 3)
    assert [sample.id for sample in window] == ["b", "a", "z2"]
    found = calibrate([*tied, *old], Bounds(window=1, minimum=1))
    assert (found.observed, found.applied_ratio) == (1, 1.2)


def test_an_invalid_sample_is_observed_and_rejected_but_neither_an_outlier_nor_out_of_bounds() -> None:
    sound = samples([1.1, 1.1, 1.1])
    broken = [
        Sample(id="no estimate", created_ms=9, estimated=0, input_fresh=1_000),
        Sample(id="no usage", created_ms=9, estimated=1_000),
        Sample(id="negative", created_ms=9, estimated=1_000, input_fresh=2_000, cache_read=-1_000),
        Sample(id="before time", created_ms=-1, estimated=1_000, input_fresh=1_000),
        Sample(id="unsafe", created_ms=9, estimated=2**53, input_fresh=2**53),
    ]
    found = calibrate([*broken, *sound], Bounds())
    assert found == Calibration(
        observed=8,
        accepted=3,
        rejected=5,
        outliers=0,
        hard_bound=0,
        median_ratio=1.1,
        applied_ratio=1.1,
        calibrated=True,
        high_watermark=1_100,
    )


def test_what_was_read_from_cache_or_written_to_it_is_part_of_the_prompt() -> None:
    """Regression R39: occupancy is input, read and written; the parts are disjoint in either convention (R40)."""
    sample = Sample(id="a", created_ms=1, estimated=1_000, input_fresh=200, cache_read=900, cache_write=100)
    assert sample.prompt == 1_200
    assert calibrate([sample], Bounds(minimum=1)).applied_ratio == 1.2


def test_a_ratio_is_rounded_half_up_to_six_decimals() -> None:
    third = [Sample(id=str(number), created_ms=number, estimated=3, input_fresh=4) for number in range(3)]
    assert calibrate(third, Bounds()).applied_ratio == 1.333333
    assert [round_ratio(value) for value in (0.0000005, 1.0000015, 2.4999994)] == [0.000001, 1.000002, 2.499999]


def test_a_bound_of_more_than_six_decimals_holds_after_rounding() -> None:
    third = [Sample(id=str(number), created_ms=number, estimated=3, input_fresh=4) for number in range(3)]
    found = calibrate(third, Bounds(lower=1.3333333))
    assert (found.median_ratio, found.applied_ratio) == (1.333333, 1.3333333)


def test_without_awareness_nothing_is_applied() -> None:
    found = calibrate(samples([1.2] * 8), Bounds(), enabled=False)
    assert (found.calibrated, found.applied_ratio, found.accepted, found.median_ratio) == (False, 1.0, 8, 1.2)


def test_the_high_watermark_is_of_every_valid_sample() -> None:
    """Regression R5: of outliers and of those outside the bounds too."""
    beyond = Sample(id="beyond", created_ms=99, estimated=100, input_fresh=100_000)
    found = calibrate([*samples([1.0] * 8), beyond], Bounds())
    assert (found.accepted, found.hard_bound, found.high_watermark) == (8, 1, 100_000)


def test_with_ageing_off_an_old_sample_counts_like_a_new_one() -> None:
    assert calibrate(samples([1.0, 1.0, 1.09, 1.09], every_ms=300 * DAY_MS), Bounds()).applied_ratio == 1.045


def test_with_ageing_on_newer_samples_have_the_say() -> None:
    """Five samples, a day apart: with a half-life of a day the newest alone weighs more than all before it."""
    ratios = [1.0, 1.0, 1.0, 1.0, 1.09]
    aged = samples(ratios, every_ms=DAY_MS)
    assert calibrate(aged, Bounds()).applied_ratio == 1.0
    assert calibrate(aged, Bounds(half_life_ms=DAY_MS)).applied_ratio == 1.09
    assert calibrate(aged, Bounds(half_life_ms=1_000 * DAY_MS)).applied_ratio == 1.0


def test_samples_of_one_moment_age_alike() -> None:
    found = calibrate(samples([1.0, 1.0, 1.09, 1.09], every_ms=0), Bounds(half_life_ms=DAY_MS))
    assert found.applied_ratio == 1.045


def test_samples_beyond_all_half_lives_still_have_a_median() -> None:
    old = samples([1.0, 1.0, 1.0])
    latest = Sample(id="latest", created_ms=10**12, estimated=1_000, input_fresh=2_500)
    assert calibrate([*old, latest], Bounds(half_life_ms=1.0)).applied_ratio == 1.0


def test_with_ageing_on_an_old_sample_leaves_the_high_watermark() -> None:
    """Four half-lives: it weighs a sixteenth then."""
    large = Sample(id="large", created_ms=0, estimated=100_000, input_fresh=100_000)
    small = Sample(id="small", created_ms=4 * DAY_MS, estimated=1_000, input_fresh=1_000)
    ageing = Bounds(half_life_ms=DAY_MS)

    def high_watermark(bounds: Bounds, now_ms: int | None) -> int:
        return calibrate([large, small], bounds, now_ms=now_ms).high_watermark

    assert high_watermark(ageing, None) == 100_000
    assert high_watermark(ageing, 4 * DAY_MS) == 100_000
    assert high_watermark(ageing, 4 * DAY_MS + 1) == 1_000
    assert high_watermark(ageing, 9 * DAY_MS) == 0
    assert high_watermark(Bounds(), 9 * DAY_MS) == 100_000


def test_bounds_have_the_defaults_of_the_settings() -> None:
    settings = CalibrationSettings()
    assert Bounds() == Bounds(
        window=settings.window,
        minimum=settings.minimum_samples,
        lower=settings.lower_bound,
        upper=settings.upper_bound,
        half_life_ms=settings.half_life_days * DAY_MS,
    )


def test_the_report_leaves_out_a_hard_bound_that_nothing_crossed() -> None:
    plain = report_calibration(calibrated(1.2, 1.2, 1.2, 1.9), Bounds(), method="ratio-v1", estimator="chars-v1")
    assert (
        msgspec.json.decode(msgspec.json.encode(plain))
        == plain
        == {
            "method": "ratio-v1",
            "estimator": "chars-v1",
            "window": 24,
            "minimum_samples": 3,
            "lower_bound": 0.5,
            "upper_bound": 2.0,
            "observed": 4,
            "accepted": 3,
            "rejected": 1,
            "outliers": 1,
            "median_ratio": 1.2,
            "applied_ratio": 1.2,
            "calibrated": True,
        }
    )
    crossed = report_calibration(calibrated(3.0), Bounds(), method="ratio-v1", estimator="chars-v1")
    assert (crossed["hard_bound"], crossed["median_ratio"]) == (1, None)
