"""Pins and memory in a store: what is kept now, how a change is written, and how both are told to other programs."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Any

from ullage.core.errors import InputError, StoreError
from ullage.core.evidence.changes import Stamp
from ullage.core.evidence.mutations import Kept, replay
from ullage.core.evidence.scopes import name_place

from .report import iso_time

if TYPE_CHECKING:
    from ullage.core.evidence.changes import Change
    from ullage.core.evidence.mutations import Item, Kind, Mutation

    from .base import Reader, Store

_ID_BYTES = 8


class Keeper:
    """Tells what is kept, and reads the log again only when it has grown. Safe to use from any thread.

    Several processes may add to one log: each sees what the others wrote at its next question.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._version = 0
        self.last = Kept()
        """What was found at the last question: better than nothing where the next one fails."""

    def kept(self) -> Kept:
        """All pins and memories there are now; some 10 µs if nothing is new. Raises `StoreError`."""
        with self._lock:
            version = self._reader.mutation_version()
            if version != self._version:
                self.last = replay(self._reader.mutations())
                self._version = version
            return self.last


def make_stamp(kind: Kind, now_ms: int) -> Stamp:
    """New ids for a change that is made now."""
    return Stamp(
        mutation=f"mut_{secrets.token_hex(_ID_BYTES)}", item=f"{kind[:3]}_{secrets.token_hex(_ID_BYTES)}", now_ms=now_ms
    )


def write_change(store: Store, change: Change) -> Item:
    """Writes a change and waits until it is durable; the item as it is then. Raises `StoreError` if it cannot be written now."""
    if change.mutation is not None:
        write_mutation(store, change.mutation)
    return change.item


def write_mutation(store: Store, mutation: Mutation) -> None:
    """Adds to the log and waits until it is durable. Raises `StoreError` if it cannot be written now."""
    store.put_mutation(mutation)
    if not store.flush():
        raise StoreError(
            f"It is not known whether {mutation.item} was written.",
            hint=" ".join(store.problems()) or "Look at the list before you try again.",
            code="indeterminate",
        )


def branch_of(reader: Reader, session_id: str) -> str:
    """The branch that the newest request of a session ended on. Raises `InputError` where that is not known."""
    session = reader.find_session(session_id)
    tip = (session.tip if session is not None else None) or {}
    if not tip.get("last"):
        raise InputError(
            f"Nothing is known of the messages of session {session_id[:100]!r}.",
            hint="Send one prompt through `ullage serve`, or keep it for the session as a whole.",
            code="no_branch",
        )
    return name_place(tip["depth"] - 1, tip["last"])


def report_item(item: Item) -> dict[str, Any]:
    """A pin or a memory as programs get it, its text included: for whoever may read the store, never for a manifest."""
    return {
        "id": item.id,
        "kind": item.kind,
        "state": item.state,
        "scope": item.scope,
        "session": item.session,
        "branch": item.branch,
        "project": item.project,
        "text": item.text,
        "key": item.key,
        "classification": item.classification,
        "source_ids": list(item.source_ids),
        "source_file": item.source_file,
        "supersedes": item.supersedes,
        "superseded_by": item.superseded_by,
        "reason": item.reason,
        "created_at": iso_time(item.created_ms),
        "mutation": item.mutation,
    }
