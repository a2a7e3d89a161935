"""How much of a prompt a regular expression may be searched in (routing specification, section 14)."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.routing.pattern_cost import LENGTHS, search_length


@pytest.mark.parametrize(
    "pattern",
    [
        "hotfix|prod(uction)? down",
        "invoice|rechnung|請求書",
        r"\b(bug|error|fail)s?\b",
        r"\bfoo\b.*\bbar\b",
        r"^\s*fix(es|ed)?\b.*#\d+",
        "(?:foo|bar)+x",
        "(foo|fob)*z",
        "(x|y)*z",
        "(ab?)+",
        "[a-z]+[0-9]+[a-z]+!",
        "([a-z]+ )*!",
        "(?i:A*)1",
        r"[^\W\d]+\d",
        "a++",
        "(?>a|ab|aba)*?c",
        "a{0,2000}b",
        "(?=a*)b",
        "(?P<x>a)?(?(x)b|c)",
        "(a|ab)(c|bcd)(d*)",
        "(a{2}){300}b",
    ],
)
def test_what_the_next_character_decides_is_searched_in_all_that_may_be(pattern: str) -> None:
    assert search_length(pattern) == LENGTHS[0]


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("a.*b.*c", 400),
        (".*.*x", 400),
        (r"(a|b)?a?\w?.*x", 2_000),
        ("(?:a{0,2000}){2}b", 400),
    ],
)
def test_with_more_ways_to_match_less_of_a_prompt_is_searched(pattern: str, length: int) -> None:
    assert search_length(pattern) == length


@pytest.mark.parametrize(
    "pattern",
    [
        "(a|a)*b",
        "(ac|Ac)*b",
        "(kc|\u212ac)*b",
        "(a*)*",
        "((a)+)*",
        "(?:x|y+){2,}",
        r"([a-z]+)*$",
        r"^(\w+\s?)*$",
        r"(\wx|\dx)+x",
        "([^a]c|bc)*c",
        r"(\Da|xa)*c",
        r"([^\W]a|xa)*c",
        "(.a|xa)*c",
        r"\s*\s*\s*$",
        ".*a.*a.*b",
        "a?" * 30 + "a" * 30,
        "(a|a){30}b",
        "(a|b?){20}c",
        "(a{0,40}){0,40}b",
        r"(a)\1*b",
        "(?:a?)+b",
        "((?=a)a|a)*b",
        "(?P<x>a)?(?(x)b|b)*c",
        "(请求|求请)+x",
    ],
)
def test_what_may_take_for_ever_is_not_searched(pattern: str) -> None:
    assert search_length(pattern) is None


def test_what_is_no_expression_is_told_as_such() -> None:
    with pytest.raises(re.error):
        search_length("(")


PIECES = st.sampled_from(
    [*"abx|*+?.()[]^$", "(?:", "{2}", "{0,9}", "{3,}", r"\w", r"\s", r"\b", "[ab]", "[^a]", "(?=", "(?!", "(?>"]
)


@given(pattern=st.lists(PIECES, max_size=14).map("".join))
def test_every_expression_of_python_is_judged(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of sets that may mean something else one day
        try:
            re.compile(pattern)
        except re.error:
            return
        assert search_length(pattern) in (None, *LENGTHS)
