"""The live estimate: the next prompt from the last one that the provider reported (accounting specification, section 24)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .amounts import round_half_up
from .breakdown import Total

if TYPE_CHECKING:
    from ullage.core.profiles import Growth


def grown(growth: Growth, *, output: int, new_tokens: float) -> float:
    """Tokens that one call adds to the next prompt: `a + b · output + k · new text`.

    `output` includes hidden reasoning; `new_tokens` are the o200k tokens of tool results, user text and attachments since then.
    """
    return growth.a + growth.b * output + growth.k * new_tokens


def next_prompt(
    growth: Growth, *, prompt: int, output: int, new_tokens: float, new_low: float, new_high: float
) -> Total:
    """The prompt of the next call, anchored on `prompt`, the last one reported, and its `output`.

    Here `new_tokens` and its bounds are already in the family's own tokens, so `k` has been applied.
    """
    answer = growth.a + growth.b * output
    slack = growth.error * (abs(answer) + new_tokens)
    tokens = round_half_up(prompt + answer + new_tokens)
    return Total(
        tokens=tokens,
        low=min(tokens, math.floor(prompt + answer + new_low - slack)),
        high=max(tokens, math.ceil(prompt + answer + new_high + slack)),
        kind="estimate",
        method="last usage + growth",
    )
