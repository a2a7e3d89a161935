"""Which family a model belongs to (accounting specification, sections 4.2, 6 and 7)."""

from __future__ import annotations

import pytest

from ullage.core.profiles import FAMILIES, UNKNOWN_FAMILY, find_family
from ullage.core.tokens import VOCABULARIES


@pytest.mark.parametrize(
    ("provider", "dialect", "model", "family"),
    [
        ("anthropic", "anthropic", "claude-opus-4-8", "claude-4.7"),
        ("anthropic", "anthropic", "claude-opus-4-7-20260416", "claude-4.7-opus-4.7"),
        ("anthropic", "anthropic", "claude-fable-5", "claude-4.7"),
        ("openrouter", "openai-chat", "anthropic/claude-haiku-4.5", "claude-4.5"),
        ("bedrock", "bedrock", "us.anthropic.claude-sonnet-4-6", "claude-4.5-4.6"),
        ("anthropic", "anthropic", "claude-3-5-haiku-latest", "claude-haiku-3.5"),
        ("anthropic", "anthropic", "claude-opus-4-20250514", "claude"),
        ("anthropic", "anthropic", "claude-sonnet-4-20250514", "claude"),
        ("openai", "openai-chat", "gpt-4o-2024-08-06", "gpt-4o"),
        ("openai", "openai-responses", "gpt-4o", "gpt-4o-responses"),
        ("openai", "openai-chat", "gpt-4", "gpt-4"),
        ("openai", "openai-chat", "gpt-4-0613", "gpt-4"),
        ("openai", "openai-chat", "gpt-4.1", "gpt-4o"),
        ("openai", "openai-chat", "gpt-3.5-turbo", "gpt-4"),
        ("openai", "openai-responses", "gpt-5.6-sol", "gpt-5-responses"),
        ("bedrock-mantle", "openai-responses", "openai.gpt-5.5", "gpt-5-responses"),
        ("openai-codex", "openai-responses", "gpt-6-sol", "gpt-5-responses"),
        ("ollama-cloud", "openai-chat", "gpt-oss:120b", "gpt-oss"),
        ("crusoe", "openai-chat", "zai/GLM-5.2", "glm-5"),
        ("zai", "anthropic", "glm-4.7", "glm-4.5"),
        ("kimi-coding", "anthropic", "k3-256k", "kimi-k3"),
        ("moonshot", "openai-chat", "kimi-k2-thinking", "kimi-k2"),
        ("deepseek", "openai-chat", "deepseek-v4-flash", "deepseek"),
        ("groq", "openai-chat", "deepseek-r1-distill-llama-70b", "llama-3-distilled"),
        ("xai", "openai-responses", "grok-4.20-0309-reasoning", "grok-4.3"),
        ("xai", "openai-responses", "grok-4.5", "grok-4.5"),
        ("google", "gemini", "gemini-2.5-flash", "gemini"),
        ("google", "gemini", "gemini-2.0-flash-001", "gemini-2.0"),
        ("google-vertex", "gemini", "gemini-3-flash-preview", "gemini-3-vertex"),
        ("mistral", "openai-chat", "mistral-large-latest", "mistral"),
        ("openrouter", "openai-chat", "qwen/qwen3-30b-a3b-instruct-2507", "qwen-3"),
        ("openai", "openai-chat", "muse-spark-1.1", "openai"),
        ("openrouter", "openai-chat", "openrouter/auto", "unknown"),
        (None, None, None, "unknown"),
    ],
)
def test_a_model_belongs_to_one_family(provider: str, dialect: str, model: str, family: str) -> None:
    assert find_family(provider, dialect, model).id == family


def test_an_anthropic_wire_does_not_make_a_model_count_like_claude() -> None:
    assert find_family("kimi-coding", "anthropic", "kimi-for-coding").vocabulary == "kimi_k2"


@pytest.mark.parametrize(
    ("model", "auto", "forced"),
    [
        ("claude-opus-4-8", 290, 410),
        ("claude-fable-5", 290, 410),
        ("claude-opus-5", 286, 410),
        ("claude-opus-4-7", 675, 804),
        ("claude-sonnet-4-6", 497, 589),
        ("claude-haiku-4-5", 496, 588),
        ("claude-opus-4-1", 313, 315),
        ("claude-sonnet-5", 354, 474),
        ("claude-3-5-haiku-20241022", 264, 355),
        ("claude-3-7-sonnet-20250219", 346, 313),
        ("claude-3-5-sonnet-20240620", 294, 261),
        ("claude-3-opus-20240229", 530, 281),
        ("claude-3-sonnet-20240229", 159, 235),
        ("claude-3-haiku-20240307", 264, 340),
    ],
)
def test_claude_charges_for_the_first_tool_what_the_vendor_says(model: str, auto: int, forced: int) -> None:
    tools = find_family("anthropic", "anthropic", model).tools
    assert (tools.block, tools.block_forced) == (auto, forced)


def test_every_family_counts_by_a_vocabulary_that_can_be_loaded_and_has_a_name_of_its_own() -> None:
    rows = (*FAMILIES, UNKNOWN_FAMILY)
    assert {row.vocabulary for row in rows} <= set(VOCABULARIES)
    assert len({row.id for row in rows}) == len(rows)


def test_an_exact_family_has_no_ratio() -> None:
    for row in FAMILIES:
        if row.error == 0:
            assert (row.prose, row.dense) == (1.0, 1.0), row.id
