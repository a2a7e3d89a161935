"""The store that forgets: the newest records of one process, for `--store memory`, for tests, or in place of a database."""

from __future__ import annotations

import threading
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic

from ullage.core.errors import StoreError

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
from .encoding import Record, decode, encode
from .ledger import MemoryLedger
from .rollup import bound
from .route_records import AttemptRecord, FeedbackRecord, OutcomeRecord, RouteOverride, TallyRecord, effective, task_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY_RECORDS = 2000
"""How many records of each kind are held at least. A call with its report takes some 10 kB: 20 to 25 MB in common use."""

MEMORY_KEYS = 100
"""How many models, each with its provider and estimator, samples are held of: those that were sampled last."""

SampleKey = tuple[str, str, str]


class MemoryStore:
    """Holds the newest `records` of each kind (up to a quarter more); older ones fall out. Samples are held as every store does,
    changes to pins and memory, votes and settings of routes all.

    `problems` says why there is no database, when this store stands in for one.
    """

    def __init__(self, *, records: int = MEMORY_RECORDS, problems: tuple[str, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._sessions = _Shelf(SessionRecord, records)
        self._calls = _Shelf(CallRecord, records)
        self._events = _Shelf(EventRecord, records)
        self._prefixes = _Shelf(PrefixRecord, records)
        self._samples: dict[SampleKey, _Shelf[SampleRecord]] = {}
        self._mutations: dict[str, bytes] = {}
        self._artifacts = _Shelf(ArtifactRecord, records)
        self._feedback: dict[str, bytes] = {}
        self._outcomes: dict[str, bytes] = {}
        self._tallies: dict[str, bytes] = {}
        self._overrides: dict[tuple[str, str], RouteOverride] = {}
        self._event_number = 0
        self._problems = problems
        self._closed = False
        self.ledger = MemoryLedger()

    def put_session(self, record: SessionRecord) -> None:
        record, payload = encode(record)
        with self._lock:
            self._sessions.put(record.id, (record.last_ms, ""), (), payload)

    def put_call(self, record: CallRecord) -> None:
        record, payload = bound(record)
        with self._lock:
            marks = (record.session, record.kind, task_of(record.route))
            self._calls.put(record.id, (record.created_ms, ""), marks, payload)

    def put_event(self, record: EventRecord) -> None:
        record, payload = encode(record)
        with self._lock:
            self._event_number += 1
            self._events.put(str(self._event_number), (record.created_ms, ""), (record.session,), payload)

    def put_sample(self, record: SampleRecord) -> None:
        record, payload = encode(record)
        with self._lock:
            if any(record.id in shelf for key, shelf in self._samples.items() if key[2] == record.estimator):
                return
            key = (record.provider, record.model, record.estimator)
            shelf = self._samples.pop(key, None) or _Shelf(SampleRecord, SAMPLES_KEPT)
            shelf.put(record.id, (record.created_ms, record.id), (), payload)
            self._samples[key] = shelf
            if len(self._samples) > MEMORY_KEYS:
                del self._samples[next(iter(self._samples))]

    def put_prefix(self, record: PrefixRecord) -> None:
        record, payload = encode(record)
        place = repr((record.provider, record.model, record.session))
        with self._lock:
            newest = self._prefixes.age_of(place)
            if newest is None or newest[0] <= record.used_ms:
                self._prefixes.put(place, (record.used_ms, ""), (), payload)

    def put_mutation(self, record: MutationRecord) -> None:
        record, payload = encode(record)
        with self._lock:
            self._mutations.setdefault(record.id, payload)

    def put_artifact(self, record: ArtifactRecord) -> None:
        record, payload = encode(record)
        place = repr((record.id, record.session))
        with self._lock:
            newest = self._artifacts.age_of(place)
            if newest is None or newest[0] <= record.used_ms:
                self._artifacts.put(place, (record.used_ms, ""), (record.session, record.project), payload)

    def put_feedback(self, record: FeedbackRecord) -> None:
        record, payload = encode(record)
        with self._lock:
            self._feedback.setdefault(record.id, payload)

    def put_outcome(self, record: OutcomeRecord) -> None:
        record, payload = encode(record)
        with self._lock:
            self._outcomes.setdefault(record.id, payload)

    def put_tally(self, record: TallyRecord) -> None:
        record, payload = encode(record)
        with self._lock:
            self._tallies.setdefault(record.id, payload)

    def put_route_override(self, record: RouteOverride) -> None:
        record = decode(encode(record)[1], RouteOverride)
        with self._lock:
            place = (record.session, record.key)
            newest = self._overrides.get(place)
            if newest is None or newest.at_ms <= record.at_ms:
                self._overrides[place] = record

    def drop_route_override(self, session: str, key: str, at_ms: int) -> None:
        with self._lock:
            newest = self._overrides.get((session, key))
            if newest is not None and newest.at_ms <= at_ms:
                del self._overrides[session, key]

    def flush(self, timeout_s: float = 5.0) -> bool:
        return True

    def sessions(self, *, limit: int = 50) -> list[SessionRecord]:
        return self._open(self._sessions).newest((), limit)

    def find_session(self, session_id: str) -> SessionRecord | None:
        return self._open(self._sessions).find(session_id)

    def session_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return self._open(self._sessions).ids(prefix, limit)

    def calls(self, session_id: str | None = None, *, kind: str | None = None, limit: int = 50) -> list[CallRecord]:
        return self._open(self._calls).newest((session_id, kind, None), limit)

    def find_call(self, call_id: str) -> CallRecord | None:
        return self._open(self._calls).find(call_id)

    def call_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return self._open(self._calls).ids(prefix, limit)

    def events(self, session_id: str | None = None, *, limit: int = 100) -> list[EventRecord]:
        return self._open(self._events).newest((session_id,), limit)

    def samples(
        self, provider: str, model: str, estimator: str, *, client: str | None = None, limit: int = SAMPLES_KEPT
    ) -> list[SampleRecord]:
        shelf = self._samples.get((provider, model, estimator), _Shelf(SampleRecord, SAMPLES_KEPT))
        kept = self._open(shelf).newest((), SAMPLES_KEPT)
        return [record for record in kept if client in (None, record.client)][: max(limit, 0)]

    def sample_keys(self) -> list[SampleKey]:
        self._check_open()
        with self._lock:
            return sorted(self._samples)

    def prefixes(self, *, since_ms: int = 0, limit: int = 500) -> list[PrefixRecord]:
        return self._open(self._prefixes).newest((), limit, since_ms=since_ms)

    def mutations(
        self, *, kind: str | None = None, session: str | None = None, project: str | None = None
    ) -> list[MutationRecord]:
        wanted = (kind, session, project)
        return [
            record
            for record in self._all(self._mutations, MutationRecord)
            if all(want in (None, mark) for want, mark in zip(wanted, _marks(record), strict=True))
        ]

    def mutation_version(self) -> int:
        self._check_open()
        return len(self._mutations)

    def artifacts(
        self, session_id: str | None = None, *, project: str | None = None, prefix: str = "", limit: int = 50
    ) -> list[ArtifactRecord]:
        shelf = self._open(self._artifacts)
        found = (record for record in shelf.newest((session_id, project), len(shelf)) if record.id.startswith(prefix))
        return list(islice(found, max(limit, 0)))

    def decisions(self, session_id: str | None = None, *, task: str | None = None, limit: int = 50) -> list[CallRecord]:
        shelf = self._open(self._calls)
        found = (record for record in shelf.newest((session_id, None, task), len(shelf)) if task_of(record.route))
        return list(islice(found, max(limit, 0)))

    def attempts(
        self, session_id: str | None = None, *, since_ms: int = 0, limit: int = ATTEMPTS_READ
    ) -> list[AttemptRecord]:
        shelf = _Shelf(AttemptRecord, len(self._calls))
        shelf.take(self._open(self._calls))
        return shelf.newest((session_id, None, None), limit, since_ms=since_ms)

    def walk_calls(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[AttemptRecord]:
        shelf = _Shelf(AttemptRecord, len(self._calls))
        shelf.take(self._open(self._calls))
        return shelf.oldest((session_id, None, None), since_ms, until_ms)

    def walk_events(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[EventRecord]:
        return self._open(self._events).oldest((session_id,), since_ms, until_ms)

    def feedback(self) -> list[FeedbackRecord]:
        return self._all(self._feedback, FeedbackRecord)

    def outcomes(self) -> list[OutcomeRecord]:
        return self._all(self._outcomes, OutcomeRecord)

    def tallies(self) -> list[TallyRecord]:
        return self._all(self._tallies, TallyRecord)

    def route_overrides(self, session_id: str = "") -> dict[str, Any]:
        self._check_open()
        with self._lock:
            kept = list(self._overrides.values())
        return effective(one for one in kept if one.session in ("", session_id))

    def problems(self) -> tuple[str, ...]:
        return self._problems

    def close(self, timeout_s: float = 5.0) -> None:
        self._closed = True

    def _open(self, shelf: _Shelf[Record]) -> _Shelf[Record]:
        """A copy that can be read without the lock."""
        self._check_open()
        with self._lock:
            return shelf.copy()

    def _all(self, payloads: dict[str, bytes], kind: type[Record]) -> list[Record]:
        """Everything of one kind, in the order in which it was put."""
        self._check_open()
        with self._lock:
            kept = list(payloads.values())
        return [decode(payload, kind) for payload in kept]

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")


def _marks(record: MutationRecord) -> tuple[str | None, ...]:
    return record.kind, record.session, record.project


class _Shelf(Generic[Record]):
    """Encoded records of one kind under their ids, each with its age (a time, what settles ties) and what it is filtered by."""

    def __init__(self, kind: type[Record], limit: int) -> None:
        self._kind: type[Record] = kind
        self._limit = limit
        self._entries: dict[str, tuple[tuple[int, str], tuple[str | None, ...], bytes]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def copy(self) -> _Shelf[Record]:
        twin: _Shelf[Record] = _Shelf(self._kind, self._limit)
        twin._entries = self._entries.copy()
        return twin

    def take(self, other: _Shelf[Any]) -> None:
        """Has the entries of a shelf of another kind, whose fields its own has some of."""
        self._entries = other._entries

    def put(self, key: str, age: tuple[int, str], marks: tuple[str | None, ...], payload: bytes) -> None:
        self._entries[key] = (age, marks, payload)
        if len(self._entries) * 4 > self._limit * 5:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        by_age = sorted(self._entries, key=lambda key: self._entries[key][0])
        for key in by_age[: -self._limit]:
            del self._entries[key]

    def age_of(self, key: str) -> tuple[int, str] | None:
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def newest(self, wanted: tuple[str | None, ...], limit: int, *, since_ms: int = 0) -> list[Record]:
        """Entries from a time on whose marks equal `wanted` (`None` fits all); of equal ages the one put first comes last."""
        found = [
            (age, payload)
            for age, marks, payload in reversed(self._entries.values())
            if age[0] >= since_ms and all(want in (None, mark) for want, mark in zip(wanted, marks, strict=True))
        ]
        found.sort(key=lambda entry: entry[0], reverse=True)
        return [decode(payload, self._kind) for _, payload in found[:limit]]

    def oldest(self, wanted: tuple[str | None, ...], since_ms: int, until_ms: int) -> Iterator[Record]:
        """Entries from one time to another whose marks equal `wanted`; of equal ages the one put first comes first."""
        found = [
            (age, payload)
            for age, marks, payload in self._entries.values()
            if since_ms <= age[0] <= until_ms
            and all(want in (None, mark) for want, mark in zip(wanted, marks, strict=True))
        ]
        found.sort(key=lambda entry: entry[0])
        return (decode(payload, self._kind) for _, payload in found)

    def find(self, key: str) -> Record | None:
        entry = self._entries.get(key)
        return None if entry is None else decode(entry[2], self._kind)

    def ids(self, prefix: str, limit: int) -> list[str]:
        return sorted(key for key in self._entries if key.startswith(prefix))[:limit]
