"""Patterns of rules: accounting specification, section 4.3."""

from __future__ import annotations

import time

import pytest

from ullage.core.profiles.heuristics import fits, is_understood

OPUS = "claude-opus-4-8"


@pytest.mark.parametrize(
    ("pattern", "name", "fit"),
    [
        (None, OPUS, True),
        (OPUS, OPUS, True),
        ("CLAUDE-Opus-4-8", OPUS, True),
        ("claude-opus", OPUS, False),
        ("claude-*", OPUS, True),
        ("CLAUDE-*", OPUS, True),
        ("*4-8*", OPUS, True),
        ("claude-opus-4-?", OPUS, True),
        ("opus-*", OPUS, False),
        ("gpt-*", OPUS, False),
        ("gpt-5.?", "gpt-5.5", True),
        ("gpt-5.?", "gpt-535", False),
        ("[abc]*", "a", False),
        ("[abc]*", "[abc]d", True),
        ("/OPUS/i", OPUS, True),
        ("/OPUS/", OPUS, False),
        ("/opus/", OPUS, True),
        ("/^opus/", OPUS, False),
        ("/claude.*4-8/i", OPUS, True),
        ("/a/b/", "a/b", True),
        ("/(?<family>opus)/g", OPUS, True),
        ("/no-end", OPUS, False),
        ("/no-end", "/no-end", True),
        ("//", OPUS, True),
    ],
)
def test_a_pattern_is_a_name_a_glob_or_a_regular_expression(pattern: str | None, name: str, fit: bool) -> None:
    assert fits(pattern, name) is fit


@pytest.mark.parametrize(
    "pattern", ["/(/", "/opus/x", "/opus/ii", r"/\p{L}/u", "/(opus+)+/", "/(opus|a*)*/", "a" * 201]
)
def test_an_expression_that_cannot_be_used_never_fits(pattern: str) -> None:
    assert not is_understood(pattern)
    assert not fits(pattern, OPUS)


def test_a_glob_of_many_stars_does_not_take_for_ever() -> None:
    begun = time.process_time()
    assert not fits("*a" * 12 + "b", "a" * 60)
    assert time.process_time() - begun < 2


def test_whatever_can_fit_is_understood() -> None:
    assert all(map(is_understood, ("x", "x*", "/x/i", "")))
