"""What usage taught, on the page: the numbers of `--json`, one mark for each sample, at the place where its numbers are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ullage.core.calibration import Bounds, Refused, Sample, draw_course, report_course
from ullage.stores.report import iso_time
from ullage.web import render_report

from .reports import Page, report_of

START_MS = 1_780_000_000_000
RATIOS = (1.2, 1.2, 1.21, 1.19, 1.7, 3.0, 1.2, 1.22, 0.4, 1.2, 1.18, 5_000.0)
COUNTERS = {"accepted": "accepted", "outlier": "outliers", "hard_bound": "hard_bound"}


def calibration_of(*ratios: float, window: int = 8, **more: Any) -> dict[str, Any]:
    samples = [
        Sample(
            id=f"call{index:02}",
            created_ms=START_MS + 60_000 * index,
            estimated=1_000,
            input_fresh=round(1_000 * ratio),
        )
        for index, ratio in enumerate(ratios)
    ]
    course = draw_course(
        samples, Bounds(window=window), target="anthropic/claude-opus-4-8", estimator="chars-v1", **more
    )
    return report_course(course, time_text=iso_time)


def page_of(calibration: dict[str, Any] | None) -> Page:
    return Page(render_report({**report_of(call=8), "calibration": calibration}))


def marks(page: Page, picture: str) -> list[dict[str, str | None]]:
    found = [*page.with_data("circle", "verdict"), *page.with_data("path", "verdict")]
    return [mark for mark in found if mark["data-picture"] == picture]


@pytest.mark.parametrize("picture", ["plot", "course"])
def test_every_sample_has_its_numbers_in_both_pictures(picture: str) -> None:
    calibration = calibration_of(*RATIOS)
    drawn = sorted(
        (mark["data-call"], mark["data-estimated"], mark["data-actual"], mark["data-ratio"], mark["data-verdict"])
        for mark in marks(page_of(calibration), picture)
    )
    assert drawn == [
        (one["call"], str(one["estimated"]), str(one["actual"]), str(one["ratio"]), one["verdict"])
        for one in calibration["samples"]
    ]


def test_what_counts_adds_up_to_the_calibration() -> None:
    calibration = calibration_of(*RATIOS)
    counted = [mark for mark in marks(page_of(calibration), "course") if "past" not in str(mark["class"])]
    verdicts = Counter(str(mark["data-verdict"]) for mark in counted)
    assert len(counted) == calibration["observed"]
    assert {name: verdicts[name] for name in COUNTERS} == {name: calibration[key] for name, key in COUNTERS.items()}


def test_marks_stand_where_their_numbers_are() -> None:
    """On one line from the smallest to the largest usage; a ratio far out stands at the upper edge."""
    page = page_of(calibration_of(*RATIOS))
    for picture, key in (("plot", "data-actual"), ("course", "data-ratio")):
        placed = [
            (float(str(mark[key])), float(str(mark["cy"])))
            for mark in marks(page, picture)
            if "cy" in mark  # crosses are paths
        ]
        (low, bottom), (high, top) = min(placed), max(placed)
        for number, y in placed:
            assert abs(y - (bottom + (top - bottom) * (number - low) / (high - low))) < 0.02
    crosses = [mark for mark in page.with_data("path", "verdict") if mark["data-picture"] == "course"]
    assert all(" -" not in str(mark["d"]).partition("l")[0] for mark in crosses)


def test_the_learned_line_has_the_applied_ratio_and_the_band_the_bounds() -> None:
    calibration = calibration_of(*RATIOS)
    page = page_of(calibration)
    [line] = page.with_data("line", "ratio")
    assert line["data-ratio"] == str(calibration["applied_ratio"])
    [band] = page.with_data("rect", "lower")
    assert (band["data-lower"], band["data-upper"]) == ("0.5", "2.0")


def test_before_enough_was_learned_there_is_no_learned_line() -> None:
    page = page_of(calibration_of(1.4, 1.4))
    assert not page.with_data("line", "ratio")
    assert any("taken for one of anthropic/claude-opus-4-8: 2 of at least 3" in text for text in page.text("p"))


def test_calls_that_taught_nothing_are_told_with_their_reason() -> None:
    refused = [
        Refused(id="callX", created_ms=START_MS + 90_000, reason="no_usage"),
        Refused(id="callY", created_ms=0, reason="aborted"),
    ]
    page = page_of(calibration_of(1.2, 1.2, 1.2, refused=refused))
    [stroke] = page.with_data("line", "refused")
    assert (stroke["data-refused"], stroke["data-reason"]) == ("callX", "no_usage")
    assert page.all("table", id="refused")
    assert {"no_usage", "aborted"} <= set(page.text("code"))


def test_the_table_beside_the_pictures_has_every_number() -> None:
    calibration = calibration_of(*RATIOS)
    text = render_report({**report_of(call=8), "calibration": calibration})
    table = text.partition('id="samples"')[2].partition("</table>")[0]
    for one in calibration["samples"]:
        row = table.partition(f">{one['call']}</th>")[2].partition("</tr>")[0]
        assert f">~{one['estimated']:,}<" in row
        assert f">{one['actual']:,}<" in row
        assert f">{one['ratio']:.3f}<" in row
        assert f">{one['applied_ratio']:.3f}<" in row


def test_a_report_without_calibration_has_no_such_section() -> None:
    assert not page_of(None).all("section", id="calibration")


def test_a_model_that_was_never_answered_says_so_without_pictures() -> None:
    page = page_of(calibration_of())
    assert page.all("section", id="calibration")
    assert not page.all("svg", id="calibration-scatter")
    assert not page.all("table", id="samples")


def test_a_source_without_system_prompt_and_tools_says_that_ratios_are_too_high() -> None:
    page = page_of(calibration_of(1.2, 1.2, 1.2, complete=False))
    assert any("every ratio here is too high" in text for text in page.text("p"))


def test_a_session_brings_its_own_calibration() -> None:
    report = report_of(call=8)
    calibration = report["calibration"]
    assert [one["call"] for one in calibration["samples"]] == list(range(1, 9))
    totals = {call["call"]: call["total"] for call in report["insights"]["growth"]["calls"]}
    assert all(one["actual"] == totals[one["call"]] for one in calibration["samples"])
    drawn = marks(Page(render_report(report)), "plot")
    assert {mark["data-call"] for mark in drawn} == {str(one["call"]) for one in calibration["samples"]}
