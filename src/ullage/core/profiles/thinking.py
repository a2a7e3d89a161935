"""How each model is told how much to think: rows of data, the first that matches counts (routing specification, section 15).

From the providers' manuals as of summer 2026: Anthropic's extended and adaptive thinking and effort, OpenAI's and xAI's effort by
model, Google's thinking budgets (2.5) and levels (3). Budgets for levels that have none of their own are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
"""From the least to the most (routing specification, section 1)."""

LEAST_BUDGET_TOKENS = 1_024
"""The smallest budget that Anthropic takes."""

Value = str | int
"""A word, or a budget in tokens."""


class ThinkingRule(Struct, frozen=True, kw_only=True):
    """What a model is told for each level that it has, by its maker's own protocol: words, or budgets in tokens.

    `off` is what it is told not to think; `omits` says that it does not where it is told nothing. A model that has neither thinks
    at its lowest level. `adaptive` are words of Anthropic's adaptive thinking; `listed` are those that a registry of models lists
    for the provider itself. How another protocol says the same: `ullage.core.wire.thinking`.
    """

    levels: Mapping[ThinkingLevel, Value]
    off: Value | None = None
    omits: bool = False
    adaptive: bool = False
    listed: bool = False

    def value_of(self, level: ThinkingLevel) -> Value | None:
        """What to tell the model: for the level, else for the next lower one that it has, else for its lowest; `None` for
        nothing at all."""
        wanted = THINKING_LEVELS.index(level)
        had = [one for one in THINKING_LEVELS[1:] if one in self.levels]
        lower = [one for one in had if THINKING_LEVELS.index(one) <= wanted]
        if lower:
            return self.levels[lower[-1]]
        if self.off is not None or self.omits or not had:
            return self.off
        return self.levels[had[0]]


def _words(*levels: ThinkingLevel) -> Mapping[ThinkingLevel, Value]:
    return MappingProxyType({level: level for level in levels})


THINKING_BUDGETS: Mapping[ThinkingLevel, Value] = MappingProxyType(
    {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 32_000}
)
"""Tokens of each level where a budget is told."""
# Half way between the budgets of the levels.
_MOST_TOKENS: tuple[tuple[int, ThinkingLevel], ...] = (
    (0, "off"),
    (1_536, "minimal"),
    (5_120, "low"),
    (12_288, "medium"),
    (20_480, "high"),
    (28_288, "xhigh"),
)

_GEMINI_BUDGETS = MappingProxyType({**THINKING_BUDGETS, "max": 24_576})
_CLAUDE_BUDGET = ThinkingRule(levels=THINKING_BUDGETS, omits=True)
_CLAUDE_ADAPTIVE = ThinkingRule(levels=_words("low", "medium", "high", "max"), omits=True, adaptive=True)
_CLAUDE_WIDE = ThinkingRule(levels=_words("low", "medium", "high", "xhigh", "max"), omits=True, adaptive=True)
_NONE_TO_XHIGH = ThinkingRule(levels=_words("low", "medium", "high", "xhigh"), off="none")
_LOW_TO_XHIGH = ThinkingRule(levels=_words("low", "medium", "high", "xhigh"))
_LOW_TO_HIGH = ThinkingRule(levels=_words("low", "medium", "high"))

_ROWS: tuple[tuple[str, ThinkingRule], ...] = (
    (r"claude-3[-.]7|claude-haiku-4|claude-(?:opus|sonnet)-4(?:[-.][015](?!\d)|-\d{8}|[@:]|$)", _CLAUDE_BUDGET),
    (r"claude-(?:opus|sonnet)-4[-.]6", _CLAUDE_ADAPTIVE),
    (r"claude-[a-z]+-(?:4[-.][7-9]|[5-9])", _CLAUDE_WIDE),
    (r"gpt-5-pro", ThinkingRule(levels=_words("high"))),
    (r"gpt-5-codex|gpt-5\.1-codex(?!-max)", _LOW_TO_HIGH),
    (r"gpt-5\.\d+-codex", _LOW_TO_XHIGH),
    (r"gpt-5\.1", ThinkingRule(levels=_words("low", "medium", "high"), off="none")),
    (r"gpt-(?:5\.[2-9]|[6-9])", _NONE_TO_XHIGH),
    (r"gpt-5", ThinkingRule(levels=_words("minimal", "low", "medium", "high"))),
    (r"(?<![a-z0-9])o[1-9](?:-|$)|codex-mini|gpt-oss", _LOW_TO_HIGH),
    (r"grok-3-mini", ThinkingRule(levels=_words("low", "high"))),
    (r"gemini-2\.5-pro", ThinkingRule(levels={**_GEMINI_BUDGETS, "minimal": 128, "max": 32_768})),
    (r"gemini-2\.5", ThinkingRule(levels=_GEMINI_BUDGETS, off=0)),
    (r"gemini-(?:[3-9](?:\.\d+)?)-pro", _LOW_TO_HIGH),
    (r"gemini-[3-9]", ThinkingRule(levels=_words("minimal", "low", "medium", "high"))),
)
_COMPILED = tuple((re.compile(pattern), rule) for pattern, rule in _ROWS)


@lru_cache(maxsize=1_000)
def find_thinking_rule(model: str) -> ThinkingRule | None:
    """The rule of a model by its id, with or without its maker before it; `None` where nobody says what it takes."""
    name = model.lower()
    return next((rule for pattern, rule in _COMPILED if pattern.search(name)), None)


def rule_of_levels(levels: Mapping[str, str | None]) -> ThinkingRule:
    """The rule of a map from level to what the provider calls it, `None` where it has it not."""
    had = {level: value for level in THINKING_LEVELS if (value := levels.get(level)) is not None}
    off = had.pop("off", None)
    return ThinkingRule(levels=had, off=off, omits="off" in levels and off is None, listed=True)


def level_of_budget(tokens: int) -> ThinkingLevel | None:
    """The level whose own budget is nearest; below zero the model decides, which is no level."""
    if tokens < 0:
        return None
    return next((level for most, level in _MOST_TOKENS if tokens <= most), "max")


def level_of_word(word: str) -> ThinkingLevel | None:
    """The level that OpenAI, Anthropic and Gemini call so, in capitals or not; `None` for any other word."""
    name = "off" if word.lower() == "none" else word.lower()
    return next((level for level in THINKING_LEVELS if level == name), None)
