"""Pins at the beginning of a prompt (routing specification, section 3.2)."""

from __future__ import annotations

import pytest

from ullage.core.routing.prefix import NO_PREFIX, Prefix, parse_prefix


@pytest.mark.parametrize(
    ("prompt", "tier", "rest"),
    [
        ("@low tidy this", "light", "tidy this"),
        ("@medium tidy this", "mid", "tidy this"),
        ("@high debug this", "strong", "debug this"),
        ("@HIGH debug this", "strong", "debug this"),
        ("@ultra debug this", "frontier", "debug this"),
        ("  @low  do something", "light", "do something"),
        ("@low", "light", "@low"),
        ("@high修复这个", "strong", "修复这个"),
    ],
)
def test_a_mode_at_the_beginning_sets_the_least_tier(prompt: str, tier: str, rest: str) -> None:
    prefix, left = parse_prefix(prompt)
    assert (prefix.minimum_tier, prefix.model, left) == (tier, None, rest)
    assert prefix.pinned


def test_a_model_at_the_beginning_is_pinned_with_all_its_slashes() -> None:
    assert parse_prefix("@model:anthropic/claude-opus-5 go") == (Prefix(model="anthropic/claude-opus-5"), "go")
    assert parse_prefix("@model:gateway/openai/gpt-5\ngo")[0].model == "gateway/openai/gpt-5"
    assert parse_prefix("@model:a/b") == (Prefix(model="a/b"), "@model:a/b")


@pytest.mark.parametrize(
    "prompt",
    ["please @high x", "@lower case", "@Model:x/y go", "@model: x", "@high_level view", "high", "", "@", "  plain "],
)
def test_other_prompts_stay_as_they_are(prompt: str) -> None:
    assert parse_prefix(prompt) == (NO_PREFIX, prompt)
    assert not NO_PREFIX.pinned


def test_a_pin_on_a_later_turn_is_ignored_and_left_in_the_text() -> None:
    assert parse_prefix("@high debug this", first_turn=False) == (NO_PREFIX, "@high debug this")
    assert parse_prefix("@model:a/b go", first_turn=False) == (NO_PREFIX, "@model:a/b go")


@pytest.mark.parametrize("first_turn", [True, False])
def test_more_or_less_can_be_asked_for_on_every_turn(first_turn: bool) -> None:
    assert parse_prefix("@again-stronger it still fails", first_turn=first_turn) == (Prefix(bump=1), "it still fails")
    assert parse_prefix(" @again-cheaper", first_turn=first_turn) == (Prefix(bump=-1), " @again-cheaper")
    assert not parse_prefix("@again-stronger x")[0].pinned
