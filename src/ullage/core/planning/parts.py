"""A request by what a plan must keep, what it keeps if there is any room, and what it takes newest first.

Mandatory (design, section 11): system messages in the list, what the user says in the current turn, the last message with its
exchange and so every call that waits, and pins. Of a pinned turn only the exchange of the pin with the message of the user that
it answers, or that message alone, is mandatory; the rest stands in its place, and may be taken exchange by exchange as well.

Two of these go further than one message, since providers refuse less: Anthropic takes no list that begins with the assistant, and
no open tool loop with thinking that does not begin with some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from .groups import Exchange, current_groups, split_exchanges
from .request import Trim

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    `current`: it is of the current turn. `rest`: it is what is left of a pinned turn, which may be taken by `pieces`, in this
    order, if there are any."""

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
    rest: bool = False
    pieces: tuple[Part, ...] = ()


class Parts(Struct, frozen=True, kw_only=True):
    """The parts of a request. Lists are the newest first, but for `system` and `pins`.

    Mandatory are `system`, `current` (the user's messages of the current turn and the last exchange), `spoken` (its exchanges
    with words of the user beside their results) and `pins`. `foremost` are optional and come before all others: what stands for
    everything before it by the provider's own rule. `lead_ins` are messages of the user right before the request, `exchanges` the
    others of the current turn, `turns` what is older.
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
    def pinned_rests(self) -> tuple[Part, ...]:
        """What is left of pinned turns."""
        return tuple(part for part in self.turns if part.rest)

    @property
    def predecessor(self) -> Part | None:
        """The turn right before the current one, if it is not pinned."""
        return next(iter((*self.lead_ins, *self.turns)), None)


def divide(
    made: Outline,
    pinned: frozenset[int],
    trims: Sequence[Trim] = (),
    *,
    start: int = 0,
    alone: frozenset[int] = frozenset(),
) -> Parts:
    """The parts of an outline. An older turn in which the tail starts is two parts: what is behind the start, with the words of
    the user that opened the turn, and the rest. Those of the `pinned` messages in `alone` hold nothing of their turn."""
    return _Division(made, pinned, trims, start, alone).divide()


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
    def __init__(
        self, made: Outline, pinned: frozenset[int], trims: Sequence[Trim], start: int, alone: frozenset[int]
    ) -> None:
        self._made = made
        self._pinned = pinned
        self._start = start
        self._alone = alone
        self._trims = _by_message(trims, made.tokens)
        facts = made.facts
        self._compaction = next((index for index in reversed(made.indices) if facts[index].compaction), None)
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
        named = [(self._name_current(exchange, exchanges[-1]), exchange) for exchange in exchanges]
        for name, exchange in sorted(_bind_thinking(named), key=_last_of_named, reverse=True):
            kind: PartKind = "current" if name in _MANDATORY else "recent"
            self._add(name, exchange, kind, current=True)

    def _name_current(self, exchange: Exchange, newest: Exchange) -> str:
        is_new = exchange.last >= (self._made.request or 0)
        if exchange is newest or self._is_pinned(exchange) or (exchange.said and is_new):
            return "current"
        if exchange.says and is_new:
            return "spoken"
        return "foremost" if self._compaction in exchange.indices else "exchanges"

    def _divide_older(self, group: Group, place: str) -> None:
        kind = _KINDS[group.kind]
        if self._is_pinned(group) or group.broken or self._compaction in group.indices:
            self._divide_apart(group, place, kind)
        elif group.kind == "turn" and group.first < self._start <= group.last:
            self._divide_at_start(group, place, kind)
        else:
            self._add("summaries" if group.kind == "summary" else place, group, kind)

    def _divide_at_start(self, group: Group, place: str, kind: PartKind) -> None:
        """A turn that the tail starts in: it was cut while it was the current one, or is larger than what is left of the tail."""
        exchanges = split_exchanges(self._made, (group,))
        behind = [one for one in exchanges if one.said or one.first >= self._start]
        before = [one for one in exchanges if not one.said and one.first < self._start]
        self._add(place, _joined(group, behind, first=self._start), kind)
        if before:
            self._add(place, _joined(group, before, first=before[0].first), kind)

    def _divide_apart(self, group: Group, place: str, kind: PartKind) -> None:
        """A group of which exchanges are treated each in its own way; the rest of it stays together."""
        exchanges = split_exchanges(self._made, (group,))
        pins = self._pinned_with_questions(exchanges)
        for pin in pins:
            self._add("pins", _as_one(pin), "pin")
        taken = {exchange.id for pin in pins for exchange in pin}
        rest: list[Exchange] = []
        for exchange in exchanges:
            if exchange.id in taken:
                continue
            if self._compaction in exchange.indices:
                self._add("foremost", exchange, kind)
            elif exchange.broken:
                self._add(place, exchange, kind)
            else:
                rest.append(exchange)
        if not rest:
            return
        left = structs.replace(group, indices=_indices(rest), tokens=_tokens(rest), broken=False)
        if not pins:
            self._add(place, left, kind)
        else:
            alone = self._alone.issuperset(self._pinned.intersection(group.indices))
            self._add_older(group, rest, place, kind, held=not alone)

    def _add_older(self, group: Group, rest: Sequence[Exchange], place: str, kind: PartKind, *, held: bool) -> None:
        """The rest of a pinned turn: what is behind the start of the tail, and what is before it. `held`: it comes by pieces."""
        starts_inside = group.first < self._start <= group.last
        behind = [one for one in rest if not starts_inside or one.first >= self._start]
        before = [one for one in rest if starts_inside and one.first < self._start]
        for some in filter(None, (behind, before)):
            joined = _joined(group, some, first=some[0].first)
            # As pieces it has no trims: what is pinned is worth its texts.
            part = _part(joined, kind) if held else self._make(joined, kind)
            self._lists[place].append(structs.replace(part, rest=True, pieces=_pieces(some) if held else ()))

    def _pinned_with_questions(self, exchanges: Sequence[Exchange]) -> list[list[Exchange]]:
        """The pinned exchanges, each with the newest message of the user before it; those of one message together."""
        found: dict[str, list[Exchange]] = {}
        for exchange in filter(self._is_pinned, exchanges):
            asked = [one for one in exchanges if one.said and one.first < exchange.first]
            question = exchange if exchange.said or not asked else max(asked, key=_first)
            members = found.setdefault(question.id, [question])
            if exchange is not question:
                members.append(exchange)
        return list(found.values())

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
        self._lists[name].append(self._make(messages, kind, current=current))

    def _make(self, messages: Group | Exchange, kind: PartKind, *, current: bool = False) -> Part:
        trims: tuple[Trim, ...] = ()
        if self._trims and kind != "pin":
            trims = tuple(trim for index in messages.indices for trim in self._trims.get(index, ()))
        return _part(messages, kind, trims, current=current)


def _pieces(exchanges: Iterable[Exchange]) -> tuple[Part, ...]:
    """Each exchange by itself: the words of the user first, since the others answer them, then the newest."""
    order = sorted(exchanges, key=lambda one: (not one.said, -one.last))
    return tuple(_part(one, "pin") for one in order)


def without_pieces(rest: Part, taken: frozenset[str]) -> Part | None:
    """The rest of a pinned turn without the pieces of these ids; `None` if it has no others."""
    left = [piece for piece in rest.pieces if piece.id not in taken]
    if len(left) == len(rest.pieces):
        return rest
    if not left:
        return None
    indices = tuple(sorted(index for piece in left for index in piece.indices))
    tokens = sum(piece.tokens for piece in left)
    return structs.replace(
        rest,
        id=f"group:{indices[0]}-{indices[-1]}",
        first=indices[0],
        last=indices[-1],
        indices=indices,
        tokens=tokens,
        least=tokens,
        pieces=tuple(left),
    )


def _joined(group: Group, exchanges: Sequence[Exchange], *, first: int) -> Group:
    """Sound exchanges of a group as one; `first` is where it counts as beginning."""
    indices = tuple(sorted(index for exchange in exchanges for index in exchange.indices))
    return structs.replace(
        group,
        id=f"group:{first}-{indices[-1]}",
        first=first,
        last=indices[-1],
        indices=indices,
        tokens=sum(exchange.tokens for exchange in exchanges),
        broken=False,
    )


def _part(messages: Group | Exchange, kind: PartKind, trims: tuple[Trim, ...] = (), *, current: bool = False) -> Part:
    return Part(
        id=messages.id,
        kind=kind,
        first=messages.first,
        last=messages.last,
        indices=messages.indices,
        tokens=messages.tokens,
        least=messages.tokens - sum(trim.saved for trim in trims) if trims else messages.tokens,
        trims=trims,
        current=current,
        thinking=isinstance(messages, Exchange) and messages.thinking,
        broken=messages.broken,
    )


_MANDATORY = ("current", "spoken")
_Named = tuple[str, Exchange]
"""An exchange of the current turn, by the list of `Parts` that it goes into."""


def _bind_thinking(named: Sequence[_Named]) -> list[_Named]:
    """Each mandatory exchange without thinking as one with the newest before it that thinks: whichever of them is the first that
    is sent, the loop begins with thinking if it did."""
    bound: list[_Named] = []
    thinker: int | None = None
    for name, exchange in named:
        if exchange.thinking:
            thinker = len(bound)
        elif name in _MANDATORY and not exchange.said and thinker is not None:
            before, thinking = bound[thinker]
            names = (before, name)
            bound[thinker] = ("current" if "current" in names else "spoken", _as_one((thinking, exchange)))
            continue
        bound.append((name, exchange))
    return bound


def _as_one(exchanges: Sequence[Exchange]) -> Exchange:
    """Exchanges that are kept or left together, as one."""
    if len(exchanges) == 1:
        return exchanges[0]
    indices = _indices(exchanges)
    return structs.replace(
        exchanges[0],
        id=f"group:{indices[0]}-{indices[-1]}",
        first=indices[0],
        last=indices[-1],
        indices=indices,
        tokens=_tokens(exchanges),
        says=any(exchange.says for exchange in exchanges),
        thinking=any(exchange.thinking for exchange in exchanges),
        open=any(exchange.open for exchange in exchanges),
        broken=any(exchange.broken for exchange in exchanges),
    )


def _indices(exchanges: Iterable[Exchange]) -> tuple[int, ...]:
    return tuple(sorted(index for exchange in exchanges for index in exchange.indices))


def _tokens(exchanges: Iterable[Exchange]) -> int:
    return sum(exchange.tokens for exchange in exchanges)


def _first(exchange: Exchange) -> int:
    return exchange.first


def _last_of_named(named: _Named) -> int:
    return named[1].last


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
