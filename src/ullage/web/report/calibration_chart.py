"""Two pictures of what usage taught: estimate against usage, and the ratio from sample to sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from .axes import ratio_ticks_to, ticks_to
from .markup import Markup, join, tag
from .numbers import ratio, short, tokens
from .pictures import picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WIDTH, _HEIGHT = 520.0, 380.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 22.0, 40.0
_RADIUS = 3.6
_LABELS = 8

VERDICTS = {
    "accepted": "accepted",
    "outlier": "too far from the median",
    "hard_bound": "outside the bounds",
    "invalid": "no sample",
}
"""What is said of a sample by its verdict."""

_FAR_OUT = 1.5
"""Ratios beyond so many upper bounds stand at the upper edge: one of a thousand would flatten the rest."""


class _Frame(NamedTuple):
    """From numbers to places in a picture."""

    right: float
    top: float

    def x(self, value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * value / self.right

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / self.top


def draw_scatter(calibration: dict[str, Any]) -> Markup | None:
    """Each sample at its estimate and its usage, with the line on which both are the same and the one that was learned."""
    samples = [sample for sample in calibration["samples"] if sample["ratio"] is not None]
    if not samples:
        return None
    across = ticks_to(max(sample["estimated"] for sample in samples))
    up = ticks_to(max(sample["actual"] for sample in samples))
    frame = _Frame(across[-1], up[-1])
    drawn = join(
        _grid([(tick, short(tick)) for tick in up], frame),
        _token_axis(across, frame),
        _axis_names("usage", "raw estimate"),
        _line(1.0, frame, "same", "Estimate = usage"),
        _learned_line(calibration, frame),
        *(_mark(sample, frame.x(sample["estimated"]), frame.y(sample["actual"]), "plot") for sample in samples),
    )
    description = (
        f"{len(samples)} calls, each at our raw estimate (to the right) and what the provider counted (upward). "
        f"One token of ours is {ratio(calibration['applied_ratio'])} of the provider's. All numbers are in the table below."
    )
    return picture("calibration-scatter", "Estimate against usage", description, _WIDTH, _HEIGHT, drawn)


def draw_ratios(calibration: dict[str, Any]) -> Markup | None:
    """The ratio of each sample in the order of time, the bounds, and the ratio that was applied behind it."""
    samples = calibration["samples"]
    if not samples:
        return None
    upper = calibration["upper_bound"]
    shown = [min(sample["ratio"], _FAR_OUT * upper) for sample in samples if sample["ratio"] is not None]
    ticks = ratio_ticks_to(max([upper, *shown]))
    frame = _Frame(len(samples), ticks[-1])
    drawn = join(
        _band(calibration, frame),
        _grid([(tick, f"{tick:g}") for tick in ticks], frame),
        _call_axis(samples, frame),
        _axis_names("ratio", "sample"),
        _applied(samples, frame),
        *_refused_marks(calibration, frame),
        *_ratio_marks(samples, frame),
    )
    description = (
        f"The ratio of usage to estimate of {len(samples)} calls in the order of time; believed between "
        f"{calibration['lower_bound']:g} and {upper:g}. The line is the ratio that was applied. "
        "All numbers are in the table below."
    )
    return picture("calibration-ratios", "Ratio from call to call", description, _WIDTH, _HEIGHT, drawn)


def _ratio_marks(samples: Sequence[dict[str, Any]], frame: _Frame) -> Iterator[Markup]:
    for index, sample in enumerate(samples):
        if sample["ratio"] is not None:
            yield _mark(sample, frame.x(index + 0.5), frame.y(min(sample["ratio"], frame.top)), "course")


def _refused_marks(calibration: dict[str, Any], frame: _Frame) -> Iterator[Markup]:
    """Calls that taught nothing, as strokes on the axis between the samples where they fell."""
    times = [sample["time"] for sample in calibration["samples"]]
    for one in calibration["refused"]:
        if one["time"] is None or None in times:
            continue
        x = frame.x(sum(time <= one["time"] for time in times))
        yield tag(
            "line",
            tag("title", f"Call {one['call']} taught nothing: {one['reason']}"),
            x1=x,
            x2=x,
            y1=frame.y(0) - 7,
            y2=frame.y(0),
            class_="sample refused",
            data_refused=str(one["call"]),
            data_reason=str(one["reason"]),
        )


def _grid(ticks: Sequence[tuple[float, str]], frame: _Frame) -> Markup:
    lines = []
    for tick, words in ticks:
        y = frame.y(tick)
        lines.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        lines.append(tag("text", words, x=_LEFT - 6, y=y + 4, class_="tick", text_anchor="end"))
    return tag("g", lines, aria_hidden="true")


def _axis_names(up: str, across: str) -> Markup:
    return tag(
        "g",
        tag("text", up, x=_LEFT - 6, y=_TOP - 9, class_="tick", text_anchor="end"),
        tag("text", across, x=_WIDTH - _RIGHT, y=_HEIGHT - 6, class_="tick", text_anchor="end"),
        aria_hidden="true",
    )


def _token_axis(ticks: Sequence[int], frame: _Frame) -> Markup:
    *inner, last = ticks[1:]
    labels = [_below(short(tick), frame.x(tick)) for tick in inner]
    labels.append(_below(short(last), frame.x(last), anchor="end"))
    return tag("g", labels, aria_hidden="true")


def _call_axis(samples: Sequence[dict[str, Any]], frame: _Frame) -> Markup:
    every = math.ceil(len(samples) / _LABELS)
    labels = [_below(str(number), frame.x(number - 0.5)) for number in range(1, len(samples) + 1, every)]
    return tag("g", labels, aria_hidden="true")


def _below(words: str, x: float, *, anchor: str = "middle") -> Markup:
    return tag("text", words, x=x, y=_HEIGHT - _BOTTOM + 15, class_="tick", text_anchor=anchor)


def _line(slope: float, frame: _Frame, class_: str, title: str, *, offset: float = 0.0, **data: float) -> Markup | None:
    """usage = offset + slope x estimate, as far as it lies in the picture."""
    end = min(frame.right, (frame.top - offset) / slope)
    if end <= 0:
        return None
    return tag(
        "line",
        tag("title", title),
        x1=frame.x(0),
        y1=frame.y(offset),
        x2=frame.x(end),
        y2=frame.y(offset + slope * end),
        class_=f"calibration {class_}",
        **{f"data_{key}": str(value) for key, value in data.items()},
    )


def _learned_line(calibration: dict[str, Any], frame: _Frame) -> Markup | None:
    if not calibration["calibrated"]:
        return None
    applied = calibration["applied_ratio"]
    return _line(applied, frame, "learned", f"Usage = {ratio(applied)} × estimate", ratio=applied)


def _band(calibration: dict[str, Any], frame: _Frame) -> Markup:
    lower, upper = calibration["lower_bound"], calibration["upper_bound"]
    return tag(
        "rect",
        tag("title", f"Ratios that are believed: {lower:g} to {upper:g}"),
        x=_LEFT,
        y=frame.y(upper),
        width=_WIDTH - _LEFT - _RIGHT,
        height=frame.y(lower) - frame.y(upper),
        class_="believed",
        data_lower=str(lower),
        data_upper=str(upper),
    )


def _applied(samples: Sequence[dict[str, Any]], frame: _Frame) -> Markup:
    """What the next call was taken by: a step behind every sample."""
    points = [(0.0, frame.y(1.0))]
    for index, sample in enumerate(samples):
        points += [(index + 0.5, points[-1][1]), (index + 0.5, frame.y(sample["applied_ratio"]))]
    points.append((float(len(samples)), points[-1][1]))
    path = "M" + "L".join(f"{frame.x(at):.2f} {y:.2f}" for at, y in points)
    return tag("path", tag("title", "Ratio that was applied"), d=path, class_="applied")


def _mark(sample: dict[str, Any], x: float, y: float, picture_of: str) -> Markup:
    """Filled where the sample is accepted, open where it is an outlier, a cross where it is not believed; pale where it no longer
    counts."""
    verdict = sample["verdict"]
    past = "" if sample["counts"] else " past"
    data = {
        "data_picture": picture_of,
        "data_call": str(sample["call"]),
        "data_estimated": str(sample["estimated"]),
        "data_actual": str(sample["actual"]),
        "data_ratio": str(sample["ratio"]),
        "data_verdict": str(verdict),
    }
    said = tag(
        "title",
        f"Call {sample['call']}: {tokens(sample['estimated'], exact=False)} estimated, {tokens(sample['actual'])} counted, "
        f"ratio {ratio(sample['ratio'])}, {VERDICTS.get(verdict, str(verdict))}",
    )
    if verdict in ("accepted", "outlier"):
        return tag("circle", said, cx=x, cy=y, r=_RADIUS, class_=f"sample {verdict}{past}", **data)
    arm = _RADIUS
    cross = f"M{x - arm:.2f} {y - arm:.2f}l{2 * arm:g} {2 * arm:g}m0 {-2 * arm:g}l{-2 * arm:g} {2 * arm:g}"
    return tag("path", said, d=cross, class_=f"sample refused{past}", **data)
