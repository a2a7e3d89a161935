"""The page in a real browser: what Chromium draws has the numbers of `--json`. Skipped where there is no Chromium."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from ullage.web import render_report

from .reports import Page, hostile_report, report_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
TIMEOUT_S = 120

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: install it (Debian: apt-get install chromium) to see the page drawn")
    return found


def run(browser: str, folder: Path, *arguments: str) -> str:
    """Headless, with a profile of its own, and with no way to the network: nothing resolves."""
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-extensions",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=2000",
        *arguments,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=folder)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


def drawn(browser: str, folder: Path, report: dict[str, Any]) -> Page:
    """The page as the browser understood it."""
    file = folder / "page.html"
    file.write_text(render_report(report))
    return Page(run(browser, folder, "--dump-dom", file.as_uri()))


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return report_of()


def test_the_pictures_that_are_drawn_show_the_numbers_of_the_data(
    browser: str, tmp_path: Path, report: dict[str, Any]
) -> None:
    page = drawn(browser, tmp_path, report)
    [embedded] = page.text("script", id="ullage-report")
    assert json.loads(embedded) == report
    sections = {
        str(rect["data-section"]): int(str(rect["data-tokens"]))
        for rect in page.with_data("rect", "section")
        if "data-item" not in rect
    }
    expected = {section["id"]: section["tokens"] for section in report["sections"] if section["tokens"] > 0}
    assert sections == {**expected, **({"": report["gap"]} if report["gap"] > 0 else {})}
    titles = [text for text in page.text("title") if " tokens (" in text]
    for section in report["sections"]:
        if section["tokens"] > 0:
            assert any(text.startswith(f"{section['title']}: ~{section['tokens']:,} tokens") for text in titles)
    calls = report["insights"]["growth"]["calls"]
    totals = {str(point.get("data-call")): str(point["data-total"]) for point in page.with_data("circle", "total")}
    for call in calls:
        assert totals[str(call["call"])] == str(call["total"])
        assert any(text.startswith(f"Call {call['call']}: {call['total']:,} tokens") for text in page.text("title"))


def test_hostile_names_run_nothing(browser: str, tmp_path: Path) -> None:
    """The attack would change the title and add elements; a browser sees neither."""
    hostile = drawn(browser, tmp_path, hostile_report())
    assert {str(script["type"]) for script in hostile.all("script")} == {"application/json"}
    assert not hostile.all("img")
    assert hostile.text("title")[0].startswith("Context: ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_painted_in_the_scheme_that_is_asked_for(
    browser: str, tmp_path: Path, report: dict[str, Any], scheme: str
) -> None:
    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    file.write_text(render_report(report))
    prefers = {"dark": "0", "light": "1"}[scheme]
    run(
        browser,
        tmp_path,
        "--hide-scrollbars",
        "--window-size=900,700",
        f"--blink-settings=preferredColorScheme={prefers}",
        f"--screenshot={picture}",
        file.as_uri(),
    )
    colours = pixels(picture.read_bytes())
    paper = max(set(colours), key=colours.count)
    assert (sum(paper) > 600) is (scheme == "light")
    assert len(set(colours)) > 12, "more than paper and ink: the pictures are there"


def pixels(png: bytes) -> list[tuple[int, int, int]]:
    """Every tenth pixel of an 8-bit picture as Chromium writes them, from the file's own bytes."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    channels = {2: 3, 6: 4}[kind]
    data, at = b"", 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + length] if name == b"IDAT" else b""
        at += length + 12
    raw = zlib.decompress(data)
    stride = width * channels
    before = bytearray(stride)
    found = []
    for row in range(height):
        filtering, line = raw[row * (stride + 1)], bytearray(raw[row * (stride + 1) + 1 : (row + 1) * (stride + 1)])
        _unfilter(filtering, line, before, channels)
        before = line
        if row % 10 == 0:
            found += [(line[index], line[index + 1], line[index + 2]) for index in range(0, stride, 10 * channels)]
    return found


def _unfilter(filtering: int, line: bytearray, before: bytearray, channels: int) -> None:
    """Undoes the filter of one line (PNG specification, section 9)."""
    for index in range(len(line)):
        left = line[index - channels] if index >= channels else 0
        corner = before[index - channels] if index >= channels else 0
        above = before[index]
        match filtering:
            case 1:
                add = left
            case 2:
                add = above
            case 3:
                add = (left + above) // 2
            case 4:
                guess = left + above - corner
                add = min((left, above, corner), key=lambda one: abs(guess - one))
            case _:
                return
        line[index] = (line[index] + add) & 0xFF
