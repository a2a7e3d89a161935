"""Cuts of text: bounded, and never inside what is read as one character."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from ullage.core.evidence.excerpts import (
    LONGEST_CLUSTER,
    cut_before,
    cut_behind,
    head,
    lower_in_place,
    may_cut,
    shorten,
    tail,
)
from ullage.core.tokens.estimators import utf16_units

PIECES = st.sampled_from(
    [
        *["a", " ", "\n", "\r\n", "\r", "\t", "\u00ad", "é", "e\u0301", "\u0301", "漢", "字", "\u200c", "\u200d"],
        *["🦊", "🇩🇪", "🇩", "👩\u200d💻", "👨\u200d👩\u200d👧", "👍\U0001f3fd", "❤\ufe0f", "1\ufe0f\u20e3"],
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        *["각", "\u1100\u1161\u11a8", "\u1100", "ก\u0e33", "ｶ\uff9e", "\u0600", "\u0661"],
        *["\u0915\u094d\u0937\u093f", "\u0915\u094d\u200d\u0937", "\u0ba8\u0bbf"],
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def clusters(text: str) -> set[int]:
    """Where Unicode's own rule, as another implementation has it, allows a cut."""
    return {0, *accumulate(len(cluster) for cluster in regex.findall(r"\X", text))}


@given(TEXTS, st.integers(0, 60))
@example("🇩🇪🇩🇪🇩🇪", 3)
@example("a\u0301\u0301b", 2)
def test_a_cut_is_never_inside_a_grapheme_cluster(text: str, index: int) -> None:
    index = min(index, len(text))
    allowed = clusters(text)
    assert cut_before(text, index) in allowed
    assert cut_behind(text, index) in allowed
    assert cut_before(text, index) <= index <= cut_behind(text, index)


@given(TEXTS | st.text(max_size=60), st.integers(0, 80))
def test_head_and_tail_are_ends_of_the_text_and_never_too_long(text: str, chars: int) -> None:
    first, last = head(text, chars), tail(text, chars)
    assert text.startswith(first) and text.endswith(last)
    assert utf16_units(first) <= chars and utf16_units(last) <= chars
    if utf16_units(text) <= chars:
        assert first == last == text


@given(TEXTS, st.integers(0, 80))
def test_no_cut_leaves_half_a_surrogate_pair(text: str, chars: int) -> None:
    for part in (head(text, chars), tail(text, chars), shorten(text, chars + 1)):
        part.encode()
        assert utf16_units(shorten(text, chars + 1)) <= chars + 1


@pytest.mark.parametrize(
    ("text", "chars", "first", "last"),
    [
        ("", 5, "", ""),
        ("abc", 0, "", ""),
        ("abc", -1, "", ""),
        ("abcdef", 3, "abc", "def"),
        ("🦊🦊🦊", 5, "🦊🦊", "🦊🦊"),
        ("x👩‍💻y", 5, "x", "y"),
        ("x👩‍💻y", 6, "x👩‍💻", "👩‍💻y"),
        ("🇩🇪🇫🇷", 6, "🇩🇪", "🇫🇷"),
        ("ee\u0301", 2, "e", "e\u0301"),
        ("a\r\nb", 2, "a", "b"),
        ("क्षि", 3, "", ""),
    ],
    ids=repr,
)
def test_cuts_in_single_cases(text: str, chars: int, first: str, last: str) -> None:
    assert (head(text, chars), tail(text, chars)) == (first, last)


def test_characters_are_utf16_units() -> None:
    assert [utf16_units(text) for text in ("", "abc", "é漢", "🦊", "a🦊b", "👩‍💻", "\ud83d")] == [0, 3, 2, 2, 4, 5, 1]


def test_ascii_is_cut_anywhere_but_in_a_line_end() -> None:
    text = "one\r\ntwo"
    assert [index for index in range(len(text) + 1) if not may_cut(text, index)] == [4]


def test_a_text_that_is_one_endless_character_is_cut_all_the_same() -> None:
    pile = "a" + "\u0301" * 10_000
    assert len(head(pile, 5_000)) == 5_000
    assert len(tail(pile, 5_000)) == 5_000
    assert head(pile, LONGEST_CLUSTER) == ""


def test_a_long_row_of_flags_is_cut_between_two_flags() -> None:
    flags = "🇩🇪" * 5_000
    assert head(flags, 4_002) == "🇩🇪" * 1_000
    assert tail(flags, 4_002) == "🇩🇪" * 1_000


def test_surrogates_that_a_decoder_left_side_by_side_stay_together() -> None:
    halves = "ab\ud83d\ude00cd"
    assert head(halves, 3) == "ab"
    assert tail(halves, 3) == "cd"


@given(st.text())
@example("İSTANBUL straße ΑΣ")
def test_lower_case_keeps_every_letter_in_its_place(text: str) -> None:
    lowered = lower_in_place(text)
    assert len(lowered) == len(text)
    assert lower_in_place(lowered) == lowered


@pytest.mark.shared
def test_the_emoji_case_of_the_recorded_requests_is_cut_cleanly(shared_data: Path) -> None:
    """Case c12: at every length."""
    case = json.loads((shared_data / "cases" / "c12-cut-inside-emoji.json").read_bytes())
    text = case["request"]["messages"][3]["content"]
    allowed = clusters(text)
    for chars in range(400):
        assert len(head(text, chars)) in allowed
        assert len(text) - len(tail(text, chars)) in allowed
