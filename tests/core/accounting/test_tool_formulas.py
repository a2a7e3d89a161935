"""Section 5.4 of the accounting specification, and the measured tools of it whose definitions are in the recorded data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.core.accounting.tools import FIND_FILES, MODE, PING, make_tool
from ullage.core.accounting.tool_formulas import (
    RENDER_BLOCK,
    SUMMARY_BLOCK,
    count_pieces,
    payload_tokens,
    piece_tokens,
    render_tokens,
    summary_tokens,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.core.content import ToolSpec

WORKED = [
    # tool, v1 by 6.6, v1 by 4, v2, v3 pieces, v3 exact
    (PING, 20, 23, 24.375, 21, 22),
    (MODE, 23, 26, 22.75, 23, 24),
    (FIND_FILES, 50, 62, 56.44, 57, 60),
]
MEASURED = {
    # name: provider, v3 exact, v3 pieces, v1, v2
    "bash": (93, 92, 93, 64, 94),
    "write": (61, 62, 64, 53, 60),
    "mode": (23, 24, 23, 23, 23),
    "lit30": (200, 199, 200, 22, 251),
    "defaults": (72, 71, 71, 44, 48),
    "refs": (51, 54, 54, 32, 47),
    "constraints": (84, 79, 73, 33, 47),
}


@pytest.mark.parametrize(("tool", "v1", "v1_of_four", "v2", "pieces", "exact"), WORKED)
def test_every_formula_gives_the_worked_number(
    tool: ToolSpec, v1: int, v1_of_four: int, v2: float, pieces: int, exact: int
) -> None:
    assert summary_tokens(tool) == v1
    assert summary_tokens(tool, divisor=4) == v1_of_four
    assert payload_tokens(tool) == pytest.approx(v2, abs=0.005)
    assert piece_tokens(tool) == pieces
    assert render_tokens(tool) == exact


def test_the_worked_tools_together_give_the_worked_totals() -> None:
    tools = (PING, MODE, FIND_FILES)
    assert SUMMARY_BLOCK + sum(map(summary_tokens, tools)) == 105
    assert RENDER_BLOCK + sum(map(payload_tokens, tools)) == pytest.approx(119.57, abs=0.005)
    assert RENDER_BLOCK + sum(map(piece_tokens, tools)) == 117
    assert RENDER_BLOCK + sum(map(render_tokens, tools)) == 122
    assert SUMMARY_BLOCK + summary_tokens(PING) == 32
    assert SUMMARY_BLOCK + summary_tokens(PING) + summary_tokens(MODE) == 55


@pytest.mark.shared
def test_the_measured_tools_give_the_published_estimates(shared_data: Path) -> None:
    tools = {spec.name: (spec, tokens) for spec, tokens in _measured(shared_data)}
    assert set(tools) == set(MEASURED)
    for name, (provider, exact, pieces, v1, v2) in MEASURED.items():
        spec, tokens = tools[name]
        assert tokens == provider
        found = (render_tokens(spec), piece_tokens(spec), summary_tokens(spec), round(payload_tokens(spec)))
        assert found == (exact, pieces, v1, v2), name


def test_pieces_are_cut_as_the_pre_tokenizer_cuts() -> None:
    assert count_pieces("") == 0
    assert count_pieces("Hello world") == 2
    assert count_pieces("extraordinarily") == 2
    assert count_pieces("find_files") == 2
    assert count_pieces("12345") == 2
    assert count_pieces("{\n}") == 2


def test_a_tool_without_a_schema_costs_its_name_and_description() -> None:
    bare = make_tool("stop", "Stops.", None)
    assert summary_tokens(bare) == 7 + 2
    assert piece_tokens(bare) == 10


def _measured(data: Path) -> list[tuple[ToolSpec, int]]:
    rows = map(msgspec.json.decode, (data / "token_ground_truth.jsonl").read_bytes().splitlines())
    return [
        (make_tool(tool["name"], tool["description"], tool["parameters"]), row["tokens"])
        for row in rows
        if row["kind"] == "tool-delta"
        for tool in row["payload"]["tools"]
    ]
