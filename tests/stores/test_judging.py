"""What users say of routes (routing specification, sections 23.1 and 27)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ullage.core.errors import InputError, StoreError
from ullage.stores import MemoryStore
from ullage.stores.judging import LONGEST_REASON, make_judgement, make_vote, quality_of, write_judgement

if TYPE_CHECKING:
    from conftest import Records

    from ullage.stores import Store

NOW_MS = 1_780_000_000_000
TARGET = "anthropic/claude-x"


def put(
    store: Store, records: Records, name: str, task: str, *, kinds: tuple[str, ...] = ("debug",), **fields: Any
) -> None:
    route = {"task_id": task, "target": TARGET, "task": {"kinds": list(kinds)}, "reason": fields.pop("reason", "user")}
    store.put_call(records.routed(name, task, route=route, **fields))
    assert store.flush()


def test_a_vote_is_on_the_target_and_the_kinds_of_the_newest_decision(store: Store, records: Records) -> None:
    put(store, records, "a", "t1", created_ms=1, kinds=("plan",))
    put(store, records, "b", "t2", created_ms=2)
    put(store, records, "c", "t3", created_ms=3, session="s2", kinds=("test",))
    put(store, records, "d", "t4", created_ms=4, reason="helper", kinds=("explain",))
    vote = make_vote(store, True, NOW_MS)
    assert (vote.target, vote.kinds, vote.session, vote.task, vote.good) == (TARGET, ("test",), "s2", "t3", True)
    of_session = make_vote(store, False, NOW_MS, session="s1", reason="too shallow")
    assert (of_session.task, of_session.good, of_session.reason) == ("t2", False, "too shallow")


def test_a_target_that_is_named_is_voted_on_at_the_kinds_of_the_newest_decision(store: Store, records: Records) -> None:
    assert make_vote(store, True, NOW_MS, target="lab/x/y").kinds == ()
    put(store, records, "a", "t1")
    vote = make_vote(store, True, NOW_MS, target="lab/x/y")
    assert (vote.target, vote.kinds) == ("lab/x/y", ("debug",))


def test_before_anything_was_routed_a_target_must_be_named(store: Store) -> None:
    with pytest.raises(InputError) as refusal:
        make_vote(store, True, NOW_MS)
    assert refusal.value.code == "no_decision"
    with pytest.raises(InputError) as refusal:
        make_vote(store, True, NOW_MS, target="model")
    assert refusal.value.code == "unknown_target"


def test_a_long_reason_is_cut() -> None:
    vote = make_vote(MemoryStore(), True, NOW_MS, target="a/x", reason="x" * 9_999)
    assert vote.reason is not None
    assert len(vote.reason) == LONGEST_REASON


def test_a_judgement_is_on_the_newest_task_that_is_over(store: Store, records: Records) -> None:
    put(store, records, "a", "t1", created_ms=1)
    put(store, records, "b", "t2", created_ms=2, tool_calls=("bash",))
    said = make_judgement(store, "success", NOW_MS)
    assert (said.task, said.judgement, said.target, said.kinds, said.session) == (
        "t1",
        "success",
        TARGET,
        ("debug",),
        "s1",
    )
    assert make_judgement(store, "failure", NOW_MS, task_id="t2").task == "t2"


@pytest.mark.parametrize("wanted", [{}, {"task_id": "t9"}, {"session": "s9"}])
def test_without_such_a_task_nothing_is_said(store: Store, records: Records, wanted: dict[str, Any]) -> None:
    put(store, records, "a", "t1", tool_calls=("bash",))
    with pytest.raises(InputError) as refusal:
        make_judgement(store, "success", NOW_MS, **wanted)
    assert refusal.value.code == "no_task"
    assert store.outcomes() == []


def test_what_is_said_is_durable_and_comes_to_what_is_told(store: Store, records: Records) -> None:
    put(store, records, "a", "t1")
    for _ in range(7):
        write_judgement(store, make_vote(store, True, NOW_MS))
    quality = quality_of(store, TARGET, ("debug",), NOW_MS)
    assert (quality.voted, quality.offset) == pytest.approx((0.1, 0.1))
    write_judgement(store, make_judgement(store, "failure", NOW_MS))
    assert quality_of(store, TARGET, ("debug",), NOW_MS).offset < 0.1
    assert len({vote.id for vote in store.feedback()}) == 7


def test_what_cannot_be_written_now_is_not_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setattr(store, "flush", lambda: False)
    with pytest.raises(StoreError) as refusal:
        write_judgement(store, make_vote(store, True, NOW_MS, target="a/x"))
    assert refusal.value.code == "indeterminate"
