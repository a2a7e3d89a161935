"""The policy `cost`: the cheapest that is good enough, and when to stay all the same (routing specification, section 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from ullage.core.spend.prices import CallPrices

_MILLION = 1_000_000


class CostPolicy(Struct, frozen=True, kw_only=True):
    """`quality_floor`: what a target must reach, 0 to 1. `stickiness_tolerance`: how much dearer staying may be, as a part."""

    quality_floor: float = 0.0
    stickiness_tolerance: float = 0.1

    @property
    def floor(self) -> float:
        return min(1.0, max(0.0, self.quality_floor))


class Choice(Struct, frozen=True, kw_only=True):
    """What the next request costs in USD if the current target stays, and if the other takes over."""

    stay_usd: float
    switch_usd: float

    @property
    def ratio(self) -> float:
        """What staying costs as a multiple of switching; infinite where switching is free."""
        return self.stay_usd / self.switch_usd if self.switch_usd else float("inf")

    def keeps(self, tolerance: float) -> bool:
        return self.stay_usd <= (1 + tolerance) * self.switch_usd


def compare(current: CallPrices, other: CallPrices, *, context: int, required: int, output: int, warm: bool) -> Choice:
    """Staying against switching for a request of `required` tokens, `context` of them held by the current target if it is warm.

    The rest of the prompt is billed as input on both sides. Where nothing is held, all of it is.
    """
    rest = max(0, required - context)
    held = context if warm else 0
    fresh = rest + context - held
    return Choice(
        stay_usd=(held * current.cache_read + fresh * current.input + output * current.output) / _MILLION,
        switch_usd=(held * max(other.input, other.cache_write) + fresh * other.input + output * other.output)
        / _MILLION,
    )
