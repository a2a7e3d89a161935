"""How a ratio came about: every sample with what was made of it, and the ratio that stood behind it. For plots and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from .ratio import Sample, calibrate, find_accepted, is_valid, newest
from .rounding import round_ratio

if TYPE_CHECKING:
    from collections.abc import Collection

    from .ratio import Bounds

Verdict = Literal["accepted", "outlier", "hard_bound", "invalid"]
"""What a window makes of a sample: it counts; it lies too far from the median; its ratio is not believed; it is no sample."""


class Step(Struct, frozen=True, kw_only=True):
    """One sample in the order of time. `ratio` is its usage over its estimate, `None` for what is no sample.

    `verdict` is that of the last window which held it: the present one where `counts` is true. `applied_ratio` is what the next
    request was taken by, when this was the newest sample.
    """

    sample: Sample
    ratio: float | None
    verdict: Verdict
    counts: bool
    applied_ratio: float


def follow_ratio(samples: Collection[Sample], bounds: Bounds, *, enabled: bool = True) -> tuple[Step, ...]:
    """The samples from the oldest to the newest, each as `calibrate` saw it."""
    ordered = newest(samples, len(samples))[::-1]
    windows = [ordered[max(0, end - bounds.window) : end] for end in range(1, len(ordered) + 1)]
    ranges = [find_accepted(window, bounds) for window in windows]
    last = len(ordered) - 1
    return tuple(
        Step(
            sample=sample,
            ratio=round_ratio(sample.prompt / sample.estimated) if is_valid(sample) else None,
            verdict=_judge(sample, bounds, ranges[min(index + bounds.window - 1, last)]),
            counts=index + bounds.window > last,
            applied_ratio=calibrate(windows[index], bounds, enabled=enabled).applied_ratio,
        )
        for index, sample in enumerate(ordered)
    )


def _judge(sample: Sample, bounds: Bounds, accepted: tuple[float, float] | None) -> Verdict:
    if not is_valid(sample):
        return "invalid"
    ratio = sample.prompt / sample.estimated
    if not bounds.lower <= ratio <= bounds.upper:
        return "hard_bound"
    # A sample within the bounds stood in this window, so something was accepted there.
    return "accepted" if accepted is not None and accepted[0] <= ratio <= accepted[1] else "outlier"
