"""What every store does. Each test runs against each of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from ullage.core.errors import StoreError

KEY = ("anthropic", "claude-x", "wire-v1")
"""The key of samples that say nothing else."""

if TYPE_CHECKING:
    from conftest import Records

    from ullage.stores import Store


def test_a_call_is_read_back_as_it_was_put(store: Store, records: Records) -> None:
    call = records.call(
        model="claude-x",
        status=200,
        first_byte_ms=12.5,
        tool_calls=("bash", "edit"),
        usage={"input_fresh": 10, "cache_read": None, "raw": {"deep": [1, {"x": "é"}]}},
        breakdown={"sections": [{"id": "system", "tokens": n} for n in range(100)]},
        warnings=("estimate only",),
    )
    store.put_call(call)
    assert store.flush()
    assert store.find_call("c1") == call


def test_a_session_is_read_back_as_it_was_put(store: Store, records: Records) -> None:
    session = records.session(client_version="2.1.0", agent="explorer", parent="s0", calls=3, model="claude-x")
    store.put_session(session)
    assert store.flush()
    assert store.find_session("s1") == session


def test_an_event_is_read_back_as_it_was_put(store: Store, records: Records) -> None:
    event = records.event(session="s1", call="c1", details={"before": 12, "after": 3})
    store.put_event(event)
    assert store.flush()
    assert store.events() == [event]


def test_a_sample_is_read_back_as_it_was_put(store: Store, records: Records) -> None:
    sample = records.sample(output=20, window=200_000, pair={"growth": [10, 12.5], "after": "c0"})
    store.put_sample(sample)
    assert store.flush()
    assert store.samples(*KEY) == [sample]
    assert sample.prompt == 1050


def test_a_prefix_is_read_back_as_it_was_put(store: Store, records: Records) -> None:
    prefix = records.prefix(read=30_000, written=0)
    store.put_prefix(prefix)
    assert store.flush()
    assert store.prefixes() == [prefix]


def test_a_change_to_what_is_kept_is_read_back_as_it_was_put(store: Store, records: Records) -> None:
    change = records.mutation(branch="3:ab", project="/code/a", payload={"text": "é", "source_ids": ["e1"]})
    store.put_mutation(change)
    assert store.flush()
    assert store.mutations() == [change]


def test_an_empty_store_has_nothing_and_no_problems(store: Store) -> None:
    assert store.flush()
    assert (store.sessions(), store.calls(), store.events(), store.problems()) == ([], [], [], ())
    assert (store.samples(*KEY), store.sample_keys(), store.prefixes()) == ([], [], [])
    assert (store.mutations(), store.mutation_version(), store.artifacts()) == ([], 0, [])
    assert (store.decisions(), store.attempts(), store.feedback(), store.outcomes(), store.tallies()) == ([],) * 5
    assert store.route_overrides() == store.route_overrides("s1") == {}


def test_what_was_never_put_is_not_found(store: Store) -> None:
    assert store.find_call("c1") is None
    assert store.find_session("s1") is None


def test_a_record_with_the_same_id_replaces_the_older_one(store: Store, records: Records) -> None:
    store.put_call(records.call(outcome="cut"))
    store.put_session(records.session(calls=1))
    assert store.flush()
    store.put_call(records.call(outcome="ok", session="s2", kind="title"))
    store.put_session(records.session(calls=2))
    assert store.flush()
    assert [call.outcome for call in store.calls()] == ["ok"]
    assert store.calls("s1") == []
    assert [session.calls for session in store.sessions()] == [2]


def test_of_two_records_put_in_one_breath_the_later_stays(store: Store, records: Records) -> None:
    for number in range(10):
        store.put_session(records.session(calls=number))
    assert store.flush()
    assert [session.calls for session in store.sessions()] == [9]


def test_calls_come_newest_first_and_of_equal_times_the_last_put_first(store: Store, records: Records) -> None:
    for name, created_ms in (("a", 20), ("b", 30), ("c", 20), ("d", 10)):
        store.put_call(records.call(name, created_ms=created_ms))
    assert store.flush()
    assert [call.id for call in store.calls()] == ["b", "c", "a", "d"]


def test_sessions_come_with_the_newest_activity_first(store: Store, records: Records) -> None:
    for name, last_ms in (("a", 20), ("b", 30), ("c", 10)):
        store.put_session(records.session(name, last_ms=last_ms))
    assert store.flush()
    assert [session.id for session in store.sessions()] == ["b", "a", "c"]


def test_calls_are_filtered_by_session_and_kind(store: Store, records: Records) -> None:
    store.put_call(records.call("a", session="s1", kind="conversation", created_ms=1))
    store.put_call(records.call("b", session="s1", kind="title", created_ms=2))
    store.put_call(records.call("c", session="s2", kind="title", created_ms=3))
    assert store.flush()
    assert [call.id for call in store.calls("s1")] == ["b", "a"]
    assert [call.id for call in store.calls(kind="title")] == ["c", "b"]
    assert [call.id for call in store.calls("s2", kind="title")] == ["c"]
    assert store.calls("s2", kind="conversation") == []


def test_events_are_filtered_by_session(store: Store, records: Records) -> None:
    store.put_event(records.event("branch", session="s1", created_ms=1))
    store.put_event(records.event("store_recovered", created_ms=2))
    store.put_event(records.event("rewrite", session="s1", created_ms=3))
    assert store.flush()
    assert [event.kind for event in store.events()] == ["rewrite", "store_recovered", "branch"]
    assert [event.kind for event in store.events("s1")] == ["rewrite", "branch"]


@pytest.mark.parametrize("read", ["sessions", "calls", "events", "prefixes"])
def test_a_limit_keeps_the_newest(store: Store, records: Records, read: str) -> None:
    for number in range(5):
        store.put_session(records.session(f"s{number}", last_ms=number))
        store.put_call(records.call(f"c{number}", created_ms=number))
        store.put_event(records.event(created_ms=number))
        store.put_prefix(records.prefix(f"s{number}", used_ms=number))
    assert store.flush()
    everything = getattr(store, read)(limit=100)
    assert len(everything) == 5
    assert getattr(store, read)(limit=2) == everything[:2]
    assert getattr(store, read)(limit=0) == []


def test_ids_are_found_by_their_beginning(store: Store, records: Records) -> None:
    for name in ("ab1", "ab2", "ac1", "AB3", "ab%"):
        store.put_call(records.call(name))
        store.put_session(records.session(name))
    assert store.flush()
    assert store.call_ids("ab") == ["ab%", "ab1", "ab2"]
    assert store.session_ids("ab", limit=1) == ["ab%"]
    assert store.call_ids("") == ["AB3", "ab%", "ab1", "ab2", "ac1"]
    assert store.call_ids("zz") == []


def test_a_record_may_be_changed_after_it_was_put(store: Store, records: Records) -> None:
    details = {"before": 1}
    store.put_event(records.event(details=details))
    details["before"] = 2
    assert store.flush()
    assert store.events()[0].details == {"before": 1}


def test_text_that_utf8_cannot_hold_is_kept_with_replacements(store: Store, records: Records) -> None:
    """A model name or session id is whatever a client sent: JSON allows lone surrogates."""
    store.put_session(records.session("s\ud800"))
    store.put_call(records.call("c\udfff", model="x\ud800y", usage={"\ud800": 2**80, "when": object}))
    store.put_event(records.event(session="s\ud800", details={"x": "\ud800"}))
    store.put_sample(records.sample("c\udfff", model="x\ud800y"))
    store.put_prefix(records.prefix("s\ud800"))
    store.put_mutation(records.mutation(payload={"text": "\ud800"}))
    store.put_artifact(records.artifact(tool="x\ud800"))
    store.put_feedback(records.vote(reason="\ud800"))
    store.put_route_override(records.override(value={"\ud800": "\ud800"}))
    assert store.flush()
    assert store.sessions()[0].id == "s?"
    assert [(call.id, call.model) for call in store.calls()] == [("c?", "x?y")]
    assert store.events("s?")[0].details == {"x": "?"}
    assert [sample.id for sample in store.samples("anthropic", "x?y", "wire-v1")] == ["c?"]
    assert [prefix.session for prefix in store.prefixes()] == ["s?"]
    assert [change.payload for change in store.mutations()] == [{"text": "?"}]
    assert [record.tool for record in store.artifacts()] == ["x?"]
    assert [vote.reason for vote in store.feedback()] == ["?"]
    assert store.route_overrides() == {"policy": {"?": "?"}}
    assert store.problems() == ()


def test_numbers_that_json_lacks_and_huge_numbers_lose_no_record(store: Store, records: Records) -> None:
    store.put_call(records.call(usage={"nan": float("nan"), "huge": 10**400}))
    assert store.flush()
    assert store.find_call("c1") is not None


def test_a_sample_that_is_put_twice_changes_nothing(store: Store, records: Records) -> None:
    """Also when it comes later, with other figures, or under another model: a call is learned from once by each estimator."""
    store.put_sample(records.sample(estimated=1))
    store.put_sample(records.sample(estimated=2))
    assert store.flush()
    store.put_sample(records.sample(estimated=3))
    store.put_sample(records.sample(model="other"))
    store.put_sample(records.sample(estimator="chars-v1"))
    assert store.flush()
    assert [sample.estimated for sample in store.samples(*KEY)] == [1]
    assert store.sample_keys() == [("anthropic", "claude-x", "chars-v1"), KEY]


def test_samples_are_kept_apart_by_provider_model_and_estimator(store: Store, records: Records) -> None:
    others = ({"provider": "openai"}, {"model": "claude-y"}, {"estimator": "chars-v1"})
    store.put_sample(records.sample("here"))
    for number, other in enumerate(others):
        store.put_sample(records.sample(f"c{number}", **other))
    assert store.flush()
    assert [sample.id for sample in store.samples(*KEY)] == ["here"]
    assert store.sample_keys() == [
        ("anthropic", "claude-x", "chars-v1"),
        ("anthropic", "claude-x", "wire-v1"),
        ("anthropic", "claude-y", "wire-v1"),
        ("openai", "claude-x", "wire-v1"),
    ]


def test_samples_come_newest_first_by_time_then_id(store: Store, records: Records) -> None:
    for name, created_ms in (("b", 20), ("d", 10), ("a", 20), ("c", 20)):
        store.put_sample(records.sample(name, created_ms=created_ms))
    assert store.flush()
    assert [sample.id for sample in store.samples(*KEY)] == ["c", "b", "a", "d"]
    assert [sample.id for sample in store.samples(*KEY, limit=2)] == ["c", "b"]


def test_samples_are_filtered_by_client(store: Store, records: Records) -> None:
    for number in range(6):
        store.put_sample(records.sample(f"c{number}", client=("codex", "pi")[number % 2], created_ms=number))
    assert store.flush()
    assert [sample.id for sample in store.samples(*KEY, client="pi")] == ["c5", "c3", "c1"]
    assert [sample.id for sample in store.samples(*KEY, client="codex", limit=1)] == ["c4"]
    assert store.samples(*KEY, client="aider") == []


def test_of_each_key_the_200_newest_samples_stay(store: Store, records: Records) -> None:
    for number in range(260):
        store.put_sample(records.sample(f"c{number:03}", created_ms=number, client=("codex", "pi")[number % 2]))
    store.put_sample(records.sample("late", created_ms=30))
    store.put_sample(records.sample("other", model="claude-y", created_ms=0))
    assert store.flush()
    assert [sample.created_ms for sample in store.samples(*KEY, limit=999)] == list(range(259, 59, -1))
    assert len(store.samples(*KEY, client="pi", limit=999)) == 100
    assert len(store.samples("anthropic", "claude-y", "wire-v1")) == 1


def test_of_samples_of_one_time_those_with_the_highest_ids_stay(store: Store, records: Records) -> None:
    for number in (*range(0, 260, 2), *range(259, 0, -2)):
        store.put_sample(records.sample(f"c{number:03}"))
    assert store.flush()
    store.put_sample(records.sample("c000b"))
    assert store.flush()
    assert [sample.id for sample in store.samples(*KEY)] == [f"c{number:03}" for number in range(259, 59, -1)]


def test_of_a_target_and_session_the_prefix_used_last_stays(store: Store, records: Records) -> None:
    for used_ms, tokens in ((20, 1), (30, 2), (10, 3), (30, 4)):
        store.put_prefix(records.prefix(used_ms=used_ms, tokens=tokens))
    store.put_prefix(records.prefix("s2", used_ms=25))
    store.put_prefix(records.prefix(model="claude-y", used_ms=5))
    store.put_prefix(records.prefix(provider="openai", used_ms=40))
    assert store.flush()
    store.put_prefix(records.prefix(used_ms=29, tokens=5))
    assert store.flush()
    assert [(prefix.used_ms, prefix.tokens) for prefix in store.prefixes()] == [
        (40, 40_000),
        (30, 4),
        (25, 40_000),
        (5, 40_000),
    ]
    assert len(store.prefixes(since_ms=25)) == 3
    assert len(store.prefixes(limit=2)) == 2


def test_records_from_many_threads_are_all_kept(store: Store, records: Records) -> None:
    def put_some(thread: int) -> None:
        for number in range(50):
            store.put_call(records.call(f"{thread}-{number}"))

    threads = [threading.Thread(target=put_some, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.flush()
    assert len(store.calls(limit=1000)) == 400


def test_reads_from_many_threads_at_once_agree(store: Store, records: Records) -> None:
    store.put_call(records.call())
    assert store.flush()
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(store.calls()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8


def test_a_closed_store_refuses_reads_and_swallows_writes(store: Store, records: Records) -> None:
    store.close()
    store.close()
    store.put_call(records.call())
    with pytest.raises(StoreError, match="closed"):
        store.calls()


def test_changes_come_in_the_order_in_which_they_were_put(store: Store, records: Records) -> None:
    for number, created_ms in enumerate((30, 10, 20)):
        store.put_mutation(records.mutation(f"m{number}", created_ms=created_ms))
    assert store.flush()
    assert [change.id for change in store.mutations()] == ["m0", "m1", "m2"]


def test_a_change_that_is_put_twice_stays_as_it_was(store: Store, records: Records) -> None:
    """Whoever imports a log again changes nothing."""
    store.put_mutation(records.mutation(created_ms=1))
    store.put_mutation(records.mutation(created_ms=2))
    assert store.flush()
    version = store.mutation_version()
    store.put_mutation(records.mutation(created_ms=3, op="status"))
    assert store.flush()
    assert [change.created_ms for change in store.mutations()] == [1]
    assert store.mutation_version() == version


def test_changes_are_filtered_by_kind_session_and_project(store: Store, records: Records) -> None:
    store.put_mutation(records.mutation("a", session="s1"))
    store.put_mutation(records.mutation("b", session="s2", project="/code/a"))
    store.put_mutation(records.mutation("c", session=None, project="/code/a", kind="memory", scope="project"))
    assert store.flush()

    def found(**wanted: str) -> str:
        return "".join(change.id for change in store.mutations(**wanted))

    assert (found(), found(kind="pin"), found(kind="memory"), found(kind="note")) == ("abc", "ab", "c", "")
    assert (found(session="s2"), found(project="/code/a"), found(project="/code")) == ("b", "bc", "")
    assert found(project="/code/a", kind="memory") == "c"
    assert found(session="s1", project="/code/a") == ""


def test_the_last_use_of_an_artifact_in_a_session_stays_in_whatever_order_it_comes(
    store: Store, records: Records
) -> None:
    store.put_artifact(records.artifact(used_ms=2, tool="read"))
    store.put_artifact(records.artifact(used_ms=1))
    store.put_artifact(records.artifact(session="s2", used_ms=1))
    assert store.flush()
    assert store.artifacts() == [
        records.artifact(used_ms=2, tool="read"),
        records.artifact(session="s2", used_ms=1),
    ]
    store.put_artifact(records.artifact(used_ms=3, project="/code/a"))
    assert store.flush()
    assert store.artifacts("s1") == [records.artifact(used_ms=3, project="/code/a")]


def test_artifacts_are_found_by_session_project_and_beginning_of_their_id(store: Store, records: Records) -> None:
    store.put_artifact(records.artifact("ab12", used_ms=1))
    store.put_artifact(records.artifact("ab34", used_ms=3, project="/code/a"))
    store.put_artifact(records.artifact("cd56", used_ms=2, session="s2", project="/code/a"))
    assert store.flush()

    def found(*session: str, **wanted: Any) -> list[str]:
        return [record.id for record in store.artifacts(*session, **wanted)]

    assert found() == ["ab34", "cd56", "ab12"]
    assert found(limit=2) == ["ab34", "cd56"]
    assert found("s1") == ["ab34", "ab12"]
    assert found(project="/code/a") == ["ab34", "cd56"]
    assert found(prefix="ab") == ["ab34", "ab12"]
    assert found(prefix="ab", project="/code/a", limit=5) == ["ab34"]
    assert found("s2", prefix="ab") == found(prefix="x") == found(project="/code") == []


def test_the_version_of_the_log_is_another_one_after_each_change(store: Store, records: Records) -> None:
    versions = {store.mutation_version()}
    for number in range(4):
        store.put_mutation(records.mutation(f"m{number}"))
        assert store.flush()
        versions.add(store.mutation_version())
    assert len(versions) == 5


def test_routed_calls_are_found_by_session_and_task(store: Store, records: Records) -> None:
    store.put_call(records.routed("a", "t1", created_ms=1))
    store.put_call(records.routed("b", "t2", created_ms=3, session="s2"))
    store.put_call(records.call("c", created_ms=4))
    store.put_call(records.routed("d", "t1", created_ms=2))
    store.put_call(records.call("e", created_ms=5, route={"reason": "helper"}))
    assert store.flush()

    def found(*session: str, **wanted: Any) -> str:
        return "".join(call.id for call in store.decisions(*session, **wanted))

    assert (found(), found(limit=2), found(limit=0)) == ("bda", "bd", "")
    assert (found("s1"), found("s2"), found("s1", limit=1)) == ("da", "b", "d")
    assert (found(task="t1"), found(task="t2"), found(task="t3")) == ("da", "b", "")
    assert (found("s1", task="t1"), found("s2", task="t1")) == ("da", "")


def test_a_call_that_is_put_again_belongs_to_the_task_it_then_names(store: Store, records: Records) -> None:
    store.put_call(records.call("a"))
    store.put_call(records.routed("b", "t1"))
    assert store.flush()
    store.put_call(records.routed("a", "t2"))
    store.put_call(records.call("b"))
    assert store.flush()
    assert [call.id for call in store.decisions()] == ["a"]
    assert store.decisions(task="t1") == []


def test_a_routed_call_is_read_back_as_it_was_put(store: Store, records: Records) -> None:
    call = records.routed()
    session = records.session(routing={"current": "anthropic/claude-x"})
    store.put_call(call)
    store.put_session(session)
    assert store.flush()
    assert store.find_call("c1") == store.decisions()[0] == call
    assert store.find_session("s1") == session


def test_attempts_are_all_calls_without_what_is_large_the_newest_first(store: Store, records: Records) -> None:
    store.put_call(records.call("a", created_ms=1, outcome="cut", model=None))
    large = {"sections": [{"id": "system", "tokens": n} for n in range(100)]}
    usage = {"input_fresh": 10, "output": 5}
    store.put_call(records.routed("b", created_ms=2, breakdown=large, usage=usage, first_byte_ms=7.0, streamed=True))
    store.put_call(records.call("c", created_ms=3))
    assert store.flush()
    c, b, a = store.attempts()
    assert (a.id, a.target, a.kinds, a.outcome) == ("a", "anthropic", (), "cut")
    assert (b.id, b.target, b.kinds, b.usage) == ("b", "anthropic/claude-x", ("debug",), usage)
    assert b.route is not None
    assert (b.route.task_id, b.route.task.complexity, b.first_byte_ms) == ("t1", 0.3, 7.0)
    assert (c.target, c.route) == ("anthropic/claude-x", None)
    assert [one.id for one in store.attempts(since_ms=2)] == ["c", "b"]
    assert [one.id for one in store.attempts(limit=1)] == ["c"]


def test_where_a_call_was_sent_goes_before_what_was_asked_for(store: Store, records: Records) -> None:
    store.put_call(records.routed(route={"task_id": "t1", "target": "lab/a/b"}))
    assert store.flush()
    assert [one.target for one in store.attempts()] == ["lab/a/b"]


def test_votes_outcomes_and_tallies_come_in_the_order_in_which_they_were_put_and_stay_as_they_were(
    store: Store, records: Records
) -> None:
    votes = [records.vote(f"v{n}", created_ms=30 - n, kinds=("debug", "test"), reason="too shallow") for n in range(3)]
    outcomes = [records.outcome(f"o{n}", created_ms=30 - n, judgement="unknown") for n in range(3)]
    tallies = [records.tally(f"n{n}", created_ms=30 - n, attempts=1.5, successes=0.25, kind="test") for n in range(3)]
    for vote, outcome, tally in zip(votes, outcomes, tallies, strict=True):
        store.put_feedback(vote)
        store.put_outcome(outcome)
        store.put_tally(tally)
    assert store.flush()
    store.put_feedback(records.vote("v0", good=False))
    store.put_outcome(records.outcome("o0", judgement="failure"))
    store.put_tally(records.tally("n0", attempts=99))
    assert store.flush()
    assert (store.feedback(), store.outcomes(), store.tallies()) == (votes, outcomes, tallies)


def test_of_an_override_the_one_set_last_holds_in_whatever_order_it_comes(store: Store, records: Records) -> None:
    store.put_route_override(records.override(value="best", at_ms=2))
    store.put_route_override(records.override(value="cost", at_ms=1))
    assert store.flush()
    assert store.route_overrides() == {"policy": "best"}
    store.put_route_override(records.override(value={"level": "high"}, at_ms=2))
    assert store.flush()
    assert store.route_overrides() == {"policy": {"level": "high"}}


def test_what_was_set_up_to_a_time_is_dropped(store: Store, records: Records) -> None:
    store.put_route_override(records.override("pin", "a/x", session="s1", at_ms=2))
    assert store.flush()
    store.drop_route_override("s1", "pin", 1)
    store.drop_route_override("s1", "policy", 9)
    assert store.flush()
    assert store.route_overrides("s1") == {"pin": "a/x"}
    store.drop_route_override("s1", "pin", 2)
    assert store.flush()
    assert store.route_overrides("s1") == {}


def test_what_is_set_for_a_session_goes_before_what_is_set_for_all(store: Store, records: Records) -> None:
    store.put_route_override(records.override("pin", "a/x", session="s1"))
    store.put_route_override(records.override("pin", "a/y"))
    store.put_route_override(records.override("policy", "best"))
    assert store.flush()
    assert store.route_overrides("s1") == {"pin": "a/x", "policy": "best"}
    assert store.route_overrides("s2") == store.route_overrides() == {"pin": "a/y", "policy": "best"}


def test_what_is_taken_back_for_a_session_holds_no_more_for_it(store: Store, records: Records) -> None:
    store.put_route_override(records.override("pin", "a/y", at_ms=1))
    store.put_route_override(records.override("pin", None, session="s1", at_ms=2))
    assert store.flush()
    assert (store.route_overrides("s1"), store.route_overrides()) == ({}, {"pin": "a/y"})
