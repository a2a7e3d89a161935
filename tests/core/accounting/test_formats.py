"""Accounting specification, section 12."""

from __future__ import annotations

import pytest

from ullage.core.accounting.formats import (
    chars_text,
    compact_number,
    share_text,
    tokens_text,
    total_share_text,
    window_text,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0k"),
        (12, "0.0k"),
        (950, "0.9k"),
        (1_499, "1.5k"),
        (14_200, "14.2k"),
        (64_321, "64.3k"),
        (999_900, "999.9k"),
        (999_960, "1.0M"),
        (1_000_000, "1.0M"),
        (12_340_000, "12.3M"),
        (-2_500, "-2.5k"),
    ],
)
def test_numbers_have_one_unit_and_one_decimal(value: int, text: str) -> None:
    assert compact_number(value) == text


@pytest.mark.parametrize(("value", "text"), [(900, "0.9k"), (6_100, "6k"), (64_321, "64k"), (1_200_000, "1.2M")])
def test_the_coarse_style_drops_decimals_from_1k_on(value: int, text: str) -> None:
    assert compact_number(value, "coarse") == text


def test_an_estimate_wears_a_tilde_where_an_exact_number_has_a_space() -> None:
    assert tokens_text(14_200, exact=False) == "~14.2k"
    assert tokens_text(64_300, exact=True) == " 64.3k"


def test_characters_have_their_own_unit() -> None:
    assert chars_text(9_200) == "9.2k ch"


@pytest.mark.parametrize(
    ("window", "text"), [(200_000, "200k"), (128_500, "128.5k"), (1_000_000, "1M"), (1_048_576, "1M")]
)
def test_a_window_is_a_label(window: int, text: str) -> None:
    assert window_text(window) == text


def test_shares_are_whole_percentages_and_never_a_false_zero() -> None:
    assert share_text(16_000, 200_000, exact=False) == "~8% ctx"
    assert share_text(16_000, 200_000, exact=True) == "8% ctx"
    assert share_text(100, 200_000, exact=False) == "~<1% ctx"
    assert share_text(0, 200_000, exact=True) == "0% ctx"


def test_the_total_shows_one_decimal_beside_the_window() -> None:
    assert total_share_text(64_300, 200_000, exact=True) == "32.1% / 200k ctx"
    assert total_share_text(64_321, 200_000, exact=True) == "32.2% / 200k ctx"
