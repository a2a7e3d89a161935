"""What each policy weighs (routing specification, section 10.2)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ullage.core.errors import InputError

Policy = Literal["balanced", "best", "cost", "fast"]
"""The way of weighing. `fast` prefers short times above all, and fewer switches than `balanced` a little (section 32, row 8)."""


class Weights(Struct, frozen=True, kw_only=True):
    """The weight of each term of a utility. They sum to 1."""

    quality: float
    cost: float
    stickiness: float
    quota: float
    pool: float
    latency: float
    reliability: float


WEIGHTS: dict[Policy, Weights] = {
    "balanced": Weights(quality=0.38, cost=0.13, stickiness=0.09, quota=0.1, pool=0.1, latency=0.1, reliability=0.1),
    "best": Weights(quality=0.55, cost=0.04, stickiness=0.05, quota=0.07, pool=0.08, latency=0.1, reliability=0.11),
    "cost": Weights(quality=0.26, cost=0.3, stickiness=0.05, quota=0.1, pool=0.1, latency=0.08, reliability=0.11),
    "fast": Weights(quality=0.32, cost=0.1, stickiness=0.1, quota=0.1, pool=0.1, latency=0.16, reliability=0.12),
}
_OLD_WORDS: dict[str, Policy] = {"price": "cost"}


def read_policy(word: str) -> Policy:
    """The policy of a name; `price` is an old word for `cost` (section 1). Raises `InputError` for any other."""
    found = find_policy(word)
    if found is None:
        raise InputError(f"{word!r} is no policy.", hint=f"Policies are {', '.join(WEIGHTS)}.", code="unknown_policy")
    return found


def find_policy(word: str) -> Policy | None:
    return _OLD_WORDS.get(word) or next((policy for policy in WEIGHTS if policy == word), None)
