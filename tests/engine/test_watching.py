"""Those who watch calls are told their facts, and cannot disturb them."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.engine.watching import Watchers
from ullage.stores import AttemptRecord, CallRecord


def record(**fields: Any) -> CallRecord:
    common: dict[str, Any] = {
        "id": "c1",
        "session": "s",
        "created_ms": 1,
        "dialect": "anthropic",
        "kind": "conversation",
        "path": "/v1/messages",
        "provider": "anthropic",
        "model": "m",
        "outcome": "ok",
    }
    return CallRecord(**(common | fields))


def test_facts_are_those_that_a_store_gives_back() -> None:
    told: list[AttemptRecord] = []
    made = {"target": "a/b", "status": 200, "failure": None, "ms_to_first": 1.0, "usd": None, "committed": True}
    Watchers([told.append]).tell(record(client="pi", route={"task_id": "t", "target": "a/b", "attempts": [made]}))
    (facts,) = told
    assert (facts.client, facts.target) == ("pi", "a/b")
    assert facts.route is not None
    assert facts.route.attempts[0].committed


def test_one_that_fails_takes_nothing_from_the_others_and_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    told: list[AttemptRecord] = []

    def fail(_: AttemptRecord) -> None:
        raise OSError("no")

    watchers = Watchers([fail, told.append])
    watchers.tell(record())
    watchers.tell(record())
    assert len(told) == 2
    assert len(caplog.records) == 1


def test_a_record_that_makes_no_sense_is_left_out() -> None:
    told: list[AttemptRecord] = []
    Watchers([told.append]).tell(record(route={"task_id": 7}))
    assert told == []
