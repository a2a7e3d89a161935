"""Pins and memories in Pi's session files: our log is canonical, what concerns a session is mirrored there, and comes back from
there where our log does not have it (design, section 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

if TYPE_CHECKING:
    from ullage.core.evidence.mutations import Mutation
    from ullage.stores import Store

    from .asking import Kept

_SUPERSEDES = "supersedes"


def mirror(store: Store, asked: Kept) -> list[Mutation]:
    """Takes in the changes that are not known here, and gives those that the session's file lacks. Done twice, nothing changes.

    Whatever a file says, its changes are for its own session, or for the project that Pi is in: a file from elsewhere pins
    nothing for others. A fork's file begins with the changes of the session that it came from: it gets its own ones like them.
    """
    known = {mutation.id: mutation for mutation in store.mutations()}
    held: set[str] = set()
    for entry in asked.entries:
        mine = _own(entry, asked, known.get(entry.id))
        held |= {entry.id, mine.id}
        if mine.id not in known:
            store.put_mutation(mine)
    if not held <= known.keys():
        store.flush()
    return [one for one in known.values() if one.session == asked.session and one.id not in held]


def _own(entry: Mutation, asked: Kept, known: Mutation | None) -> Mutation:
    changes: dict[str, Any] = {"session": asked.session}
    if entry.scope == "project":
        changes["project"] = asked.cwd or None
    elif known is not None and known.session != asked.session:
        changes |= {"id": f"{entry.id}@{asked.session}", "item": f"{entry.item}@{asked.session}"}
        if old := entry.payload.get(_SUPERSEDES):
            changes["payload"] = {**entry.payload, _SUPERSEDES: f"{old}@{asked.session}"}
    return replace(entry, **changes)
