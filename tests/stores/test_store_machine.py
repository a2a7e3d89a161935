"""Random commands against every store and a model of it: what a store holds is what was last put under each id."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from ullage.stores import CallRecord, EventRecord, MemoryStore, SessionRecord, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.stores import Store

IDS = st.sampled_from(["a", "ab", "b", "c"])
SESSIONS = st.sampled_from(["s1", "s2"])
KINDS = st.sampled_from(["conversation", "title"])
TIMES_MS = st.integers(0, 5)
LIMITS = st.integers(0, 6)


class Model:
    """A store in ten lines: records under their ids, the one that was put first last."""

    def __init__(self) -> None:
        self.sessions: list[SessionRecord] = []
        self.calls: list[CallRecord] = []
        self.events: list[EventRecord] = []

    def put(self, shelf: list[Any], record: Any) -> None:
        places = [place for place, other in enumerate(shelf) if other.id == record.id]
        shelf[slice(places[0], places[0] + 1) if places else slice(0, 0)] = [record]

    def newest_calls(self, session: str | None, kind: str | None) -> list[CallRecord]:
        found = (call for call in self.calls if session in (None, call.session) and kind in (None, call.kind))
        return sorted(found, key=lambda call: -call.created_ms)

    def newest_events(self, session: str | None) -> list[EventRecord]:
        found = (event for event in self.events if session in (None, event.session))
        return sorted(found, key=lambda event: -event.created_ms)


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

    @rule(name=IDS, session=SESSIONS, kind=KINDS, created_ms=TIMES_MS, padding=st.sampled_from([0, 2000]))
    def put_call(self, name: str, session: str, kind: str, created_ms: int, padding: int) -> None:
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
    run_state_machine_as_test(machine, settings=settings(max_examples=25, stateful_step_count=25, deadline=None))
