"""Whom a pin or a memory is for: a session, one of its branches, or a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from .mutations import Item

_ENTRY = "entry:"


def name_branch(hashes: Sequence[int]) -> str | None:
    """The branch that ends with the last of these messages, by their canonical hashes; `None` for an empty list.

    It is named by the position of that message and its hash: as long as it stands there, the branch goes on.
    """
    return name_place(len(hashes) - 1, f"{hashes[-1]:032x}") if hashes else None


def name_place(position: int, digest: str) -> str:
    """The branch whose message at `position` has this hash (32 hexadecimal digits)."""
    return f"{position}:{digest}"


def name_copy(identity: str, session: str) -> str:
    """The id of what a session has from the one that it was forked from, by the id that it has there."""
    return f"{identity.partition('@')[0]}@{session}"


def name_entry(entry: str) -> str:
    """The branch that an entry of a client's own session file is on, by the entry's id: the client alone knows where it goes on,
    and says so with each request."""
    return f"{_ENTRY}{entry}"


def find_entry(branch: str | None) -> str | None:
    """The entry that a branch was named by; `None` for any other name."""
    return branch.removeprefix(_ENTRY) if branch is not None and branch.startswith(_ENTRY) else None


def lies_on(branch: str | None, hashes: Sequence[int]) -> bool:
    """Whether a message list goes on from where the branch was named. A name that cannot be read lies nowhere."""
    position, _, digest = (branch or "").partition(":")
    if not position.isdecimal() or len(position) > 9 or int(position) >= len(hashes):
        return False
    return f"{hashes[int(position)]:032x}" == digest


def applicable(
    items: Iterable[Item],
    *,
    session: str | None,
    project: str | None,
    hashes: Sequence[int],
    ancestors: Sequence[str] = (),
    places: Collection[str] = (),
) -> tuple[Item, ...]:
    """Those active items that are for a request, in their order.

    `hashes` are the canonical hashes of its messages. `ancestors` are the sessions that its session branched off from: pins of a
    session go along its branches (planner specification, section 14.1), those of a branch only where its message still stands, or
    where its name is among the `places` that the client says are on its branch. A sub-agent has no ancestors: what its parent
    keeps is not its task.
    """
    sessions = {*ancestors, *((session,) if session is not None else ())}

    def applies(item: Item) -> bool:
        if item.scope == "project":
            return item.project is not None and item.project == project
        if item.session not in sessions:
            return False
        return item.scope == "session" or item.branch in places or lies_on(item.branch, hashes)

    return tuple(item for item in items if item.is_active and applies(item))
