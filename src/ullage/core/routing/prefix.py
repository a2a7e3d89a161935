"""Pins at the beginning of a prompt (routing specification, section 3.2), and what asks for more or less later on (33.11)."""

from __future__ import annotations

import re

from msgspec import Struct

_MODEL = re.compile(r"@model:(\S+)\s*")
_MODE = re.compile(r"@(low|medium|high|ultra)\b\s*", re.ASCII | re.IGNORECASE)
_BUMP = re.compile(r"@again-(stronger|cheaper)\b\s*", re.ASCII | re.IGNORECASE)
_TIERS = {"low": "light", "medium": "mid", "high": "strong", "ultra": "frontier"}
_BUMPS = {"stronger": 1, "cheaper": -1}


class Prefix(Struct, frozen=True, kw_only=True):
    """What a prompt began with: an exact target, the least tier, a step from the tier of the last route; or nothing."""

    model: str | None = None
    mode: str | None = None
    minimum_tier: str | None = None
    bump: int = 0

    @property
    def pinned(self) -> bool:
        """Whether the candidates are filtered by it."""
        return self.model is not None or self.minimum_tier is not None


NO_PREFIX = Prefix()


def parse_prefix(prompt: str, *, first_turn: bool = True) -> tuple[Prefix, str]:
    """The prefix of a prompt, and the prompt without it. Pins count on the first turn only and stay in the text of a later one.

    A step up or down (`@again-stronger`, `@again-cheaper`) counts on every turn. A prompt that is nothing but its prefix is kept.
    """
    begun = prompt.lstrip()
    if match := _BUMP.match(begun):
        return Prefix(bump=_BUMPS[match[1].lower()]), _rest(prompt, begun, match)
    if not first_turn:
        return NO_PREFIX, prompt
    if match := _MODEL.match(begun):
        return Prefix(model=match[1]), _rest(prompt, begun, match)
    if match := _MODE.match(begun):
        mode = match[1].lower()
        return Prefix(mode=mode, minimum_tier=_TIERS[mode]), _rest(prompt, begun, match)
    return NO_PREFIX, prompt


def is_late_pin(prompt: str, *, first_turn: bool) -> bool:
    """Whether a prompt begins with a pin that does not count, because it is not a conversation's first."""
    return not first_turn and parse_prefix(prompt)[0].pinned


def _rest(prompt: str, begun: str, match: re.Match[str]) -> str:
    return begun[match.end() :] or prompt
