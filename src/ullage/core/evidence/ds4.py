"""Pins and memories of the DS4 context engine, as it writes them into session files of Pi: each entry is one change, which is put
into the words of our log (planner specification, sections 14.1, 14.2 and 15.1).

Its entries stay as they are. The same ones always give the same changes, so that they may be read whenever a session is opened.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct

from ullage.core.tokens.surrogates import replace_lone_surrogates

from .evidence_text import holds_our_text
from .keys import normalise_key
from .mutations import ENDS, LATEST_MS, Kind, Mutation
from .scopes import name_copy, name_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CUSTOM_TYPES: Mapping[str, Kind] = {"ds4-context-pin-v1": "pin", "ds4-context-memory-v1": "memory"}
"""What its entries are called, and what each is about."""

_ID_DIGITS = 16
_Time = Annotated[float, Meta(ge=0, le=LATEST_MS)]


class Entry(Struct, frozen=True, kw_only=True):
    """An entry of DS4's in a session file, in the order of the file; `data` is what it holds, whatever that is."""

    kind: Kind
    data: Any


class _Item(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    scope: Literal["session", "branch", "project"]
    content: str = ""
    claim: str = ""
    key: str | None = None
    classification: str = "normal"
    project_path: str | None = None
    branch_leaf_id: str | None = None
    source_entry_id: str | None = None
    source_entry_ids: tuple[str, ...] = ()
    source_file: str | None = None


class _Change(Struct, frozen=True, kw_only=True, rename="camel"):
    schema_version: Literal[1]
    mutation_id: str
    created_at: _Time
    operation: Literal["add", "supersede", "status"]
    item: _Item | None = None
    previous_id: str | None = None
    pin_id: str | None = None
    memory_id: str | None = None
    status: str = ""
    reason: str | None = None


def read_changes(entries: Iterable[Entry], *, session: str, project: str | None) -> list[Mutation]:
    """The changes that a session's entries make, for that session and for its project.

    `project` is the absolute path of the folder that the session is in, `None` where it is not trusted: what is for a project
    holds for that folder alone. What cannot be read is left out. Of a status whose item is in another session's file, the item
    can be none but the project's.
    """
    reading = _Reading(session, project)
    read = [(entry.kind, change) for entry in entries if (change := _convert(entry.data)) is not None]
    for kind, change in read:
        reading.note(kind, change)
    return [mutation for kind, change in read if (mutation := reading.translate(kind, change)) is not None]


def _convert(data: Any) -> _Change | None:
    try:
        return msgspec.convert(data, _Change)
    except msgspec.ValidationError:
        return None


class _Reading:
    def __init__(self, session: str, project: str | None) -> None:
        self._session = session
        self._project = project
        self._items: dict[tuple[Kind, str], _Item] = {}

    def note(self, kind: Kind, change: _Change) -> None:
        if change.item is not None and change.operation != "status":
            self._items.setdefault((kind, change.item.id), change.item)

    def translate(self, kind: Kind, change: _Change) -> Mutation | None:
        return self._end(kind, change) if change.operation == "status" else self._add(kind, change)

    def _add(self, kind: Kind, change: _Change) -> Mutation | None:
        item = change.item
        if item is None or not self._holds(kind, item) or (change.operation == "supersede") != bool(change.previous_id):
            return None
        text = " ".join(replace_lone_surrogates(item.content if kind == "pin" else item.claim).split())
        if not text or holds_our_text(text):
            return None
        sources = item.source_entry_ids or ((item.source_entry_id,) if item.source_entry_id else ())
        said = {
            "text": text,
            "classification": item.classification,
            "key": normalise_key(item.key) if item.key and kind == "memory" else None,
            "source_ids": sources,
            "source_file": item.source_file,
            "supersedes": self._name(kind, change.previous_id) if change.previous_id else None,
        }
        payload = {name: value for name, value in said.items() if value is not None and value != ()}
        return self._mutation(kind, change, item, item.id, payload)

    def _end(self, kind: Kind, change: _Change) -> Mutation | None:
        ended = change.pin_id if kind == "pin" else change.memory_id
        if not ended or change.status not in ENDS[kind]:
            return None
        item = self._items.get((kind, ended))
        if item is None and self._project is None:
            return None
        if item is not None and not self._holds(kind, item):
            return None
        reason = {"reason": change.reason} if change.reason else {}
        return self._mutation(kind, change, item, ended, {"status": change.status, **reason})

    def _mutation(
        self, kind: Kind, change: _Change, item: _Item | None, item_id: str, payload: dict[str, Any]
    ) -> Mutation:
        scope = item.scope if item is not None else "project"
        mutation_id = _name("mut", kind, change.mutation_id)
        return Mutation(
            id=mutation_id if scope == "project" else name_copy(mutation_id, self._session),
            created_ms=int(change.created_at),
            kind=kind,
            scope=scope,
            session=self._session,
            branch=name_entry(cast("_Item", item).branch_leaf_id or "") if scope == "branch" else None,
            project=self._project if scope == "project" else None,
            op=change.operation,
            item=self._name(kind, item_id),
            payload=payload,
        )

    def _holds(self, kind: Kind, item: _Item) -> bool:
        """Whether an item is for this session at all: that of a branch says of which, that of a project is for its own folder."""
        match item.scope:
            case "project":
                return self._project is not None and item.project_path == self._project
            case "branch":
                return kind == "pin" and bool(item.branch_leaf_id)
            case _:
                return True

    def _name(self, kind: Kind, item_id: str) -> str:
        """Ours for an item of DS4's: a fork of the session has what its file holds for itself, a project has it once."""
        item = self._items.get((kind, item_id))
        ours = _name(kind[:3], kind, item_id)
        return ours if item is None or item.scope == "project" else name_copy(ours, self._session)


def _name(prefix: str, kind: Kind, identity: str) -> str:
    digest = hashlib.sha256(f"ds4\0{kind}\0{identity}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}_{digest[:_ID_DIGITS]}"
