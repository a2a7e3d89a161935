"""What routing remembers of sessions, and how often tasks of a kind call."""

from __future__ import annotations

from typing import Any

import msgspec

from ullage.core.routing.cache_terms import Habits
from ullage.core.routing.task import analyze_task
from ullage.engine.route_habits import NOTHING_SPENT, RouteHabits
from ullage.engine.route_state import Failure, SessionRoute, SessionRoutes, TaskState
from ullage.stores import SessionRecord
from ullage.stores.route_records import AttemptRecord, AttemptRoute, AttemptTask


def session(**changes: Any) -> SessionRecord:
    return SessionRecord(id="s", client="pi", identity="header", started_ms=1, last_ms=1, **changes)


def attempt(task: str, *kinds: str) -> AttemptRecord:
    route = AttemptRoute(task_id=task, target="a/b", task=AttemptTask(kinds=kinds))
    return AttemptRecord(
        id="c", session="s", created_ms=1, kind="conversation", provider="a", model="b", outcome="ok", route=route
    )


def test_a_session_is_the_same_after_it_was_kept() -> None:
    known = SessionRoute(
        current="a/b",
        task=TaskState(
            id="t",
            target="a/b",
            opener="00ff",
            messages=3,
            thinking="low",
            policy="cost",
            profile=analyze_task("Debug this failing test"),
            started_ms=5,
        ),
        failed={"a/c": Failure(status="529", until_ms=9)},
        authors=[(0, None), (3, "a/b")],
        answered_ms=7,
        switched_usd=0.25,
    )
    sessions = SessionRoutes()
    sessions.recall([session(routing=msgspec.json.decode(msgspec.json.encode(known.plain())))])
    assert sessions.find("s") == known


def test_what_cannot_be_read_begins_anew() -> None:
    sessions = SessionRoutes()
    sessions.recall([session(routing={"current": 5}), session(routing=None)])
    assert sessions.find("s") == SessionRoute()


def test_a_session_without_a_name_is_not_remembered() -> None:
    sessions = SessionRoutes()
    sessions.find("").current = "a/b"
    assert sessions.find("").current is None


def test_answers_belong_to_the_target_that_the_request_went_to() -> None:
    known = SessionRoute()
    for messages, target in ((1, "a/a"), (3, "a/a"), (5, "a/b"), (7, "a/b"), (9, "a/a")):
        known.note_author(messages, target, rewritten=False)
    assert [known.author(index) for index in (0, 1, 3, 5, 7, 9, 11)] == [None, "a/a", "a/a", "a/b", "a/b", "a/a", "a/a"]
    known.note_author(3, "a/c", rewritten=False)  # a branch from an earlier message
    assert [known.author(index) for index in (1, 3, 5)] == ["a/a", "a/c", "a/c"]
    known.note_author(4, "a/c", rewritten=True)
    assert [known.author(index) for index in (1, 3, 4)] == [None, None, "a/c"]


def test_failures_are_forgotten_in_time() -> None:
    known = SessionRoute(failed={"a/b": Failure(status="503", until_ms=100)})
    assert known.failures(99) == {"a/b": "it failed before, after 503"}
    assert known.failures(100) == {} == known.failed


def test_a_branch_inherits_where_its_parent_is_and_no_task_in_progress() -> None:
    sessions = SessionRoutes()
    parent = sessions.find("s")
    parent.current, parent.authors = "a/b", [(1, "a/b")]
    sessions.inherit("t", "s")
    sessions.inherit("u", "unknown")
    assert (sessions.find("t").current, sessions.find("t").authors) == ("a/b", [(1, "a/b")])
    assert sessions.find("u") == SessionRoute()


def test_the_median_of_three_tasks_of_the_same_kinds_is_believed() -> None:
    habits = RouteHabits()
    for calls in (2, 20):
        habits.add(("debug",), calls)
    assert habits.of(("debug",)).calls is None
    habits.add(("debug",), 6)
    assert habits.of(("debug",)).calls == 6
    assert habits.of(("review",)).calls is None


def test_habits_are_recalled_from_the_calls_of_tasks() -> None:
    habits = RouteHabits()
    habits.recall([*[attempt("t1", "debug")] * 4, *[attempt("t2", "debug")] * 2, *[attempt("t3", "debug")] * 9])
    assert habits.of(("debug",)).calls == 4


def test_what_tasks_of_a_kind_say_and_add_is_that_of_the_past() -> None:
    habits = RouteHabits()
    for output, growth in ((100, 1_000), (300, 5_000), (200, 3_000)):
        spent = NOTHING_SPENT
        for number in range(3):
            spent = spent.with_call(prompt=9_000 + number * growth, output=output)
        habits.add(("debug",), 3, spent)
    assert habits.of(("debug",), made=2) == Habits(calls=3, output=200, growth=3_000, made=2)
    assert habits.of(("review",), made=2) == Habits(made=2)


def test_tasks_of_one_call_grow_by_nothing_that_is_known_and_a_history_that_was_cut_neither() -> None:
    one = NOTHING_SPENT.with_call(prompt=10, output=5)
    cut = one.with_call(prompt=4, output=7)
    assert (NOTHING_SPENT.output_per_call, NOTHING_SPENT.growth_per_call) == (None, None)
    assert (one.output_per_call, one.growth_per_call) == (5, None)
    assert (cut.output_per_call, cut.growth_per_call) == (6, None)


def test_what_answers_used_is_recalled_in_the_order_of_the_calls() -> None:
    habits = RouteHabits()
    calls = [
        msgspec.structs.replace(
            attempt(task, "debug"),
            created_ms=number,
            usage={"input_fresh": 1_000 * number, "cache_read": 500, "cache_write": None, "output": 40},
        )
        for task in ("t1", "t2", "t3")
        for number in (3, 1, 2)
    ]
    silent = msgspec.structs.replace(attempt("t1", "debug"), created_ms=9, usage={"input_fresh": 5})
    habits.recall([*calls, silent])
    assert habits.of(("debug",)) == Habits(calls=3, output=40, growth=1_000)
