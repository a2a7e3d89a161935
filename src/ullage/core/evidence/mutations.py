"""The log of what the user keeps: each change to a pin or a memory as a value, and what all of them amount to.

The log is only ever added to. What is kept now is found by replaying it, in whatever order its entries arrived (planner
specification, sections 14.3 and 15.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from ullage.core.privacy.classes import CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Kind = Literal["pin", "memory"]
Scope = Literal["session", "branch", "project"]
State = Literal["active", "superseded", "deleted", "invalid", "expired"]

ACTIVE: State = "active"

LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, behind which no moment can be written down; none lies before 1970."""

EXCLUDE, INCLUDE = "exclude", "include"
"""What is said of a source: `item` is the session, `project` the project."""

ENDS: dict[str, tuple[State, ...]] = {"pin": ("deleted",), "memory": ("invalid", "expired")}
"""The states that a `status` change may put something in."""


class Mutation(Struct, frozen=True, kw_only=True):
    """One change, in words and values that a later version may add to: what this one does not know is left out of a replay.

    `item` is the pin or memory that is changed. `op`: `add`; `supersede`, which adds `item` in the place of
    `payload["supersedes"]`; `status`, which ends it; `exclude` and `include`, by which `item` is the session of a source.
    `session` is where the change was made, for the scopes `session` and `branch` also whom it is for; `branch` is a name of
    `scopes.name_branch`, `project` the absolute path of a folder. Added are the text and what is said of it (`payload["text"]`,
    `key`, `classification`, `source_ids`, `source_file`), to a status belongs its `reason`. `created_ms` is epoch milliseconds.
    """

    id: str
    created_ms: int
    kind: str
    scope: str
    session: str | None = None
    branch: str | None = None
    project: str | None = None
    op: str
    item: str
    payload: dict[str, Any] = {}


class Item(Struct, frozen=True, kw_only=True):
    """A pin or a memory as the log leaves it.

    `mutation` is the change that added it. `reason` says why it is no longer active, `superseded_by` what took its place.
    """

    id: str
    kind: Kind
    scope: Scope
    session: str | None
    branch: str | None
    project: str | None
    text: str
    key: str | None
    classification: str
    source_ids: tuple[str, ...]
    source_file: str | None
    supersedes: str | None
    created_ms: int
    mutation: str
    state: State = ACTIVE
    reason: str | None = None
    superseded_by: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether it may still be sent."""
        return self.state == ACTIVE

    @property
    def place(self) -> tuple[str, ...]:
        """What it is for: two things of one place share a limit, and may not contradict each other."""
        owners = {"session": (self.session,), "branch": (self.session, self.branch), "project": (self.project,)}
        return self.scope, *(owner or "" for owner in owners[self.scope])


Source = tuple[str, str]
"""A project, and a session in which something was said of it that is remembered."""


class Kept(Struct, frozen=True):
    """All that was ever kept, in the order in which it was created. `excluded` are the sources that other sessions are not to be
    told of, each with why, if that was said (planner specification, section 15.5)."""

    items: dict[str, Item] = {}
    excluded: dict[Source, str | None] = {}

    def find(self, item_id: str) -> Item | None:
        """The pin or memory of that id."""
        return self.items.get(item_id)

    def of(self, kind: Kind) -> list[Item]:
        """All pins, or all memories, whatever became of them."""
        return [item for item in self.items.values() if item.kind == kind]

    def active(self, kind: Kind) -> list[Item]:
        """Those that may still be sent."""
        return [item for item in self.of(kind) if item.is_active]

    def told_to(self, kind: Kind, session: str | None) -> list[Item]:
        """Those of them that a session may be told of."""
        return [item for item in self.of(kind) if self.is_told(item, session)]

    def is_told(self, item: Item, session: str | None) -> bool:
        """Whether a session may be told of it: it is active, and was said there or by no source that the user has excluded."""
        unheard = item.kind == "memory" and item.session != session and source_of(item) in self.excluded
        return item.is_active and not unheard


def source_of(item: Item) -> Source | None:
    """Where a claim about a project is from; `None` for what is for a session alone."""
    return (item.project or "", item.session or "") if item.scope == "project" else None


class _Added(Struct, frozen=True):
    """What an added text comes with."""

    text: str
    key: str | None = None
    classification: str = "normal"
    source_ids: tuple[str, ...] = ()
    source_file: str | None = None
    supersedes: str | None = None


class _Ended(Struct, frozen=True):
    """What a change of status says."""

    status: State
    reason: str | None = None


class _Ending(NamedTuple):
    """The end of an item: the place of the change among all, and what it says."""

    place: int
    item: str
    state: State
    reason: str | None
    by: str | None


def replay(mutations: Iterable[Mutation]) -> Kept:
    """What the changes amount to. The same set in any order, with or without repetitions, gives the same; nothing raises.

    First everything is added, then ended, so that a status that arrives before its item still applies. Of two memories with one
    key the later is invalid, unless the earlier had ended by then.
    """
    ordered = _in_order(mutations)
    items: dict[str, Item] = {}
    places: dict[str, int] = {}
    for place, mutation in enumerate(ordered):
        item = added_item(mutation)
        if item is not None and item.id not in items:
            items[item.id] = item
            places[item.id] = place
    endings = _group(_find_endings(ordered, items))
    losers = _find_losers(items, places, {item_id: ends[0].place for item_id, ends in endings.items()})
    settled = {item.id: _settle(item, endings.get(item.id, ()), losers.get(item.id)) for item in items.values()}
    return Kept(settled, _find_excluded(ordered))


def _find_excluded(ordered: Sequence[Mutation]) -> dict[Source, str | None]:
    """The last word on each source holds."""
    excluded: dict[Source, str | None] = {}
    for mutation in ordered:
        if mutation.kind != "memory" or mutation.op not in (EXCLUDE, INCLUDE) or mutation.project is None:
            continue
        source = (mutation.project, mutation.item)
        excluded.pop(source, None)
        if mutation.op == EXCLUDE:
            reason = mutation.payload.get("reason")
            excluded[source] = reason if isinstance(reason, str) else None
    return excluded


def _in_order(mutations: Iterable[Mutation]) -> list[Mutation]:
    """By time, then session, then id; each id once."""
    known: dict[str, Mutation] = {}
    for mutation in mutations:
        other = known.setdefault(mutation.id, mutation)
        if other is not mutation and (_rank(mutation), repr(mutation)) < (_rank(other), repr(other)):
            known[mutation.id] = mutation
    return sorted(known.values(), key=_rank)


def _rank(mutation: Mutation) -> tuple[int, str, str]:
    return mutation.created_ms, mutation.session or "", mutation.id


def added_item(mutation: Mutation) -> Item | None:
    """The item that a change adds; `None` if it adds none that this version can read."""
    if mutation.op not in ("add", "supersede"):
        return None
    try:
        added = msgspec.convert(mutation.payload, _Added)
        common = {
            field: getattr(mutation, field) for field in ("kind", "scope", "session", "branch", "project", "created_ms")
        }
        said = msgspec.structs.asdict(added)
        if added.classification not in CLASSES:  # of a later version: nobody may see it, rather than everybody
            said["classification"] = CLASSES[-1]
        return msgspec.convert({"id": mutation.item, "mutation": mutation.id, **common, **said}, Item)
    except msgspec.ValidationError:
        return None


def _find_endings(ordered: Sequence[Mutation], items: dict[str, Item]) -> Iterator[_Ending]:
    for place, mutation in enumerate(ordered):
        ending = _superseding(place, mutation, items) if mutation.op == "supersede" else _ending(place, mutation)
        target = items.get(ending.item) if ending is not None else None
        if ending is not None and target is not None and target.kind == mutation.kind:
            yield ending


def _superseding(place: int, mutation: Mutation, items: dict[str, Item]) -> _Ending | None:
    heir = items.get(mutation.item)
    if heir is None or heir.mutation != mutation.id or heir.supersedes is None:
        return None
    return _Ending(place, heir.supersedes, "superseded", None, heir.id)


def _ending(place: int, mutation: Mutation) -> _Ending | None:
    try:
        ended = msgspec.convert(mutation.payload, _Ended) if mutation.op == "status" else None
    except msgspec.ValidationError:
        return None
    if ended is None or ended.status not in ENDS.get(mutation.kind, ()):
        return None
    return _Ending(place, mutation.item, ended.status, ended.reason, None)


def _group(endings: Iterable[_Ending]) -> dict[str, list[_Ending]]:
    grouped: dict[str, list[_Ending]] = {}
    for ending in endings:
        grouped.setdefault(ending.item, []).append(ending)
    return grouped


def _find_losers(items: dict[str, Item], places: dict[str, int], ends: dict[str, int]) -> dict[str, Item]:
    """Memories that were added while another one held their key, each with that one."""
    holders: dict[tuple[str, ...], Item] = {}
    losers: dict[str, Item] = {}
    for item in items.values():
        if item.kind != "memory" or item.key is None:
            continue
        holder = holders.get((item.key, *item.place))
        end = ends.get(holder.id) if holder is not None else None
        if holder is None or (end is not None and end <= places[item.id]):  # equal: this one superseded it
            holders[item.key, *item.place] = item
        else:
            losers[item.id] = holder
    return losers


def _settle(item: Item, endings: Sequence[_Ending], winner: Item | None) -> Item:
    """The item with what became of it: the last change to it says so, else the conflict it lost."""
    if endings:
        last = endings[-1]
        return msgspec.structs.replace(item, state=last.state, reason=last.reason, superseded_by=last.by)
    if winner is not None:
        return msgspec.structs.replace(item, state="invalid", reason=f"conflict: {winner.id} has the key {item.key}")
    return item
