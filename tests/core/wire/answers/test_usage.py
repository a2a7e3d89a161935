"""Accounting specification, section 7: one prompt total, whichever way a provider counts its cache."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.wire import Dialect, read_usage

NAMES = ("input_fresh", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h", "output", "reasoning")


def figures(payload: dict[str, Any], dialect: Dialect) -> dict[str, int]:
    usage = read_usage(payload, dialect)
    assert usage.raw == payload
    return {name: value for name in NAMES if (value := getattr(usage, name)) is not None}


@pytest.mark.parametrize(
    ("dialect", "payload", "expected"),
    [
        (
            "anthropic",
            {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 7},
            {"input_fresh": 3, "cache_read": 100, "cache_write": 20, "output": 7},
        ),
        (
            "anthropic",
            {
                "input_tokens": 3,
                "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5},
                "output_tokens": 7,
            },
            {"input_fresh": 3, "cache_write": 9, "cache_write_5m": 4, "cache_write_1h": 5, "output": 7},
        ),
        (
            "openai-chat",
            {
                "prompt_tokens": 120,
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 100},
                "completion_tokens_details": {"reasoning_tokens": 5},
                "total_tokens": 127,
            },
            {"input_fresh": 20, "cache_read": 100, "output": 7, "reasoning": 5},
        ),
        (
            "openai-chat",
            {
                "prompt_tokens": 120,
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 15},
            },
            {"input_fresh": 5, "cache_read": 100, "cache_write": 15, "output": 7},
        ),
        (
            "openai-chat",
            {"prompt_tokens": 10, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2, "completion_tokens": 1},
            {"input_fresh": 2, "cache_read": 8, "output": 1},
        ),
        (
            "openai-chat",
            {
                "prompt_tokens": 50,
                "completion_tokens": 7,
                "cache_read_input_tokens": 30,
                "cache_creation_input_tokens": 5,
            },
            {"input_fresh": 15, "cache_read": 30, "cache_write": 5, "output": 7},
        ),
        (
            "openai-responses",
            {
                "input_tokens": 120,
                "input_tokens_details": {"cached_tokens": 100},
                "output_tokens": 7,
                "output_tokens_details": {"reasoning_tokens": 0},
            },
            {"input_fresh": 20, "cache_read": 100, "output": 7, "reasoning": 0},
        ),
        (
            "gemini",
            {
                "promptTokenCount": 100,
                "cachedContentTokenCount": 40,
                "toolUsePromptTokenCount": 10,
                "candidatesTokenCount": 7,
                "thoughtsTokenCount": 5,
                "totalTokenCount": 122,
            },
            {"input_fresh": 70, "cache_read": 40, "output": 12, "reasoning": 5},
        ),
        ("gemini", {"prompt_token_count": 9}, {"input_fresh": 9}),
        ("gemini", {"promptTokenCount": 9, "thoughtsTokenCount": 5}, {"input_fresh": 9, "output": 5, "reasoning": 5}),
        ("openai-chat", {}, {}),
        ("anthropic", {}, {}),
    ],
)
def test_the_parts_of_each_dialect_are_disjoint(dialect: Dialect, payload: Any, expected: dict[str, int]) -> None:
    assert figures(payload, dialect) == expected


def test_a_total_that_needs_the_cache_on_top_proves_a_prompt_without_it() -> None:
    """Portkey#1210: OpenAI-shaped `prompt_tokens` without the cached ones, `total_tokens` with them."""
    payload = {
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "total_tokens": 127,
        "prompt_tokens_details": {"cached_tokens": 100},
    }
    assert figures(payload, "openai-chat") == {"input_fresh": 20, "cache_read": 100, "output": 7}


def test_a_total_that_needs_reasoning_on_top_puts_it_into_the_output() -> None:
    payload = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 33,
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    assert figures(payload, "openai-chat") == {"input_fresh": 10, "output": 23, "reasoning": 20}


@pytest.mark.parametrize("odd", [-1, True, "12", 1.5, None, [], {}, 2**60, float("inf")])
def test_nonsense_is_not_reported(odd: Any) -> None:
    assert figures({"prompt_tokens": odd, "completion_tokens": 7}, "openai-chat") == {"output": 7}
    assert figures({"input_tokens": odd, "output_tokens": 7, "cache_creation": odd}, "anthropic") == {"output": 7}
    assert figures({"promptTokenCount": odd, "candidatesTokenCount": 7}, "gemini") == {"output": 7}


def test_a_whole_float_is_a_count() -> None:
    assert figures({"prompt_tokens": 12.0}, "openai-chat") == {"input_fresh": 12}


def test_parts_beyond_the_prompt_are_cut_to_it() -> None:
    payload = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 9}}
    assert figures(payload, "openai-chat") == {"input_fresh": 0, "cache_read": 10, "cache_write": 0}
    assert figures({"promptTokenCount": 10, "cachedContentTokenCount": 50}, "gemini") == {
        "input_fresh": 0,
        "cache_read": 10,
    }
