"""A `Conversation` back to bytes: what is kept are the bytes that came in, what is left out is cut with its comma."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.errors import CallError

from .edits import apply, sibling_cuts
from .layout import LAYOUTS, Node, holders, list_member
from .options import option_edits
from .slicing import find_member
from .writing import as_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .conversation import Conversation, Member, Slice, SliceKind
    from .edits import Edit
    from .options import Path
    from .slicing import Span

_NOTHING: Mapping[int, Any] = MappingProxyType({})
_NO_OPTIONS: Mapping[Path, Any] = MappingProxyType({})


def render(
    conversation: Conversation,
    *,
    messages: Sequence[int] | None = None,
    tools: Sequence[int] | None = None,
    system: Sequence[int] | None = None,
    model: str | None = None,
    inserted: Mapping[int, Sequence[bytes]] = _NOTHING,
    replaced: Mapping[int, bytes] = _NOTHING,
    options: Mapping[Path, Any] = _NO_OPTIONS,
) -> bytes:
    """The body with the slices of the given indexes (`None`: all), in the order in which they came.

    `inserted` are messages of ours, as JSON, by the number of the message of the client that they stand before: its place counts,
    kept or not, and the number of messages stands for the end. `replaced` gives messages other bytes. `options` gives members
    beside the messages other values, by their paths, or takes them away (`REMOVED` of `options`).

    With everything kept and the model unchanged these are the very bytes that came in. Else every kept slice and every other byte
    of the top level stay as they are. A list of messages of which nothing is kept becomes `[]`; the member of tools or system
    blocks of which nothing is kept goes whole, since some providers refuse an empty list. `model` replaces the value of the
    member `model`, or adds one; where Gemini names it in the path only, the body does not change. Raises `CallError` for an index
    out of range.
    """
    edits = _message_edits(conversation, messages, inserted, replaced)
    dropped: list[Member] = []
    selections: tuple[tuple[SliceKind, Sequence[int] | None], ...] = (("tool", tools), ("system", system))
    for kind, kept in selections:
        if kept is not None:
            cuts, gone = _holder_edits(conversation, kind, kept)
            edits += cuts
            dropped += gone
    edits += _member_cuts(conversation.members, dropped)
    body = conversation.body
    if options:
        edits += option_edits(body, _inside(conversation), conversation.members, options)
    if model is None or model == conversation.model:
        return apply(body, edits) if edits else body
    member = find_member(conversation.members, "model")
    value = msgspec.json.encode(model)
    if member is not None:
        return apply(body, [*edits, (member.value, member.end, value)])
    rendered = apply(body, edits)
    return rendered if conversation.dialect == "gemini" else _with_model(rendered, value)


def _inside(conversation: Conversation) -> int:
    """The place behind the brace that opens the request."""
    before = conversation.members[0].start if conversation.members else len(conversation.body)
    return conversation.body.rindex(b"{", 0, before) + 1


def _message_edits(
    conversation: Conversation,
    kept: Sequence[int] | None,
    inserted: Mapping[int, Sequence[bytes]],
    replaced: Mapping[int, bytes],
) -> list[Edit]:
    pieces = conversation.messages
    _check_range((*inserted, *replaced), len(pieces), inserted)
    alive = _alive(kept, pieces, "message") if kept is not None else [True] * len(pieces)
    if all(alive) and not inserted and not replaced:
        return []
    member = list_member(conversation.members, LAYOUTS[conversation.dialect].messages)
    assert member is not None or not pieces, "there are messages"
    if member is None:
        raise CallError("The request has no list of messages to put one into.")
    if not any(alive) or conversation.body[member.value : member.value + 1] != b"[":
        return [(member.value, member.end, _fresh_list(conversation, alive, inserted, replaced))]
    edits = sibling_cuts(lambda index: _span(pieces[index]), alive)
    edits += [(*_span(pieces[index]), raw) for index, raw in replaced.items() if alive[index]]
    return edits + _insertions(conversation, alive, inserted)


def _insertions(
    conversation: Conversation, alive: Sequence[bool], inserted: Mapping[int, Sequence[bytes]]
) -> list[Edit]:
    """Each message of ours goes before the next one that is kept, behind the last one if none is."""
    marks = bytes(alive)
    before: dict[int, list[bytes]] = {}
    for index in sorted(inserted):
        before.setdefault(marks.find(True, index), []).extend(inserted[index])
    edits: list[Edit] = []
    for index, ours in before.items():
        if index >= 0:
            start = conversation.messages[index].start
            edits.append((start, start, b"".join(raw + b"," for raw in ours)))
        else:
            end = _span(conversation.messages[marks.rfind(True)])[1]
            edits.append((end, end, b"".join(b"," + raw for raw in ours)))
    return edits


def _fresh_list(
    conversation: Conversation,
    alive: Sequence[bool],
    inserted: Mapping[int, Sequence[bytes]],
    replaced: Mapping[int, bytes],
) -> bytes:
    """The list of messages made anew: where nothing of it is kept, and where the client sent one message without a list."""
    messages: list[bytes] = []
    for index in range(len(alive) + 1):
        messages += inserted.get(index, ())
        if index < len(alive) and alive[index]:
            raw = replaced.get(index, conversation.messages[index].raw)
            messages.append(as_message(raw, conversation.dialect))
    return b"[" + b",".join(messages) + b"]"


def _check_range(indexes: Sequence[int], count: int, inserted: Mapping[int, Any]) -> None:
    for index in indexes:
        if not 0 <= index < count + (index in inserted):
            raise CallError(f"There is no message number {index}: the request has {count}.")


def _span(piece: Slice) -> Span:
    return piece.start, piece.start + len(piece.raw)


def _holder_edits(conversation: Conversation, kind: SliceKind, kept: Sequence[int]) -> tuple[list[Edit], list[Member]]:
    """Cuts inside the members that hold this kind, and the members that go whole."""
    alive = iter(_alive(kept, conversation.system if kind == "system" else conversation.tools, kind))
    edits: list[Edit] = []
    dropped: list[Member] = []
    for member, node in holders(conversation.body, conversation.members, LAYOUTS[conversation.dialect], kind):
        cuts, survives = _prune(node, alive)
        if survives:
            edits += cuts
        else:
            dropped.append(member)
    return edits, dropped


def _prune(node: Node, alive: Iterator[bool]) -> tuple[list[Edit], bool]:
    """Cuts inside the node, and whether anything of it stays; a holder that was empty from the start stays."""
    if node.children is None:
        return [], next(alive)
    results = [_prune(child, alive) for child in node.children]
    survivors = [survives for _, survives in results]
    if survivors and not any(survivors):
        return [], False
    edits = [edit for cuts, survives in results if survives for edit in cuts]
    edits += sibling_cuts([(child.start, child.end) for child in node.children].__getitem__, survivors)
    return edits, True


def _alive(kept: Sequence[int], slices: Sequence[Slice], kind: str) -> list[bool]:
    alive = [False] * len(slices)
    for index in kept:
        if not 0 <= index < len(slices):
            raise CallError(f"There is no {kind} number {index}: the request has {len(slices)}.")
        alive[index] = True
    return alive


def _member_cuts(members: Sequence[Member], dropped: Sequence[Member]) -> list[Edit]:
    """Removes members, each with every earlier member of its name: else a duplicate would count again."""
    names = {member.key for member in dropped}
    if not names:
        return []
    spans = [(member.start, member.end) for member in members]
    alive = [member.key not in names for member in members]
    return sibling_cuts(spans.__getitem__, alive) if any(alive) else [(spans[0][0], spans[-1][1], b"")]


def _with_model(body: bytes, value: bytes) -> bytes:
    opening = body.index(b"{") + 1
    rest = body[opening:]
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return body[:opening] + b'"model":' + value + comma + rest
