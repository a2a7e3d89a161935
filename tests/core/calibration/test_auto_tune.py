"""Planner specification, section 9, worked for a window of 128,000 with 16,384 tokens of output."""

from __future__ import annotations

import pytest

from ullage.core.calibration import AutoTune, Bounds, Sample, TuneStatus, calibrate, report_auto_tune, tune

TARGET = 89_600


def uses(count: int, prompt: int, estimated: int | None = None, *, first_ms: int = 0) -> list[Sample]:
    return [
        Sample(
            id=f"{first_ms + number:03}",
            created_ms=first_ms + number,
            estimated=estimated or prompt,
            input_fresh=prompt,
        )
        for number in range(count)
    ]


def tuned(samples: list[Sample], *, enabled: bool = True, target: int = TARGET) -> AutoTune:
    return tune(calibrate(samples, Bounds()), enabled=enabled, target=target)


@pytest.mark.parametrize(
    ("samples", "status", "watermark", "share"),
    [
        (uses(7, 1_000), "insufficient-samples", 1_000, 0.011161),
        (uses(8, 1_000), "expanded", 1_000, 0.011161),
        (uses(8, 100_000), "no-headroom", 100_000, 1.116071),
        ([*uses(8, 1_000), *uses(1, 100_000, 100, first_ms=50)], "no-headroom", 100_000, 1.116071),
        ([], "insufficient-samples", 0, 0.0),
    ],
)
def test_budgets_grow_while_there_is_ample_room(
    samples: list[Sample], status: TuneStatus, watermark: int, share: float
) -> None:
    assert tuned(samples) == AutoTune(
        status=status,
        factor=1.125 if status == "expanded" else 1.0,
        accepted=sum(sample.prompt == sample.estimated for sample in samples),
        high_watermark=watermark,
        watermark_share=share,
        target=TARGET,
    )


@pytest.mark.parametrize(
    ("target", "highest", "status"),
    [
        (89_600, 53_760, "expanded"),
        (89_600, 53_761, "no-headroom"),
        (735_000, 441_000, "expanded"),
        (735_000, 441_001, "no-headroom"),
    ],
)
def test_six_tenths_of_the_target_pass(target: int, highest: int, status: TuneStatus) -> None:
    """Section 4.3."""
    assert tuned([*uses(8, 1_000), *uses(1, highest, first_ms=50)], target=target).status == status


def test_room_returns_once_a_large_prompt_has_left_the_window() -> None:
    large = uses(1, 80_000)
    assert tuned([*large, *uses(23, 1_000, first_ms=50)]).status == "no-headroom"
    assert tuned([*large, *uses(24, 1_000, first_ms=50)]).status == "expanded"


def test_enough_samples_that_disagree_are_too_few() -> None:
    spread = [*uses(7, 1_000), *uses(2, 1_900, 1_000, first_ms=50)]
    assert tuned(spread).status == "insufficient-samples"


def test_a_minimum_above_eight_must_be_met_too() -> None:
    calibration = calibrate(uses(9, 1_000), Bounds(minimum=10))
    assert tune(calibration, enabled=True, target=TARGET).status == "insufficient-samples"


def test_a_target_of_nothing_has_no_headroom() -> None:
    assert tuned(uses(8, 1_000), target=0).status == "no-headroom"


def test_nothing_is_tuned_unless_asked_for() -> None:
    assert tuned(uses(8, 1_000), enabled=False) == AutoTune(status="disabled", target=TARGET)


def test_the_report_is_plain() -> None:
    assert report_auto_tune(tuned(uses(8, 1_000))) == {
        "status": "expanded",
        "factor": 1.125,
        "accepted": 8,
        "high_watermark": 1_000,
        "watermark_share": 0.011161,
        "target": TARGET,
    }
