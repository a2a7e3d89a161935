"""Figures and ids for people."""

from __future__ import annotations

import pytest

from ullage.cli.records import ago, complete_id, shorten_ids, table, tokens

DAY_S = 86_400


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"),
        (0, "0.0k"),
        (999, "1.0k"),
        (84_249, "84.2k"),
        (612_345, "612.3k"),
        (1_200_000, "1.2M"),
        (-1_500, "-1.5k"),
    ],
)
def test_tokens_are_told_as_the_views_tell_them(number: int | None, text: str) -> None:
    """Accounting specification, section 12."""
    assert tokens(number) == text
    assert tokens(number, estimated=True) == ("-" if number is None else f"~{text}")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "just now"),
        (0, "just now"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3_599, "59 min ago"),
        (3_600, "1 h ago"),
        (DAY_S, "1 d ago"),
        (30 * DAY_S, "2026-04-28"),
    ],
)
def test_times_are_told_in_the_largest_unit(seconds: int, text: str) -> None:
    now_ms = 1_780_000_000_000
    assert ago(now_ms - seconds * 1000, now_ms) == text


def test_ids_are_cut_where_they_still_differ() -> None:
    assert shorten_ids(["0123456789ab", "0123456789cd", "ffff"]) == {
        "0123456789ab": "0123456789a",
        "0123456789cd": "0123456789c",
        "ffff": "ffff",
    }
    assert shorten_ids(["0123456789"]) == {"0123456789": "01234567"}
    assert shorten_ids([]) == {}


def test_an_id_that_is_the_beginning_of_another_stays_whole() -> None:
    assert shorten_ids(["aaaaaaaa", "aaaaaaaa/b"]) == {"aaaaaaaa": "aaaaaaaa", "aaaaaaaa/b": "aaaaaaaa/"}


def test_columns_are_aligned_and_lines_have_no_tail() -> None:
    assert table(("a", "long"), [("xyz", "1"), ("", "")], right=(1,)) == ["a    long", "xyz     1", ""]


def test_what_steers_a_terminal_is_not_printed() -> None:
    assert table(("a",), [("a\x1b[0m\u202e\nb é 漢",)]) == ["a", "a·[0m··b é 漢"]


def test_a_session_is_found_among_hundreds_of_sub_agents() -> None:
    ids = sorted(["s1", *(f"s1/{number}" for number in range(500))])
    assert complete_id("s", "session", lambda prefix, limit: ids[:limit]) == "s1"
