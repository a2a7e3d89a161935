"""Stores to test, and records to put into them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ullage.stores import (
    ArtifactRecord,
    CallRecord,
    EventRecord,
    FeedbackRecord,
    MemoryStore,
    MutationRecord,
    OutcomeRecord,
    PrefixRecord,
    RouteOverride,
    SampleRecord,
    SessionRecord,
    SqliteStore,
    Store,
    TallyRecord,
    open_store,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW_MS = 1_780_000_000_000


class Clock:
    """Epoch milliseconds that a test moves by hand."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


class Records:
    """Makes records with every field that a test does not care about filled in."""

    def session(self, name: str = "s1", **fields: Any) -> SessionRecord:
        common: dict[str, Any] = {
            "client": "claude-code",
            "identity": "client",
            "started_ms": NOW_MS,
            "last_ms": NOW_MS,
        }
        return SessionRecord(id=name, **(common | fields))

    def call(self, name: str = "c1", **fields: Any) -> CallRecord:
        common: dict[str, Any] = {
            "session": "s1",
            "created_ms": NOW_MS,
            "dialect": "anthropic",
            "kind": "conversation",
            "path": "/v1/messages",
            "provider": "anthropic",
            "model": "claude-x",
            "outcome": "ok",
        }
        return CallRecord(id=name, **(common | fields))

    def event(self, kind: str = "branch", **fields: Any) -> EventRecord:
        return EventRecord(kind=kind, **({"created_ms": NOW_MS} | fields))

    def sample(self, name: str = "c1", **fields: Any) -> SampleRecord:
        common: dict[str, Any] = {
            "created_ms": NOW_MS,
            "provider": "anthropic",
            "model": "claude-x",
            "estimator": "wire-v1",
            "client": "claude-code",
            "session": "s1",
            "estimated": 1000,
            "input_fresh": 100,
            "cache_read": 900,
            "cache_write": 50,
        }
        return SampleRecord(id=name, **(common | fields))

    def prefix(self, session: str = "s1", **fields: Any) -> PrefixRecord:
        common: dict[str, Any] = {
            "provider": "anthropic",
            "model": "claude-x",
            "used_ms": NOW_MS,
            "ttl_ms": 300_000,
            "depth": 12,
            "chain": "ab12",
            "tokens": 40_000,
        }
        return PrefixRecord(session=session, **(common | fields))

    def artifact(self, name: str = "a1", **fields: Any) -> ArtifactRecord:
        common: dict[str, Any] = {
            "session": "s1",
            "used_ms": NOW_MS,
            "sha256": "0" * 64,
            "size_bytes": 20_000,
            "chars": 20_000,
        }
        return ArtifactRecord(id=name, **(common | fields))

    def mutation(self, name: str = "m1", **fields: Any) -> MutationRecord:
        common: dict[str, Any] = {
            "created_ms": NOW_MS,
            "kind": "pin",
            "scope": "session",
            "session": "s1",
            "op": "add",
            "item": "p1",
            "payload": {"text": "Use pnpm."},
        }
        return MutationRecord(id=name, **(common | fields))

    def routed(self, name: str = "c1", task: str = "t1", **fields: Any) -> CallRecord:
        route = {"task_id": task, "target": "anthropic/claude-x", "task": {"kinds": ["debug"], "complexity": 0.3}}
        return self.call(name, **({"route": route} | fields))

    def vote(self, name: str = "v1", **fields: Any) -> FeedbackRecord:
        common: dict[str, Any] = {"created_ms": NOW_MS, "target": "anthropic/claude-x", "good": True}
        return FeedbackRecord(id=name, **(common | fields))

    def outcome(self, name: str = "o1", **fields: Any) -> OutcomeRecord:
        common: dict[str, Any] = {
            "created_ms": NOW_MS,
            "task": "t1",
            "judgement": "success",
            "target": "anthropic/claude-x",
        }
        return OutcomeRecord(id=name, **(common | fields))

    def tally(self, name: str = "n1", **fields: Any) -> TallyRecord:
        common: dict[str, Any] = {"created_ms": NOW_MS, "source": "quality.json", "provider": "anthropic"}
        return TallyRecord(id=name, **(common | fields))

    def override(self, key: str = "policy", value: Any = "cost", **fields: Any) -> RouteOverride:
        return RouteOverride(key=key, value=value, **({"at_ms": NOW_MS} | fields))


@pytest.fixture
def records() -> Records:
    return Records()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ullage.db"


@pytest.fixture
def open_sqlite(database: Path, clock: Clock) -> Iterator[Callable[..., SqliteStore]]:
    """Opens stores on one file; those still open are closed after the test."""
    opened: list[SqliteStore] = []

    def open_one(**options: Any) -> SqliteStore:
        opened.append(SqliteStore(database, **({"clock_ms": clock} | options)))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close(0.2)


@pytest.fixture
def open_projects(database: Path, clock: Clock) -> Iterator[Callable[..., Store]]:
    """Opens stores with a file for each project; those still open are closed after the test."""
    opened: list[Store] = []

    def open_one(**options: Any) -> Store:
        common = {"url": "sqlite", "data_dir": database.parent, "clock_ms": clock, "scope": "project"}
        opened.append(open_store(**(common | options)))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close(0.5)


@pytest.fixture(params=["memory", "sqlite", "projects"])
def store(request: pytest.FixtureRequest) -> Store:
    """Every kind of store in turn. It is the year 1970: nothing is too old."""
    if request.param == "memory":
        return MemoryStore()
    opened: Store = request.getfixturevalue(f"open_{request.param}")(clock_ms=lambda: 0)
    return opened


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """An open folder in which this test, even when run by root, has only the rights of others."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        yield folder
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)
