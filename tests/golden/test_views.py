"""The three views, as files to read. `UPDATE_GOLDEN=1 pytest tests/golden` rewrites them: the difference is the review."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
import pytest

from ullage.cli.context_input import Wishes, read_breakdown
from ullage.core.accounting import VIEWS, Breakdown, View, account, guess_shape, make_meter, read_payload, render_view
from ullage.core.accounting.screen import width_of
from ullage.core.content import Usage

FOLDER = Path(__file__).parent / "views"
CASES = ("usage", "estimate", "session")


def breakdown_of(case: str) -> Breakdown:
    session = FOLDER / f"{case}.in.jsonl"
    if session.exists():
        return read_breakdown(str(session), Wishes(window=200_000))
    facts = json.loads((FOLDER / f"{case}.in.json").read_text())
    body = json.dumps(facts["request"]).encode()
    shape = guess_shape(body)
    assert shape is not None
    payload = read_payload(body, shape)
    meter = make_meter(dialect=shape, provider=facts["provider"], model=payload.model, client=facts.get("client"))
    usage = msgspec.convert(facts["usage"], Usage) if "usage" in facts else None
    return account(
        payload.context, meter, usage=usage, window=facts.get("window"), options=payload.options, details=True
    )


@pytest.mark.parametrize("color", [False, True], ids=["plain", "color"])
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", CASES)
def test_a_view_looks_as_it_did(case: str, view: View, width: int, color: bool) -> None:
    screen = render_view(breakdown_of(case), view, width=width, color=color)
    golden = FOLDER / f"{case}.{view}.{width}{'.color' if color else ''}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(screen)
    assert screen == golden.read_text()


@pytest.mark.parametrize("width", [40, 57, 80, 120, 200])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("case", CASES)
def test_no_line_is_wider_than_the_screen_and_the_panel_ends_with_one_blank_line(
    case: str, view: View, width: int
) -> None:
    screen = render_view(breakdown_of(case), view, width=width, color=False)
    assert max(map(width_of, screen.split("\n"))) <= width
    assert screen.endswith("\n\n")
    assert not screen.endswith("\n\n\n")
    assert all(line == line.rstrip() for line in screen.split("\n"))
    assert "\x1b" not in screen


@pytest.mark.parametrize("case", CASES)
def test_colour_changes_nothing_but_colour(case: str) -> None:
    for view in VIEWS:
        plain = render_view(breakdown_of(case), view, width=80, color=False)
        colored = render_view(breakdown_of(case), view, width=80, color=True)
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
