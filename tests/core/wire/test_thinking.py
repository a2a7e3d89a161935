"""Levels of thinking in the words of each dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.profiles.thinking import THINKING_LEVELS, ThinkingLevel, find_thinking_rule, rule_of_levels
from ullage.core.wire import DIALECTS, Dialect, parse_request, render
from ullage.core.wire.options import REMOVED
from ullage.core.wire.thinking import find_misfit, write_thinking
from ullage.testing.members import find_bad_member


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


# One model of each rule that there is.
MODELS = (
    *(
        "anthropic/claude-sonnet-4-5",
        "claude-haiku-4-5-20251001",
        "claude-opus-4-6",
        "claude-opus-4-7",
        "claude-opus-5",
    ),
    *("gpt-5-pro", "gpt-5-codex", "gpt-5.1-codex-max", "gpt-5.1", "gpt-5.4", "openai/gpt-5", "o4-mini"),
    *("openai/gpt-oss-120b", "x-ai/grok-3-mini", "gemini-2.5-pro", "google/gemini-2.5-flash"),
    *("gemini-3-pro-preview", "gemini-3.5-flash"),
)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("model", MODELS)
def test_no_provider_refuses_how_a_model_is_told_to_think(model: str, dialect: Dialect) -> None:
    for level in THINKING_LEVELS:
        for room in ({}, {"max_tokens": 40_000} if dialect == "anthropic" else {}):
            body, on = written(dialect, model, level, **room)
            assert find_bad_member(dialect, body, model) is None, (level, body)
            assert on or level in ("off", "minimal"), (level, body)


@pytest.mark.parametrize(
    ("dialect", "model", "told"),
    [
        ("openai-chat", "gemini-2.5-flash", ["none", "low", "low", "medium", "high", "high", "high"]),
        ("openai-chat", "gemini-2.5-pro", ["low", "low", "low", "medium", "high", "high", "high"]),
        ("openai-chat", "claude-sonnet-4-5", [None, "low", "low", "medium", "high", "high", "high"]),
        ("openai-responses", "claude-opus-4-6", [None, None, "low", "medium", "high", "high", "high"]),
        ("openai-responses", "claude-opus-5", [None, None, "low", "medium", "high", "xhigh", "xhigh"]),
        ("openai-chat", "gemini-3.5-flash", ["minimal", "minimal", "low", "medium", "high", "high", "high"]),
        ("gemini", "gpt-5.1", [0, 0, "low", "medium", "high", "high", "high"]),
        ("gemini", "gpt-5", ["minimal", "minimal", "low", "medium", "high", "high", "high"]),
        ("gemini", "claude-opus-5", [None, None, "low", "medium", "high", "high", "high"]),
        ("gemini", "claude-sonnet-4-5", [None, 1_024, 2_048, 8_192, 16_384, 24_576, 32_000]),
        ("anthropic", "gpt-5", [1_024, 1_024, 2_048, 8_192, 16_384, 16_384, 16_384]),
        ("anthropic", "gpt-5.4", [None, None, 2_048, 8_192, 16_384, 24_576, 24_576]),
        ("anthropic", "gemini-2.5-pro", [1_024, 1_024, 2_048, 8_192, 16_384, 24_576, 32_768]),
        ("anthropic", "gemini-2.5-flash", [None, 1_024, 2_048, 8_192, 16_384, 24_576, 24_576]),
    ],
)
def test_a_host_of_another_protocol_is_told_in_the_words_of_its_own(
    dialect: Dialect, model: str, told: list[str | int | None]
) -> None:
    assert [said(dialect, written(dialect, model, level)[0]) for level in THINKING_LEVELS] == told


def said(dialect: Dialect, body: dict[str, Any]) -> Any:
    """The one word or number that says how much the model is to think."""
    if dialect == "openai-chat":
        return body.get("reasoning_effort")
    if dialect == "openai-responses":
        return body.get("reasoning", {}).get("effort")
    if dialect == "anthropic":
        return body.get("output_config", {}).get("effort", body.get("thinking", {}).get("budget_tokens"))
    config = body.get("generationConfig", {}).get("thinkingConfig", {})
    return config.get("thinkingLevel", config.get("thinkingBudget"))


def test_the_words_that_a_registry_lists_are_kept() -> None:
    def told(dialect: Dialect, levels: dict[str, str | None], level: ThinkingLevel) -> Any:
        conversation = parse_request(b"{}", dialect)
        options = write_thinking(conversation, rule_of_levels(levels), level).options
        return said(dialect, json.loads(render(conversation, options=options)))

    assert told("openai-chat", {"low": "gentle", "high": "hefty"}, "high") == "hefty"
    assert told("gemini", {"low": "LOW", "high": "HIGH"}, "medium") == "LOW"
    assert told("anthropic", {"low": "low", "max": "max"}, "max") == "max"
    assert told("anthropic", {"low": "gentle", "high": "hefty"}, "high") == 16_384


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


def test_what_is_sent_otherwise_counts_for_how_much_a_model_may_think() -> None:
    asked = {"max_tokens": 64_000, "temperature": 0.2}
    conversation = parse_request(json.dumps(asked).encode(), "anthropic")
    changed: dict[tuple[str, ...], Any] = {("max_tokens",): 8_192, ("temperature",): REMOVED}
    thinking = write_thinking(conversation, find_thinking_rule("claude-sonnet-4-5"), "high", changed=changed)
    assert thinking.options["thinking", "budget_tokens"] == 7_168


@pytest.mark.parametrize(
    ("dialect", "model", "members", "level"),
    [
        ("openai-chat", "gpt-5.1", {"reasoning_effort": "minimal"}, "minimal"),
        ("openai-chat", "gpt-5", {"reasoning_effort": "minimal"}, None),
        ("openai-chat", "gpt-5", {"reasoning_effort": "none"}, "off"),
        ("openai-chat", "gpt-5.4", {"reasoning_effort": "none"}, None),
        ("openai-chat", "gpt-5", {}, None),
        ("openai-chat", "gpt-5", {"reasoning_effort": "much"}, "medium"),
        ("openai-responses", "o4-mini", {"reasoning": {"effort": "xhigh"}}, "xhigh"),
        ("openai-responses", "o4-mini", {"reasoning": {"summary": "auto"}}, None),
        ("anthropic", "claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 5_000}}, None),
        ("anthropic", "claude-opus-5", {"thinking": {"type": "enabled", "budget_tokens": 5_000}}, "low"),
        ("anthropic", "claude-haiku-4-5", {"thinking": {"type": "adaptive"}}, "medium"),
        ("anthropic", "claude-haiku-4-5", {"output_config": {"effort": "high"}}, "high"),
        ("anthropic", "claude-opus-5", {"thinking": {"type": "adaptive"}}, None),
        ("anthropic", "claude-opus-4-6", {"output_config": {"effort": "xhigh"}}, "xhigh"),
        ("anthropic", "claude-haiku-4-5", {"thinking": {"type": "disabled"}}, None),
        ("gemini", "gemini-2.5-pro", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, "off"),
        ("gemini", "gemini-2.5-flash", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, None),
        ("gemini", "gemini-2.5-flash", {"generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}}, None),
        ("gemini", "gemini-2.5-flash", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}}, "high"),
        ("gemini", "gemini-3-flash", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}}}, None),
        ("gemini", "gemini-3-flash", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 20_000}}}, "high"),
        ("gemini", "gemini-3-flash", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}, None),
    ],
)
def test_what_the_client_asks_for_itself_is_only_replaced_where_the_model_does_not_take_it(
    dialect: Dialect, model: str, members: dict[str, Any], level: ThinkingLevel | None
) -> None:
    rule = find_thinking_rule(model)
    assert rule is not None
    conversation = parse_request(json.dumps(members).encode(), dialect)
    assert find_misfit(conversation, rule) == level
    if level is not None:
        options = write_thinking(conversation, rule, level).options
        assert find_bad_member(dialect, json.loads(render(conversation, options=options)), model) is None


def test_a_budget_that_no_longer_fits_into_the_answer_is_a_misfit() -> None:
    asked = {"thinking": {"type": "enabled", "budget_tokens": 20_000}, "max_tokens": 64_000}
    conversation, rule = parse_request(json.dumps(asked).encode(), "anthropic"), find_thinking_rule("claude-haiku-4-5")
    assert rule is not None
    assert find_misfit(conversation, rule) is None
    assert find_misfit(conversation, rule, changed={("max_tokens",): 8_192}) == "high"
