"""The page on prompt caches names every cause, and marks those that are no surprise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from ullage.core.caching import KNOWN_CAUSES, Cause

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "prompt-cache.md").read_text()
ROWS = re.findall(r"^\| ((?:`\w+`(?:, )?)+)( \*)? \|", PAGE, re.MULTILINE)


def test_every_cause_is_explained_and_those_that_are_no_surprise_have_a_star() -> None:
    named = {name: bool(star) for names, star in ROWS for name in re.findall(r"\w+", names)}
    assert named == {cause: cause in KNOWN_CAUSES for cause in get_args(Cause)}
