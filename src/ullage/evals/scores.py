"""Errors summed up (accounting specification, section 16.1)."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence


class Miss(NamedTuple):
    """One estimate beside the prompt that was reported, in tokens. `grown` is by how much that exceeds the call before."""

    estimate: float
    actual: int
    grown: int | None = None

    @property
    def tokens(self) -> float:
        return abs(self.estimate - self.actual)


class Scores(Struct, frozen=True, kw_only=True):
    """How far the estimates of `calls` calls are off. `mae`, `median_ae`, `p90_ae` and `bias` (estimate less actual, mean) are
    tokens, `mape` and `median_ape` shares of the prompt. `missed` is the median error as a share of the growth, over calls whose
    prompt grew; `None` if there is none.
    """

    calls: int
    mae: float
    median_ae: float
    p90_ae: float
    mape: float
    median_ape: float
    bias: float
    missed: float | None = None


def score(misses: Sequence[Miss]) -> Scores | None:
    """The scores of the misses, `None` if there are none."""
    if not misses:
        return None
    tokens = sorted(miss.tokens for miss in misses)
    shares = [miss.tokens / miss.actual for miss in misses]
    growth = [miss.tokens / miss.grown for miss in misses if miss.grown is not None and miss.grown > 0]
    return Scores(
        calls=len(misses),
        mae=statistics.fmean(tokens),
        median_ae=statistics.median(tokens),
        p90_ae=tokens[math.ceil(0.9 * len(tokens)) - 1],
        mape=statistics.fmean(shares),
        median_ape=statistics.median(shares),
        bias=statistics.fmean(miss.estimate - miss.actual for miss in misses),
        missed=statistics.median(growth) if growth else None,
    )
