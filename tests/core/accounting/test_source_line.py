"""A tool's source on one line of a screen."""

from __future__ import annotations

import pytest

from ullage.core.accounting.source_line import source_text

FULL = "user · auto · top-level · /home/ann/.pi/agent/search.ts"


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (80, " · user · auto · top-level · ~/.pi/agent/search.ts"),
        (50, " · user · auto · top-level · ~/.pi/agent/search.ts"),
        (46, " · user · auto · top-level · ~/.pi/…/search.ts"),
        (42, " · user · auto · top-level · ~/…/search.ts"),
        (36, " · user · auto · top-level · ~/.pi/…"),
        (12, ""),
    ],
)
def test_the_path_loses_its_middle_before_anything_else(columns: int, text: str) -> None:
    shown = source_text(FULL, columns)
    assert shown == text
    assert len(shown) <= columns


def test_a_line_without_a_path_is_cut_like_any_text() -> None:
    assert source_text("builtin", 80) == " · builtin"
    assert source_text("a" * 40, 20) == " · aaaaaaaa…aaaaaaaa"
