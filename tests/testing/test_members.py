"""Which members the fake provider refuses when it is as strict as real ones."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.wire import Dialect
from ullage.testing import FakeProvider, make_request
from ullage.testing.members import find_bad_member

TAKEN: list[tuple[Dialect, str, dict[str, Any]]] = [
    ("openai-chat", "gpt-5", {"reasoning_effort": "minimal", "max_completion_tokens": 9, "temperature": 1}),
    ("openai-chat", "gpt-4.1", {"max_tokens": 9, "temperature": 0, "stop": ["."]}),
    ("openai-responses", "o3", {"reasoning": {"summary": "auto"}, "max_output_tokens": 16}),
    ("anthropic", "claude-opus-4-8", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
    ("anthropic", "claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 1_024}, "max_tokens": 2_048}),
    ("anthropic", "claude-haiku-4-5", {"thinking": {"type": "disabled"}, "temperature": 0.5}),
    ("gemini", "gemini-2.5-flash", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
    ("gemini", "gemini-3-pro", {"generation_config": {"thinking_config": {"thinking_level": "HIGH"}}}),
]
REFUSED: list[tuple[str, Dialect, str, dict[str, Any]]] = [
    ("reasoning_effort", "openai-chat", "gpt-5", {"reasoning_effort": 0}),
    ("reasoning_effort", "openai-chat", "gpt-5", {"reasoning_effort": "max"}),
    ("max_tokens", "openai-chat", "openai/gpt-5", {"max_tokens": 9}),
    ("stop", "openai-chat", "o4-mini", {"stop": "."}),
    ("temperature", "openai-chat", "o4-mini", {"temperature": 0}),
    ("reasoning.effort", "openai-responses", "gpt-5", {"reasoning": {"effort": 16_384}}),
    ("top_p", "openai-responses", "gpt-5", {"top_p": 0.5}),
    ("output_config.effort", "anthropic", "claude-opus-5", {"output_config": {"effort": "minimal"}}),
    ("thinking.type", "anthropic", "claude-opus-5", {"thinking": {"type": "enabled", "budget_tokens": 1_024}}),
    ("thinking.type", "anthropic", "claude-haiku-4-5", {"thinking": {"type": "adaptive"}}),
    ("thinking.type", "anthropic", "gpt-5", {"thinking": {"type": "adaptive"}}),
    ("thinking.type", "anthropic", "claude-opus-5", {"thinking": {"type": "much"}}),
    ("thinking.budget_tokens", "anthropic", "claude-opus-4-6", {"thinking": {"type": "adaptive", "budget_tokens": 1}}),
    ("thinking.budget_tokens", "anthropic", "claude-haiku-4-5", {"thinking": {"type": "enabled", "budget_tokens": 1}}),
    (
        "thinking.budget_tokens",
        "anthropic",
        "claude-haiku-4-5",
        {"thinking": {"type": "enabled", "budget_tokens": 2_048}, "max_tokens": 2_048},
    ),
    ("temperature", "anthropic", "claude-opus-5", {"temperature": 0}),
    ("thinkingLevel", "gemini", "gpt-5.1", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "none"}}}),
    ("thinkingLevel", "gemini", "gemini-2.5-pro", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}),
    ("thinkingBudget", "gemini", "gemini-2.5-pro", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
    ("thinkingBudget", "gemini", "gemini-2.5-flash", {"generationConfig": {"thinkingConfig": {"thinkingBudget": "9"}}}),
    (
        "thinkingConfig",
        "gemini",
        "gemini-3-flash",
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low", "thinkingBudget": 128}}},
    ),
]


@pytest.mark.parametrize(("dialect", "model", "members"), TAKEN)
def test_members_of_the_model_are_taken(dialect: Dialect, model: str, members: dict[str, Any]) -> None:
    assert find_bad_member(dialect, members, model) is None


@pytest.mark.parametrize(("where", "dialect", "model", "members"), REFUSED)
def test_members_that_it_does_not_take_are_refused(
    where: str, dialect: Dialect, model: str, members: dict[str, Any]
) -> None:
    refusal = find_bad_member(dialect, members, model)
    assert refusal is not None
    assert refusal.partition(": ")[0] == where


async def test_a_strict_provider_answers_with_the_refusal(ask: Any) -> None:
    request = make_request("openai-chat", model="gpt-5", extra={"reasoning_effort": 0})
    async with FakeProvider(strict=True) as strict, FakeProvider() as lenient:
        refused, taken = await ask(strict, request), await ask(lenient, request)
    assert (refused.status, taken.status) == (400, 200)
    assert b"reasoning_effort" in refused.body
