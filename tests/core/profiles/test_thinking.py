"""How each model is told how much to think."""

from __future__ import annotations

import pytest

from ullage.core.profiles.thinking import THINKING_LEVELS, find_thinking_rule, rule_of_levels


@pytest.mark.parametrize(
    ("model", "level", "told"),
    [
        ("claude-sonnet-4-5-20250929", "low", 2_048),
        ("claude-opus-4-1-20250805", "high", 16_384),
        ("claude-opus-4-20250514", "max", 32_000),
        ("claude-haiku-4-5", "off", None),
        ("anthropic/claude-opus-4.6", "xhigh", "high"),
        ("claude-sonnet-4-6", "minimal", None),
        ("claude-opus-4-8", "xhigh", "xhigh"),
        ("claude-opus-5", "max", "max"),
        ("gpt-5", "off", "minimal"),
        ("gpt-5-mini-2025-08-07", "xhigh", "high"),
        ("gpt-5.1", "minimal", "none"),
        ("gpt-5.1-codex", "off", "low"),
        ("gpt-5.1-codex-max", "max", "xhigh"),
        ("gpt-5.4", "off", "none"),
        ("gpt-5-pro", "low", "high"),
        ("o3-mini", "off", "low"),
        ("openai/gpt-oss-120b", "medium", "medium"),
        ("gemini-2.5-flash", "off", 0),
        ("gemini-2.5-pro", "off", 128),
        ("gemini-3-pro-preview", "minimal", "low"),
        ("gemini-3.5-flash", "minimal", "minimal"),
    ],
)
def test_a_level_is_told_as_the_model_takes_it(model: str, level: str, told: str | int | None) -> None:
    rule = find_thinking_rule(model)
    assert rule is not None
    assert rule.value_of(level) == told  # type: ignore[arg-type]


@pytest.mark.parametrize("model", ["gpt-4.1", "claude-3-5-haiku", "mistral-large", "deepseek-chat", "gemini-2.0-flash"])
def test_of_others_nothing_is_known(model: str) -> None:
    assert find_thinking_rule(model) is None


def test_a_registry_says_what_its_models_take() -> None:
    rule = rule_of_levels({"off": None, "high": None, "medium": None, "low": "LOW", "minimal": "tiny"})
    assert [rule.value_of(level) for level in THINKING_LEVELS] == [None, "tiny", "LOW", "LOW", "LOW", "LOW", "LOW"]
    assert rule_of_levels({"off": "no", "high": "yes"}).value_of("low") == "no"
