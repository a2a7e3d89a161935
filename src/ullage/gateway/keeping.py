"""The control routes `pins` and `memory`: what is kept, and changes to it by whoever holds the daemon's token."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from ullage.core.errors import CallError, InputError
from ullage.core.evidence.changes import Owner, need_active, owner_of
from ullage.core.evidence.memory import NewMemory, add_memory, end_memory
from ullage.core.evidence.pins import NewPin, add_pin, remove_pin
from ullage.core.evidence.ranking import rank
from ullage.core.tokens import get_estimator
from ullage.settings.keeping import make_memory_limits, make_pin_limits
from ullage.stores.keeping import Keeper, branch_of, make_stamp, report_item, write_change

from .asking import decode, now_ms

if TYPE_CHECKING:
    from ullage.core.evidence.changes import Change, Stamp
    from ullage.core.evidence.mutations import Item, Kept, Kind
    from ullage.settings import Settings
    from ullage.stores import Store


class _Said(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, tag_field="action"):
    """A text and what it is kept with. Where nothing says whom it is for, it is for whom the superseded one was."""

    text: str
    scope: Literal["session", "branch", "project"] | None = None
    session: str | None = None
    project: str | None = None
    classification: str | None = None
    source_ids: tuple[str, ...] = ()


class AddPin(_Said, kw_only=True, frozen=True, tag="add"):
    """A new pin."""

    source_file: str | None = None


class SupersedePin(AddPin, kw_only=True, frozen=True, tag="supersede"):
    """A pin in the place of another one."""

    id: str


class AddMemory(_Said, kw_only=True, frozen=True, tag="add"):
    """A new memory."""

    key: str | None = None


class SupersedeMemory(AddMemory, kw_only=True, frozen=True, tag="supersede"):
    """A memory in the place of another one."""

    id: str


class _End(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, tag_field="action"):
    """The end of a pin or memory."""

    id: str
    reason: str | None = None


class Unpin(_End, kw_only=True, frozen=True, tag="unpin"):
    """The end of a pin."""


class Invalidate(_End, kw_only=True, frozen=True, tag="invalidate"):
    """The end of a memory that was wrong."""


class Expire(_End, kw_only=True, frozen=True, tag="expire"):
    """The end of a memory that was right."""


PinChange = AddPin | SupersedePin | Unpin
MemoryChange = AddMemory | SupersedeMemory | Invalidate | Expire
_PIN_CHANGES = msgspec.json.Decoder(PinChange)
_MEMORY_CHANGES = msgspec.json.Decoder(MemoryChange)


class Keeping:
    """Answers for one store. Every method may wait for the database, and raises as `core.evidence` and the store do."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._keeper = Keeper(store)
        self._pin_limits = make_pin_limits(settings)
        self._memory_limits = make_memory_limits(settings)
        self._count = get_estimator(settings.calibration.estimator).text

    def pins(self, query: dict[str, str]) -> Any:
        """The active pins; with `all=1` those that ended, too. `session` and `project` filter."""
        return {"pins": [report_item(pin) for pin in self._select("pin", query)]}

    def memory(self, query: dict[str, str]) -> Any:
        """The same of memories; with `query=TEXT` those that a request with these words would be told, the best first."""
        items = self._select("memory", query)
        if "query" not in query:
            return {"memory": [report_item(item) for item in items]}
        ranked = rank([item for item in items if item.is_active], query["query"])
        return {"memory": [{**report_item(one.item), "score": one.score, "match": one.reason} for one in ranked]}

    def change_pins(self, body: bytes) -> Any:
        """Adds, supersedes or takes back a pin."""
        asked = decode(_PIN_CHANGES, body)
        kept, stamp = self._keeper.kept(), _stamp("pin")
        if isinstance(asked, Unpin):
            return self._write(remove_pin(kept, asked.id, stamp, reason=asked.reason))
        old = need_active(kept, asked.id, "pin") if isinstance(asked, SupersedePin) else None
        new = NewPin(
            text=asked.text,
            owner=self._owner(asked, old),
            classification=_class_of(asked, old),
            source_ids=asked.source_ids,
            source_file=asked.source_file,
            supersedes=old.id if old is not None else None,
        )
        return self._write(add_pin(kept, new, stamp, limits=self._pin_limits, count=self._count))

    def change_memory(self, body: bytes) -> Any:
        """Adds, supersedes, invalidates or expires a memory."""
        asked = decode(_MEMORY_CHANGES, body)
        kept, stamp = self._keeper.kept(), _stamp("memory")
        if isinstance(asked, Invalidate | Expire):
            state: Literal["invalid", "expired"] = "invalid" if isinstance(asked, Invalidate) else "expired"
            return self._write(end_memory(kept, asked.id, state, stamp, reason=asked.reason))
        old = need_active(kept, asked.id, "memory") if isinstance(asked, SupersedeMemory) else None
        new = NewMemory(
            claim=asked.text,
            owner=self._owner(asked, old),
            key=asked.key,
            classification=_class_of(asked, old),
            source_ids=asked.source_ids,
            supersedes=old.id if old is not None else None,
        )
        try:
            return self._write(add_memory(kept, new, stamp, limits=self._memory_limits))
        except InputError as error:
            if error.code == "conflict":
                error.hint = 'Name it: {"action": "supersede", "id": …}, or end it with "invalidate" or "expire".'
            raise

    def _select(self, kind: Kind, query: dict[str, str]) -> list[Item]:
        kept: Kept = self._keeper.kept()
        items = kept.of(kind) if query.get("all") else kept.active(kind)
        return [
            item
            for item in items
            if query.get("session") in (None, item.session) and query.get("project") in (None, item.project)
        ]

    def _owner(self, asked: _Said, old: Item | None) -> Owner:
        if old is not None and (asked.scope, asked.session, asked.project) == (None, None, None):
            return owner_of(old)
        scope = asked.scope or ("project" if asked.project is not None else "session")
        is_branch = scope == "branch" and asked.session is not None
        return Owner(
            scope=scope,
            session=asked.session,
            branch=branch_of(self._store, asked.session or "") if is_branch else None,
            project=_folder(asked.project) if scope == "project" and asked.project is not None else None,
        )

    def _write(self, change: Change) -> Any:
        item = write_change(self._store, change)
        return {item.kind: report_item(item), "written": change.mutation is not None}


def _class_of(asked: _Said, old: Item | None) -> str:
    return asked.classification or (old.classification if old is not None else "normal")


def _folder(project: str) -> str:
    """The folder that a path names, links followed. Raises `CallError` for one that is not absolute."""
    path = Path(project)
    if "\0" in project or not path.is_absolute():
        raise CallError("The project must be an absolute path.", hint="Name its folder.", code="bad_scope")
    return str(path.resolve())


def _stamp(kind: Kind) -> Stamp:
    return make_stamp(kind, now_ms())
