"""Pins and memories in Pi's session files: our log is canonical, what concerns a session is mirrored there, and comes back from
there where our log does not have it (design, section 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

if TYPE_CHECKING:
    from ullage.core.evidence.mutations import Mutation
    from ullage.stores import Store

    from .asking import Kept


def mirror(store: Store, asked: Kept) -> list[Mutation]:
    """Takes in the changes that are not known here, and gives those that the session's file lacks. Done twice, nothing changes.

    Whatever a file says, its changes are for its own session, or for the project that Pi is in: a file from elsewhere pins
    nothing for others.
    """
    known = {mutation.id: mutation for mutation in store.mutations()}
    there = {entry.id for entry in asked.entries}
    for entry in asked.entries:
        if entry.id not in known:
            store.put_mutation(_own(entry, asked))
    if not there <= known.keys():
        store.flush()
    return [one for one in known.values() if one.session == asked.session and one.id not in there]


def _own(entry: Mutation, asked: Kept) -> Mutation:
    changes: dict[str, Any] = {"session": asked.session}
    if entry.scope == "project":
        changes["project"] = asked.cwd or None
    return replace(entry, **changes)
