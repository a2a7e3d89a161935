"""Which models take thinking back only behind what it was made on."""

from __future__ import annotations

import pytest

from ullage.core.profiles.binding import ROWS, binds_thinking


@pytest.mark.parametrize(
    "model",
    [
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-mythos-5-2",
        "Claude-Opus-5-5-20260922",
        "us.anthropic.claude-sonnet-5-5-v1:0",
        "anthropic/claude-haiku-5.5",
    ],
)
def test_newest_claude_models_do(model: str) -> None:
    assert binds_thinking(model)


@pytest.mark.parametrize(
    "model",
    ["claude-fable-5", "claude-mythos-5-1", "claude-opus-5", "claude-opus-4-5", "claude-fable-5-10", "gpt-5.5", ""],
)
def test_others_do_not(model: str) -> None:
    assert not binds_thinking(model)


def test_each_row_says_where_it_is_from() -> None:
    assert all(row.source.startswith("https://platform.claude.com/") for row in ROWS)
