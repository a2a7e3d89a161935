"""How well models did on Aider's polyglot benchmark: written by scripts/aider_rows.py, not by hand.

From the leaderboard of Aider-AI/aider (aider/website/_data/polyglot_leaderboard.yml, Apache-2.0), 69 runs up to 2025-10-03
(sha256 b3dbc00955e5… of the rows). Of each model the best run that it made by itself; runs of several models together are left
out, and those whose id at a provider the leaderboard does not tell.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .capability_rows import Tier

AS_OF = "2025-10-03"
"""The day of the last run."""

EXERCISES = 225
"""Exercises of a run; some runs lack one or two."""

THRESHOLDS: tuple[tuple[float, Tier], ...] = ((85.0, "frontier"), (65.0, "strong"), (45.0, "mid"))
"""Least rates of the tiers in percent: 3, 23, 43 points below the best one, 88.0. The script says why."""

ROWS: Mapping[str, tuple[float, str, str]] = MappingProxyType(
    {
        "openai/gpt-5": (88.0, "2025-08-23", "gpt-5 (high)"),
        "openai/o3-pro": (84.9, "2025-06-28", "o3-pro (high)"),
        "google/gemini-2.5-pro-preview-06-05": (83.1, "2025-06-06", "gemini-2.5-pro-preview-06-05 (32k think)"),
        "openai/o3": (81.3, "2025-06-25", "o3 (high)"),
        "x-ai/grok-4": (79.6, "2025-07-11", "grok-4 (high)"),
        "google/gemini-2.5-pro-preview-05-06": (76.9, "2025-05-07", "Gemini 2.5 Pro Preview 05-06"),
        "deepseek/deepseek-v3.2-exp": (74.2, "2025-10-03", "DeepSeek-V3.2-Exp (Reasoner)"),
        "google/gemini-2.5-pro-preview-03-25": (72.9, "2025-04-12", "Gemini 2.5 Pro Preview 03-25"),
        "anthropic/claude-opus-4-20250514": (72.0, "2025-05-25", "claude-opus-4-20250514 (32k thinking)"),
        "openai/o4-mini": (72.0, "2025-04-16", "o4-mini (high)"),
        "deepseek/deepseek-r1-0528": (71.4, "2025-06-06", "DeepSeek R1 (0528)"),
        "anthropic/claude-3-7-sonnet-20250219": (
            64.9,
            "2025-02-24",
            "claude-3-7-sonnet-20250219 (32k thinking tokens)",
        ),
        "openai/o1": (61.7, "2024-12-21", "o1-2024-12-17 (high)"),
        "anthropic/claude-sonnet-4-20250514": (61.3, "2025-05-24", "claude-sonnet-4-20250514 (32k thinking)"),
        "openai/o3-mini": (60.4, "2025-01-31", "o3-mini (high)"),
        "moonshotai/kimi-k2": (59.1, "2025-07-17", "Kimi K2"),
        "deepseek/deepseek-r1": (56.9, "2025-01-20", "DeepSeek R1"),
        "google/gemini-2.5-flash-preview-05-20": (55.1, "2025-05-25", "gemini-2.5-flash-preview-05-20 (24k think)"),
        "x-ai/grok-3-beta": (53.3, "2025-04-10", "Grok 3 Beta"),
        "openai/gpt-4.1": (52.4, "2025-04-14", "gpt-4.1"),
        "anthropic/claude-3-5-sonnet-20241022": (51.6, "2025-01-17", "claude-3-5-sonnet-20241022"),
        "x-ai/grok-3-mini-beta": (49.3, "2025-04-10", "Grok 3 Mini Beta (high)"),
        "google/gemini-2.5-flash-preview-04-17": (47.1, "2025-04-20", "gemini-2.5-flash-preview-04-17 (default)"),
        "openai/gpt-4.5-preview": (44.9, "2025-02-27", "gpt-4.5-preview"),
        "openai/gpt-oss-120b": (41.8, "2025-08-06", "gpt-oss-120b (high)"),
        "qwen/qwen3-32b": (40.0, "2025-05-08", "Qwen3 32B"),
        "google/gemini-exp-1206": (38.2, "2024-12-22", "gemini-exp-1206"),
        "google/gemini-2.0-pro-exp-02-05": (35.6, "2025-02-25", "Gemini 2.0 Pro exp-02-05"),
        "openai/o1-mini": (32.9, "2024-12-22", "o1-mini-2024-09-12"),
        "openai/gpt-4.1-mini": (32.4, "2025-04-14", "gpt-4.1-mini"),
        "anthropic/claude-3-5-haiku-20241022": (28.0, "2024-12-21", "claude-3-5-haiku-20241022"),
        "openai/gpt-4o-2024-08-06": (23.1, "2024-12-30", "gpt-4o-2024-08-06"),
        "google/gemini-2.0-flash-exp": (22.2, "2024-12-22", "gemini-2.0-flash-exp"),
        "qwen/qwen-max-2025-01-25": (21.8, "2025-01-28", "qwen-max-2025-01-25"),
        "qwen/qwq-32b": (20.9, "2025-03-06", "QwQ-32B"),
        "google/gemini-2.0-flash-thinking-exp-01-21": (18.2, "2025-01-21", "gemini-2.0-flash-thinking-exp-01-21"),
        "openai/gpt-4o-2024-11-20": (18.2, "2024-12-30", "gpt-4o-2024-11-20"),
        "qwen/qwen2.5-coder-32b-instruct": (16.4, "2024-12-26", "Qwen2.5-Coder-32B-Instruct"),
        "openai/gpt-4.1-nano": (8.9, "2025-04-14", "gpt-4.1-nano"),
        "google/gemma-3-27b-it": (4.9, "2025-03-15", "gemma-3-27b-it"),
        "openai/gpt-4o-mini-2024-07-18": (3.6, "2024-12-21", "gpt-4o-mini-2024-07-18"),
    }
)
"""By `provider/model`: exercises solved at the second try in percent, day and name of the run."""
