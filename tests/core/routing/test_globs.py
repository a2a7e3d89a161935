"""What two patterns of targets have in common (routing specification, sections 6 and 31)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.routing.globs import meet
from ullage.core.routing.identity import matches

PATTERNS = st.text(alphabet="ab*", max_size=6)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("openai/*", "*-mini", ("openai/*-mini",)),
        ("openai/*-mini", "openai/gpt-5*", ("openai/gpt-5*-mini",)),
        ("OpenAI/*", "openai/gpt-5", ("OpenAI/gpt-5",)),
        ("*", "groq/*", ("groq/*",)),
        ("a/*", "b/*", ()),
        ("*a*", "*b*", ("*a*b*", "*b*a*")),
        ("", "*", ("",)),
    ],
)
def test_patterns_meet(one: str, other: str, common: tuple[str, ...]) -> None:
    assert meet(one, other) == common


@given(one=PATTERNS, other=PATTERNS, name=st.text(alphabet="ab", max_size=6))
def test_what_is_of_both_patterns_is_of_those_they_meet_in_and_nothing_else(one: str, other: str, name: str) -> None:
    found = any(matches(pattern, name) for pattern in meet(one, other))
    assert found == (matches(one, name) and matches(other, name))


def test_of_patterns_that_meet_in_too_many_ways_only_the_narrower_one_is_left() -> None:
    one, other = "*a*b*c*d*e*f*g*", "*h*i*j*k*l*m*n*"
    assert meet(one, other) == ()
    assert meet(one, "*a*b*c*d*e*f*g*h*") == ("*a*b*c*d*e*f*g*h*",)
