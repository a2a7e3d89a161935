"""Going through records in the order of their times, without holding them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ullage.stores.walking import PAGE, in_pages

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.conftest import Records
    from ullage.stores import Store

NOW_MS = 1_780_000_000_000


@given(st.lists(st.integers(0, 5)), st.integers(1, 4), st.integers(0, 6))
def test_pages_hold_everything_once_and_in_order_though_many_are_of_one_time(
    times: list[int], page: int, since: int
) -> None:
    rows = sorted((time, number) for number, time in enumerate(times))

    def read_page(since_ms: int, skip: int, limit: int) -> list[tuple[int, int]]:
        return [row for row in rows if row[0] >= since_ms][skip : skip + limit]

    walked = list(in_pages(read_page, since, lambda row: row[0], page=page))
    assert walked == [row for row in rows if row[0] >= since]


def test_calls_and_events_are_walked_from_the_oldest_on(store: Store, records: Records) -> None:
    for number in (3, 1, 2):
        store.put_call(records.call(f"c{number}", created_ms=NOW_MS + number))
        store.put_event(records.event(f"e{number}", created_ms=NOW_MS + number, session="s1"))
    store.put_call(records.call("other", session="s2", created_ms=NOW_MS + 2))
    store.flush()
    assert [call.id for call in store.walk_calls("s1")] == ["c1", "c2", "c3"]
    assert [call.id for call in store.walk_calls(since_ms=NOW_MS + 2)] == ["c2", "other", "c3"]
    assert [call.id for call in store.walk_calls(until_ms=NOW_MS + 1)] == ["c1"]
    assert [event.kind for event in store.walk_events(since_ms=NOW_MS + 1, until_ms=NOW_MS + 2)] == ["e1", "e2"]
    assert [event.kind for event in store.walk_events("s1", since_ms=NOW_MS + 3)] == ["e3"]


def test_more_than_a_page_of_one_time_is_walked_whole(store: Store, records: Records) -> None:
    for number in range(PAGE + 5):
        store.put_call(records.call(f"c{number:04}"))
    store.flush()
    assert [call.id for call in store.walk_calls()] == [f"c{number:04}" for number in range(PAGE + 5)]


def test_calls_of_projects_are_walked_among_the_others(store: Store, records: Records, tmp_path: Path) -> None:
    for number in range(2 * PAGE):
        project = str(tmp_path / "cellar") if number % 3 == 0 else None
        store.put_call(records.call(f"c{number:04}", created_ms=NOW_MS + number // 2, project=project))
    store.flush()
    assert sorted(call.id for call in store.walk_calls()) == [f"c{number:04}" for number in range(2 * PAGE)]
    times = [call.created_ms for call in store.walk_calls(since_ms=NOW_MS + 7)]
    assert times == sorted(times)
    assert len(times) == 2 * PAGE - 14


def test_what_an_attempt_came_to_is_told_with_its_call(store: Store, records: Records) -> None:
    made = [
        {"target": "a/x", "status": 503, "failure": "server", "ms_to_first": None, "usd": None, "committed": False},
        {"target": "b/y", "status": 200, "failure": None, "ms_to_first": 412.0, "usd": 0.02, "committed": True},
    ]
    store.put_call(records.call(route={"task_id": "t", "target": "b/y", "rule": "night", "attempts": made}))
    store.flush()
    (call,) = store.walk_calls()
    assert call.route is not None
    assert [one.target for one in call.route.attempts] == ["a/x", "b/y"]
    assert call.route.rule == "night"
