"""The messages that a plan sends, in their order, before they are bytes: the client's that stay or move, and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs
from xxhash import xxh3_128_intdigest

from ullage.core.wire import render
from ullage.core.wire.foreign import without_thinking

if TYPE_CHECKING:
    from collections.abc import Collection

    from ullage.core.wire import Conversation

    from .bound import Sent


class Layout(Struct, frozen=True, kw_only=True):
    """`kept` are the client's messages that stay in their places. `inserted` go before the message of their number, the number of
    messages stands for the end: the client's own by their numbers, ours as bytes. `replaced` have other bytes, which differ from
    what the client sent as `changes` says in one number each: marks of caches, which move, aside."""

    kept: Sequence[int]
    inserted: Mapping[int, Sequence[int | bytes]]
    replaced: Mapping[int, bytes]
    changes: Mapping[int, int]


def list_sent(layout: Layout, marks: Sequence[int]) -> list[Sent]:
    """The messages in the order in which they are sent; `marks` are the hashes of the client's, without thinking."""
    sent: list[Sent] = []
    places = sorted(layout.inserted, reverse=True)
    for number in (*layout.kept, len(marks)):
        while places and places[-1] <= number:
            sent += [(None, _mark(layout, marks, one)) for one in layout.inserted[places.pop()]]
        if number < len(marks):
            sent.append((number, _mark(layout, marks, number) if number in layout.changes else marks[number]))
    return sent


def _mark(layout: Layout, marks: Sequence[int], one: int | bytes) -> int:
    if isinstance(one, bytes):
        return xxh3_128_intdigest(one)
    change = layout.changes.get(one)
    return marks[one] if change is None else xxh3_128_intdigest(b"%d %d" % (marks[one], change))


def render_layout(
    conversation: Conversation, layout: Layout, *, model: str | None = None, unbound: Collection[int] = ()
) -> bytes:
    """The body with these messages, those in `unbound` without their thinking: a message that is nothing else leaves."""
    replaced = dict(layout.replaced)
    gone: set[int] = set()
    for index in unbound:
        piece = conversation.messages[index]
        bare = without_thinking(structs.replace(piece, raw=replaced.get(index, piece.raw)), conversation.dialect)
        if bare is None:
            gone.add(index)
        else:
            replaced[index] = bare
    return render(
        conversation,
        messages=[index for index in layout.kept if index not in gone] if gone else layout.kept,
        model=model,
        inserted={
            place: [conversation.messages[one].raw if isinstance(one, int) else one for one in ours]
            for place, ours in layout.inserted.items()
        },
        replaced=replaced,
    )
