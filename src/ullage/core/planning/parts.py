"""A request by what a plan must keep, what it keeps if there is any room, and what it takes newest first.

Mandatory (design, section 11): system messages in the list, what the user says in the current turn, the last message with its
exchange and so every call that waits, and pins. Of a pinned turn only the exchange of the pin, or the message alone if the user
wrote it, is mandatory; the rest comes first among the optional parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from .groups import Exchange, current_groups, split_exchanges
from .request import Trim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .groups import Group, Outline
    from .reasons import Reason

PartKind = Literal["system", "current", "pin", "recent", "summary", "history"]
"""What a part is in a plan's rows: `recent` is a turn or an exchange of the current one, `history` a prefix."""

SENT: Mapping[PartKind, Reason] = {
    "system": "fixed",
    "current": "current",
    "pin": "pin",
    "recent": "recent-tail",
    "summary": "summary",
    "history": "recent-tail",
}
"""Why a part is sent, by its kind."""


class Part(Struct, frozen=True, kw_only=True, gc=False):
    """Messages that a selection takes or leaves as one. `least` are its tokens with every trim made that may be made in it;
    `current`: it is of the current turn."""

    id: str
    kind: PartKind
    first: int
    last: int
    indices: tuple[int, ...]
    tokens: int
    least: int
    trims: tuple[Trim, ...] = ()
    current: bool = False
    thinking: bool = False
    broken: bool = False


class Parts(Struct, frozen=True, kw_only=True):
    """The parts of a request. Lists are the newest first, but for `system` and `pins`.

    Mandatory are `system`, `current` (the user's messages of the current turn and the last exchange), `spoken` (its exchanges
    with words of the user beside their results) and `pins`. `foremost` are optional and come before all others: the rest of
    pinned turns, and what stands for everything before it by the provider's own rule. `lead_ins` are messages of the user right
    before the request, `exchanges` the others of the current turn, `turns` what is older.
    """

    system: tuple[Part, ...]
    current: tuple[Part, ...]
    spoken: tuple[Part, ...]
    pins: tuple[Part, ...]
    foremost: tuple[Part, ...]
    lead_ins: tuple[Part, ...]
    exchanges: tuple[Part, ...]
    turns: tuple[Part, ...]
    summaries: tuple[Part, ...]

    @property
    def mandatory(self) -> tuple[Part, ...]:
        """What no plan leaves out."""
        return (*self.system, *self.pins, *self.spoken, *self.current)

    @property
    def optional(self) -> tuple[Part, ...]:
        """What may be left out."""
        return (*self.foremost, *self.lead_ins, *self.exchanges, *self.turns, *self.summaries)

    @property
    def predecessor(self) -> Part | None:
        """The turn right before the current one, if it is not pinned."""
        return next(iter((*self.lead_ins, *self.turns)), None)


def divide(made: Outline, pinned: frozenset[int], trims: Sequence[Trim] = ()) -> Parts:
    """The parts of an outline."""
    return _Division(made, pinned, trims).divide()


def undivided(made: Outline, pinned: frozenset[int]) -> tuple[Part, ...]:
    """Each group of an outline as one part."""
    now = {group.first for group in current_groups(made)}
    parts = []
    for group in made.groups:
        is_current = group.first in now
        kind: PartKind = "current" if is_current else _KINDS[group.kind]
        if kind not in ("current", "system") and not pinned.isdisjoint(group.indices):
            kind = "pin"
        parts.append(_part(group, kind, current=is_current))
    return tuple(parts)


class _Division:
    def __init__(self, made: Outline, pinned: frozenset[int], trims: Sequence[Trim]) -> None:
        self._made = made
        self._pinned = pinned
        self._trims = _by_message(trims, made.tokens)
        facts = made.facts
        self._compaction = next((index for index in range(len(facts) - 1, -1, -1) if facts[index].compaction), None)
        self._lists: dict[str, list[Part]] = {name: [] for name in Parts.__struct_fields__}

    def divide(self) -> Parts:
        current = current_groups(self._made)
        now = {group.first for group in current}
        older = [group for group in self._made.groups if group.first not in now and group.kind != "system"]
        older.sort(key=_last, reverse=True)
        for group in self._made.groups:
            if group.kind == "system":
                self._add("system", group, "system")
        self._divide_current(split_exchanges(self._made, current))
        leading = self._count_lead_ins(older, current)
        for number, group in enumerate(older):
            self._divide_older(group, "lead_ins" if number < leading else "turns")
        return Parts(**{name: tuple(parts) for name, parts in self._lists.items()})

    def _divide_current(self, exchanges: Sequence[Exchange]) -> None:
        request = self._made.request or 0
        for exchange in reversed(exchanges):
            said = exchange.said and exchange.last >= request
            if said or exchange is exchanges[-1] or self._is_pinned(exchange):
                self._add("current", exchange, "current", current=True)
            elif exchange.says and exchange.last >= request:
                self._add("spoken", exchange, "current", current=True)
            elif self._compaction in exchange.indices:
                self._add("foremost", exchange, "recent", current=True)
            else:
                self._add("exchanges", exchange, "recent", current=True)

    def _divide_older(self, group: Group, place: str) -> None:
        kind = _KINDS[group.kind]
        if self._is_pinned(group) or group.broken or self._compaction in group.indices:
            self._divide_apart(group, place, kind)
        else:
            self._add("summaries" if group.kind == "summary" else place, group, kind)

    def _divide_apart(self, group: Group, place: str, kind: PartKind) -> None:
        """A group of which exchanges are treated each in its own way; the rest of it stays together."""
        pinned = self._is_pinned(group)
        rest: list[Exchange] = []
        for exchange in split_exchanges(self._made, (group,)):
            if self._is_pinned(exchange):
                self._add("pins", exchange, "pin")
            elif self._compaction in exchange.indices:
                self._add("foremost", exchange, kind)
            elif exchange.broken:
                self._add(place, exchange, kind)
            else:
                rest.append(exchange)
        if rest:
            indices = tuple(sorted(index for exchange in rest for index in exchange.indices))
            tokens = sum(exchange.tokens for exchange in rest)
            left = structs.replace(group, indices=indices, tokens=tokens, broken=False)
            self._add("foremost" if pinned else place, left, "pin" if pinned else kind)

    def _count_lead_ins(self, older: Sequence[Group], current: Sequence[Group]) -> int:
        """How many of the older groups, the newest first, are single messages of the user with nothing but system messages
        between them and the request: clients split a request, or send what belongs to it before it."""
        if self._made.request is None:
            return 0
        count = 0
        edge = min(group.first for group in current)
        for group in older:
            between = range(group.last + 1, edge)
            if len(group.indices) > 1 or group.kind != "turn" or not all(self._made.facts[i].system for i in between):
                break
            count, edge = count + 1, group.first
        return count

    def _is_pinned(self, messages: Group | Exchange) -> bool:
        return not self._pinned.isdisjoint(messages.indices)

    def _add(self, name: str, messages: Group | Exchange, kind: PartKind, *, current: bool = False) -> None:
        trims: tuple[Trim, ...] = ()
        if self._trims and kind != "pin":
            trims = tuple(trim for index in messages.indices for trim in self._trims.get(index, ()))
        self._lists[name].append(_part(messages, kind, trims, current=current))


def _part(messages: Group | Exchange, kind: PartKind, trims: tuple[Trim, ...] = (), *, current: bool = False) -> Part:
    return Part(
        id=messages.id,
        kind=kind,
        first=messages.first,
        last=messages.last,
        indices=messages.indices,
        tokens=messages.tokens,
        least=messages.tokens - sum(trim.saved for trim in trims),
        trims=trims,
        current=current,
        thinking=isinstance(messages, Exchange) and messages.thinking,
        broken=messages.broken,
    )


_KINDS: Mapping[str, PartKind] = {"turn": "recent", "prefix": "history", "summary": "summary", "system": "system"}


def _by_message(trims: Sequence[Trim], tokens: Sequence[int]) -> dict[int, list[Trim]]:
    """The trims of each message that save something, one of a result, and together no more than the message has."""
    found: dict[int, list[Trim]] = {}
    room: dict[int, int] = {}
    last: tuple[int, int] | None = None
    for trim in sorted(trims, key=_place):
        if not 0 <= trim.index < len(tokens) or not 0 <= trim.tokens_after < trim.tokens_before:
            continue
        left = room.get(trim.index, tokens[trim.index]) - trim.tokens_before
        if left >= 0 and _place(trim) != last:
            found.setdefault(trim.index, []).append(trim)
            room[trim.index], last = left, _place(trim)
    return found


def _place(trim: Trim) -> tuple[int, int]:
    return trim.index, trim.ordinal


def _last(group: Group) -> int:
    return group.last
