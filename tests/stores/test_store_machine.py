"""Random commands against every store and a model of it: what a store holds is what was last put under each id.

Of samples it is what was first put, and the newest 200 of each key; of prefixes what was used last; of changes to what the user
keeps and to how routes went all, each as it was first put.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from ullage.stores import (
    CallRecord,
    EventRecord,
    FeedbackRecord,
    MemoryStore,
    MutationRecord,
    PrefixRecord,
    RouteOverride,
    SampleRecord,
    SessionRecord,
    SqliteStore,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.stores import Store

IDS = st.sampled_from(["a", "ab", "b", "c"])
SESSIONS = st.sampled_from(["s1", "s2"])
TASKS = st.sampled_from(["t1", "t2"])
KINDS = st.sampled_from(["conversation", "title"])
TIMES_MS = st.integers(0, 5)
LIMITS = st.integers(0, 6)
ESTIMATORS = st.sampled_from(["chars-v1", "wire-v1"])
MODELS = st.sampled_from(["m0", "m1"])
CLIENTS = st.sampled_from(["codex", "pi"])


class Model:
    """A store in a few lines: records under their ids, the one that was put first last."""

    def __init__(self) -> None:
        self.sessions: list[SessionRecord] = []
        self.calls: list[CallRecord] = []
        self.events: list[EventRecord] = []
        self.samples: dict[tuple[str, str], SampleRecord] = {}
        self.prefixes: dict[tuple[str, str], PrefixRecord] = {}
        self.mutations: dict[str, MutationRecord] = {}
        self.votes: dict[str, FeedbackRecord] = {}
        self.overrides: dict[tuple[str, str], RouteOverride] = {}

    def put(self, shelf: list[Any], record: Any) -> None:
        places = [place for place, other in enumerate(shelf) if other.id == record.id]
        shelf[slice(places[0], places[0] + 1) if places else slice(0, 0)] = [record]

    def newest_calls(self, session: str | None, kind: str | None) -> list[CallRecord]:
        found = (call for call in self.calls if session in (None, call.session) and kind in (None, call.kind))
        return sorted(found, key=lambda call: -call.created_ms)

    def newest_decisions(self, session: str | None, task: str | None) -> list[CallRecord]:
        routed = [call for call in self.newest_calls(session, None) if call.route is not None]
        return [call for call in routed if call.route is not None and task in (None, call.route["task_id"])]

    def put_override(self, record: RouteOverride) -> None:
        place = (record.session, record.key)
        if place not in self.overrides or record.at_ms >= self.overrides[place].at_ms:
            self.overrides[place] = record

    def held(self, session: str) -> dict[str, Any]:
        own = {key: one.value for (name, key), one in self.overrides.items() if name == session}
        common = {key: one.value for (name, key), one in self.overrides.items() if not name}
        return {key: value for key, value in (common | own).items() if value is not None}

    def newest_events(self, session: str | None) -> list[EventRecord]:
        found = (event for event in self.events if session in (None, event.session))
        return sorted(found, key=lambda event: -event.created_ms)

    def put_prefix(self, record: PrefixRecord) -> None:
        place = (record.model, record.session)
        if place not in self.prefixes or record.used_ms >= self.prefixes[place].used_ms:
            self.prefixes[place] = record

    def newest_samples(self, model: str, estimator: str) -> list[SampleRecord]:
        found = [record for record in self.samples.values() if (record.model, record.estimator) == (model, estimator)]
        return sorted(found, key=lambda record: (record.created_ms, record.id), reverse=True)[:200]

    def newest_prefixes(self) -> list[PrefixRecord]:
        newest = sorted(enumerate(self.prefixes.values()), key=lambda entry: (entry[1].used_ms, entry[0]), reverse=True)
        return [record for _, record in newest]


class StoreMachine(RuleBasedStateMachine):
    """Subclasses open the store; a store that outlives its closing is opened again."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.store = self.open()

    def open(self) -> Store:
        raise NotImplementedError

    @rule(name=IDS, last_ms=TIMES_MS, calls=st.integers(0, 3))
    def put_session(self, name: str, last_ms: int, calls: int) -> None:
        record = SessionRecord(id=name, client="pi", identity="client", started_ms=0, last_ms=last_ms, calls=calls)
        self.store.put_session(record)
        self.model.put(self.model.sessions, record)

    @rule(
        name=IDS,
        session=SESSIONS,
        kind=KINDS,
        created_ms=TIMES_MS,
        padding=st.sampled_from([0, 2000]),
        task=st.none() | TASKS,
    )
    def put_call(self, name: str, session: str, kind: str, created_ms: int, padding: int, task: str | None) -> None:
        record = CallRecord(
            id=name,
            session=session,
            created_ms=created_ms,
            dialect="anthropic",
            kind=kind,
            path="/" * padding,
            provider="anthropic",
            model=None,
            outcome="ok",
            route=None if task is None else {"task_id": task},
        )
        self.store.put_call(record)
        self.model.put(self.model.calls, record)

    @rule(session=st.none() | SESSIONS, created_ms=TIMES_MS)
    def put_event(self, session: str | None, created_ms: int) -> None:
        record = EventRecord(
            created_ms=created_ms, kind="branch", session=session, details={"n": len(self.model.events)}
        )
        self.store.put_event(record)
        self.model.events.insert(0, record)

    @rule(
        first=st.integers(0, 300),
        number=st.sampled_from([1, 40, 500]),
        estimator=ESTIMATORS,
        estimated=st.integers(0, 9),
    )
    def put_samples(self, first: int, number: int, estimator: str, estimated: int) -> None:
        """So many calls in a row, each always of one time and model; those that were put before are echoes."""
        for call in range(first, first + number):
            record = SampleRecord(
                id=f"c{call}",
                created_ms=call * 37 % 100,
                provider="p",
                model=f"m{call % 2}",
                estimator=estimator,
                client=("codex", "pi")[call // 2 % 2],
                session="s1",
                estimated=estimated,
                input_fresh=1,
                cache_read=0,
                cache_write=0,
            )
            self.store.put_sample(record)
            self.model.samples.setdefault((record.id, estimator), record)

    @rule(model=MODELS, estimator=ESTIMATORS, client=st.none() | CLIENTS, limit=st.sampled_from([0, 3, 120, 999]))
    def read_samples(self, model: str, estimator: str, client: str | None, limit: int) -> None:
        assert self.store.flush()
        kept = self.model.newest_samples(model, estimator)
        expected = [record for record in kept if client in (None, record.client)][:limit]
        assert self.store.samples("p", model, estimator, client=client, limit=limit) == expected
        keys = {(record.provider, record.model, record.estimator) for record in self.model.samples.values()}
        assert self.store.sample_keys() == sorted(keys)

    @rule(model=MODELS, session=SESSIONS, used_ms=st.integers(0, 2), tokens=st.integers(0, 3))
    def put_prefix(self, model: str, session: str, used_ms: int, tokens: int) -> None:
        record = PrefixRecord(
            provider="p",
            model=model,
            session=session,
            used_ms=used_ms,
            ttl_ms=1,
            depth=1,
            chain="x",
            tokens=tokens,
        )
        self.store.put_prefix(record)
        self.model.put_prefix(record)

    @rule(since_ms=st.integers(0, 2), limit=LIMITS)
    def read_prefixes(self, since_ms: int, limit: int) -> None:
        assert self.store.flush()
        expected = [record for record in self.model.newest_prefixes() if record.used_ms >= since_ms]
        assert self.store.prefixes(since_ms=since_ms, limit=limit) == expected[:limit]

    @rule(name=IDS, session=st.none() | SESSIONS, kind=st.sampled_from(["pin", "memory"]), created_ms=TIMES_MS)
    def put_mutation(self, name: str, session: str | None, kind: str, created_ms: int) -> None:
        record = MutationRecord(
            id=name, created_ms=created_ms, kind=kind, scope="session", session=session, op="add", item=name
        )
        self.store.put_mutation(record)
        self.model.mutations.setdefault(name, record)

    @rule(session=st.none() | SESSIONS, kind=st.none() | st.sampled_from(["pin", "memory"]))
    def read_mutations(self, session: str | None, kind: str | None) -> None:
        assert self.store.flush()
        kept = self.model.mutations.values()
        expected = [one for one in kept if session in (None, one.session) and kind in (None, one.kind)]
        assert self.store.mutations(kind=kind, session=session) == expected
        assert (self.store.mutation_version() == 0) == (not kept)

    @rule(session=st.none() | SESSIONS, task=st.none() | TASKS, limit=LIMITS, since_ms=TIMES_MS)
    def read_routed(self, session: str | None, task: str | None, limit: int, since_ms: int) -> None:
        assert self.store.flush()
        assert (
            self.store.decisions(session, task=task, limit=limit) == self.model.newest_decisions(session, task)[:limit]
        )
        expected = [call.id for call in self.model.newest_calls(None, None) if call.created_ms >= since_ms]
        assert [one.id for one in self.store.attempts(since_ms=since_ms, limit=limit)] == expected[:limit]

    @rule(name=IDS, good=st.booleans(), created_ms=TIMES_MS)
    def vote(self, name: str, good: bool, created_ms: int) -> None:
        record = FeedbackRecord(id=name, created_ms=created_ms, target="p/m0", good=good)
        self.store.put_feedback(record)
        self.model.votes.setdefault(name, record)

    @rule(
        session=st.just("") | SESSIONS, key=st.sampled_from(["pin", "pool"]), value=LIMITS | st.none(), at_ms=TIMES_MS
    )
    def set(self, session: str, key: str, value: int | None, at_ms: int) -> None:
        record = RouteOverride(session=session, key=key, value=value, at_ms=at_ms)
        self.store.put_route_override(record)
        self.model.put_override(record)

    @rule(session=st.just("") | SESSIONS)
    def read_settings(self, session: str) -> None:
        assert self.store.flush()
        assert self.store.feedback() == list(self.model.votes.values())
        assert self.store.route_overrides(session) == self.model.held(session)

    @rule(name=IDS, prefix=st.sampled_from(["", "a", "ab", "x"]))
    def find(self, name: str, prefix: str) -> None:
        assert self.store.flush()
        assert self.store.find_session(name) == one(self.model.sessions, name)
        assert self.store.find_call(name) == one(self.model.calls, name)
        assert self.store.call_ids(prefix) == sorted(c.id for c in self.model.calls if c.id.startswith(prefix))

    @rule(session=st.none() | SESSIONS, kind=st.none() | KINDS, limit=LIMITS)
    def read(self, session: str | None, kind: str | None, limit: int) -> None:
        assert self.store.flush()
        by_activity = sorted(self.model.sessions, key=lambda record: -record.last_ms)
        assert self.store.sessions(limit=limit) == by_activity[:limit]
        assert self.store.calls(session, kind=kind, limit=limit) == self.model.newest_calls(session, kind)[:limit]
        assert self.store.events(session, limit=limit) == self.model.newest_events(session)[:limit]

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert self.store.problems() == ()

    def teardown(self) -> None:
        self.store.close()


def one(records: list[Any], name: str) -> Any:
    return next((record for record in records if record.id == name), None)


class MemoryMachine(StoreMachine):
    def open(self) -> Store:
        return MemoryStore()


class SqliteMachine(StoreMachine):
    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        super().__init__()

    def open(self) -> Store:
        return SqliteStore(Path(self.folder.name) / "ullage.db", clock_ms=lambda: 0)

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = self.open()

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


@pytest.mark.parametrize("machine", [MemoryMachine, SqliteMachine])
def test_a_store_holds_what_was_last_put(machine: Callable[[], StoreMachine]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=50, stateful_step_count=25, deadline=None))
