"""A store that keeps the records of each project in a file of its own, and what is learned of models in the shared one."""

from __future__ import annotations

import contextlib
import functools
import os
import time
import weakref
from typing import TYPE_CHECKING

from msgspec.structs import replace

from .merging import ProjectReader
from .open_projects import OpenProjects
from .places import project_path
from .sqlite import LOOK_UP_PAUSE_S, LOOK_UP_WAIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
        Store,
    )
    from .lease import Lease
    from .ledger import Ledger
    from .open_projects import Record
    from .route_records import FeedbackRecord, OutcomeRecord, RouteOverride, TallyRecord
    from .sweep import Sweep

_KNOWN_PLACES = 1024


class ProjectStore(ProjectReader):
    """Sessions, calls and events whose record names a project go to that project's file in `folder`; everything else, and all
    samples, prefixes, artifacts, changes to pins and memory, votes and settings of routes, to `main`. Reads see all files.

    `find_root` says which folder a record's project is, `None` for none (`places.find_root`); the record is kept with that path.
    Which file a record goes to is decided anew for each: what a session left behind in another project stays there. `open_one`
    opens the store of one file, `sweep` looks after those not in use. The `lease` is given back at the end.
    """

    def __init__(
        self,
        main: Store,
        folder: Path,
        *,
        find_root: Callable[[str | None], str | None],
        open_one: Callable[[Path], Store],
        sweep: Sweep,
        lease: Lease,
    ) -> None:
        super().__init__(main, folder, busy_timeout_s=LOOK_UP_WAIT_S, pause_s=LOOK_UP_PAUSE_S)
        self._store = main
        self._find_place = functools.lru_cache(_KNOWN_PLACES)(functools.partial(_find_place, folder, find_root))
        self._sweep = sweep
        self._lease = lease
        self._projects = OpenProjects(open_one, tidy=sweep.step)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_Fork(self))

    @property
    def ledger(self) -> Ledger:
        return self._store.ledger

    def put_session(self, record: SessionRecord) -> None:
        self._put(record, lambda store, record: store.put_session(record))

    def put_call(self, record: CallRecord) -> None:
        self._put(record, lambda store, record: store.put_call(record))

    def put_event(self, record: EventRecord) -> None:
        self._put(record, lambda store, record: store.put_event(record))

    def put_sample(self, record: SampleRecord) -> None:
        self._store.put_sample(record)

    def put_prefix(self, record: PrefixRecord) -> None:
        self._store.put_prefix(record)

    def put_mutation(self, record: MutationRecord) -> None:
        self._store.put_mutation(record)

    def put_artifact(self, record: ArtifactRecord) -> None:
        self._store.put_artifact(record)

    def put_feedback(self, record: FeedbackRecord) -> None:
        self._store.put_feedback(record)

    def put_outcome(self, record: OutcomeRecord) -> None:
        self._store.put_outcome(record)

    def put_tally(self, record: TallyRecord) -> None:
        self._store.put_tally(record)

    def put_route_override(self, record: RouteOverride) -> None:
        self._store.put_route_override(record)

    def drop_route_override(self, session: str, key: str, at_ms: int) -> None:
        self._store.drop_route_override(session, key, at_ms)

    def flush(self, timeout_s: float = 5.0) -> bool:
        deadline = time.monotonic() + timeout_s
        is_shared_written = self._store.flush(timeout_s)
        return self._projects.flush(max(0.0, deadline - time.monotonic())) and is_shared_written

    def problems(self) -> tuple[str, ...]:
        return (*super().problems(), *self._projects.problems())

    def close(self, timeout_s: float = 5.0) -> None:
        self._projects.begin_closing(timeout_s)
        super().close(timeout_s)
        self._projects.wait_closed()
        self._lease.release()

    def close_in_child(self) -> None:
        """In a forked child: this store is closed, as its parts are."""
        self._projects.close_in_child()
        self._lease.forget_in_child()

    def _put(self, record: Record, give: Callable[[Store, Record], None]) -> None:
        place = self._find_place(record.project)
        if place is None:
            give(self._store, record)
            return
        root, path = place
        self._projects.put(path, record if record.project == root else replace(record, project=root), give)

    @contextlib.contextmanager
    def _borrow(self, path: Path) -> Iterator[Reader]:
        with self._projects.borrow(path) as store:
            if store is not None:
                yield store
                return
        with super()._borrow(path) as reader:
            yield reader

    def _is_changing(self, path: Path) -> bool:
        return self._projects.is_open(path)

    def _bring_up_to_date(self, path: Path) -> bool:
        return self._sweep.bring_up_to_date(path)


def _find_place(
    folder: Path, find_root: Callable[[str | None], str | None], project: str | None
) -> tuple[str, Path] | None:
    """The folder of a project and its file; `None` for what belongs to no project."""
    root = find_root(project)
    return None if root is None else (root, project_path(folder, root))


class _Fork:
    """What a fork calls in the child. Holds the store weakly: such a hook can never be taken back."""

    def __init__(self, store: ProjectStore) -> None:
        self._store = weakref.ref(store)

    def __call__(self) -> None:
        store = self._store()
        if store is not None:
            store.close_in_child()
