"""Budgets of what goes into a prompt: tail, history and project snippets (planner specification, section 5)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from .budget import Limits


class Tier(Struct, frozen=True):
    """What a window of some size has room for by default, in provider tokens."""

    tail: int
    history: int
    project: int


_TIERS = (
    (40_000, Tier(12_000, 4_000, 4_000)),
    (131_072, Tier(24_000, 8_000, 12_000)),
    (262_144, Tier(32_000, 16_000, 20_000)),
)
_LARGEST = Tier(64_000, 32_000, 32_000)


class Overrides(Struct, frozen=True, kw_only=True):
    """Budgets that the user gave this model, in provider tokens; `None` where it has none of its own."""

    recent_tail_tokens: int | None = None
    max_retrieved_history_tokens: int | None = None
    max_project_tokens: int | None = None


class Category(Struct, frozen=True, kw_only=True):
    """The budget of one category. `nominal` is in provider tokens, `resolved`, which plans use, in tokens of the local estimator.
    `explicit` says that it is an override of this model."""

    nominal: int
    resolved: int
    explicit: bool


class Adaptive(Struct, frozen=True, kw_only=True):
    """The budgets of all categories. They are limits of each alone: the input limit holds for all together."""

    recent_tail: Category
    history: Category
    project: Category


def find_tier(window: int) -> Tier:
    """The tier of a context window; a window at a boundary is in the smaller tier.

    Boundaries are 40,000, 131,072 and 262,144 tokens: what the reference's documents call 128k and 256k is binary in its code
    (contradiction C3 of section 34).
    """
    return next((tier for boundary, tier in _TIERS if window <= boundary), _LARGEST)


def resolve_categories(
    *,
    window: int,
    limits: Limits,
    overrides: Overrides,
    ratio: float = 1.0,
    factor: float = 1.0,
    room: int,
    enabled: bool = True,
) -> Adaptive:
    """The budgets for a context window.

    `ratio` is the applied one, which may be below 1; `factor` is that of auto-tuning. `room` is what a plan may fill at all,
    `Budget.active`. Without model awareness (`enabled`) history and project are the settings' caps, and only the tail keeps its
    tier (section 3.2).
    """
    tier = find_tier(window)

    def resolve(explicit: int | None, cap: int, automatic: int) -> Category:
        if explicit is None:
            nominal, most = min(cap, automatic), cap
            boosted = min(cap, math.floor(nominal * factor))
        else:
            # An override is the user's word on this model: no tuning moves it, and the general cap gives way (contradiction C2).
            nominal = boosted = explicit
            most = max(cap, explicit)
        # The only clamp of the result: plans use it as it is reported (contradiction C1).
        resolved = min(_localize(boosted, ratio), most, room)
        return Category(nominal=nominal, resolved=resolved, explicit=explicit is not None)

    return Adaptive(
        recent_tail=resolve(overrides.recent_tail_tokens, limits.recent_tail_tokens, tier.tail),
        history=resolve(
            overrides.max_retrieved_history_tokens,
            limits.max_retrieved_history_tokens,
            tier.history if enabled else limits.max_retrieved_history_tokens,
        ),
        project=resolve(
            overrides.max_project_tokens,
            limits.max_project_tokens,
            tier.project if enabled else limits.max_project_tokens,
        ),
    )


def _localize(provider_tokens: int, ratio: float) -> int:
    """So many provider tokens in local ones; a budget that is not zero stays above it."""
    return max(1, math.floor(provider_tokens / ratio)) if provider_tokens > 0 else 0
