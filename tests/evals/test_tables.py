"""An evaluation as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.evals.sessions import growing
from ullage.evals import tables
from ullage.evals.tables import Table
from ullage.evals.transcripts import Evaluation, evaluate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    return evaluate([growing(tmp_path / "a-session-with-a-name-that-is-rather-long.jsonl", calls=4)])


def test_columns_of_text_stand_left_and_figures_right() -> None:
    table = Table(header=("name", "calls"), rows=(("a", "1"), ("long name", "12,345")))
    assert table.as_text().splitlines() == ["name        calls", "a               1", "long name  12,345"]


def test_a_table_of_the_manual_says_where_figures_stand() -> None:
    table = Table(header=("name", "calls"), rows=(("a", "1"),))
    assert table.as_markdown().splitlines() == ["| name | calls |", "| --- | ---: |", "| a | 1 |"]


def test_calibrated_estimates_are_shown_by_file_and_by_method(tmp_path: Path) -> None:
    evaluation = evaluate([growing(tmp_path / "long.jsonl", calls=9)])
    table = tables.calibrated_table(evaluation.calibrated, 5)
    assert [len(row) for row in table.rows] == [len(table.header)]
    assert table.rows[0][:3] == ("long.jsonl", "pi", "4")
    summary = tables.calibrated_summary(evaluation.calibrated)
    assert len(summary.rows) == 2 * (len(table.header) - 3)
    assert summary.rows[-1][:3] == ("growth-v1", "5", "1 of 1")


@pytest.mark.parametrize(
    "make",
    [tables.client_table, tables.file_table, tables.summary_table, tables.miss_table, tables.law_table],
    ids=lambda make: make.__name__,
)
def test_every_row_has_a_cell_for_every_column(make: object, evaluation: Evaluation) -> None:
    table = make(evaluation)  # type: ignore[operator]
    assert table.rows
    assert {len(row) for row in table.rows} == {len(table.header)}


def test_methods_that_do_not_start_from_usage_have_no_share_of_growth(evaluation: Evaluation) -> None:
    rows = {row[0]: row[-1] for row in tables.method_table(evaluation.pooled["all"]).rows}
    assert rows["chars ÷ 4 + fitted constant"] == "-"
    assert rows["growth-v1"].endswith("%")


def test_long_names_are_shortened(evaluation: Evaluation) -> None:
    assert tables.file_table(evaluation).rows[0][0] == "a-session-with-a-name-that-is-rathe…"
