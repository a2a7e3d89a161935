"""From provider tokens, which limits are known in, to tokens of the local estimator, which plans are counted in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from .growth import Law
    from .ratio import Calibration


class Conversion(Struct, frozen=True, kw_only=True):
    """provider tokens = `offset` + `slope` x local tokens. An offset below zero is what we count and the provider does not."""

    offset: float = 0.0
    slope: float = 1.0

    def to_local(self, provider_tokens: int) -> int:
        """The most local tokens that cannot be more than so many of the provider: 0 where the offset alone is more.

        Never above the number itself: what we overestimate makes no room above a model's nominal limits (planner specification,
        section 4.1, rule 8; regression R3).
        """
        local = math.floor((provider_tokens - self.offset) / self.slope)
        return min(max(local, 0), provider_tokens)


IDENTITY = Conversion()
"""One for one: nothing is known yet."""


def convert_ratio(calibration: Calibration) -> Conversion:
    """That of `ratio-v1`: no offset, since one ratio stands for every size."""
    return Conversion(slope=max(1.0, calibration.applied_ratio))


def convert_growth(law: Law, *, anchor_prompt: int, anchor_tokens: float) -> Conversion:
    """That of `growth-v1`: what stands behind the session's last trusted call grows by `k` per new token.

    `anchor_prompt` is what the provider reported of that call, `anchor_tokens` what we make of its request. The offset is the
    part of its prompt that our tokens do not explain, so that the line goes through the anchor.
    """
    return Conversion(offset=anchor_prompt - law.k * anchor_tokens, slope=law.k)
