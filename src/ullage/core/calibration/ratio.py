"""`ratio-v1`: how many provider tokens one token of ours is, as the median of what was seen (planner specification, section 7).

Samples go in, whatever order they arrived in; what the newest of them say comes out. The caller sees to it that they are of one
provider, model and estimator.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

from .rounding import round_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RATIO_METHOD = "ratio-v1"

SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exact. No prompt comes near it; a figure beyond it is no measurement."""

_LEAST_TOLERANCE = 0.05
_RELATIVE_TOLERANCE = 0.10
_DEVIATIONS = 3
# A median absolute deviation times this estimates the standard deviation of a normal distribution.
_NORMAL_SCALE = 1.4826

# A sample that weighs less than a sixteenth is four half-lives old: with ageing on, it no longer speaks for the load of today.
_LEAST_WATERMARK_HALF_LIVES = 4
# Far beyond any difference that matters, and small enough for a weight to stay above zero.
_MOST_HALF_LIVES = 64

_Weighted = tuple[float, float]
"""A value and its weight."""


class Sample(Struct, frozen=True, kw_only=True):
    """One estimate with its usage, in tokens. `estimated` is raw: a calibrated one would feed the ratio back into itself.

    `id` is the call's. The three input parts are disjoint (docs/decisions/0001-disjoint-usage.md).
    """

    id: str
    created_ms: int
    estimated: int
    input_fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        """The whole prompt as the provider counted it."""
        return self.input_fresh + self.cache_read + self.cache_write


class Bounds(Struct, frozen=True, kw_only=True):
    """Which samples count. `window` is how many of the newest are looked at, `minimum` how many must be accepted before their
    ratio is applied; ratios outside `lower` and `upper`, both inclusive, are not believed. With a `half_life_ms` above zero a
    sample weighs half when it is so much older than the newest; zero lets none age, as the reference does. The defaults are
    those of planner specification, section 2.2.
    """

    window: int = 24
    minimum: int = 3
    lower: float = 0.5
    upper: float = 2.0
    half_life_ms: float = 0.0


class Calibration(Struct, frozen=True, kw_only=True):
    """What the newest samples say. Every `observed` one is `accepted` or `rejected`.

    Of the rejected, `hard_bound` are those whose ratio is outside the bounds and `outliers` those that lie too far from the
    median; the others are no valid samples. `median_ratio` is that of the accepted, also below the minimum; `None` if there are
    none. `applied_ratio` is 1 unless `calibrated`. `high_watermark` is the largest prompt of all valid samples, outliers and
    those outside the bounds included: 0 if there are none.
    """

    observed: int
    accepted: int
    rejected: int
    outliers: int
    hard_bound: int
    median_ratio: float | None
    applied_ratio: float
    calibrated: bool
    high_watermark: int


def is_valid(sample: Sample) -> bool:
    """Whether the figures can be those of a call (section 7.1)."""
    parts = (sample.input_fresh, sample.cache_read, sample.cache_write)
    return (
        0 < sample.estimated <= SAFE_INTEGER
        and 0 < sum(parts) <= SAFE_INTEGER
        and min(parts) >= 0
        and 0 <= sample.created_ms <= SAFE_INTEGER
    )


def newest(samples: Iterable[Sample], count: int) -> list[Sample]:
    """The `count` newest of them, the newest first; of those of one moment the one whose id is last (section 7.2)."""
    return sorted(samples, key=_age, reverse=True)[:count]


def calibrate(
    samples: Iterable[Sample], bounds: Bounds, *, enabled: bool = True, now_ms: int | None = None
) -> Calibration:
    """What the newest samples make of one token of ours (section 7.2).

    Not `enabled`, nothing is applied, but it is still said what was seen. `now_ms` only matters where samples age: those four
    half-lives old leave the high watermark; without it the newest sample tells the time.
    """
    window = newest(samples, bounds.window)
    valid = [sample for sample in window if is_valid(sample)]
    bounded = _bounded(valid, bounds)
    accepted = _accepted(bounded)
    median = round_ratio(_median(accepted)) if accepted else None
    calibrated = enabled and len(accepted) >= bounds.minimum
    return Calibration(
        observed=len(window),
        accepted=len(accepted),
        rejected=len(window) - len(accepted),
        outliers=len(bounded) - len(accepted),
        hard_bound=len(valid) - len(bounded),
        median_ratio=median,
        applied_ratio=_within(median, bounds) if calibrated else 1.0,
        calibrated=calibrated,
        high_watermark=_high_watermark(valid, bounds, now_ms),
    )


def find_accepted(samples: Iterable[Sample], bounds: Bounds) -> tuple[float, float] | None:
    """The smallest and the largest ratio among the newest samples that is accepted: what lies between them is, too. `None` where
    nothing is."""
    valid = [sample for sample in newest(samples, bounds.window) if is_valid(sample)]
    accepted = _accepted(_bounded(valid, bounds))
    return (accepted[0][0], accepted[-1][0]) if accepted else None


def _age(sample: Sample) -> tuple[int, str]:
    return sample.created_ms, sample.id


def _bounded(valid: Sequence[Sample], bounds: Bounds) -> list[_Weighted]:
    """Ratios within the bounds, the smallest first, with what each weighs."""
    if bounds.half_life_ms > 0 and valid:
        latest = valid[0].created_ms
        weights = [0.5 ** min((latest - sample.created_ms) / bounds.half_life_ms, _MOST_HALF_LIVES) for sample in valid]
    else:
        weights = [1.0] * len(valid)
    ratios = [(sample.prompt / sample.estimated, weight) for sample, weight in zip(valid, weights, strict=True)]
    return sorted(ratio for ratio in ratios if bounds.lower <= ratio[0] <= bounds.upper)


def _accepted(bounded: Sequence[_Weighted]) -> list[_Weighted]:
    """Those that lie no further from the median than most do."""
    if not bounded:
        return []
    center = _median(bounded)
    deviation = _median(sorted((abs(ratio - center), weight) for ratio, weight in bounded))
    tolerance = max(_LEAST_TOLERANCE, _RELATIVE_TOLERANCE * center, _DEVIATIONS * _NORMAL_SCALE * deviation)
    return [(ratio, weight) for ratio, weight in bounded if abs(ratio - center) <= tolerance]


def _median(ordered: Sequence[_Weighted]) -> float:
    """The value with as much weight below as above it; the mean of two where the weight parts between them.

    Equal weights make it the plain median, exactly: their sums are whole numbers.
    """
    sums = list(accumulate(weight for _, weight in ordered))
    half = sums[-1] / 2
    middle = bisect_left(sums, half)
    value = ordered[middle][0]
    return (value + ordered[middle + 1][0]) / 2 if sums[middle] == half else value


def _within(median: float | None, bounds: Bounds) -> float:
    """The ratio to apply: a bound with more than six decimals holds for the rounded median too."""
    return 1.0 if median is None else min(max(median, bounds.lower), bounds.upper)


def _high_watermark(valid: Sequence[Sample], bounds: Bounds, now_ms: int | None) -> int:
    """The largest prompt of those that are not too old to speak for today's load."""
    if bounds.half_life_ms <= 0 or not valid:
        return max((sample.prompt for sample in valid), default=0)
    now = valid[0].created_ms if now_ms is None else now_ms
    oldest = now - _LEAST_WATERMARK_HALF_LIVES * bounds.half_life_ms
    return max((sample.prompt for sample in valid if sample.created_ms >= oldest), default=0)
