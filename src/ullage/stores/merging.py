"""Reads the main database and those of all projects as if they were one.

Newest first means: the files that were written to last are asked first, and no file is opened that cannot hold anything newer
than what was found. A project's file that cannot be read costs its own records alone, which `problems` then says.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import logging
import sqlite3
import threading
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ullage.core.errors import StoreError

from . import files
from .base import ATTEMPTS_READ, NO_END_MS, SAMPLES_KEPT
from .places import list_projects
from .reader import BUSY, SqliteReader
from .walking import in_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from .base import (
        ArtifactRecord,
        CallRecord,
        EventRecord,
        MutationRecord,
        PrefixRecord,
        Reader,
        SampleRecord,
        SessionRecord,
    )
    from .ledger import LedgerReader
    from .places import ProjectFile
    from .route_records import AttemptRecord, FeedbackRecord, OutcomeRecord, TallyRecord

T = TypeVar("T")

logger = logging.getLogger(__name__)

MOST_READERS = 8
"""Project files that stay open for reading."""

_SESSION_IDS = "SELECT id FROM sessions UNION SELECT session FROM calls UNION SELECT session FROM events"


class ProjectReader:
    """The reading half over `main` and the files of projects in `folder`; `busy_timeout_s` and `pause_s` as `SqliteReader` has
    them, for each of these."""

    def __init__(
        self, main: Reader, folder: Path, *, busy_timeout_s: float = files.BUSY_TIMEOUT_S, pause_s: float = 0.0
    ) -> None:
        self._main = main
        self._folder = folder
        self._pool = _Pool(functools.partial(SqliteReader, busy_timeout_s=busy_timeout_s, pause_s=pause_s))
        self._known = _KnownSessions(busy_timeout_s)
        self._notes: dict[str, None] = {}

    @property
    def ledger(self) -> LedgerReader:
        return self._main.ledger

    def sessions(self, *, limit: int = 50) -> list[SessionRecord]:
        return self._newest(
            lambda reader: reader.sessions(limit=limit), self._files(), limit, lambda record: record.last_ms, _id_of
        )

    def find_session(self, session_id: str) -> SessionRecord | None:
        return self._find_session(session_id, self._files())

    def session_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return self._ids(lambda reader: reader.session_ids(prefix, limit=limit), limit)

    def calls(self, session_id: str | None = None, *, kind: str | None = None, limit: int = 50) -> list[CallRecord]:
        return self._newest(
            lambda reader: reader.calls(session_id, kind=kind, limit=limit),
            self._homes(session_id),
            limit,
            lambda record: record.created_ms,
            _id_of,
        )

    def find_call(self, call_id: str) -> CallRecord | None:
        found = self._main.find_call(call_id)
        for file in self._files() if found is None else ():
            found = self._ask(file, lambda reader: reader.find_call(call_id))
            if found is not None:
                break
        return found

    def call_ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        return self._ids(lambda reader: reader.call_ids(prefix, limit=limit), limit)

    def events(self, session_id: str | None = None, *, limit: int = 100) -> list[EventRecord]:
        return self._newest(
            lambda reader: reader.events(session_id, limit=limit),
            self._homes(session_id),
            limit,
            lambda record: record.created_ms,
            id,
        )

    def samples(
        self, provider: str, model: str, estimator: str, *, client: str | None = None, limit: int = SAMPLES_KEPT
    ) -> list[SampleRecord]:
        return self._main.samples(provider, model, estimator, client=client, limit=limit)

    def sample_keys(self) -> list[tuple[str, str, str]]:
        return self._main.sample_keys()

    def prefixes(self, *, since_ms: int = 0, limit: int = 500) -> list[PrefixRecord]:
        return self._main.prefixes(since_ms=since_ms, limit=limit)

    def mutations(
        self, *, kind: str | None = None, session: str | None = None, project: str | None = None
    ) -> list[MutationRecord]:
        return self._main.mutations(kind=kind, session=session, project=project)

    def mutation_version(self) -> int:
        return self._main.mutation_version()

    def artifacts(
        self, session_id: str | None = None, *, project: str | None = None, prefix: str = "", limit: int = 50
    ) -> list[ArtifactRecord]:
        return self._main.artifacts(session_id, project=project, prefix=prefix, limit=limit)

    def decisions(self, session_id: str | None = None, *, task: str | None = None, limit: int = 50) -> list[CallRecord]:
        return self._newest(
            lambda reader: reader.decisions(session_id, task=task, limit=limit),
            self._homes(session_id),
            limit,
            lambda record: record.created_ms,
            _id_of,
        )

    def attempts(
        self, session_id: str | None = None, *, since_ms: int = 0, limit: int = ATTEMPTS_READ
    ) -> list[AttemptRecord]:
        files = (file for file in self._homes(session_id) if file.latest_ms >= since_ms)
        return self._newest(
            lambda reader: reader.attempts(session_id, since_ms=since_ms, limit=limit),
            files,
            limit,
            lambda record: record.created_ms,
            _id_of,
        )

    def walk_calls(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[AttemptRecord]:
        def walk(reader: Reader, since_ms: int) -> Iterator[AttemptRecord]:
            return reader.walk_calls(session_id, since_ms=since_ms, until_ms=until_ms)

        return _without_twins(self._oldest(walk, session_id, since_ms, lambda record: record.created_ms))

    def walk_events(
        self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = NO_END_MS
    ) -> Iterator[EventRecord]:
        def walk(reader: Reader, since_ms: int) -> Iterator[EventRecord]:
            return reader.walk_events(session_id, since_ms=since_ms, until_ms=until_ms)

        return self._oldest(walk, session_id, since_ms, lambda record: record.created_ms)

    def feedback(self) -> list[FeedbackRecord]:
        return self._main.feedback()

    def outcomes(self) -> list[OutcomeRecord]:
        return self._main.outcomes()

    def tallies(self) -> list[TallyRecord]:
        return self._main.tallies()

    def route_overrides(self, session_id: str = "") -> dict[str, Any]:
        return self._main.route_overrides(session_id)

    def problems(self) -> tuple[str, ...]:
        return (*self._main.problems(), *self._notes)

    def close(self, timeout_s: float = 5.0) -> None:
        self._main.close(timeout_s)
        self._pool.close()

    # What a store that is open for writing does otherwise.

    def _borrow(self, path: Path) -> AbstractContextManager[Reader]:
        """What reads one project's file."""
        return self._pool.borrow(path)

    def _is_changing(self, path: Path) -> bool:
        """Whether this process writes to the file: then it is asked rather than remembered."""
        return False

    def _bring_up_to_date(self, path: Path) -> bool:
        """After a file was found to have an older version: true if it has not any more."""
        return False

    # How files are gone through.

    def _files(self) -> list[ProjectFile]:
        return list_projects(self._folder)

    def _newest(
        self,
        read: Callable[[Reader], list[T]],
        projects: Iterable[ProjectFile],
        limit: int,
        time_ms: Callable[[T], int],
        identity: Callable[[T], object],
    ) -> list[T]:
        """The newest `limit` records of all files; of those with one identity the newest alone."""
        found = read(self._main)
        for file in projects:
            if len(found) >= limit and (not limit or time_ms(found[-1]) >= file.latest_ms):
                break
            unique: dict[object, T] = {}
            for record in heapq.merge(found, self._ask(file, read) or [], key=time_ms, reverse=True):
                unique.setdefault(identity(record), record)
            found = list(unique.values())[:limit]
        return found

    def _oldest(
        self,
        walk: Callable[[Reader, int], Iterator[T]],
        session_id: str | None,
        since_ms: int,
        time_ms: Callable[[T], int],
    ) -> Iterator[T]:
        """All records from a time on of all files, the oldest first. A file is open only while a page of it is read."""

        def walk_file(file: ProjectFile) -> Iterator[T]:
            def read_page(since_ms: int, skip: int, limit: int) -> list[T]:
                found = self._ask(file, lambda reader: list(islice(walk(reader, since_ms), skip, skip + limit)))
                return found or []

            return in_pages(read_page, since_ms, time_ms)

        files = [file for file in self._homes(session_id) if file.latest_ms >= since_ms]
        return heapq.merge(walk(self._main, since_ms), *map(walk_file, files), key=time_ms)

    def _find_session(self, session_id: str, projects: Iterable[ProjectFile]) -> SessionRecord | None:
        found = self._main.find_session(session_id)
        for file in projects:
            if found is not None and found.last_ms >= file.latest_ms:
                break
            if self._may_hold(file, session_id):
                other = self._ask(file, lambda reader: reader.find_session(session_id))
                if found is None or (other is not None and other.last_ms > found.last_ms):
                    found = other
        return found

    def _homes(self, session_id: str | None) -> Iterable[ProjectFile]:
        """The files that may have records of a session: more than one if it went from one project to another."""
        projects = self._files()
        if session_id is None:
            return projects
        session = self._find_session(session_id, projects)
        since_ms = session.started_ms if session is not None else 0
        return (file for file in projects if file.latest_ms >= since_ms and self._may_hold(file, session_id))

    def _ids(self, read: Callable[[Reader], list[str]], limit: int) -> list[str]:
        found = set(read(self._main)).union(*(self._ask(file, read) or [] for file in self._files()))
        return sorted(found)[:limit]

    def _may_hold(self, file: ProjectFile, session_id: str) -> bool:
        if self._is_changing(file.path):
            return True
        known = self._attempt(file, lambda: self._known.find(file))
        return known is not None and session_id in known

    def _ask(self, file: ProjectFile, read: Callable[[Reader], T]) -> T | None:
        def attempt() -> T:
            with self._borrow(file.path) as reader:
                return read(reader)

        return self._attempt(file, attempt)

    def _attempt(self, file: ProjectFile, attempt: Callable[[], T]) -> T | None:
        """What `attempt` finds in a file; `None` if the file cannot be read. A locked file is an error: it can be later."""
        try:
            try:
                return attempt()
            except StoreError as error:
                if error.code != "older_database" or not self._bring_up_to_date(file.path):
                    raise
                return attempt()
        except StoreError as error:
            if error.code == BUSY:
                raise
            if error.code != "no_database":  # one that was just begun, or just removed
                self._note(f"{error.message} Its records are left out. {error.hint}".strip())
            return None

    def _note(self, sentence: str) -> None:
        if sentence not in self._notes:
            self._notes[sentence] = None
            logger.warning("%s", sentence)


def _id_of(record: SessionRecord | CallRecord | AttemptRecord) -> str:
    return record.id


def _without_twins(records: Iterable[AttemptRecord]) -> Iterator[AttemptRecord]:
    """Each call once, though two files have it: then at one time."""
    now_ms, told = -1, set[str]()
    for record in records:
        if record.created_ms != now_ms:
            now_ms, told = record.created_ms, set()
        if record.id not in told:
            told.add(record.id)
            yield record


class _KnownSessions:
    """Which sessions each file had records of when it was last looked into, so that it need not be until it changes."""

    def __init__(self, busy_timeout_s: float) -> None:
        self._busy_timeout_s = busy_timeout_s
        self._found: dict[Path, tuple[tuple[int, ...], frozenset[str]]] = {}

    def find(self, file: ProjectFile) -> frozenset[str]:
        """The ids of all sessions in a file. Raises `StoreError`."""
        mark, ids = self._found.get(file.path, ((), frozenset()))
        if mark != file.mark:
            ids = frozenset(_read_session_ids(file.path, self._busy_timeout_s))
            self._found[file.path] = file.mark, ids
        return ids


def _read_session_ids(path: Path, busy_timeout_s: float) -> list[str]:
    connection = files.open_for_reading(path, busy_timeout_s=busy_timeout_s)
    try:
        return [key for (key,) in connection.execute(_SESSION_IDS) if key is not None]
    except sqlite3.Error as error:
        raise files.explain(path, error) from error
    finally:
        connection.close()


class _Shared:
    """A reader and how many use it."""

    def __init__(self, reader: SqliteReader) -> None:
        self.reader = reader
        self.users = 0


class _Pool:
    """Readers of the files that were read last; the others are closed."""

    def __init__(self, make_reader: Callable[[Path], SqliteReader]) -> None:
        self._make_reader = make_reader
        self._lock = threading.Lock()
        self._shared: OrderedDict[Path, _Shared] = OrderedDict()

    @contextlib.contextmanager
    def borrow(self, path: Path) -> Iterator[Reader]:
        with self._lock:
            shared = self._shared.get(path)
            if shared is None:
                shared = self._shared[path] = _Shared(self._make_reader(path))
            self._shared.move_to_end(path)
            shared.users += 1
        try:
            yield shared.reader
        finally:
            with self._lock:
                shared.users -= 1
                self._close_extra(MOST_READERS)

    def close(self) -> None:
        with self._lock:
            self._close_extra(0)

    def _close_extra(self, most: int) -> None:
        idle = [path for path, shared in self._shared.items() if not shared.users]
        for path in idle[: max(0, len(self._shared) - most)]:
            self._shared.pop(path).reader.close()
