"""Accounting specification, section 10."""

from __future__ import annotations

import pytest

from ullage.core.profiles import reasoning_retention


@pytest.mark.parametrize(
    ("provider", "model", "retention"),
    [
        ("anthropic", "claude-opus-4-5", "all"),
        ("anthropic", "claude-opus-4-8", "all"),
        ("anthropic", "claude-sonnet-4-6", "all"),
        ("anthropic", "claude-fable-5", "all"),
        ("anthropic", "claude-mythos-preview", "all"),
        ("anthropic", "claude-sonnet-4-5", "turn"),
        ("anthropic", "claude-haiku-4-5", "turn"),
        ("anthropic", "claude-opus-4-1", "turn"),
        ("anthropic", "claude-opus-4-20250514", "turn"),
        ("anthropic", "claude-3-7-sonnet", "turn"),
        ("openai", "gpt-5.6-sol", "all"),
        ("openai", "gpt-6-sol", "all"),
        ("openai", "gpt-6.2-sol", "all"),
        ("openai", "gpt-5.5", "turn"),
        ("openai", "o3", "turn"),
        ("zai", "glm-5.2", "none_known"),
        (None, None, "none_known"),
    ],
)
def test_a_model_keeps_earlier_reasoning_as_its_vendor_says(provider: str, model: str, retention: str) -> None:
    assert reasoning_retention(provider, model) == retention
