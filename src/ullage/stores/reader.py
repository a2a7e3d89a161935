"""Reads the database file through connections that cannot write: each read takes one from a small pool."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import zlib
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.errors import StoreError

from . import files
from .base import (
    ATTEMPTS_READ,
    NO_END_MS,
    SAMPLES_KEPT,
    ArtifactRecord,
    CallRecord,
    EventRecord,
    MutationRecord,
    PrefixRecord,
    SampleRecord,
    SessionRecord,
)
from .encoding import Record, decode, unpack
from .route_records import (
    FEEDBACK,
    OUTCOME,
    OVERRIDE,
    TALLY,
    AttemptRecord,
    FeedbackRecord,
    OutcomeRecord,
    RouteOverride,
    TallyRecord,
    effective,
    override_id,
)
from .sqlite_ledger import FileLedgerReader
from .walking import in_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

IDLE_CONNECTIONS = 4
"""Connections kept between reads; more are opened when more threads read at once."""

BUSY = "store_busy"
"""The code of the error that says that another process keeps everyone out."""

LAST_CHARACTER = "\U0010ffff"

_SESSIONS = "SELECT record FROM sessions ORDER BY last_ms DESC, seq DESC LIMIT ?"
_SESSION = "SELECT record FROM sessions WHERE id = ?"
_SESSION_IDS = "SELECT id FROM sessions WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
_CALL = "SELECT record FROM calls WHERE id = ?"
_CALL_IDS = "SELECT id FROM calls WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
# One statement per filter, each with its index: "(? IS NULL OR session = ?)" would read the whole table.
SELECT_CALLS = {
    (False, False): "SELECT record FROM calls ORDER BY created_ms DESC, seq DESC LIMIT ?",
    (True, False): "SELECT record FROM calls WHERE session = ? ORDER BY created_ms DESC, seq DESC LIMIT ?",
    (False, True): "SELECT record FROM calls WHERE kind = ? ORDER BY created_ms DESC, seq DESC LIMIT ?",
    (True, True): "SELECT record FROM calls WHERE session = ? AND kind = ? ORDER BY created_ms DESC, seq DESC LIMIT ?",
}
_EVENTS = {
    False: "SELECT record FROM events ORDER BY created_ms DESC, seq DESC LIMIT ?",
    True: "SELECT record FROM events WHERE session = ? ORDER BY created_ms DESC, seq DESC LIMIT ?",
}
# With a client the newest of it among those that stay: the window is that of all clients.
_SAMPLES = {
    False: (
        "SELECT record FROM samples WHERE provider = ? AND model = ? AND estimator = ?"
        " ORDER BY created_ms DESC, id DESC LIMIT ?"
    ),
    True: (
        "SELECT record FROM (SELECT client, record, created_ms, id FROM samples"
        " WHERE provider = ? AND model = ? AND estimator = ? ORDER BY created_ms DESC, id DESC LIMIT ?)"
        " WHERE client = ? ORDER BY created_ms DESC, id DESC LIMIT ?"
    ),
}
_SAMPLE_KEYS = "SELECT DISTINCT provider, model, estimator FROM samples ORDER BY provider, model, estimator"
_PREFIXES = "SELECT record FROM prefixes WHERE used_ms >= ? ORDER BY used_ms DESC, seq DESC LIMIT ?"
# A log of what a person typed is short: it is read whole, whatever is asked of it.
_MUTATIONS = (
    "SELECT record FROM mutations WHERE (? IS NULL OR kind = ?) AND (? IS NULL OR session = ?)"
    " AND (? IS NULL OR project = ?) ORDER BY seq"
)
# Of a few thousand rows; asked by people and their agents, never for a request.
_ARTIFACTS = {
    False: (
        "SELECT record FROM artifacts WHERE id BETWEEN ? AND ? AND (? IS NULL OR project = ?)"
        " ORDER BY used_ms DESC, seq DESC LIMIT ?"
    ),
    True: (
        "SELECT record FROM artifacts WHERE session = ? AND id BETWEEN ? AND ? AND (? IS NULL OR project = ?)"
        " ORDER BY used_ms DESC, seq DESC LIMIT ?"
    ),
}
# Without being told SQLite goes through all calls: most databases have few routed ones, or nothing else.
SELECT_DECISIONS = {
    (False, False): (
        "SELECT record FROM calls INDEXED BY calls_by_task WHERE task IS NOT NULL"
        " ORDER BY created_ms DESC, seq DESC LIMIT ?"
    ),
    (True, False): (
        "SELECT record FROM calls WHERE session = ? AND task IS NOT NULL ORDER BY created_ms DESC, seq DESC LIMIT ?"
    ),
    (False, True): (
        "SELECT record FROM calls INDEXED BY calls_by_task WHERE task = ? ORDER BY created_ms DESC, seq DESC LIMIT ?"
    ),
    (True, True): "SELECT record FROM calls WHERE session = ? AND task = ? ORDER BY created_ms DESC, seq DESC LIMIT ?",
}
_ATTEMPTS = {
    False: "SELECT record FROM calls WHERE created_ms >= ? ORDER BY created_ms DESC, seq DESC LIMIT ?",
    True: "SELECT record FROM calls WHERE session = ? AND created_ms >= ? ORDER BY created_ms DESC, seq DESC LIMIT ?",
}
# The oldest first, from a time on, without those of that time that were read before.
_WALKED = {
    ("calls", False): (
        "SELECT created_ms, record FROM calls WHERE created_ms BETWEEN ? AND ? ORDER BY created_ms, seq LIMIT ? OFFSET ?"
    ),
    ("calls", True): (
        "SELECT created_ms, record FROM calls WHERE session = ? AND created_ms BETWEEN ? AND ?"
        " ORDER BY created_ms, seq LIMIT ? OFFSET ?"
    ),
    ("events", False): (
        "SELECT created_ms, record FROM events WHERE created_ms BETWEEN ? AND ? ORDER BY created_ms, seq LIMIT ? OFFSET ?"
    ),
    ("events", True): (
        "SELECT created_ms, record FROM events WHERE session = ? AND created_ms BETWEEN ? AND ?"
        " ORDER BY created_ms, seq LIMIT ? OFFSET ?"
    ),
}
_JUDGEMENTS = "SELECT record FROM routing WHERE kind = ? ORDER BY seq"
_ROUTE_OVERRIDES = "SELECT record FROM routing WHERE kind = ? AND (id BETWEEN ? AND ? OR id BETWEEN ? AND ?)"
_MUTATION_VERSION = "SELECT max(seq) FROM mutations"


class SqliteReader:
    """The reading half of a store. `on_damage` is told when a read finds the file damaged.

    A read waits for at most `busy_timeout_s` while another process keeps everyone out. After a read that waited in vain, those
    that come within `pause_s` fail at once.
    """

    def __init__(
        self,
        path: Path,
        *,
        on_damage: Callable[[], None] = lambda: None,
        busy_timeout_s: float = files.BUSY_TIMEOUT_S,
        pause_s: float = 0.0,
    ) -> None:
        self._path = path
        self._on_damage = on_damage
        self._busy_timeout_s = busy_timeout_s
        self._pause_s = pause_s
        self._paused_until = 0.0
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._identity: tuple[int, int] | None = None
        self._closed = False
        self.ledger = FileLedgerReader(self._records)

    def sessions(self, *, limit: int = 50) -> list[SessionRecord]:
        return self._records(SessionRecord, _SESSIONS, limit)

    def find_session(self, session_id: str) -> SessionRecord | None:
        return _first(self._records(SessionRecord, _SESSION, session_id))

    def session_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return [key for (key,) in self._rows(_SESSION_IDS, prefix, prefix + LAST_CHARACTER, limit)]

    def calls(self, session_id: str | None = None, *, kind: str | None = None, limit: int = 50) -> list[CallRecord]:
        wanted = [mark for mark in (session_id, kind) if mark is not None]
        return self._records(CallRecord, SELECT_CALLS[session_id is not None, kind is not None], *wanted, limit)

    def find_call(self, call_id: str) -> CallRecord | None:
        return _first(self._records(CallRecord, _CALL, call_id))

    def call_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return [key for (key,) in self._rows(_CALL_IDS, prefix, prefix + LAST_CHARACTER, limit)]

    def events(self, session_id: str | None = None, *, limit: int = 100) -> list[EventRecord]:
        wanted = [] if session_id is None else [session_id]
        return self._records(EventRecord, _EVENTS[session_id is not None], *wanted, limit)

    def samples(
        self, provider: str, model: str, estimator: str, *, client: str | None = None, limit: int = SAMPLES_KEPT
    ) -> list[SampleRecord]:
        limit = min(limit, SAMPLES_KEPT)
        wanted = [limit] if client is None else [SAMPLES_KEPT, client, limit]
        return self._records(SampleRecord, _SAMPLES[client is not None], provider, model, estimator, *wanted)

    def sample_keys(self) -> list[tuple[str, str, str]]:
        return self._rows(_SAMPLE_KEYS)

    def prefixes(self, *, since_ms: int = 0, limit: int = 500) -> list[PrefixRecord]:
        return self._records(PrefixRecord, _PREFIXES, since_ms, limit)

    def mutations(
        self, *, kind: str | None = None, session: str | None = None, project: str | None = None
    ) -> list[MutationRecord]:
        return self._records(MutationRecord, _MUTATIONS, kind, kind, session, session, project, project)

    def mutation_version(self) -> int:
        ((newest,),) = self._rows(_MUTATION_VERSION)
        return newest or 0

    def artifacts(
        self, session_id: str | None = None, *, project: str | None = None, prefix: str = "", limit: int = 50
    ) -> list[ArtifactRecord]:
        session = [] if session_id is None else [session_id]
        wanted = (*session, prefix, prefix + LAST_CHARACTER, project, project)
        return self._records(ArtifactRecord, _ARTIFACTS[session_id is not None], *wanted, limit)

    def decisions(self, session_id: str | None = None, *, task: str | None = None, limit: int = 50) -> list[CallRecord]:
        wanted = [mark for mark in (session_id, task) if mark is not None]
        return self._records(CallRecord, SELECT_DECISIONS[session_id is not None, task is not None], *wanted, limit)

    def attempts(
        self, session_id: str | None = None, *, since_ms: int = 0, limit: int = ATTEMPTS_READ
    ) -> list[AttemptRecord]:
        wanted = [] if session_id is None else [session_id]
        rows = self._rows(_ATTEMPTS[session_id is not None], *wanted, since_ms, limit)
        found = (_try_attempt(packed) for (packed,) in rows)
        return [record for record in found if record is not None]

    def walk_calls(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[AttemptRecord]:
        found = (_try_attempt(packed) for packed in self._walk("calls", session_id, since_ms, until_ms))
        return (record for record in found if record is not None)

    def walk_events(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[EventRecord]:
        return (self._decode(packed, EventRecord) for packed in self._walk("events", session_id, since_ms, until_ms))

    def feedback(self) -> list[FeedbackRecord]:
        return self._records(FeedbackRecord, _JUDGEMENTS, FEEDBACK)

    def outcomes(self) -> list[OutcomeRecord]:
        return self._records(OutcomeRecord, _JUDGEMENTS, OUTCOME)

    def tallies(self) -> list[TallyRecord]:
        return self._records(TallyRecord, _JUDGEMENTS, TALLY)

    def route_overrides(self, session_id: str = "") -> dict[str, Any]:
        first = [override_id(session, "") for session in ("", session_id)]
        wanted = [mark for begin in first for mark in (begin, begin + LAST_CHARACTER)]
        return effective(self._records(RouteOverride, _ROUTE_OVERRIDES, OVERRIDE, *wanted))

    def problems(self) -> tuple[str, ...]:
        return ()

    def close(self, timeout_s: float = 5.0) -> None:
        with self._lock:
            self._closed = True
            self._forget()

    def _records(self, kind: type[Record], sql: str, *values: Any) -> list[Record]:
        return [self._decode(packed, kind) for (packed,) in self._rows(sql, *values)]

    def _walk(self, table: str, session_id: str | None, since_ms: int, until_ms: int) -> Iterator[bytes]:
        """The records of a time as they lie there, the oldest first."""
        sql, wanted = _WALKED[table, session_id is not None], [] if session_id is None else [session_id]

        def read_page(since_ms: int, skip: int, limit: int) -> list[tuple[int, bytes]]:
            return self._rows(sql, *wanted, since_ms, until_ms, limit, skip)

        return (packed for _, packed in in_pages(read_page, since_ms, lambda row: row[0]))

    def _decode(self, packed: bytes, kind: type[Record]) -> Record:
        try:
            return decode(unpack(packed), kind)
        except (zlib.error, msgspec.MsgspecError) as error:
            raise StoreError(
                f"The database {self._path} holds a record that cannot be read: {error}.",
                hint="Move the file away; `ullage serve` begins a new one.",
            ) from error

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        if time.monotonic() < self._paused_until:
            raise StoreError(f"The database {self._path} was locked by another process just now.", code=BUSY)
        try:
            with self._connection() as connection:
                return self._fetch(connection, sql, values)
        except StoreError as error:
            if error.code == BUSY:
                self._paused_until = time.monotonic() + self._pause_s
            raise

    def _fetch(self, connection: sqlite3.Connection, sql: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            return connection.execute(sql, values).fetchall()
        except (sqlite3.Error, OverflowError, ValueError) as error:
            if files.name_fault(error) == "damaged":
                self._on_damage()
            raise files.explain(self._path, error) from error

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection to the file that lies at the path now, for one read."""
        identity = files.identify(self._path)
        with self._lock:
            if self._closed:
                raise StoreError("The store is closed.")
            if identity != self._identity:
                self._forget()
                self._identity = identity
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._open()
        try:
            yield connection
        finally:
            with self._lock:
                if self._closed or identity != self._identity or len(self._idle) >= IDLE_CONNECTIONS:
                    connection.close()
                else:
                    self._idle.append(connection)

    def _open(self) -> sqlite3.Connection:
        try:
            return files.open_for_reading(self._path, busy_timeout_s=self._busy_timeout_s)
        except StoreError as error:
            if error.code == "store_damaged":
                self._on_damage()
            raise

    def _forget(self) -> None:
        while self._idle:
            self._idle.pop().close()


def _try_attempt(packed: bytes) -> AttemptRecord | None:
    """The record; none for what another version kept otherwise: learning is never a reason to fail."""
    try:
        return decode(unpack(packed), AttemptRecord)
    except (zlib.error, msgspec.MsgspecError):
        return None


def _first(records: list[Record]) -> Record | None:
    return records[0] if records else None
