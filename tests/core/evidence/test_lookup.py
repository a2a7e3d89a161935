"""Bounded searches in kept texts, and readings of their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.errors import CallError
from ullage.core.evidence.lookup import MOST_LINES, Lines, check_query, find_matches, read_lines
from ullage.core.tokens.estimators import utf16_units


def found(text: str, query: str, most: int = 12, chars: int = 12_000) -> list[tuple[int, str]]:
    return [(match.line, match.excerpt) for match in find_matches(text, query, most=most, chars=chars).matches]


def test_a_phrase_is_found_in_whatever_case_with_300_characters_on_either_side() -> None:
    text = "a" * 1_000 + "NeedLe" + "b" * 1_000
    assert found(text, "needle") == [(1, "a" * 300 + "NeedLe" + "b" * 300)]


def test_a_query_is_literal() -> None:
    assert found("a.c abc", "a.c") == [(1, "a.c abc")]
    assert found("x [y", "[y") == [(1, "x [y")]


def test_the_line_is_that_of_the_match() -> None:
    assert [line for line, _ in found("\n".join(f"{'x' * 700}{number}" for number in range(9)), "x5")] == [6]


def test_excerpts_do_not_overlap_and_what_one_shows_gets_none_of_its_own() -> None:
    text = ("needle " + "x" * 193) * 5
    result = find_matches(text, "needle", most=12, chars=12_000)
    shown = "".join(match.excerpt for match in result.matches)
    assert result.total == shown.count("needle") == 5
    assert text.startswith(shown)
    assert len(result.matches) < 5


def test_no_more_matches_are_shown_than_asked_for_but_all_are_counted() -> None:
    text = ("needle" + "x" * 1_000) * 30
    result = find_matches(text, "needle", most=12, chars=100_000)
    assert (result.total, len(result.matches)) == (30, 12)


def test_all_excerpts_together_stay_within_the_limit() -> None:
    text = ("needle" + "x" * 1_000) * 30
    result = find_matches(text, "needle", most=12, chars=2_000)
    assert (result.total, len(result.matches)) == (30, 3)


@pytest.mark.parametrize("query", ["", "a", " a ", "x" * 201])
def test_a_query_has_2_to_200_characters(query: str) -> None:
    with pytest.raises(CallError, match="characters"):
        find_matches("text", query, most=1, chars=100)


@pytest.mark.parametrize("query", ["ab", "x" * 200, "🦊"])
def test_queries_at_the_limits_are_taken(query: str) -> None:
    assert check_query(f" {query} ") == query


def test_letters_that_grow_in_lower_case_do_not_shift_what_is_found() -> None:
    assert found("İ" * 10 + "needle", "NEEDLE") == [(1, "İ" * 10 + "needle")]


@given(st.text(max_size=400), st.text(min_size=2, max_size=5), st.integers(0, 900))
def test_whatever_is_searched_the_answer_is_bounded(text: str, query: str, chars: int) -> None:
    if not 2 <= utf16_units(query.strip()) <= 200:
        return
    result = find_matches(text, query, most=3, chars=chars)
    assert len(result.matches) <= min(3, result.total)
    assert sum(utf16_units(match.excerpt) for match in result.matches) <= chars
    assert all(match.excerpt in text for match in result.matches)


TEXT = "\n".join(f"line {number}" for number in range(1, 501))


def test_lines_are_read_from_a_number_on() -> None:
    assert read_lines(TEXT, 3, 2, chars=1_000) == Lines(first=3, lines=("line 3", "line 4"), total=500)
    assert read_lines(TEXT, 500, 10, chars=1_000) == Lines(first=500, lines=("line 500",), total=500)


def test_120_lines_are_read_if_nothing_is_said_and_200_at_most() -> None:
    assert len(read_lines(TEXT, chars=100_000).lines) == 120
    assert len(read_lines(TEXT, 1, 1_000, chars=100_000).lines) == MOST_LINES
    assert len(read_lines(TEXT, 1, 0, chars=100_000).lines) == 1


def test_only_whole_lines_are_read_as_long_as_they_fit() -> None:
    assert read_lines("aaaa\nbbbb\ncccc", chars=11).lines == ("aaaa", "bbbb")
    assert read_lines("aaaa\nbbbb\ncccc", chars=10).lines == ("aaaa", "bbbb")
    assert read_lines("aaaa\nbbbb\ncccc", chars=8).lines == ("aaaa",)


def test_a_first_line_that_is_too_long_is_cut_and_that_is_said() -> None:
    assert read_lines("🦊🦊🦊\nb", chars=5) == Lines(first=1, lines=("🦊🦊",), total=2, cut_chars=2)


@pytest.mark.parametrize("first", [0, -1, 4])
def test_a_line_that_is_not_there_is_an_error_that_says_which_are(first: int) -> None:
    with pytest.raises(CallError) as caught:
        read_lines("a\nb\nc", first, chars=100)
    assert caught.value.hint == "The text has lines 1 to 3."
