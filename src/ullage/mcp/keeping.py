"""Pinning and remembering for a project, as its user would by command; the client's own dialog asks for consent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.errors import CallError, InputError
from ullage.core.evidence.changes import Owner, active_of
from ullage.core.evidence.memory import NewMemory, add_memory
from ullage.core.evidence.pins import NewPin, add_pin
from ullage.core.tokens.estimators import utf16_units
from ullage.core.tokens.json_text import compact_json
from ullage.stores.keeping import Keeper, make_stamp, write_change

from .answers import DATA_NOTE, fit

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from ullage.core.evidence.changes import Change, Count, Stamp
    from ullage.core.evidence.memory import MemoryLimits
    from ullage.core.evidence.mutations import Kept, Kind
    from ullage.core.evidence.pins import PinLimits
    from ullage.stores import Store

    from .project import Clear, Project


class KeepingTools:
    """`read_kept` tells what is kept; `open_store` opens the store for one change. `count` gives the tokens of a text."""

    def __init__(
        self,
        project: Project,
        *,
        read_kept: Callable[[], Kept],
        open_store: Callable[[], AbstractContextManager[Store]],
        pin_limits: PinLimits,
        memory_limits: MemoryLimits,
        count: Count,
        clock_ms: Callable[[], int],
        clear: Clear,
    ) -> None:
        self._project = project
        self._read_kept = read_kept
        self._open_store = open_store
        self._pin_limits = pin_limits
        self._memory_limits = memory_limits
        self._count = count
        self._clock_ms = clock_ms
        self._clear = clear

    def pin(self, text: str) -> str:
        """Keeps a text for every later request of the project."""
        new = NewPin(text=text, owner=self._owner())

        def add(kept: Kept, stamp: Stamp) -> Change:
            return add_pin(kept, new, stamp, limits=self._pin_limits, count=self._count)

        return self._write("pin", add)

    def remember(self, claim: str, key: str | None = None, supersedes: str | None = None) -> str:
        """Keeps a fact, to be found when a request is about it; in the place of another one, which is named by its whole id."""
        owner = self._owner()
        new = NewMemory(claim=claim, owner=owner, key=key or None, supersedes=supersedes or None)

        def add(kept: Kept, stamp: Stamp) -> Change:
            if new.supersedes is not None:
                _need_own(kept, owner, new.supersedes)
            try:
                return add_memory(kept, new, stamp, limits=self._memory_limits)
            except InputError as error:
                if error.code == "conflict":
                    error.hint = "If the user wants the new claim instead, call again with that id as `supersedes`."
                raise

        return self._write("memory", add)

    def list_kept(self, kind: Kind) -> str:
        """The project's pins or memories, the newest first."""
        root = self._project.root
        items = [item for item in self._read_kept().active(kind) if (item.scope, item.project) == ("project", root)]
        texts = [self._clear(item.text) for item in items]

        def answer(chars: int) -> dict[str, Any]:
            shown: list[dict[str, Any]] = []
            for item, text in zip(reversed(items), reversed(texts), strict=True):
                chars -= utf16_units(text)
                if chars < 0:
                    break
                shown.append({"id": item.id, **({"key": item.key} if item.key else {}), "text": text})
            return {"project": root, "kept": len(items), "shown": len(shown), "note": DATA_NOTE, "items": shown}

        return fit(answer, self._project.caps.inline_chars)

    def _write(self, kind: Kind, make: Callable[[Kept, Stamp], Change]) -> str:
        with self._open_store() as store:
            change = make(Keeper(store).kept(), make_stamp(kind, self._clock_ms()))
            item = write_change(store, change)
        state = "kept" if change.mutation is not None else "kept already"
        return compact_json({"id": item.id, "state": state, "project": item.project})

    def _owner(self) -> Owner:
        if self._project.root is None:
            raise CallError(
                "This folder is no project: nothing can be kept for it.",
                hint="Start the client in the folder of a project.",
                code="no_project",
            )
        return Owner(scope="project", project=self._project.root)


def _need_own(kept: Kept, owner: Owner, memory_id: str) -> None:
    """Raises `InputError` for what is no active memory of the project: an agent changes nothing that is not its own."""
    if all(item.id != memory_id for item in active_of(kept, "memory", owner)):
        raise InputError(
            f"This project has no memory {memory_id!r}.", hint="`list_memories` names them.", code="not_found"
        )
