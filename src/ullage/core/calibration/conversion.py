"""From provider tokens, which limits are known in, to tokens of the local estimator, which plans are counted in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from .growth import Law
    from .ratio import Calibration


class Conversion(Struct, frozen=True, kw_only=True):
    """provider tokens = `offset` + `slope` x local tokens.

    `slope` is at least 1 and `offset` at least 0: what we overestimate never makes room above a model's nominal limits (planner
    specification, section 4.1, rule 8; regression R3).
    """

    offset: float = 0.0
    slope: float = 1.0

    def to_local(self, provider_tokens: int) -> int:
        """The most local tokens that cannot be more than so many of the provider: 0 where the offset alone is more."""
        local = math.floor((provider_tokens - self.offset) / self.slope)
        return min(max(local, 0), provider_tokens)


IDENTITY = Conversion()
"""One for one: nothing is known yet."""


def convert_ratio(calibration: Calibration) -> Conversion:
    """That of `ratio-v1`: no offset, since one ratio stands for every size."""
    return Conversion(slope=max(1.0, calibration.applied_ratio))


def convert_growth(law: Law, *, anchor_prompt: int | None, anchor_tokens: float) -> Conversion:
    """That of `growth-v1`: what stands behind the session's last trusted call grows by `k` per new token.

    `anchor_prompt` is what the provider reported of that call, `anchor_tokens` what we make of its request. The offset is the
    part of its prompt that our tokens do not explain; with a `k` below 1 it is drawn by that `k` while the slope stays 1, so
    that the line lies nowhere below the law. Without an anchor nothing is known of the constant part: one for one.
    """
    if anchor_prompt is None:
        return IDENTITY
    return Conversion(offset=max(0.0, anchor_prompt - law.k * anchor_tokens), slope=max(1.0, law.k))
