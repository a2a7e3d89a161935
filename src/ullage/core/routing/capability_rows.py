"""What is published of how well models do, as rows with their source and day. Facts, not judgement: that is `capability`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from . import aider_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

Tier = Literal["frontier", "strong", "mid", "light", "unknown"]
BenchmarkSource = Literal["ramp", "aa", "aider"]
Confidence = Literal["high", "medium", "low"]


class Origin(Struct, frozen=True, kw_only=True):
    """Where rows come from, and the day they are of."""

    name: str
    as_of: str


ORIGINS: Mapping[str, Origin] = MappingProxyType(
    {
        "catalog": Origin(name="priors of the routing specification, section 7", as_of="2026-09-11"),
        "ramp": Origin(name="Ramp SWE-Bench", as_of="2026-09-11"),
        "aa": Origin(name="Artificial Analysis index", as_of="2026-09-11"),
        "aider": Origin(name="Aider polyglot leaderboard, best pass rate of a model by itself", as_of=aider_rows.AS_OF),
    }
)
"""By source. Aider's leaderboard is Apache-2.0; its last run is of the day given, and each row has its own."""

THRESHOLDS: Mapping[BenchmarkSource, tuple[tuple[float, Tier], ...]] = MappingProxyType(
    {
        "ramp": ((0.85, "frontier"), (0.80, "strong"), (0.75, "mid")),
        "aa": ((52.0, "frontier"), (47.0, "strong"), (40.0, "mid")),
        "aider": aider_rows.THRESHOLDS,
    }
)
"""Least score of each tier; below the last one is light. Ramp and AA by section 7, Aider's as `aider_rows` derives them."""


class Prior(Struct, frozen=True, kw_only=True):
    """Tiers of a model by the catalogue, overall and by ability."""

    overall: Tier
    coding: Tier
    reasoning: Tier
    tool_use: Tier
    instruction_following: Tier
    confidence: Confidence = "medium"


def _same(tier: Tier, confidence: Confidence = "medium") -> Prior:
    return Prior(
        overall=tier,
        coding=tier,
        reasoning=tier,
        tool_use=tier,
        instruction_following=tier,
        confidence=confidence,
    )


def _detailed(overall: Tier, coding: Tier, reasoning: Tier, tool_use: Tier, following: Tier) -> Prior:
    return Prior(
        overall=overall, coding=coding, reasoning=reasoning, tool_use=tool_use, instruction_following=following
    )


PRIORS: Mapping[str, Prior] = MappingProxyType(
    {
        "openai/gpt-5.6-luna": _detailed("frontier", "frontier", "frontier", "strong", "strong"),
        "deepseek/deepseek-v4-flash-0731": _detailed("strong", "strong", "strong", "strong", "mid"),
        "z-ai/glm-5.3-flash": _detailed("strong", "strong", "strong", "mid", "mid"),
        "qwen/qwen3.8-flash": _same("mid"),
        "openrouter/free": _same("light", "low"),
        "openai/gpt-5": _same("frontier"),
        "anthropic/claude-opus-5": _same("frontier"),
        "anthropic/claude-sonnet": _same("strong"),
        "google/gemini-3.1-pro-preview": _same("strong"),
        "deepseek/deepseek-v4": _same("strong"),
        "z-ai/glm-5.3": _same("strong"),
        "kimi-coding/k3": _same("strong"),
        "google/gemini-flash-latest": _same("mid"),
        "qwen/qwen3.8": _same("mid"),
        "openai/gpt-5.4-nano": _same("light"),
        "anthropic/claude-haiku": _same("light"),
        "google/gemini-flash-lite-latest": _same("light"),
    }
)
"""Detailed and coarse priors (section 7)."""

DETAILED = frozenset(
    {
        "openai/gpt-5.6-luna",
        "deepseek/deepseek-v4-flash-0731",
        "z-ai/glm-5.3-flash",
        "qwen/qwen3.8-flash",
        "openrouter/free",
    }
)
"""Priors that tell abilities apart; a benchmark takes its abilities from them."""

BENCHMARKS: Mapping[BenchmarkSource, Mapping[str, float]] = MappingProxyType(
    {
        "ramp": {
            "openai/gpt-5.6-luna": 0.89,
            "openai/gpt-5": 0.88,
            "openai/gpt-5.4-nano": 0.72,
            "anthropic/claude-opus-5": 0.87,
            "anthropic/claude-sonnet": 0.82,
            "anthropic/claude-haiku": 0.71,
            "google/gemini-3.1-pro-preview": 0.84,
            "google/gemini-flash-latest": 0.76,
            "google/gemini-flash-lite-latest": 0.68,
            "deepseek/deepseek-v4-flash-0731": 0.78,
            "deepseek/deepseek-v4": 0.83,
            "z-ai/glm-5.3-flash": 0.77,
            "z-ai/glm-5.3": 0.81,
            "qwen/qwen3.8-flash": 0.73,
            "qwen/qwen3.8": 0.79,
            "kimi-coding/k3": 0.80,
            "openrouter/free": 0.45,
        },
        "aa": {
            "openai/gpt-5.6-luna": 54,
            "openai/gpt-5": 53,
            "openai/gpt-5.4-nano": 38,
            "anthropic/claude-opus-5": 52,
            "anthropic/claude-sonnet": 48,
            "anthropic/claude-haiku": 37,
            "google/gemini-3.1-pro-preview": 50,
            "google/gemini-flash-latest": 43,
            "google/gemini-flash-lite-latest": 34,
            "deepseek/deepseek-v4-flash-0731": 44,
            "deepseek/deepseek-v4": 49,
            "z-ai/glm-5.3-flash": 42,
            "z-ai/glm-5.3": 46,
            "qwen/qwen3.8-flash": 39,
            "qwen/qwen3.8": 45,
            "kimi-coding/k3": 47,
        },
        "aider": {target: rate for target, (rate, _, _) in aider_rows.ROWS.items()},
    }
)
"""Scores by source and `provider/model`; Ramp as a share, AA as an index, Aider as percent of its exercises."""

DAYS: Mapping[BenchmarkSource, Mapping[str, str]] = MappingProxyType(
    {"aider": {target: day for target, (_, day, _) in aider_rows.ROWS.items()}}
)
"""The day of a single score, where its source tells it; else that of the source holds."""
