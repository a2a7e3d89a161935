"""Where a tool comes from, on one line."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.content import source_line

FULL = {"scope": "user", "source": "auto", "origin": "top-level", "path": "/home/ann/.pi/agent/search.ts"}


@pytest.mark.parametrize(
    ("info", "line"),
    [
        (FULL, "user · auto · top-level · /home/ann/.pi/agent/search.ts"),
        ({"scope": "temporary", "source": "builtin"}, "temporary · builtin"),
        ({"path": 7, "other": "x"}, None),
        ("builtin", "builtin"),
        ("", None),
        (None, None),
        ([], None),
    ],
)
def test_a_host_s_record_becomes_a_line_of_what_it_tells(info: Any, line: str | None) -> None:
    assert source_line(info) == line
