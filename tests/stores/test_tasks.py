"""What became of routed tasks (routing specification, section 27)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.stores.tasks import TaskSummary, find_task, judgements, latest_task, list_tasks, report_task

if TYPE_CHECKING:
    from conftest import Records

    from ullage.stores import Store

AT_MS = 1_780_000_000_000
STRONG, LIGHT = "anthropic/strong", "anthropic/light"
PRICES = {"profile": {"prices": {"input": 2.0, "output": 10.0, "cache_read": 0.2, "cache_write": 2.5}}}
USAGE = {"input_fresh": 1_000, "cache_read": 10_000, "cache_write": 2_000, "output": 500}
USD = (1_000 * 2 + 10_000 * 0.2 + 2_000 * 2.5 + 500 * 10) / 1e6


BROKEN = {"target": STRONG, "status": 200, "failure": "stream", "usd": None, "reserved_usd": 0.5}


class Teller:
    """Puts calls of tasks into a store."""

    def __init__(self, store: Store, records: Records) -> None:
        self.store = store
        self.records = records
        self.number = 0

    def call(self, task: str | None, target: str = STRONG, *, after_ms: int = 0, **fields: Any) -> None:
        self.number += 1
        route = {
            "task_id": task,
            "target": target,
            "reason": "user",
            "policy": "balanced",
            "task": {"kinds": ["debug", "test"], "complexity": 0.4},
        }
        common = {
            "created_ms": AT_MS + after_ms,
            "duration_ms": 500.0,
            "usage": USAGE,
            "awareness": PRICES,
            "route": None if task is None else route | fields.pop("route", {}),
        }
        self.store.put_call(self.records.call(f"c{self.number:02}", **(common | fields)))

    def tell(self, task: str = "t1") -> TaskSummary:
        assert self.store.flush()
        found = find_task(self.store, task)
        assert found is not None
        return found


@pytest.fixture
def teller(store: Store, records: Records) -> Teller:
    return Teller(store, records)


def test_a_task_is_all_its_calls(teller: Teller) -> None:
    teller.call("t1", after_ms=0, tool_calls=("bash",))
    teller.call("t1", after_ms=1_000, tool_calls=("bash",), route={"reason": "continuation"})
    teller.call("t1", after_ms=2_000, route={"reason": "continuation"})
    task = teller.tell()
    assert (task.session, task.started_ms, task.duration_ms) == ("s1", AT_MS, 2_500)
    assert (task.targets, task.last_target, task.calls) == ({STRONG: 3}, STRONG, 3)
    assert (task.kinds, task.complexity, task.policy) == (("debug", "test"), 0.4, "balanced")
    assert task.cost_usd == pytest.approx(3 * USD)
    assert task.cost_kind == "known"
    assert (task.input_tokens, task.cache_read_tokens, task.output_tokens) == (39_000, 30_000, 1_500)
    assert (task.settled, task.delivery_outcome, task.assessment) == (True, "unknown", None)
    assert (task.switches, task.escalated) == (0, False)


def test_a_task_that_asked_for_a_tool_last_goes_on(teller: Teller) -> None:
    teller.call("t1", tool_calls=("bash",))
    assert not teller.tell().settled
    assert latest_task(teller.store) is None


@pytest.mark.parametrize(
    ("outcome", "status", "expected"),
    [("ok", 200, "unknown"), ("error", 500, "failure"), ("cut", 200, "failure"), ("left", 200, "cancelled")],
)
def test_only_the_provider_and_the_user_end_a_task_badly(
    teller: Teller, outcome: str, status: int, expected: str
) -> None:
    teller.call("t1", after_ms=0, outcome="error", status=529, usage=None)
    teller.call("t1", after_ms=1_000, outcome=outcome, status=status)
    task = teller.tell()
    assert (task.delivery_outcome, task.settled) == (expected, True)


def test_switches_and_escalation_are_told_with_the_attempts_of_each_target(teller: Teller) -> None:
    teller.call("t1", LIGHT, after_ms=0)
    teller.call("t1", LIGHT, after_ms=1)
    teller.call("t1", STRONG, after_ms=2, route={"notes": ["escalated: edit failed twice"]})
    task = teller.tell()
    assert (task.targets, task.last_target) == ({LIGHT: 2, STRONG: 1}, STRONG)
    assert (task.switches, task.escalated) == (1, True)


def test_any_part_that_is_not_known_makes_the_cost_an_estimate(teller: Teller) -> None:
    teller.call("t1", after_ms=0)
    teller.call("t1", after_ms=1, usage=None, outcome="left", estimated_input_tokens=1_000)
    task = teller.tell()
    assert task.cost_usd == pytest.approx(USD + 0.002)
    assert task.cost_kind == "estimated"


def test_what_was_refused_cost_nothing_and_that_is_known(teller: Teller) -> None:
    teller.call("t1", after_ms=0, usage=None, outcome="error", status=529)
    teller.call("t1", after_ms=1)
    task = teller.tell()
    assert (task.cost_usd, task.cost_kind) == (pytest.approx(USD), "known")


def test_an_attempt_that_was_given_up_counts_with_what_was_reserved_for_it(teller: Teller) -> None:
    slow = {"target": LIGHT, "failure": "timeout", "reserved_usd": 0.0025}
    refused = {"target": "c/m", "status": 429, "failure": "rate-limit", "usd": 0.0, "reserved_usd": 0.0025}
    last = {"target": STRONG, "status": 200, "usd": 0.25, "reserved_usd": 0.3, "committed": True}
    spend = {"usd": 0.25, "reserved_usd": 0.3}
    teller.call("t1", route={"attempts": [slow, refused, last]}, spend=spend)
    task = teller.tell()
    assert (task.cost_usd, task.cost_kind) == (pytest.approx(0.2525), "estimated")
    assert (task.targets, task.calls) == ({LIGHT: 1, "c/m": 1, STRONG: 1}, 1)
    teller.call("t2", route={"attempts": [refused, last]}, spend=spend)
    assert (teller.tell("t2").cost_usd, teller.tell("t2").cost_kind) == (0.25, "known")


def test_of_an_answer_that_broke_the_reservation_stays(teller: Teller) -> None:
    teller.call("t1", outcome="cut", spend={"usd": None, "reserved_usd": 0.5}, route={"attempts": [BROKEN]})
    assert (teller.tell().cost_usd, teller.tell().cost_kind) == (0.5, "estimated")
    teller.call("t2", outcome="cut", spend={"usd": None}, route={"attempts": [{"target": STRONG, "status": 200}]})
    assert (teller.tell("t2").cost_usd, teller.tell("t2").cost_kind) == (pytest.approx(USD), "estimated")


def test_what_a_small_model_was_asked_about_a_task_is_paid_by_it(teller: Teller) -> None:
    teller.call("t1", route={"question": {"target": LIGHT, "usd": 0.5}})
    assert (teller.tell().cost_usd, teller.tell().cost_kind) == (pytest.approx(USD + 0.5), "known")
    teller.call("t2", route={"question": {"target": LIGHT, "usd": None}})
    assert (teller.tell("t2").cost_usd, teller.tell("t2").cost_kind) == (pytest.approx(USD), "estimated")


def test_where_nobody_was_asked_nothing_was_paid(teller: Teller) -> None:
    teller.call("t1", outcome="answered", usage=None)
    assert (teller.tell().cost_usd, teller.tell().cost_kind, teller.tell().targets) == (0.0, "known", {})


def test_without_prices_there_is_no_cost(teller: Teller) -> None:
    teller.call("t1", awareness=None)
    assert (teller.tell().cost_usd, teller.tell().cost_kind) == (None, "estimated")
    teller.call("t2", awareness={"profile": {"prices": {"input": "cheap"}}}, usage=None, outcome="cut")
    assert teller.tell("t2").cost_usd is None


def test_what_the_client_asked_for_meanwhile_is_paid_by_the_task(teller: Teller) -> None:
    teller.call("t1", after_ms=1_000)
    teller.call("t1", after_ms=9_000)
    teller.call(None, after_ms=5_000, kind="compaction")
    teller.call("t9", after_ms=6_000, kind="title", route={"reason": "helper"})
    teller.call(None, after_ms=6_000, kind="count_tokens")
    teller.call(None, after_ms=500, kind="compaction")
    teller.call(None, after_ms=10_000, kind="compaction")
    teller.call(None, after_ms=5_000, kind="compaction", session="s2")
    task = teller.tell()
    assert (task.calls, task.cost_usd) == (2, pytest.approx(4 * USD))
    assert [one.task_id for one in list_tasks(teller.store)] == ["t1"]
    assert find_task(teller.store, "t9") is None


def test_tasks_come_newest_first_and_of_one_session_if_asked(teller: Teller) -> None:
    for number, session in enumerate(("s1", "s2", "s1", "s2")):
        teller.call(f"t{number}", after_ms=number, session=session)
    assert teller.store.flush()
    assert [task.task_id for task in list_tasks(teller.store)] == ["t3", "t2", "t1", "t0"]
    assert [task.task_id for task in list_tasks(teller.store, "s1")] == ["t2", "t0"]
    assert [task.task_id for task in list_tasks(teller.store, limit=1)] == ["t3"]
    assert list_tasks(teller.store, limit=0) == []
    latest = latest_task(teller.store, "s1")
    assert latest is not None
    assert latest.task_id == "t2"


def test_a_task_that_is_cut_off_by_what_is_read_is_not_listed_but_found(
    teller: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = teller.store.attempts
    monkeypatch.setattr("ullage.stores.tasks.ATTEMPTS_READ", 3)
    monkeypatch.setattr(teller.store, "attempts", lambda *session, **options: read(*session, **{"limit": 3} | options))
    for number in range(4):
        teller.call(f"t{number // 2}", after_ms=number)
    assert teller.tell("t0").calls == 2
    assert [task.task_id for task in list_tasks(teller.store)] == ["t1"]


def test_there_is_no_task_before_there_was_one(store: Store) -> None:
    assert (list_tasks(store), latest_task(store), find_task(store, "t1")) == ([], None, None)


def test_what_the_user_said_last_of_a_task_is_its_assessment(teller: Teller) -> None:
    teller.call("t1")
    records, store = teller.records, teller.store
    store.put_outcome(records.outcome("b", created_ms=2, judgement="failure"))
    store.put_outcome(records.outcome("a", created_ms=1, judgement="success"))
    assert teller.tell().assessment == "failure"
    assert judgements(store.outcomes()) == {"t1": "failure"}
    store.put_outcome(records.outcome("c", created_ms=3, judgement="unknown"))
    assert teller.tell().assessment is None


def test_a_report_has_every_field_of_a_summary_but_the_last_target(teller: Teller) -> None:
    teller.call("t1")
    told = report_task(teller.tell())
    assert len(told) == len(TaskSummary.__struct_fields__) - 1
    assert told["started_at"] == "2026-05-28T20:26:40.000Z"
    msgspec.json.encode(told)
