"""Changes to pins and memories that stand in a client's session file as well: whom they are for where that file is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from .scopes import name_copy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .mutations import Mutation

_SUPERSEDES = "supersedes"


def own(entry: Mutation, session: str, project: str | None) -> Mutation:
    """The change as it is for this session, and the project that it is in: whatever a file says, it keeps nothing for others.

    A fork's file begins with the changes of the session that it came from: the fork has its own ones like them. What was for
    another project is for this session, not for all others of the project that its file is opened in.
    """
    if entry.scope == "project" and entry.project in (None, project):
        return replace(entry, session=session, project=project)
    if entry.scope == "project":
        entry = replace(entry, scope="session", project=None)
    elif entry.session in (None, session):
        return replace(entry, session=session)
    changes: dict[str, Any] = {"id": name_copy(entry.id, session), "item": name_copy(entry.item, session)}
    if isinstance(old := entry.payload.get(_SUPERSEDES), str):
        changes["payload"] = {**entry.payload, _SUPERSEDES: name_copy(old, session)}
    return replace(entry, session=session, **changes)


def ends_own(change: Mutation, added: Mapping[str, Mutation]) -> bool:
    """Whether a change ends nothing, or what is for the same session or project. `added` are changes by the items they add."""
    ended = change.item if change.op == "status" else change.payload.get(_SUPERSEDES)
    other = added.get(ended) if isinstance(ended, str) else None
    return other is None or _owner(other) == _owner(change)


def _owner(change: Mutation) -> tuple[bool, str | None]:
    is_project = change.scope == "project"
    return is_project, change.project if is_project else change.session
