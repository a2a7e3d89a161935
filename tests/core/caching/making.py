"""Chains made from letters: each letter is a slice with its own hash and 1,000 tokens."""

from __future__ import annotations

from typing import Any

from ullage.core.caching import Chain, Footprint, Mark, leave, make_chain
from ullage.core.content import Usage
from ullage.core.profiles.cache_rules import CACHE_RULES, CacheRule

TOKENS = 1_000
START_MS = 1_800_000_000_000
MINUTE_MS = 60_000


def rule(name: str) -> CacheRule:
    return next(row for row in CACHE_RULES if row.id == name)


CLAUDE = rule("claude-4")
OPENAI = rule("openai")
GPT56 = rule("openai-5.6")


def chain(letters: str, *, tools: int = 0, system: int = 0, marks: tuple[int, ...] = (), **named: Any) -> Chain:
    """`chain("TSabc", tools=1, system=1, marks=(2, 5))`."""
    return make_chain(
        [ord(letter) for letter in letters],
        [TOKENS] * len(letters),
        tools=tools,
        system=system,
        marks=[Mark(position) for position in marks],
        **named,
    )


def marked(letters: str, **named: Any) -> Chain:
    """As Claude Code does: a tool, a system block, messages; marks behind the system and at the end."""
    return chain(letters, tools=1, system=1, marks=(2, len(letters)), **named)


def usage(prompt: int, read: int | None = None, write: int | None = None) -> Usage:
    return Usage(input_fresh=prompt - (read or 0) - (write or 0), cache_read=read, cache_write=write, output=10)


def left_by(
    cache_rule: CacheRule, request: Chain, reported: Usage | None, at_ms: int = START_MS, **named: Any
) -> Footprint:
    return leave(cache_rule, request, reported, sent_ms=at_ms, ended_ms=at_ms, **named)
