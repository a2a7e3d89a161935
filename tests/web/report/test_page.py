"""The page shows the numbers of `--json` and no others, and nothing in it can do anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ullage.core.accounting.sections import section_kind
from ullage.web import render_report

from .reports import HOSTILE, SESSION, Page, hostile_report, report_of

REPORTS = {"counted": report_of(call=8), "estimate": report_of(), "early": report_of(call=1)}


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> dict[str, Any]:
    return REPORTS[request.param]


@pytest.fixture
def page(report: dict[str, Any]) -> Page:
    return Page(render_report(report))


def number(text: str) -> int:
    """A number of a table: `~12,345`, `+7`, `−3`."""
    return int(text.replace("~", "").replace(",", "").replace("+", "").replace("−", "-"))


def test_the_data_in_the_page_is_the_report(report: dict[str, Any], page: Page) -> None:
    [text] = page.text("script", id="ullage-report", type="application/json")
    assert json.loads(text) == report


def test_the_treemap_has_the_tokens_of_every_section_and_item(report: dict[str, Any], page: Page) -> None:
    drawn = page.with_data("rect", "section")
    sections = {rect["data-section"]: rect["data-tokens"] for rect in drawn if "data-item" not in rect}
    expected = {section["id"]: str(section["tokens"]) for section in report["sections"] if section["tokens"] > 0}
    if report["gap"] > 0:
        expected[""] = str(report["gap"])
    assert sections == expected
    items = {
        (section["id"], item["name"]): item["tokens"] for section in report["sections"] for item in section["items"]
    }
    for rect in drawn:
        if "data-item" in rect:
            assert str(items[str(rect["data-section"]), str(rect["data-item"])]) == rect["data-tokens"]


def test_areas_of_the_treemap_are_in_proportion(page: Page) -> None:
    rects = [rect for rect in page.with_data("rect", "section") if "data-item" not in rect]
    ratios = [
        float(str(rect["width"])) * float(str(rect["height"])) / int(str(rect["data-tokens"]))
        for rect in rects
        if int(str(rect["data-tokens"])) > 100
    ]
    assert max(ratios) < 1.02 * min(ratios)


def test_the_bar_sums_the_sections_by_kind_and_what_is_free(report: dict[str, Any], page: Page) -> None:
    bar = {
        rect["data-kind"]: rect["data-tokens"]
        for rect in page.with_data("rect", "kind")
        if not {"data-section", "data-side"} & rect.keys()
    }
    sums: dict[str, int] = {}
    for section in report["sections"]:
        kind = section_kind(section["id"])
        sums[kind] = sums.get(kind, 0) + section["tokens"]
    for kind, tokens in sums.items():
        if tokens > 0:
            assert bar[kind] == str(tokens)
    assert bar["free"] == str(report["ullage"])


def test_the_growth_chart_has_every_call(report: dict[str, Any], page: Page) -> None:
    calls = report["insights"]["growth"]["calls"]
    expected = {
        (str(call["call"]), str(call["total"]), call["total_kind"]) for call in calls if call["total"] is not None
    }
    ahead = report["insights"]["growth"]["next"]
    points = {
        (str(point.get("data-call")), str(point["data-total"]), str(point["data-total-kind"]))
        for point in page.with_data("circle", "total")
    }
    if ahead is not None:
        expected.add(("None", str(ahead["total"]), "estimate"))
    assert points == expected
    targets = {(str(rect.get("data-call")), str(rect["data-total"])) for rect in page.with_data("rect", "total")}
    assert targets == {point[:2] for point in points}
    marks = {mark["data-call"] for mark in page.with_data("line", "event") if mark["data-event"] == "compaction"}
    assert marks == {str(call["call"]) for call in calls if "compaction" in call["events"]}


def test_points_stand_where_their_numbers_are(page: Page) -> None:
    """All on one line from the total to the height, so that the picture is drawn to one scale."""
    points = [(float(str(point["cy"])), int(str(point["data-total"]))) for point in page.with_data("circle", "total")]
    if len({total for _, total in points}) > 1:
        (low, fewest), (high, most) = max(points), min(points)
        for place, total in points:
            expected = low + (high - low) * (total - fewest) / (most - fewest)
            assert abs(place - expected) < 0.02


def test_the_tables_hold_the_same_numbers(report: dict[str, Any]) -> None:
    text = render_report(report)
    for section in report["sections"]:
        assert f"~{section['tokens']:,}" in text
    insights = report["insights"]
    for call in insights["growth"]["calls"]:
        assert f">{call['total']:,}<" in text
        for piece in call["added"]:
            assert f"{piece['tokens']:,}".replace("-", "−") in text
    for one in (*insights["duplicates"], *insights["outdated"]):
        assert f"~{one['tokens']:,}" in text
    for row in insights["cache"]["rows"]:
        assert f"~{row['behind']:,}" in text


def test_the_cache_strip_is_the_rows_of_the_cache(report: dict[str, Any], page: Page) -> None:
    rows = report["insights"]["cache"]["rows"]
    drawn = [
        tuple(int(str(rect[f"data-{key}"])) for key in ("start", "tokens", "cached", "behind"))
        for rect in page.with_data("rect", "behind")
    ]
    assert drawn == [(row["start"], row["tokens"], row["cached"], row["behind"]) for row in rows]


def test_a_compaction_has_its_two_sides() -> None:
    page = Page(render_report(REPORTS["estimate"]))
    [one] = REPORTS["estimate"]["insights"]["compactions"]
    for side in ("before", "after"):
        drawn = {
            rect["data-kind"]: rect["data-tokens"]
            for rect in page.with_data("rect", "side")
            if rect["data-side"] == side
        }
        for kind, tokens in one[side].items():
            assert drawn[kind] == str(tokens)


def test_pictures_say_in_words_what_they_show(page: Page) -> None:
    pictures = page.all("svg")
    assert len(pictures) >= 4
    for picture in pictures:
        assert picture["role"] == "img"
        for identity in str(picture["aria-labelledby"]).split():
            [words] = page.text("title", id=identity) + page.text("desc", id=identity)
            assert words
    assert len(page.all("h1")) == len(page.all("main")) == 1
    assert all(head.get("scope") for head in page.all("th"))
    assert page.all("html")[0]["lang"] == "en"


def test_ids_are_used_once(page: Page) -> None:
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    for _, found in page.elements:
        for identity in str(found.get("aria-labelledby") or "").split():
            assert identity in ids


def test_nothing_is_fetched_and_nothing_runs(report: dict[str, Any]) -> None:
    text = render_report(report)
    page = Page(text)
    assert {script["type"] for script in page.all("script")} == {"application/json"}
    for name, found in page.elements:
        assert name not in ("link", "img", "iframe", "object", "embed", "form", "base", "a")
        assert not any(key.startswith("on") or key in ("src", "href", "style", "srcset") for key in found)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    [policy] = page.all("meta", http_equiv="Content-Security-Policy")
    assert str(policy["content"]).startswith("default-src 'none'")


def test_hostile_names_stay_names() -> None:
    """Every string that came from outside is the same attack; the page has the same elements as without it."""
    clean, hostile = Page(render_report(report_of(call=8))), Page(render_report(hostile_report()))
    without_warnings = [element for element, _ in clean.elements]
    assert [element for element, _ in hostile.elements if element != "li"].count("script") == 1
    assert set(without_warnings) == {element for element, _ in hostile.elements}
    text = render_report(hostile_report())
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "\x00" not in text
    text.encode("utf-8")


def test_the_data_keeps_hostile_names_as_they_are() -> None:
    [data] = Page(render_report(hostile_report())).text("script", id="ullage-report")
    assert json.loads(data)["sections"][0]["title"] == HOSTILE.replace("\ud83d", "\ufffd")


def test_no_content_of_the_session_is_in_the_page() -> None:
    text = render_report(report_of())
    for row in SESSION.read_text().splitlines()[1:]:
        content = json.loads(row).get("message", {}).get("content", [])
        for block in content:
            words = block.get("text") or ""
            for line in words.split("\n"):
                assert len(line) < 12 or line not in text


def test_a_request_without_a_history_has_no_growth(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text(
        json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]})
    )
    page = Page(render_report(report_of(tmp_path / "body.json")))
    assert page.all("svg", id="treemap")
    assert not page.all("svg", id="growth")
    assert not page.all("section", id="cache-section")


def test_an_empty_request_is_a_page_too(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text(json.dumps({"model": "x", "messages": []}))
    assert Page(render_report(report_of(tmp_path / "body.json"))).all("table", id="sections")


@pytest.mark.shared
def test_every_recorded_session_is_a_page(shared_data: Path) -> None:
    for path in sorted((shared_data / "sessions").glob("*/*")):
        report = report_of(path)
        page = Page(render_report(report))
        totals = {
            str(call["total"])
            for call in report["insights"]["growth"]["calls"]
            if call["total"] and not call["sidechain"]
        }
        assert totals <= {str(point["data-total"]) for point in page.with_data("circle", "total")}, path.name
