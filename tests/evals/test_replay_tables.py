"""A replay as tables and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.evals.replaying import profile_of, talking
from ullage.evals import replay_tables as tables
from ullage.evals.replay import ALL, Replay, replay

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def made(tmp_path: Path) -> Replay:
    paths = [
        talking(tmp_path / "plain.jsonl", turns=9),
        talking(tmp_path / "idle.jsonl", turns=2, wait_ms=400_000, session="t"),
    ]
    return replay(paths, profile_of, tail=3_000)


def test_policies_stand_beside_the_sliding_tail(made: Replay) -> None:
    table = tables.policy_table(made.pooled[ALL])
    assert [row[0] for row in table.rows] == ["as-recorded", "sliding", "epoch-v1", "auto"]
    costs = [row[2] for row in table.rows]
    assert costs[1] == "-"
    assert costs[3].startswith("-")
    assert table.rows[1][-2] == "100.0%"


def test_each_file_has_its_costs_and_its_evidence(made: Replay) -> None:
    table = tables.trace_table(made)
    assert [row[0] for row in table.rows] == ["plain", "idle"]
    assert table.header[4:] == (
        *(f"cost {name}" for name in ("as-recorded", "sliding", "epoch-v1", "auto")),
        *(f"evidence {name}" for name in ("as-recorded", "sliding", "epoch-v1", "auto")),
    )


def test_the_played_cache_stands_beside_what_was_reported(made: Replay) -> None:
    rows = tables.validation_table(made).rows
    assert [row[0] for row in rows] == ["pi", ALL]
    assert rows[0][4].endswith("%")
    assert rows[0][5] == "-"


def test_a_file_that_is_off_is_named_with_the_reason(made: Replay) -> None:
    [line] = tables.disagreements(made)
    assert line.startswith("idle: 0 for ")
    assert line.endswith("longer, than its rule says")


def test_all_figures_are_plain_data(made: Replay) -> None:
    report = msgspec.json.decode(msgspec.json.encode(tables.report_replay(made)))
    auto = report["traces"][0]["policies"]["auto"]
    assert auto["kept_per_call"] == pytest.approx(auto["kept_tokens"] / auto["calls"], abs=1e-3)
    assert {"cache_share", "evidence", "shared", "usd", "rewrites", "prompt_tokens"} <= set(auto)
    assert report["traces"][0]["validation"]["agrees"]
    assert set(report["pooled"]) == {"all", "pi"}
