"""Changes to pins and memories that stand in a client's session file as well: whom they are for where that file is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from .scopes import name_copy

if TYPE_CHECKING:
    from .mutations import Mutation

_SUPERSEDES = "supersedes"


def own(entry: Mutation, session: str, project: str | None) -> Mutation:
    """The change as it is for this session, and the project that it is in: whatever a file says, it keeps nothing for others.

    A fork's file begins with the changes of the session that it came from: the fork has its own ones like them.
    """
    if entry.scope == "project":
        return replace(entry, session=session, project=project)
    if entry.session in (None, session):
        return replace(entry, session=session)
    changes: dict[str, Any] = {"id": name_copy(entry.id, session), "item": name_copy(entry.item, session)}
    if isinstance(old := entry.payload.get(_SUPERSEDES), str):
        changes["payload"] = {**entry.payload, _SUPERSEDES: name_copy(old, session)}
    return replace(entry, session=session, **changes)
