"""How a ratio came about: every sample with what was made of it, and the ratio that stood behind it. For plots and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from .drift import Drift, find_drift
from .ratio import RATIO_METHOD, Bounds, Calibration, Sample, calibrate, find_accepted, is_valid, newest
from .report import report_calibration, report_drift
from .rounding import round_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

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


class Refused(Struct, frozen=True, kw_only=True):
    """A call that made no sample, and why. `id` is the call's, `created_ms` epoch milliseconds, 0 where no time is known."""

    id: str
    created_ms: int
    reason: str


class Course(Struct, frozen=True, kw_only=True):
    """The calibration of one target by one estimator, with how it came about. `target` is `provider/model`.

    `complete` is false where the source leaves out parts of the prompts, so that every estimate is too low.
    """

    target: str
    estimator: str
    bounds: Bounds
    calibration: Calibration
    drift: Drift | None
    steps: tuple[Step, ...]
    refused: tuple[Refused, ...] = ()
    complete: bool = True


def draw_course(
    samples: Collection[Sample],
    bounds: Bounds,
    *,
    target: str,
    estimator: str,
    refused: Sequence[Refused] = (),
    enabled: bool = True,
    complete: bool = True,
) -> Course:
    """The course of samples that are all of one target and estimator."""
    calibration = calibrate(samples, bounds, enabled=enabled)
    return Course(
        target=target,
        estimator=estimator,
        bounds=bounds,
        calibration=calibration,
        drift=find_drift(calibration, bounds, enabled=enabled),
        steps=follow_ratio(samples, bounds, enabled=enabled),
        refused=tuple(refused),
        complete=complete,
    )


def report_course(
    course: Course, *, time_text: Callable[[int], str], name_of: Callable[[str], Any] = str
) -> dict[str, Any]:
    """The `calibration` of a context report: numbers, ids and reasons. `time_text` writes epoch milliseconds, `name_of` the id of
    a call."""

    def call(id_: str, created_ms: int) -> dict[str, Any]:
        return {"call": name_of(id_), "time": time_text(created_ms) if created_ms else None}

    return {
        "target": course.target,
        **report_calibration(course.calibration, course.bounds, method=RATIO_METHOD, estimator=course.estimator),
        "complete": course.complete,
        "drift": report_drift(course.drift),
        "samples": [
            {
                **call(step.sample.id, step.sample.created_ms),
                "estimated": step.sample.estimated,
                "actual": step.sample.prompt,
                "ratio": step.ratio,
                "verdict": step.verdict,
                "counts": step.counts,
                "applied_ratio": step.applied_ratio,
            }
            for step in course.steps
        ],
        "refused": [{**call(one.id, one.created_ms), "reason": one.reason} for one in course.refused],
    }


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
