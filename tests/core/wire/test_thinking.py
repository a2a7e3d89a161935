"""Levels of thinking in the words of each dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.profiles.thinking import find_thinking_rule
from ullage.core.wire import Dialect, parse_request, render
from ullage.core.wire.thinking import write_thinking


def written(dialect: Dialect, model: str | None, level: Any, **members: Any) -> tuple[dict[str, Any], bool]:
    conversation = parse_request(json.dumps(members).encode(), dialect)
    rule = find_thinking_rule(model) if model is not None else None
    thinking = write_thinking(conversation, rule, level)
    found: dict[str, Any] = json.loads(render(conversation, options=thinking.options))
    return found, thinking.on


@pytest.mark.parametrize(
    ("dialect", "model", "level", "told"),
    [
        ("openai-chat", "gpt-5.2", "off", {"reasoning_effort": "none"}),
        ("openai-chat", "openai/gpt-5", "off", {"reasoning_effort": "minimal"}),
        ("openai-chat", "o4-mini", "max", {"reasoning_effort": "high"}),
        ("openai-chat", None, "high", {}),
        ("openai-responses", "gpt-5-codex", "minimal", {"reasoning": {"effort": "low"}}),
        ("openai-responses", "gpt-5.1-codex-max", "max", {"reasoning": {"effort": "xhigh"}}),
        ("anthropic", "claude-sonnet-4-5", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
        (
            "anthropic",
            "claude-opus-4-7",
            "xhigh",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}},
        ),
        (
            "anthropic",
            "claude-opus-4-6",
            "xhigh",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ),
        ("anthropic", "claude-opus-4-7", "off", {}),
        ("gemini", "gemini-2.5-flash", "off", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
        ("gemini", "gemini-2.5-pro", "off", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 128}}}),
        ("gemini", "gemini-3-flash", "xhigh", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "high"}}}),
    ],
)
def test_each_model_is_told_in_its_own_words(dialect: Dialect, model: str | None, level: Any, told: Any) -> None:
    assert written(dialect, model, level)[0] == told


def test_a_budget_leaves_room_for_the_answer() -> None:
    body, on = written("anthropic", "claude-sonnet-4-5", "high", max_tokens=4_096)
    assert (body["thinking"]["budget_tokens"], on) == (3_072, True)
    body, on = written("anthropic", "claude-sonnet-4-5", "high", max_tokens=2_000)
    assert ("thinking" in body, on) == (False, False)


@pytest.mark.parametrize("member", [{"temperature": 0.2}, {"tool_choice": {"type": "any"}}, {"top_k": 4}])
def test_where_anthropic_lets_no_model_think_it_does_not(member: dict[str, Any]) -> None:
    body, on = written("anthropic", "claude-sonnet-4-5", "high", **member)
    assert (body, on) == (member, False)


def test_the_clients_own_thinking_is_replaced() -> None:
    asked = {"thinking": {"type": "enabled", "budget_tokens": 31_999, "display": "omitted"}, "max_tokens": 32_000}
    body, _ = written("anthropic", "claude-opus-4-7", "low", **asked)
    assert body == {
        "thinking": {"type": "adaptive", "display": "omitted"},
        "max_tokens": 32_000,
        "output_config": {"effort": "low"},
    }
    edits = [{"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919"}]
    body, _ = written("anthropic", "claude-haiku-3-5", "low", **asked, context_management={"edits": edits})
    assert body == {"max_tokens": 32_000, "context_management": {"edits": edits[1:]}}


def test_a_model_that_cannot_think_is_not_asked_for_sealed_thinking() -> None:
    body, on = written(
        "openai-responses", "gpt-4.1", "high", reasoning={"effort": "high"}, include=["reasoning.encrypted_content"]
    )
    assert (body, on) == ({"include": []}, False)
