"""Planner specification, section 4."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest

from ullage.core.calibration import IDENTITY, Conversion
from ullage.core.planning import Budget, Limits, draw_budget, report_budget
from ullage.settings.records import PlanningSettings


class Row(NamedTuple):
    """A row of table 4.2; `margin` is the profile's safety margin."""

    window: int
    max_output: int | None
    ratio: float
    margin: int
    reserve: int
    safety: int
    model_hard: int
    hard: int
    soft: int
    preferred: int
    active: int


ROWS = [
    Row(200_000, 32_768, 1, 4_000, 32_768, 4_000, 163_232, 163_232, 160_000, 140_000, 140_000),
    Row(200_000, 32_768, 1.2, 5_000, 32_768, 5_000, 162_232, 135_193, 133_333, 116_666, 116_666),
    Row(128_000, 16_384, 1, 2_560, 16_384, 2_560, 109_056, 109_056, 102_400, 89_600, 89_600),
    Row(128_000, 16_384, 1.25, 2_560, 16_384, 2_560, 109_056, 87_244, 81_920, 71_680, 71_680),
    Row(128_000, 16_384, 0.67, 2_560, 16_384, 2_560, 109_056, 109_056, 102_400, 89_600, 89_600),
    Row(32_000, 4_096, 1, 1_024, 4_096, 1_024, 26_880, 26_880, 25_600, 22_400, 22_400),
    Row(1_050_000, 128_000, 1, 8_192, 32_768, 8_192, 1_009_040, 945_000, 840_000, 735_000, 735_000),
    Row(1_050_000, 64, 1, 8_192, 64, 8_192, 1_041_744, 945_000, 840_000, 735_000, 735_000),
    Row(131_072, 131_072, 1, 2_622, 32_768, 2_622, 95_682, 95_682, 95_682, 91_750, 91_750),
]
REFERENCE = [
    Row(40_000, 32_768, 1, 1_024, 32_768, 1_024, 6_208, 6_208, 6_208, 28_000, 6_208),
    Row(16_384, None, 1, 1_024, 32_768, 0, 0, 0, 0, 11_468, 0),
    Row(8_192, 8_192, 1, 1_024, 8_192, 0, 0, 0, 0, 5_734, 0),
]
"""The rows that the specification calls a defect, as the reference computes them: next to no input, or none."""

CORRECTED = [
    Row(40_000, 32_768, 1, 1_024, 10_000, 1_024, 28_976, 28_976, 28_976, 28_000, 28_000),
    Row(16_384, None, 1, 1_024, 4_096, 1_024, 11_264, 11_264, 11_264, 11_264, 11_264),
    Row(8_192, 8_192, 1, 1_024, 2_048, 1_024, 5_120, 5_120, 5_120, 5_120, 5_120),
]


def budget(
    window: int, max_output: int | None = None, *, margin: int = 1_024, conversion: Conversion = IDENTITY
) -> Budget:
    return draw_budget(
        window=window, max_output=max_output, safety_margin=margin, limits=Limits(), conversion=conversion
    )


def drawn(row: Row) -> Row:
    conversion = Conversion(slope=max(1.0, row.ratio))
    made = budget(row.window, row.max_output, margin=row.margin, conversion=conversion)
    return Row(
        *row[:4],
        reserve=made.output_reserve,
        safety=made.safety_margin,
        model_hard=made.model_input_hard,
        hard=made.hard,
        soft=made.soft,
        preferred=made.preferred,
        active=made.active,
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.window}-{row.max_output}-{row.ratio}")
def test_a_budget_is_that_of_the_table(row: Row) -> None:
    assert drawn(row) == row


@pytest.mark.parametrize(
    ("reference", "corrected"), list(zip(REFERENCE, CORRECTED, strict=True)), ids=["40000", "16384", "8192"]
)
def test_a_small_window_keeps_room_for_input(reference: Row, corrected: Row) -> None:
    """Regression R45: the reference leaves it a tenth or nothing, and by preference more than that (C9)."""
    made = drawn(corrected)
    assert made == corrected
    assert made.hard > reference.hard
    assert reference.preferred > reference.hard


@pytest.mark.parametrize("margin", [0, 1_024, 10_000_000])
def test_no_window_is_without_input(margin: int) -> None:
    for window in range(1, 5_000):
        made = budget(window, window, margin=margin)
        assert 1 <= made.preferred <= made.soft <= made.hard <= window
        assert made.output_reserve + made.safety_margin + made.model_input_hard == window


def test_a_reserve_takes_no_more_than_a_quarter_of_the_window() -> None:
    assert [budget(100_000, output).output_reserve for output in (24_999, 25_000, 25_001, None)] == [
        24_999,
        25_000,
        25_000,
        25_000,
    ]


def test_a_margin_leaves_a_third_of_what_the_reserve_leaves() -> None:
    assert budget(100_000, 10_000, margin=60_000).model_input_hard == 30_000
    made = budget(100_000, 10_000, margin=60_001)
    assert (made.safety_margin, made.model_input_hard) == (60_000, 30_000)


def test_a_limit_on_the_prompt_alone_holds_beside_the_window() -> None:
    """Models that take 272,000 tokens and answer with 128,000 in a window of 400,000."""
    made = draw_budget(
        window=400_000, max_output=128_000, max_input=272_000, safety_margin=8_000, limits=Limits(), conversion=IDENTITY
    )
    assert (made.model_input_hard, made.nominal_hard, made.preferred) == (264_000, 264_000, 264_000)
    wide = draw_budget(
        window=400_000, max_output=128_000, max_input=390_000, safety_margin=8_000, limits=Limits(), conversion=IDENTITY
    )
    assert wide == budget(400_000, 128_000, margin=8_000)


def test_the_reserve_is_what_the_request_asks_for_where_that_is_more() -> None:
    """Regression R44: 400, input and output exceed the window."""
    asked = [None, 1, 32_768, 32_769, 64_000, 175_000]
    made = [
        draw_budget(window=200_000, max_output=None, safety_margin=4_000, limits=Limits(), requested_output=n)
        for n in asked
    ]
    assert [one.output_reserve for one in made] == [32_768, 32_768, 32_768, 32_769, 64_000, 175_000]
    assert [one.hard for one in made] == [163_232, 163_232, 163_232, 163_231, 132_000, 21_000]
    assert all(one.preferred <= one.soft <= one.hard <= 200_000 - one.output_reserve for one in made)


def test_a_request_that_asks_for_the_whole_window_is_not_taken_at_its_word() -> None:
    """Regression R45: what leaves less than an eighth for the prompt would let none pass."""
    for window in (8_192, 131_072, 200_000):
        for asked in (window - window // 8 + 1, window, 10 * window):
            made = draw_budget(
                window=window, max_output=window, safety_margin=1_024, limits=Limits(), requested_output=asked
            )
            assert made == budget(window, window)


def test_no_window_is_without_input_whatever_is_asked_for() -> None:
    for window in range(1, 300):
        for asked in range(1, window + 2):
            made = draw_budget(
                window=window, max_output=None, safety_margin=window // 10, limits=Limits(), requested_output=asked
            )
            assert 1 <= made.preferred <= made.soft <= made.hard <= window - made.output_reserve


def test_limits_are_floors_of_ieee_doubles() -> None:
    """Section 0: 90 x 0.7 is a little below 63."""
    assert budget(90, 1, margin=0).nominal_preferred == 62


def test_what_usage_does_not_explain_is_taken_off_before_dividing() -> None:
    made = budget(200_000, 32_768, margin=4_000, conversion=Conversion(offset=3_232, slope=1.6))
    assert (made.nominal_hard, made.nominal_soft, made.nominal_preferred) == (163_232, 160_000, 140_000)
    assert (made.hard, made.soft, made.preferred) == (100_000, 97_980, 85_480)
    assert (made.offset, made.ratio) == (3_232, 1.6)


def test_an_offset_above_every_limit_leaves_one_token() -> None:
    made = budget(8_192, 8_192, conversion=Conversion(offset=9_000.0))
    assert (made.hard, made.soft, made.preferred) == (1, 1, 1)


def test_the_shares_and_the_reserve_are_the_settings() -> None:
    limits = Limits(
        target_fill_ratio=0.5,
        soft_limit_ratio=0.6,
        hard_limit_ratio=0.7,
        minimum_output_reserve=1_000,
        preferred_output_reserve=2_000,
    )
    made = draw_budget(window=100_000, max_output=50_000, safety_margin=2_000, limits=limits)
    assert made.output_reserve == 2_000
    assert (made.hard, made.soft, made.preferred) == (70_000, 60_000, 50_000)


def test_limits_are_the_settings_of_the_same_names_and_defaults() -> None:
    assert msgspec.convert(PlanningSettings(), Limits, from_attributes=True) == Limits()


def test_the_report_is_plain_and_says_what_is_active() -> None:
    plain = report_budget(budget(128_000, 16_384, margin=2_560, conversion=Conversion(slope=1.25)))
    assert (
        msgspec.json.decode(msgspec.json.encode(plain))
        == plain
        == {
            "context_window": 128_000,
            "output_reserve": 16_384,
            "safety_margin": 2_560,
            "model_input_hard": 109_056,
            "nominal_hard": 109_056,
            "nominal_soft": 102_400,
            "nominal_preferred": 89_600,
            "ratio": 1.25,
            "offset": 0.0,
            "hard": 87_244,
            "soft": 81_920,
            "preferred": 71_680,
            "active": 71_680,
        }
    )
