"""Planner specification, section 4.1 (rules 8 and 9) and regression R3; accounting specification, section 24."""

from __future__ import annotations

import pytest

from ullage.core.calibration import (
    IDENTITY,
    Bounds,
    Conversion,
    Law,
    Sample,
    calibrate,
    convert_growth,
    convert_ratio,
    report_conversion,
)


def test_nothing_known_is_one_for_one() -> None:
    assert IDENTITY.to_local(109_056) == 109_056


@pytest.mark.parametrize(
    ("conversion", "provider", "local"),
    [
        (Conversion(slope=1.25), 109_056, 87_244),
        (Conversion(offset=1_000, slope=1.6), 101_000, 62_500),
        (Conversion(offset=1_000.5), 2_000, 999),
        (Conversion(offset=5_000), 4_999, 0),
        (Conversion(), 0, 0),
    ],
)
def test_a_limit_loses_its_offset_before_it_is_divided(conversion: Conversion, provider: int, local: int) -> None:
    assert conversion.to_local(provider) == local


@pytest.mark.parametrize(("ratio", "slope"), [(1.25, 1.25), (0.67, 1.0), (1.0, 1.0)])
def test_a_ratio_below_one_makes_no_room(ratio: float, slope: float) -> None:
    """Regression R3: ratios of short prompts once put limits above the model's own."""
    samples = [
        Sample(id=str(number), created_ms=number, estimated=10_000, input_fresh=round(10_000 * ratio))
        for number in range(3)
    ]
    calibration = calibrate(samples, Bounds())
    assert calibration.applied_ratio == ratio
    assert convert_ratio(calibration) == Conversion(slope=slope)


def test_too_few_samples_convert_nothing() -> None:
    assert convert_ratio(calibrate([Sample(id="a", created_ms=1, estimated=1, input_fresh=2)], Bounds())) == IDENTITY


def test_growth_goes_through_its_anchor() -> None:
    """A call of 50,000 local tokens was 83,000 of the provider's: 1.6 for each, and 3,000 that we do not see."""
    conversion = convert_growth(Law(k=1.6), anchor_prompt=83_000, anchor_tokens=50_000)
    assert conversion == Conversion(offset=3_000, slope=1.6)
    assert conversion.to_local(83_000) == 50_000
    assert conversion.to_local(83_000 + 16_000) == 60_000


def test_growth_makes_no_room_either() -> None:
    """A k below 1 and an estimate above usage make the line lie low; no limit rises above the provider's own number (R3)."""
    flat = convert_growth(Law(k=0.8), anchor_prompt=40_000, anchor_tokens=50_000)
    assert flat == Conversion(offset=0, slope=0.8)
    assert flat.to_local(40_000) == 40_000
    low = convert_growth(Law(k=1.0), anchor_prompt=40_000, anchor_tokens=50_000)
    assert low == Conversion(offset=-10_000, slope=1.0)
    assert low.to_local(109_056) == 109_056


def test_the_report_is_rounded() -> None:
    assert report_conversion(Conversion(offset=1 / 3, slope=1.6), pairs=7) == {
        "offset": 0.333333,
        "slope": 1.6,
        "pairs": 7,
    }
