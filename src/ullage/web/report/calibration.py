"""The section on what usage taught: the ratio, how it came about, and the calls that taught nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .calibration_chart import VERDICTS, draw_ratios, draw_scatter
from .markup import Markup, join, tag
from .numbers import ratio, tokens
from .tables import Columns, long_table

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEWEST = 10


def calibration_parts(calibration: dict[str, Any] | None) -> Iterator[Markup | None]:
    """Words, pictures and tables; nothing where no call was seen."""
    if calibration is None:
        return
    yield tag("p", _lead(calibration))
    yield tag(
        "dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in _facts(calibration)], class_="facts"
    )
    scatter, ratios = draw_scatter(calibration), draw_ratios(calibration)
    if scatter is not None and ratios is not None:
        yield tag(
            "div",
            tag("figure", scatter, tag("figcaption", "Usage over estimate. Dotted: both the same. Solid: as learned.")),
            tag("figure", ratios, tag("figcaption", "Ratio from sample to sample. Line: applied. Shaded: believed.")),
            class_="pair",
        )
        yield _legend()
    yield _samples_table(calibration["samples"])
    yield _refused_table(calibration["refused"])


def _lead(calibration: dict[str, Any]) -> str:
    said = f"One token by {calibration['estimator']} is "
    if calibration["calibrated"]:
        said += f"{ratio(calibration['applied_ratio'])} of {calibration['target']}: the median of {calibration['accepted']}."
    else:
        said += (
            f"taken for one of {calibration['target']}: {calibration['accepted']} of at least "
            f"{calibration['minimum_samples']} samples are accepted."
        )
    said += " Limits go by this ratio under ratio-v1, and under growth-v1 where a session has no call before."
    if not calibration["complete"]:
        said += " The source leaves out the system prompt or the tools, so every ratio here is too high."
    return said


def _facts(calibration: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Applied", ratio(calibration["applied_ratio"])
    yield "Median of the accepted", ratio(calibration["median_ratio"])
    yield "Samples", f"{calibration['accepted']} accepted of the newest {calibration['observed']}"
    yield "Too far from the median", tokens(calibration["outliers"])
    yield "Outside the bounds", tokens(calibration.get("hard_bound", 0))
    yield "Believed", f"{calibration['lower_bound']:g} to {calibration['upper_bound']:g}"
    yield "Window", f"{calibration['window']} samples"
    drift = calibration["drift"]
    if drift is not None:
        yield "Drift", f"{drift['code']}, {drift['severity']}"


def _legend() -> Markup:
    words = (
        ("●", "accepted"),
        ("○", VERDICTS["outlier"]),
        ("×", VERDICTS["hard_bound"]),
        ("|", "taught nothing"),
    )
    found = [tag("li", tag("span", sign, class_="sign", aria_hidden="true"), said) for sign, said in words]
    return tag("ul", found, tag("li", "pale: no longer among the newest"), class_="legend")


def _samples_table(samples: list[dict[str, Any]]) -> Markup | None:
    rows = [
        (
            str(sample["call"]),
            _time(sample["time"]),
            tokens(sample["estimated"], exact=False),
            tokens(sample["actual"]),
            ratio(sample["ratio"]),
            VERDICTS.get(sample["verdict"], str(sample["verdict"]))
            + ("" if sample["counts"] else ", no longer counts"),
            ratio(sample["applied_ratio"]),
        )
        for sample in samples
    ]
    heads = ("Call", "Time", "Estimate", "Usage", "Ratio", "Verdict", "Applied after it")
    newest = range(max(0, len(rows) - _NEWEST), len(rows))
    return long_table("Samples", Columns(heads, (2, 3, 4, 6)), rows, identity="samples", first=newest) if rows else None


def _refused_table(refused: list[dict[str, Any]]) -> Markup | None:
    rows = [(str(one["call"]), _time(one["time"]), join(tag("code", str(one["reason"])))) for one in refused]
    heads = ("Call", "Time", "Taught nothing because")
    return long_table("Calls that taught nothing", Columns(heads, ()), rows, identity="refused") if rows else None


def _time(time: str | None) -> str:
    return str(time or "").replace("T", " ").partition(".")[0]
