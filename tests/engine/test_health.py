from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ullage.core.errors import StoreError
from ullage.core.health import classify, connection_failure
from ullage.engine.health import KEPT_UNDER, MOST_ROWS, Health, Outcome, no_spread
from ullage.stores import MemoryStore, RouteOverride, Store, open_store

NOW_MS = 1_700_000_000_000
ONE, TWO = "one/model", "two/model"


def _health(store: Store | None = None) -> Health:
    return Health(store, store, jitter=no_spread)


def _failed(
    health: Health, at_ms: int = NOW_MS, status: int = 429, target: str = ONE, retry_at_ms: int | None = None
) -> None:
    health.note(Outcome(target=target, asked_ms=at_ms, at_ms=at_ms, failure=classify(status), retry_at_ms=retry_at_ms))


def _answered(health: Health, at_ms: int, target: str = ONE) -> None:
    health.note(Outcome(target=target, asked_ms=at_ms, at_ms=at_ms))


def test_a_target_that_fails_is_left_alone_until_its_time_is_over() -> None:
    health = _health()
    _failed(health)
    assert health.circuits((ONE, TWO), NOW_MS + 59_999) == {ONE: NOW_MS + 60_000}
    assert health.circuits((ONE, TWO), NOW_MS + 60_000) == {}


def test_one_request_tries_and_the_others_wait_for_what_comes_of_it() -> None:
    health = _health()
    _failed(health)
    health.note_sent(ONE, NOW_MS + 60_000)
    assert health.circuits((ONE, TWO), NOW_MS + 60_001) == {ONE: NOW_MS + 180_000}
    _answered(health, NOW_MS + 60_000)
    assert health.circuits((ONE, TWO), NOW_MS + 60_001) == {}


def test_a_client_that_leaves_its_try_lets_another_one_try() -> None:
    health = _health()
    _failed(health)
    health.note_sent(ONE, NOW_MS + 60_000)
    health.note(Outcome(target=ONE, asked_ms=NOW_MS + 60_000, at_ms=NOW_MS + 60_005, told=False))
    assert health.circuits((ONE, TWO), NOW_MS + 60_006) == {}


def test_targets_have_circuits_of_their_own() -> None:
    health = _health()
    _failed(health)
    _failed(health, target=TWO, status=500)
    assert list(health.circuits((ONE, TWO), NOW_MS)) == [ONE]
    health.note(Outcome(target=TWO, asked_ms=NOW_MS, at_ms=NOW_MS, failure=connection_failure("upstream_refused")))
    assert sorted(health.circuits((ONE, TWO), NOW_MS)) == [ONE, TWO]


def test_a_key_that_is_refused_closes_its_whole_provider_until_one_is_taken() -> None:
    health, other = _health(), "one/other"
    both = (ONE, other)
    _failed(health, status=401)
    assert health.circuits((*both, TWO), NOW_MS) == dict.fromkeys(both, NOW_MS + 600_000)
    [told] = health.report(NOW_MS)
    assert told["target"] == "one/*"
    health.note(Outcome(target=other, asked_ms=NOW_MS + 1, at_ms=NOW_MS + 2, key=False))
    assert list(health.circuits(both, NOW_MS + 2)) == [*both]
    _answered(health, NOW_MS + 3, target=other)
    assert health.circuits(both, NOW_MS + 3) == {}


@pytest.mark.parametrize("status", [403, 404])
def test_a_model_that_is_not_there_is_left_alone_by_itself(status: int) -> None:
    health = _health()
    _failed(health, status=status)
    assert health.circuits((ONE, "one/other"), NOW_MS) == {ONE: NOW_MS + 600_000}


def test_a_request_that_nobody_answers_says_nothing_of_its_target() -> None:
    health = _health()
    _failed(health, status=400)
    assert health.circuits((ONE,), NOW_MS) == {}
    assert health.report(NOW_MS) == []


def test_what_the_provider_says_of_waiting_counts() -> None:
    health = _health()
    _failed(health, retry_at_ms=NOW_MS + 300_000)
    assert health.circuits((ONE, TWO), NOW_MS) == {ONE: NOW_MS + 300_000}


def test_cooldowns_differ_by_a_tenth() -> None:
    times = set()
    for _ in range(30):
        health = Health()
        _failed(health)
        times.add(health.circuits((ONE, TWO), NOW_MS)[ONE])
    assert len(times) > 1
    assert all(NOW_MS + 54_000 <= at <= NOW_MS + 66_000 for at in times if at is not None)


def test_doctors_are_told() -> None:
    health = _health()
    _failed(health)
    _failed(health, target=TWO, status=500)
    [one, two] = health.report(NOW_MS)
    assert one == {
        "target": ONE,
        "state": "open",
        "openings": 1,
        "strikes": 0,
        "retry_at_ms": NOW_MS + 60_000,
        "trying": False,
    }
    assert (two["target"], two["state"], two["strikes"]) == (TWO, "closed", 1)
    health.note_sent(ONE, NOW_MS + 60_000)
    assert (health.report(NOW_MS + 60_000)[0]["state"], health.report(NOW_MS + 60_000)[0]["trying"]) == (
        "half-open",
        True,
    )
    _answered(health, NOW_MS + 60_000)
    _answered(health, NOW_MS + 60_000, TWO)
    assert health.report(NOW_MS + 60_000) == []


@pytest.fixture(params=["memory", "sqlite"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two processes on one store."""
    if request.param == "memory":
        store = MemoryStore()
        yield store, store
        return
    first, second = (open_store("sqlite", tmp_path, clock_ms=lambda: NOW_MS) for _ in range(2))
    yield first, second
    first.close()
    second.close()


def test_processes_share_their_circuits(stores: tuple[Store, Store]) -> None:
    here, there = (_health(store) for store in stores)
    _failed(here, status=503)
    assert stores[0].flush()
    _failed(there, at_ms=NOW_MS + 10, status=503)
    assert stores[1].flush()
    assert here.circuits((ONE, TWO), NOW_MS + 20) == {ONE: NOW_MS + 60_010}
    there.note_sent(ONE, NOW_MS + 70_000)
    assert stores[1].flush()
    assert here.circuits((ONE, TWO), NOW_MS + 70_001) == {ONE: NOW_MS + 190_000}
    _answered(there, NOW_MS + 70_000)
    assert stores[1].flush()
    assert here.circuits((ONE, TWO), NOW_MS + 70_002) == {}
    assert here.report(NOW_MS + 70_002) == []


def test_circuits_survive_a_restart(stores: tuple[Store, Store]) -> None:
    _failed(_health(stores[0]))
    assert stores[0].flush()
    assert list(_health(stores[1]).circuits((ONE, TWO), NOW_MS)) == [ONE]


def test_rows_that_cannot_be_read_are_not_there() -> None:
    store = MemoryStore()
    store.put_route_override(RouteOverride(session=KEPT_UNDER, key=ONE, value={"circuit": "open"}, at_ms=1))
    store.put_route_override(RouteOverride(key="pin", value=TWO, at_ms=1))
    assert _health(store).circuits((ONE, TWO), NOW_MS) == {}


def test_a_store_that_fails_costs_what_others_noted_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()

    def fail(_session: str = "") -> dict[str, object]:
        raise StoreError("busy", code="store_busy")

    monkeypatch.setattr(store, "route_overrides", fail)
    health = _health(store)
    _failed(health)
    assert list(health.circuits((ONE, TWO), NOW_MS)) == [ONE]


def test_models_that_clients_make_up_fill_neither_memory_nor_the_store() -> None:
    store = MemoryStore()
    health = _health(store)
    health.circuits((ONE, TWO), NOW_MS)
    _failed(health)
    for number in range(300):
        target = f"anthropic/made-up-{number}"
        health.note(Outcome(target=target, asked_ms=NOW_MS, at_ms=NOW_MS + 1 + number, failure=classify(404)))
    assert len(health.report(NOW_MS + 400)) == len(store.route_overrides(KEPT_UNDER)) == MOST_ROWS
    assert list(health.circuits((ONE, TWO), NOW_MS + 400)) == [ONE]  # it may be chosen, so it is not forgotten


def test_what_is_over_is_forgotten_once_all_know_of_it() -> None:
    store = MemoryStore()
    health, other = _health(store), _health(store)
    _failed(health)
    _answered(health, NOW_MS + 70_000)
    assert list(store.route_overrides(KEPT_UNDER)) == [ONE]
    assert other.circuits((ONE,), NOW_MS + 70_001) == {}
    for one in (health, other):
        assert one.circuits((ONE,), NOW_MS + 700_000) == {}
    assert store.route_overrides(KEPT_UNDER) == {}
    _failed(health)
    assert health.circuits((ONE,), NOW_MS + 3 * 86_400_000) == {}
    assert store.route_overrides(KEPT_UNDER) == {}
