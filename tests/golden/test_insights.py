"""The insights of a session as a screen and as a page, files to read. `UPDATE_GOLDEN=1 pytest tests/golden` rewrites them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from ullage.cli import main
from ullage.cli.context_input import Wishes, inspect
from ullage.core.accounting.insights import render_insights
from ullage.core.accounting.screen import width_of

FOLDER = Path(__file__).parent / "insights"
SESSION = FOLDER / "session.in.jsonl"
CASES = {"before": Wishes(call=8), "after": Wishes()}
"""Before the compaction: a file read before and after an edit, a cache that went cold. After it: the two sides."""

VERSION = re.compile(r"ullage \d[\w.]*")


def screen_of(case: str, width: int, *, color: bool = False) -> str:
    insights = inspect(str(SESSION), CASES[case]).find_insights()
    return render_insights(insights, width=width, color=color)


def compare(name: str, text: str) -> None:
    golden = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("color", [False, True], ids=["plain", "color"])
@pytest.mark.parametrize("width", [80, 110])
@pytest.mark.parametrize("case", CASES)
def test_the_panel_looks_as_it_did(case: str, width: int, color: bool) -> None:
    compare(f"{case}.{width}{'.color' if color else ''}.txt", screen_of(case, width, color=color))


@pytest.mark.parametrize("width", [20, 40, 57, 80, 200])
@pytest.mark.parametrize("case", CASES)
def test_no_line_is_wider_than_the_screen_and_the_panel_ends_with_one_blank_line(case: str, width: int) -> None:
    screen = screen_of(case, width)
    assert max(map(width_of, screen.split("\n"))) <= max(40, width)
    assert screen.endswith("\n\n")
    assert not screen.endswith("\n\n\n")
    assert all(line == line.rstrip() for line in screen.split("\n"))


@pytest.mark.parametrize("case", CASES)
def test_colour_changes_nothing_but_colour(case: str) -> None:
    assert re.sub(r"\x1b\[[0-9;]*m", "", screen_of(case, 80, color=True)) == screen_of(case, 80)


def test_the_data_and_the_page_are_as_they_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    page = tmp_path / "page.html"
    assert main(["context", SESSION.name, "--window", "200k", "--html", str(page), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    compare("session.insights.json", json.dumps(data["insights"], indent=1, ensure_ascii=False) + "\n")
    compare("session.html", VERSION.sub("ullage VERSION", page.read_text()))


def test_coarse_numbers_have_no_decimals_from_a_thousand_on() -> None:
    insights = inspect(str(SESSION), CASES["before"]).find_insights()
    screen = render_insights(insights, width=110, color=False, style="coarse")
    assert not re.search(r"[1-9]\d*\.\d[kM]", screen.replace("M", "k").partition("Cache after")[0])
