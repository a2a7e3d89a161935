"""Planner specification, section 8."""

from __future__ import annotations

import pytest

from ullage.core.calibration import Bounds, Calibration, Drift, Sample, calibrate, find_drift, report_drift


def learned(ratio: float, count: int) -> Calibration:
    return calibrate(
        [
            Sample(id=str(number), created_ms=number, estimated=1_000_000, input_fresh=round(ratio * 1_000_000))
            for number in range(count)
        ],
        Bounds(),
    )


@pytest.mark.parametrize(
    ("ratio", "count", "code", "severity"),
    [
        (1.4, 2, None, None),
        (1.05, 8, None, None),
        (1.4, 3, "persistent-underestimate", "warning"),
        (0.6, 3, "persistent-overestimate", "critical"),
        (3.0, 3, "calibration-outliers", "warning"),
        (1.249999, 3, None, None),
        (1.25, 3, "persistent-underestimate", "warning"),
        (1.599999, 3, "persistent-underestimate", "warning"),
        (1.6, 3, "persistent-underestimate", "critical"),
        (0.800001, 3, None, None),
        (0.8, 3, "persistent-overestimate", "warning"),
        (0.625001, 3, "persistent-overestimate", "warning"),
        (0.625, 3, "persistent-overestimate", "critical"),
        (3.0, 2, None, None),
    ],
)
def test_a_ratio_that_stays_off_is_told(ratio: float, count: int, code: str | None, severity: str | None) -> None:
    drift = find_drift(learned(ratio, count), Bounds())
    assert (drift and drift.code, drift and drift.severity) == (code, severity)


def test_a_warning_names_its_samples_and_its_ratio() -> None:
    assert find_drift(learned(1.4, 5), Bounds()) == Drift(
        code="persistent-underestimate", severity="warning", samples=5, ratio=1.4
    )
    assert find_drift(learned(3.0, 4), Bounds()) == Drift(
        code="calibration-outliers", severity="warning", samples=4, ratio=None
    )


def test_a_persistent_ratio_is_told_before_outliers() -> None:
    mixed = Calibration(
        observed=8,
        accepted=4,
        rejected=4,
        outliers=2,
        hard_bound=2,
        median_ratio=1.3,
        applied_ratio=1.3,
        calibrated=True,
        high_watermark=0,
    )
    drift = find_drift(mixed, Bounds())
    assert drift is not None
    assert (drift.code, drift.samples) == ("persistent-underestimate", 4)


def test_outliers_and_bounds_are_counted_together() -> None:
    samples = [
        Sample(id=str(number), created_ms=number, estimated=1_000, input_fresh=fresh)
        for number, fresh in enumerate([1_000, 1_000, 1_000, 1_000, 1_900, 3_000, 3_100])
    ]
    assert find_drift(calibrate(samples, Bounds()), Bounds()) == Drift(
        code="calibration-outliers", severity="warning", samples=3, ratio=1.0
    )


@pytest.mark.parametrize(
    ("median", "code"),
    [
        (1.358562, "persistent-underestimate"),
        (0.995839, None),
        (1.313150, "persistent-underestimate"),
        (0.962552, None),
    ],
)
def test_the_published_medians_warn_of_characters_and_not_of_tokens(median: float, code: str | None) -> None:
    """Section 32: chars-v1 and BPE for GPT-4o-mini, then for a DeepSeek model."""
    drift = find_drift(learned(median, 8), Bounds())
    assert (drift and drift.code) == code


@pytest.mark.parametrize("ratio", [1.4, 3.0])
def test_without_awareness_nothing_is_told(ratio: float) -> None:
    assert find_drift(learned(ratio, 8), Bounds(), enabled=False) is None


def test_the_report_is_plain_or_nothing() -> None:
    assert report_drift(None) is None
    assert report_drift(find_drift(learned(1.4, 3), Bounds())) == {
        "code": "persistent-underestimate",
        "severity": "warning",
        "samples": 3,
        "ratio": 1.4,
    }
