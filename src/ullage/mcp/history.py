"""Searching what was said before in a project: in the session files of its clients, and in the tool results that were kept.

No message is stored by the gateway. What cannot be found in these files is not found, and every answer says what was searched.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.errors import InputError, SessionError, StoreError
from ullage.core.evidence.excerpts import head, lower_in_place
from ullage.core.evidence.lookup import FEWEST_CHARS, LINES, MOST_CHARS, check_query, find_matches
from ullage.core.evidence.offers import is_lookup
from ullage.sources import read_session
from ullage.sources.recall import Passage, project_sessions, read_again, read_passages
from ullage.stores.report import iso_time

from .answers import DATA_NOTE, fit, lines_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ullage.stores.base import ArtifactRecord

    from .artifacts import ArtifactTools
    from .project import Clear, Project

RESULTS = 6
EXCERPT_CHARS = 1_800
QUERY_CHARS = 2_000
HANDLES = 512
"""Results of a search, what each quotes, how long a query may be, and how many results can be read later (planner
specification, section 18.7)."""

SESSIONS = 20
SESSION_BYTES = 48 * 1024 * 1024
ARTIFACTS = 50
ARTIFACT_BYTES = 16 * 1024 * 1024
"""What a search goes through at most, the newest first: some three seconds."""


class _Hit(NamedTuple):
    """A text that a query fits, and what of the query to show in it."""

    text: str
    sought: str
    source: Passage | ArtifactRecord


class _Hits:
    """The first texts that hold the whole query, and the first that hold all its words."""

    def __init__(self, query: str, most: int) -> None:
        self._phrase = lower_in_place(query)
        self._words = [word for word in dict.fromkeys(self._phrase.split()) if len(word) >= FEWEST_CHARS]
        self._most = most
        self._exact: list[_Hit] = []
        self._loose: list[_Hit] = []

    def look_at(self, text: str, source: Passage | ArtifactRecord) -> None:
        if len(self._exact) == self._most:
            return
        lowered = lower_in_place(text)
        if self._phrase in lowered:
            self._exact.append(_Hit(text, head(self._phrase, MOST_CHARS), source))
        elif len(self._loose) < self._most and self._words and all(word in lowered for word in self._words):
            self._loose.append(_Hit(text, head(max(self._words, key=len), MOST_CHARS), source))

    def best(self) -> list[_Hit]:
        return [*self._exact, *self._loose][: self._most]


class _Searched(NamedTuple):
    sessions: int
    sessions_in_all: int
    artifacts: int
    unreadable: int


class Extent(NamedTuple):
    """What a search would go through: the newest sessions of all that are recorded of the project, and kept tool results."""

    sessions: int
    sessions_in_all: int
    artifacts: int


class HistoryTools:
    """Remembers what it found, so that it can be read; that memory ends with the process."""

    def __init__(
        self,
        project: Project,
        *,
        artifacts: ArtifactTools,
        list_artifacts: Callable[[], list[ArtifactRecord]],
        clear: Clear,
    ) -> None:
        self._project = project
        self._artifacts = artifacts
        self._list_artifacts = list_artifacts
        self._clear = clear
        self._handles: OrderedDict[str, Passage] = OrderedDict()

    def search(self, query: str, max_results: int = RESULTS) -> str:
        """Messages and kept tool results that hold a phrase, or all its words."""
        query = check_query(query, most=QUERY_CHARS)
        hits, searched = self._go_through(query, min(max(1, max_results), RESULTS))

        def answer(chars: int) -> dict[str, Any]:
            each = min(EXCERPT_CHARS, chars // max(1, len(hits)))
            return {
                "searched": {
                    "sessions": f"the newest {searched.sessions} of {searched.sessions_in_all} recorded in this project",
                    "kept_tool_results": searched.artifacts,
                    "unreadable": searched.unreadable,
                },
                "note": DATA_NOTE,
                "matches": [self._report(hit, each) for hit in hits],
            }

        return fit(answer, self._project.caps.inline_chars)

    def read(self, handle: str, line: int = 1, lines: int = LINES) -> str:
        """Some lines of a message that a search found."""
        passage = self._handles.get(handle.strip())
        if passage is None:
            raise InputError(
                f"There is no {handle[:80]!r} any more.", hint="Search again: it gives new handles.", code="no_handle"
            )
        about = {"handle": handle, **_origin(passage)}
        return lines_answer(about, self._clear(read_again(passage)), line, lines, self._project.caps.inline_chars)

    def extent(self) -> Extent:
        """How much there is to be searched. Raises `StoreError`."""
        paths = list(project_sessions(self._project.home, self._project.folders))
        return Extent(len(list(_newest(paths))), len(paths), len(self._recent_artifacts()))

    @property
    def handles(self) -> dict[str, Passage]:
        """What was found, by the names that it can be read under."""
        return dict(self._handles)

    def recall(self, handles: Mapping[str, Passage]) -> None:
        """Takes in what an earlier process has found."""
        self._handles.update(handles)

    def _go_through(self, query: str, most: int) -> tuple[list[_Hit], _Searched]:
        """The hits, those with the whole phrase first and then the newest, and what was looked into."""
        paths = list(project_sessions(self._project.home, self._project.folders))
        chosen = list(_newest(paths))
        hits = _Hits(query, most)
        unreadable = 0
        for path in chosen:
            try:
                for passage in read_passages(read_session(path), is_lookup):
                    hits.look_at(self._clear(passage.text), passage)
            except SessionError:
                unreadable += 1
        try:
            records = self._recent_artifacts()
        except StoreError:
            records = []
            unreadable += 1
        for record in records:
            try:
                hits.look_at(self._artifacts.text(record.sha256), record)
            except (InputError, StoreError):
                unreadable += 1
        return hits.best(), _Searched(len(chosen), len(paths), len(records), unreadable)

    def _recent_artifacts(self) -> list[ArtifactRecord]:
        chosen: list[ArtifactRecord] = []
        left = ARTIFACT_BYTES
        seen: set[str] = set()
        for record in self._list_artifacts():
            if record.sha256 not in seen and record.size_bytes <= left and len(chosen) < ARTIFACTS:
                seen.add(record.sha256)
                chosen.append(record)
                left -= record.size_bytes
        return chosen

    def _report(self, hit: _Hit, chars: int) -> dict[str, Any]:
        found = find_matches(hit.text, hit.sought, most=1, chars=chars).matches
        excerpt = found[0].excerpt if found else ""
        if isinstance(hit.source, Passage):
            return {"handle": self._remember(hit.source), **_origin(hit.source), "text": excerpt}
        return {"artifact": hit.source.id, "tool": hit.source.tool, "text": excerpt}

    def _remember(self, passage: Passage) -> str:
        name = hashlib.sha256(
            f"{passage.path}\0{passage.call}\0{passage.message}\0{passage.digest}".encode("utf-8", "replace")
        )
        handle = f"hist_{name.hexdigest()[:32]}"
        self._handles[handle] = passage
        self._handles.move_to_end(handle)
        if len(self._handles) > HANDLES:
            self._handles.popitem(last=False)
        return handle


def _newest(paths: Sequence[Path]) -> Iterator[Path]:
    """As many as are gone through."""
    left = SESSION_BYTES
    for number, path in enumerate(paths[:SESSIONS]):
        try:
            left -= path.stat().st_size
        except OSError:
            continue
        if left < 0 and number:
            return
        yield path


def _origin(passage: Passage) -> dict[str, Any]:
    return {
        "client": passage.client,
        "session": passage.session,
        "time": None if passage.time_ms is None else iso_time(passage.time_ms),
        "role": passage.role,
    }
