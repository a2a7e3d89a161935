"""Tokens and money of recorded calls."""

from __future__ import annotations

import pytest

from tests.cli.auto.routed import ATTIC, CALLS, CELLAR
from tests.cli.conftest import MINUTE_MS, NOW_MS
from tests.gateway.routes import FRONTIER, LIGHT, STRONG
from ullage.core.errors import CallError
from ullage.stores import MemoryStore
from ullage.stores.routed import list_decisions, report_routed
from ullage.stores.usage import report_usage


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    for call in CALLS:
        store.put_call(call)
    return store


def test_rows_sum_to_the_total(store: MemoryStore) -> None:
    for by in ("target", "session", "day"):
        report = report_usage(store, since_ms=0, until_ms=NOW_MS, by=by)
        for part in ("calls", "input_fresh", "cache_read", "cache_write", "output", "tokens", "unpriced", "unreported"):
            assert sum(row[part] for row in report["rows"]) == report["total"][part], (by, part)


def test_the_rows_have_the_most_tokens_first_and_days_in_their_order(store: MemoryStore) -> None:
    rows = report_usage(store, since_ms=0, until_ms=NOW_MS)["rows"]
    assert [(row["target"], row["tokens"], row["unreported"]) for row in rows] == [
        (LIGHT, 2 * 20_600, 0),
        (STRONG, 2 * 20_600, 0),
        (FRONTIER, 0, 1),
    ]
    # 2,000 fresh, 18,000 read at a tenth, 600 out at five times the price of a million
    assert rows[0]["cost_usd"] == pytest.approx(2 * (2_000 + 1_800 + 3_000) / 1e6)
    assert rows[2]["cost_usd"] is None
    assert [row["day"] for row in report_usage(store, since_ms=0, until_ms=NOW_MS, by="day")["rows"]] == ["2026-05-28"]


def test_a_session_and_a_time_filter(store: MemoryStore) -> None:
    assert report_usage(store, ATTIC, since_ms=0, until_ms=NOW_MS)["total"]["calls"] == 1
    assert report_usage(store, since_ms=NOW_MS - 10 * MINUTE_MS, until_ms=NOW_MS)["total"]["calls"] == 3
    assert report_usage(store, since_ms=0, until_ms=NOW_MS - 100 * MINUTE_MS)["total"]["calls"] == 1


def test_there_is_nothing_else_to_group_by(store: MemoryStore) -> None:
    with pytest.raises(CallError, match="'moon'"):
        report_usage(store, since_ms=0, until_ms=NOW_MS, by="moon")


# --- routed calls ---


def test_a_task_is_decided_once_for_each_target_that_it_came_to(store: MemoryStore) -> None:
    assert [(one.target, one.session) for one in list_decisions(store)] == [
        (STRONG, CELLAR),
        (LIGHT, CELLAR),
        (FRONTIER, ATTIC),
    ]
    assert [one.target for one in list_decisions(store, limit=1)] == [STRONG]
    assert [one.target for one in list_decisions(store, ATTIC)] == [FRONTIER]


def test_predictions_are_compared_with_the_same_calls_alone(store: MemoryStore) -> None:
    report = report_routed(store, since_ms=0, until_ms=NOW_MS)
    rows = {row["target"]: row for row in report["targets"]}
    assert rows[STRONG]["predicted"] == {
        "calls": 1,
        "usd": pytest.approx(0.024),
        "cost_usd": pytest.approx(rows[STRONG]["cost_usd"] / 2),
        "factor": None,
    }
    assert rows[FRONTIER]["predicted"]["calls"] == 0
    assert (report["total"]["successes"], report["total"]["failures"]) == (4, 1)


def test_a_factor_is_told_from_three_calls_on_and_is_bounded() -> None:
    from tests.cli.auto.routed import routed_call, weighed

    store = MemoryStore()
    for number in range(3):
        cheap = weighed(LIGHT)
        cheap["ranked"][0]["cost"]["request_usd"] = 0.000_001
        store.put_call(routed_call(number, f"t{number}", LIGHT, number, route=cheap))
    (row,) = report_routed(store, since_ms=0, until_ms=NOW_MS)["targets"]
    assert row["predicted"]["factor"] == 2.0
