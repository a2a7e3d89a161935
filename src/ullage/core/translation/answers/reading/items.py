"""Which item of a response an event speaks of: by its ids, its place, or its order, since hosts leave out or change each."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Literal

from ullage.core.translation.requests.reading.common import as_dict, as_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ItemKind = Literal["message", "reasoning", "call", "other"]

_KINDS: Mapping[str, ItemKind] = {
    "message": "message",
    "reasoning": "reasoning",
    "function_call": "call",
    "custom_tool_call": "call",
}


class Item:
    """One item. `spoken` are its parts of which any piece was told, `is_partial` says that some piece was not heard."""

    def __init__(self, kind: ItemKind, number: int) -> None:
        self.kind = kind
        self.number = number
        self.call_id = ""
        self.id = ""
        self.name = ""
        self.done = False
        self.is_partial = False
        self.spoken: set[Any] = set()


class Items:
    """All items of one response so far."""

    def __init__(self) -> None:
        self._all: list[Item] = []
        self._by_id: dict[tuple[ItemKind, str], Item] = {}
        # The last one at each place, and of each kind.
        self._by_place: dict[tuple[ItemKind, int | None], Item] = {}

    def of_delta(self, kind: ItemKind, item_id: str, place: int | None) -> Item:
        """The item that a piece belongs to: the one with the id, else the last one at the place, or of the kind."""
        found = self._by_id.get((kind, item_id))
        if found is None:
            found = self._by_place.get((kind, place))
            if found is None or (found.done and item_id and kind != "call"):
                found = self._new(kind)
        self._note(found, place, {"id": item_id} if not found.id else {})
        return found

    def of_event(self, item: dict[str, Any], place: int | None, *, begins: bool) -> Item:
        """The item that an event tells the beginning or the end of."""
        kind = _kind_of(item)
        found = self._known(kind, item)
        if found is None:
            before = self._by_place.get((kind, place))
            if before is not None and not _is_other(before, item, place, begins=begins):
                found = before
        found = found or self._new(kind)
        self._note(found, place, item)
        return found

    def of_output(self, output: Sequence[dict[str, Any]]) -> list[Item]:
        """The items of the whole response. Those with ids that nobody told before are, in their order, the ones that are left."""
        taken: dict[Item, dict[str, Any]] = {}
        known: list[Item | None] = []
        for item in output:
            same = self._known(_kind_of(item), item)
            is_another = same is not None and taken.setdefault(same, item) != item
            known.append(None if is_another else same)
        left: dict[tuple[ItemKind, str], deque[Item]] = {}
        for before in self._all:
            if before not in taken:
                left.setdefault((before.kind, before.name), deque()).append(before)
        found = []
        for item, match in zip(output, known, strict=True):
            kind = _kind_of(item)
            queue = left.get((kind, as_text(item.get("name")))) or left.get((kind, ""))
            one = match or (queue.popleft() if queue else self._new(kind))
            self._note(one, None, item)
            found.append(one)
        return found

    def _known(self, kind: ItemKind, item: dict[str, Any]) -> Item | None:
        call_id = as_text(item.get("call_id"))
        found = self._by_id.get((kind, call_id)) or self._by_id.get((kind, as_text(item.get("id"))))
        if found is not None and call_id and found.call_id and found.call_id != call_id:
            return None
        return found

    def _new(self, kind: ItemKind) -> Item:
        self._all.append(Item(kind, len(self._all)))
        return self._all[-1]

    def _note(self, found: Item, place: int | None, item: dict[str, Any]) -> None:
        found.call_id = found.call_id or as_text(item.get("call_id"))
        found.id = found.id or as_text(item.get("id"))
        found.name = found.name or as_text(item.get("name"))
        for told in (as_text(item.get("call_id")), as_text(item.get("id"))):
            if told:
                self._by_id.setdefault((found.kind, told), found)
        self._by_place[found.kind, place] = self._by_place[found.kind, None] = found


def _kind_of(item: dict[str, Any]) -> ItemKind:
    return _KINDS.get(as_text(as_dict(item).get("type")), "other")


def _is_other(before: Item, item: dict[str, Any], place: int | None, *, begins: bool) -> bool:
    """Whether an item with ids that nobody told before is another one than the last at its place, or of its kind.

    Ids of calls are what their results name, and do not change; those of items do at some hosts, from event to event.
    """
    call_id, item_id = as_text(item.get("call_id")), as_text(item.get("id"))
    if call_id and before.call_id:
        return True
    if begins:
        return place is None or before.done or bool(item_id and before.id)
    return before.done and (place is None or bool(call_id or item_id))
