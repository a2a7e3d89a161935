"""The built-in rows as data."""

from __future__ import annotations

import re

import pytest

from ullage.core.profiles.heuristics import REPO_TABLE, SEED_TABLE, Row

ROWS = [*REPO_TABLE.texts, *REPO_TABLE.tools, *SEED_TABLE.texts]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.label or row.tool_numerator}")
def test_every_row_says_whom_it_is_for_and_where_it_is_from(row: Row) -> None:
    patterns = [pattern for pattern in (row.who, row.provider, row.model) if pattern is not None]
    assert row.source.startswith("accounting specification, section 4.")
    assert row.whom or not patterns
    assert row.whom or row.dialects or row.ids
    assert all(map(re.compile, patterns))


def test_no_model_id_stands_in_two_rows() -> None:
    ids = [name for row in REPO_TABLE.texts for name in row.ids]
    assert len(ids) == len(set(ids))
    assert all(name == name.lower() for name in ids)


def test_the_numbers_of_gemini_were_counted_for_seventeen_models() -> None:
    (row,) = (row for row in REPO_TABLE.texts if row.label == "Gemini 2/3 countTokens")
    assert len([name for name in row.ids if not name.endswith(":batch")]) == 17
