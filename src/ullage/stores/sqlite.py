"""The store in one SQLite file: puts go to one writer thread, reads to connections of their own."""

from __future__ import annotations

import functools
import os
import weakref
from typing import TYPE_CHECKING, TypeVar

import msgspec

from .base import ATTEMPTS_READ, NO_END_MS, SAMPLES_KEPT
from .encoding import encode
from .files import open_for_writing
from .groups import (
    DROP_ROUTE_OVERRIDE,
    PUT_ARTIFACT,
    PUT_CALL,
    PUT_EVENT,
    PUT_JUDGEMENT,
    PUT_MUTATION,
    PUT_PREFIX,
    PUT_ROUTE_OVERRIDE,
    PUT_SAMPLE,
    PUT_SESSION,
    Write,
)
from .reader import SqliteReader
from .rollup import bound
from .route_records import FEEDBACK, OUTCOME, OVERRIDE, TALLY, override_id, task_of
from .sqlite_ledger import SqliteLedger
from .writer import QUEUE_BYTES, QUEUE_RECORDS, Writer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from .base import ArtifactRecord, CallRecord, EventRecord, MutationRecord, PrefixRecord, SampleRecord, SessionRecord
    from .encoding import Record
    from .route_records import AttemptRecord, FeedbackRecord, OutcomeRecord, RouteOverride, TallyRecord

Judged = TypeVar("Judged", "FeedbackRecord", "OutcomeRecord", "TallyRecord")

KEEP_DAYS = 90

LOOK_UP_WAIT_S = 0.05
LOOK_UP_PAUSE_S = 2.0
"""A look-up is made while a request goes by: it waits briefly for a locked database, and the next ones stay out for a while, so
that not every session that comes costs another wait. Its answer is wanted, not needed."""


class SqliteStore:
    """Opens the database at `path`, or makes it. Raises `StoreError` if it cannot be used at all.

    A file that another process has locked, or a full disk, does not fail the opening: records wait. Records older than
    `keep_days` (by `clock_ms`, epoch milliseconds) are removed now and then. `connect` opens the writing connection;
    `queue_records` and `queue_bytes` bound what waits. Several processes may use one file, each with a store of its own: in a
    forked child the parent's store is closed, and what was queued is written by the parent.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock_ms: Callable[[], int],
        keep_days: int = KEEP_DAYS,
        connect: Callable[[Path, int], sqlite3.Connection] = open_for_writing,
        queue_records: int = QUEUE_RECORDS,
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        self.path = path
        self._make_writer = functools.partial(
            Writer,
            path,
            clock_ms=clock_ms,
            keep_days=keep_days,
            connect=connect,
            queue_records=queue_records,
            queue_bytes=queue_bytes,
        )
        self._writer = self._make_writer()
        self._make_ledger = functools.partial(SqliteLedger, path, clock_ms=clock_ms, connect=connect)
        self.ledger = self._make_ledger(on_damage=self._writer.suspect)
        self._reader = SqliteReader(path, on_damage=self._writer.suspect)
        self._look_up = SqliteReader(
            path, on_damage=self._writer.suspect, busy_timeout_s=LOOK_UP_WAIT_S, pause_s=LOOK_UP_PAUSE_S
        )
        self._inherited: tuple[object, ...] = ()
        self._writer.start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_Fork(self))

    def put_session(self, record: SessionRecord) -> None:
        if encoded := self._encode(record):
            record, payload = encoded
            self._writer.put(Write(PUT_SESSION, record.id, (record.id, record.last_ms), payload))

    def put_call(self, record: CallRecord) -> None:
        if encoded := self._encode(record, bound):
            record, payload = encoded
            values = (record.id, record.session, record.kind, record.created_ms, task_of(record.route))
            self._writer.put(Write(PUT_CALL, record.id, values, payload))

    def put_event(self, record: EventRecord) -> None:
        if encoded := self._encode(record):
            record, payload = encoded
            self._writer.put(Write(PUT_EVENT, None, (record.session, record.created_ms), payload))

    def put_sample(self, record: SampleRecord) -> None:
        if encoded := self._encode(record):
            record, payload = encoded
            key = (record.provider, record.model, record.estimator)
            self._writer.put(Write(PUT_SAMPLE, None, (record.id, *key, record.client, record.created_ms), payload))

    def put_prefix(self, record: PrefixRecord) -> None:
        if encoded := self._encode(record):
            record, payload = encoded
            values = (record.provider, record.model, record.session, record.used_ms)
            self._writer.put(Write(PUT_PREFIX, None, values, payload))

    def put_mutation(self, record: MutationRecord) -> None:
        if encoded := self._encode(record):
            record, payload = encoded
            values = (record.id, record.kind, record.session, record.project, record.created_ms)
            self._writer.put(Write(PUT_MUTATION, None, values, payload))

    def put_artifact(self, record: ArtifactRecord) -> None:
        if encoded := self._encode(record):
            record, payload = encoded
            values = (record.id, record.session, record.project, record.used_ms)
            self._writer.put(Write(PUT_ARTIFACT, None, values, payload))

    def put_feedback(self, record: FeedbackRecord) -> None:
        self._put_judgement(FEEDBACK, record)

    def put_outcome(self, record: OutcomeRecord) -> None:
        self._put_judgement(OUTCOME, record)

    def put_tally(self, record: TallyRecord) -> None:
        self._put_judgement(TALLY, record)

    def put_route_override(self, record: RouteOverride) -> None:
        if encoded := self._encode(record):
            record, payload = encoded
            values = (OVERRIDE, override_id(record.session, record.key), record.at_ms)
            self._writer.put(Write(PUT_ROUTE_OVERRIDE, None, values, payload))

    def drop_route_override(self, session: str, key: str, at_ms: int) -> None:
        self._writer.put(Write(DROP_ROUTE_OVERRIDE, None, (OVERRIDE, override_id(session, key), at_ms), b""))

    def flush(self, timeout_s: float = 5.0) -> bool:
        return self._writer.flush(timeout_s)

    def sessions(self, *, limit: int = 50) -> list[SessionRecord]:
        return self._reader.sessions(limit=limit)

    def find_session(self, session_id: str) -> SessionRecord | None:
        return self._look_up.find_session(session_id)

    def session_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return self._reader.session_ids(prefix, limit=limit)

    def calls(self, session_id: str | None = None, *, kind: str | None = None, limit: int = 50) -> list[CallRecord]:
        return self._reader.calls(session_id, kind=kind, limit=limit)

    def find_call(self, call_id: str) -> CallRecord | None:
        return self._reader.find_call(call_id)

    def call_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return self._reader.call_ids(prefix, limit=limit)

    def events(self, session_id: str | None = None, *, limit: int = 100) -> list[EventRecord]:
        return self._reader.events(session_id, limit=limit)

    def samples(
        self, provider: str, model: str, estimator: str, *, client: str | None = None, limit: int = SAMPLES_KEPT
    ) -> list[SampleRecord]:
        return self._look_up.samples(provider, model, estimator, client=client, limit=limit)

    def sample_keys(self) -> list[tuple[str, str, str]]:
        return self._look_up.sample_keys()

    def prefixes(self, *, since_ms: int = 0, limit: int = 500) -> list[PrefixRecord]:
        return self._look_up.prefixes(since_ms=since_ms, limit=limit)

    def mutations(
        self, *, kind: str | None = None, session: str | None = None, project: str | None = None
    ) -> list[MutationRecord]:
        return self._look_up.mutations(kind=kind, session=session, project=project)

    def mutation_version(self) -> int:
        return self._look_up.mutation_version()

    def artifacts(
        self, session_id: str | None = None, *, project: str | None = None, prefix: str = "", limit: int = 50
    ) -> list[ArtifactRecord]:
        return self._reader.artifacts(session_id, project=project, prefix=prefix, limit=limit)

    def decisions(self, session_id: str | None = None, *, task: str | None = None, limit: int = 50) -> list[CallRecord]:
        return self._reader.decisions(session_id, task=task, limit=limit)

    def attempts(
        self, session_id: str | None = None, *, since_ms: int = 0, limit: int = ATTEMPTS_READ
    ) -> list[AttemptRecord]:
        return self._reader.attempts(session_id, since_ms=since_ms, limit=limit)

    def walk_calls(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[AttemptRecord]:
        return self._reader.walk_calls(session_id, since_ms=since_ms, until_ms=until_ms)

    def walk_events(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[EventRecord]:
        return self._reader.walk_events(session_id, since_ms=since_ms, until_ms=until_ms)

    def feedback(self) -> list[FeedbackRecord]:
        return self._reader.feedback()

    def outcomes(self) -> list[OutcomeRecord]:
        return self._reader.outcomes()

    def tallies(self) -> list[TallyRecord]:
        return self._reader.tallies()

    def route_overrides(self, session_id: str = "") -> dict[str, Any]:
        return self._look_up.route_overrides(session_id)

    def problems(self) -> tuple[str, ...]:
        return (*self._writer.problems(), *self.ledger.problems())

    def close(self, timeout_s: float = 5.0) -> None:
        self.ledger.close()
        self._reader.close()
        self._look_up.close()
        self._writer.close(timeout_s)

    def _put_judgement(self, kind: str, record: Judged) -> None:
        if encoded := self._encode(record):
            record, payload = encoded
            self._writer.put(Write(PUT_JUDGEMENT, None, (kind, record.id, record.created_ms), payload))

    def _encode(
        self, record: Record, encode_one: Callable[[Record], tuple[Record, bytes]] = encode
    ) -> tuple[Record, bytes] | None:
        try:
            return encode_one(record)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
            self._writer.lose("they could not be encoded")
            return None

    def close_in_child(self) -> None:
        """In a forked child: this store is closed.

        A lock may have been held by a thread that the child does not have, in our code or inside SQLite, so nothing inherited is
        used. It is kept all the same: freeing a connection would close it, and with it the parent's files.
        """
        self._inherited = (self._writer, self._reader, self._look_up, self.ledger)
        self._writer = self._make_writer()
        self.ledger = self._make_ledger(on_damage=self._writer.suspect)
        self._reader = SqliteReader(self.path)
        self._look_up = SqliteReader(self.path)
        self.close(0)


class _Fork:
    """What a fork calls in the child. Holds the store weakly: such a hook can never be taken back."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = weakref.ref(store)

    def __call__(self) -> None:
        store = self._store()
        if store is not None:
            store.close_in_child()
