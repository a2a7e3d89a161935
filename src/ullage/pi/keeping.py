"""Pins and memories in Pi's session files: our log is canonical, what concerns a session is mirrored there, and comes back from
there where our log does not have it (design, section 11). What DS4 has left there is taken in as well, and stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ullage.core.evidence import ds4
from ullage.core.evidence.mirrored import ends_own, own
from ullage.core.evidence.mutations import LATEST_MS, Mutation
from ullage.core.evidence.scopes import find_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ullage.stores import Store

    from .asking import Kept


class Mirrored(NamedTuple):
    """The changes that the session's file lacks, and the entries of it at which something is pinned to a branch."""

    missing: list[Mutation]
    places: list[str]


def mirror(store: Store, asked: Kept, find_project: Callable[[str | None], str | None]) -> Mirrored:
    """Takes in the changes that are not known here, and tells of those that the file lacks. Done twice, nothing changes.

    What cannot be read is left out, and in a folder that is not trusted what is for its project."""
    known = {mutation.id: mutation for mutation in store.mutations()}
    project = find_project(asked.cwd)
    entries = [entry for one in asked.entries if (entry := _convert(one)) is not None]
    held = {entry.id for entry in entries}
    admitted = [entry for entry in entries if asked.trusted or entry.scope != "project"]
    found = [*(own(entry, asked.session, project) for entry in admitted), *_of_ds4(asked, project)]
    held |= {mine.id for mine in found}
    added = {one.item: one for one in (*found, *known.values()) if one.op != "status"}
    new = [mine for mine in found if mine.id not in known and ends_own(mine, added)]
    for mine in new:
        store.put_mutation(mine)
    if new:
        store.flush()
    missing = [one for one in known.values() if one.session == asked.session and one.id not in held]
    return Mirrored(missing, _find_places((*known.values(), *found), asked.session))


def _convert(entry: Any) -> Mutation | None:
    try:
        read = msgspec.convert(entry, Mutation)
    except msgspec.ValidationError:
        return None
    return read if 0 <= read.created_ms <= LATEST_MS else None


def _of_ds4(asked: Kept, project: str | None) -> list[Mutation]:
    entries = [
        ds4.Entry(kind=kind, data=one.data)
        for one in asked.custom
        if (kind := ds4.CUSTOM_TYPES.get(one.custom_type)) is not None
    ]
    return ds4.read_changes(entries, session=asked.session, project=project if asked.trusted else None)


def _find_places(mutations: Iterable[Mutation], session: str) -> list[str]:
    entries = (find_entry(one.branch) for one in mutations if one.scope == "branch" and one.session == session)
    return sorted({entry for entry in entries if entry is not None})
