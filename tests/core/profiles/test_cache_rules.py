"""How providers cache: which row a model gets, and what the rows say."""

from __future__ import annotations

import pytest

from ullage.core.profiles.cache_rules import CACHE_RULES, UNKNOWN_CACHE, find_cache_rule

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


@pytest.mark.parametrize(
    ("provider", "model", "minimum"),
    [
        ("anthropic", "claude-opus-5", 512),
        ("anthropic", "claude-opus-5-5", 512),
        ("anthropic", "claude-fable-5", 512),
        ("anthropic", "claude-opus-4-8", 1_024),
        ("anthropic", "claude-sonnet-5", 1_024),
        ("anthropic", "claude-sonnet-4-5-20250929", 1_024),
        ("openrouter", "anthropic/claude-sonnet-4.5", 1_024),
        ("anthropic", "claude-opus-4-1-20250805", 1_024),
        ("anthropic", "claude-opus-4-20250514", 1_024),
        ("anthropic", "claude-3-5-sonnet-20241022", 1_024),
        ("anthropic", "claude-opus-4-7", 2_048),
        ("anthropic", "claude-3-5-haiku-20241022", 2_048),
        ("bedrock", "us.anthropic.claude-opus-4-7-v1:0", 4_096),
        ("anthropic", "claude-opus-4-6", 4_096),
        ("anthropic", "claude-opus-4-5-20251101", 4_096),
        ("anthropic", "claude-haiku-4-5", 4_096),
        ("anthropic", "claude-mythos-preview", 4_096),
        ("anthropic", "claude-of-tomorrow", 4_096),
    ],
)
def test_claude_is_marked_by_the_client_and_its_minimum_goes_by_model(provider: str, model: str, minimum: int) -> None:
    rule = find_cache_rule(provider, model)
    assert (rule.kind, rule.minimum_tokens, rule.marks, rule.look_back_blocks) == ("marks", minimum, 4, 20)
    assert (rule.lifetime_ms(long=False), rule.lifetime_ms(long=True)) == (5 * MINUTE_MS, HOUR_MS)
    assert (rule.write_ratio, rule.long_write_ratio, rule.read_ratio) == (1.25, 2.0, 0.1)


@pytest.mark.parametrize(
    ("provider", "model", "row", "held_ms", "asked_long_ms"),
    [
        ("openai", "gpt-5.4", "openai", 10 * MINUTE_MS, 24 * HOUR_MS),
        ("openai", "gpt-4.1-mini", "openai", 10 * MINUTE_MS, 24 * HOUR_MS),
        ("openai", "gpt-4o", "openai-4o", 10 * MINUTE_MS, 10 * MINUTE_MS),
        ("openai", "o3", "openai-4o", 10 * MINUTE_MS, 10 * MINUTE_MS),
        ("openai", "gpt-5.5", "openai-5.5", 24 * HOUR_MS, 24 * HOUR_MS),
        ("openai", "gpt-5.6-sol", "openai-5.6", 30 * MINUTE_MS, 30 * MINUTE_MS),
        ("openai-codex", "gpt-6.2-sol", "openai-5.6", 30 * MINUTE_MS, 30 * MINUTE_MS),
        ("openrouter", "openai/gpt-5.4", "openai", 10 * MINUTE_MS, 24 * HOUR_MS),
        ("google", "gemini-2.5-pro", "gemini-2.5", 5 * MINUTE_MS, 5 * MINUTE_MS),
        ("google", "gemini-3.1-pro", "gemini", 5 * MINUTE_MS, 5 * MINUTE_MS),
        ("deepseek", "deepseek-chat", "deepseek", HOUR_MS, HOUR_MS),
        ("zai", "glm-5.2", "glm", 30 * MINUTE_MS, 30 * MINUTE_MS),
        ("api.z.ai", "glm-5", "glm", 30 * MINUTE_MS, 30 * MINUTE_MS),
        ("xai", "grok-4", "grok", 5 * MINUTE_MS, 5 * MINUTE_MS),
        ("groq", "openai/gpt-oss-120b", "groq", 2 * HOUR_MS, 2 * HOUR_MS),
        ("moonshot", "kimi-k2", "kimi", 5 * MINUTE_MS, 5 * MINUTE_MS),
        ("dashscope.aliyuncs.com", "qwen3-coder", "qwen", 5 * MINUTE_MS, 5 * MINUTE_MS),
    ],
)
def test_others_cache_by_themselves(provider: str, model: str, row: str, held_ms: int, asked_long_ms: int) -> None:
    rule = find_cache_rule(provider, model)
    assert (rule.kind, rule.id) == ("automatic", row)
    assert (rule.lifetime_ms(long=False), rule.lifetime_ms(long=True)) == (held_ms, asked_long_ms)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("localhost:8080", "qwen3-coder"),
        ("openrouter", "deepseek/deepseek-v3.2"),
        ("together", "openai/gpt-oss-20b"),
        (None, None),
    ],
)
def test_of_an_unknown_provider_nothing_is_sure(provider: str | None, model: str | None) -> None:
    rule = find_cache_rule(provider, model)
    assert rule is UNKNOWN_CACHE
    assert not rule.sure
    assert rule.reach == "request_end"


def test_the_newest_gpt_charges_for_writing_and_reads_where_a_request_ended() -> None:
    rule = find_cache_rule("openai", "gpt-5.6")
    assert (rule.minimum_tokens, rule.block_tokens, rule.write_ratio, rule.reach) == (1_024, 128, 1.25, "request_end")
    assert find_cache_rule("openai", "gpt-5.4").write_ratio == 1.0


def test_every_row_says_where_it_is_from_and_can_be_told_apart() -> None:
    assert all(rule.source for rule in CACHE_RULES)
    ids = [rule.id for rule in CACHE_RULES]
    assert len(set(ids)) == len(ids)
