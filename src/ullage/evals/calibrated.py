"""Calibrated estimates of whole requests, each made before its call was answered: by `ratio-v1` and by `growth-v1`.

A file begins with nothing learned. Every call is estimated with what the calls before it taught, whatever that was: where a
method did not believe them, its estimate is the raw one.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.calibration import METHOD, Bounds, Calibration, Sample, calibrate

from .files import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ESTIMATORS = ("chars-v1", "o200k-base-v1", "wire-v1")
"""What raw estimates are made by: the planner's two, and the one that figures for people come from."""

AFTER = (3, 5)
"""Calls are judged once so many trusted calls of the same provider and model came before them."""

LEAST_CALLS = 8
"""Files with fewer trusted calls are left out."""

BAR = 0.03
"""How far from usage the median call may be."""

_BOUNDS = Bounds()


class Weighed(Struct, frozen=True, kw_only=True):
    """One trusted call: its prompt as reported, and what was made of it before, in tokens.

    `raw` are estimates of the whole request by their estimator. `grown` is what growth-v1 expected, `None` where it had no call
    to start from; `line` is the raw estimate as growth-v1 draws limits by it, `None` where that is not known.
    `applied` are the ratios that `ratio-v1` had learned before, `None` where it did not believe its samples: for the estimators
    that are not in it they are found out here. `lossy` says that a text of the request is not in the record.
    """

    provider: str
    model: str
    prompt: int
    raw: dict[str, int]
    grown: int | None = None
    line: float | None = None
    applied: dict[str, float | None] = {}
    lossy: bool = False


class Spread(Struct, frozen=True, kw_only=True):
    """Errors of some calls as shares of their prompts: the median and the ninth decile."""

    calls: int
    median: float
    p90: float


class RatioFigures(Struct, frozen=True, kw_only=True):
    """`ratio-v1` over one estimator: errors without and with it. At `uncalibrated` calls it did not believe its samples."""

    raw: Spread
    calibrated: Spread
    uncalibrated: int


class Judgement(Struct, frozen=True, kw_only=True):
    """Every method over the calls behind `after` trusted ones. `growth` leaves out those with none to start from."""

    after: int
    calls: int
    ratio: dict[str, RatioFigures]
    growth: Spread | None = None
    line: Spread | None = None


class CalibratedFile(Struct, frozen=True, kw_only=True):
    """One recorded session. `calls` are its trusted ones whose whole text is there; `judgements` are in the order of `AFTER`."""

    path: str
    client: str
    calls: int
    judgements: tuple[Judgement, ...]


class MethodSummary(Struct, frozen=True, kw_only=True):
    """One method over files: in how many the median call is within `BAR`, the median of these medians, and the worst."""

    method: str
    after: int
    files: int
    within: int
    median: float
    worst: float


def judge_file(path: str, client: str, calls: Sequence[Weighed]) -> CalibratedFile | Skipped:
    """The figures of a file, or why it is left out."""
    whole = [call for call in calls if not call.lossy]
    if len(calls) < LEAST_CALLS:
        return Skipped(path=path, reason=f"fewer than {LEAST_CALLS} trusted calls: {len(calls)}")
    if len(whole) < max(LEAST_CALLS, len(calls) / 2):
        gone = len(calls) - len(whole)
        return Skipped(path=path, reason=f"texts of {gone} of its {len(calls)} calls are no longer in the file")
    ratios = {estimator: list(_applied(whole, estimator)) for estimator in whole[0].raw}
    judgements = tuple(judgement for after in AFTER if (judgement := _judge(whole, ratios, after)) is not None)
    if not judgements:
        return Skipped(path=path, reason=f"no model has more than {AFTER[0]} trusted calls")
    return CalibratedFile(path=path, client=client, calls=len(whole), judgements=judgements)


def spreads(judgement: Judgement) -> dict[str, Spread]:
    """Every method's errors under its name for people, as far as it was tried."""
    found: dict[str, Spread | None] = {}
    for estimator, figures in judgement.ratio.items():
        found |= {estimator: figures.raw, f"ratio-v1 × {estimator}": figures.calibrated}
    found |= {"growth-v1, its line": judgement.line, METHOD: judgement.growth}
    return {method: one for method, one in found.items() if one is not None}


def judged_after(files: Iterable[CalibratedFile], after: int) -> Iterator[tuple[CalibratedFile, Judgement]]:
    """The files with calls behind so many others, with the figures of these."""
    return ((file, judgement) for file in files for judgement in file.judgements if judgement.after == after)


def summarize(files: Sequence[CalibratedFile]) -> tuple[MethodSummary, ...]:
    """Every method after as many calls as it is judged by."""
    return tuple(summary for after in AFTER for summary in _summaries(files, after))


def _summaries(files: Sequence[CalibratedFile], after: int) -> Iterator[MethodSummary]:
    medians: dict[str, list[float]] = defaultdict(list)
    for _, judgement in judged_after(files, after):
        for method, one in spreads(judgement).items():
            medians[method].append(one.median)
    for method, found in medians.items():
        yield MethodSummary(
            method=method,
            after=after,
            files=len(found),
            within=sum(median <= BAR for median in found),
            median=statistics.median(found),
            worst=max(found),
        )


def follow_ratio(calls: Iterable[Weighed], estimator: str, bounds: Bounds = _BOUNDS) -> Iterator[Calibration]:
    """What `ratio-v1` had made of the calls before, for each call in their order."""
    samples: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for number, call in enumerate(calls):
        seen = samples[call.provider, call.model]
        yield calibrate(seen[-bounds.window :], bounds)
        seen.append(Sample(id=str(number), created_ms=number, estimated=call.raw[estimator], input_fresh=call.prompt))


def _applied(calls: Sequence[Weighed], estimator: str) -> Iterator[float | None]:
    for call, found in zip(calls, follow_ratio(calls, estimator), strict=True):
        yield call.applied.get(estimator, found.applied_ratio if found.calibrated else None)


def _judge(calls: Sequence[Weighed], ratios: dict[str, list[float | None]], after: int) -> Judgement | None:
    judged = [index for index, before in enumerate(_calls_before(calls)) if before >= after]
    if not judged:
        return None
    found = [calls[index] for index in judged]
    return Judgement(
        after=after,
        calls=len(found),
        ratio={
            estimator: _ratio_figures(found, estimator, [ratios[estimator][index] for index in judged])
            for estimator in ratios
        },
        growth=spread((call.grown, call.prompt) for call in found if call.grown is not None),
        line=spread((call.line, call.prompt) for call in found if call.line is not None),
    )


def _calls_before(calls: Sequence[Weighed]) -> Iterator[int]:
    """For each call how many of its provider and model came before it."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for call in calls:
        yield counts[call.provider, call.model]
        counts[call.provider, call.model] += 1


def _ratio_figures(calls: Sequence[Weighed], estimator: str, applied: Sequence[float | None]) -> RatioFigures:
    raw = spread((call.raw[estimator], call.prompt) for call in calls)
    calibrated = spread(
        (call.raw[estimator] * (ratio or 1.0), call.prompt) for call, ratio in zip(calls, applied, strict=True)
    )
    assert raw is not None and calibrated is not None, "there are calls"
    return RatioFigures(raw=raw, calibrated=calibrated, uncalibrated=applied.count(None))


def spread(pairs: Iterable[tuple[float, int]]) -> Spread | None:
    """The errors of pairs of estimate and prompt; `None` if there are none."""
    errors = sorted(abs(estimate - prompt) / prompt for estimate, prompt in pairs)
    if not errors:
        return None
    return Spread(calls=len(errors), median=statistics.median(errors), p90=errors[math.ceil(0.9 * len(errors)) - 1])
