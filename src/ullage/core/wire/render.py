"""A `Conversation` back to bytes: what is kept are the bytes that came in, what is left out is cut with its comma."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ullage.core.errors import CallError

from .layout import LAYOUTS, Node, holders, list_member
from .slicing import Span, find_member

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .conversation import Conversation, Member, Slice, SliceKind

Edit = tuple[int, int, bytes]


def render(
    conversation: Conversation,
    *,
    messages: Sequence[int] | None = None,
    tools: Sequence[int] | None = None,
    system: Sequence[int] | None = None,
    model: str | None = None,
) -> bytes:
    """The body with the slices of the given indexes (`None`: all), in the order in which they came.

    With everything kept and the model unchanged these are the very bytes that came in. Else every kept slice and every other byte
    of the top level stay as they are. A list of messages of which nothing is kept becomes `[]`; the member of tools or system
    blocks of which nothing is kept goes whole, since some providers refuse an empty list. `model` replaces the value of the
    member `model`, or adds one; where Gemini names it in the path only, the body does not change. Raises `CallError` for an index
    out of range.
    """
    edits = _message_edits(conversation, messages) if messages is not None else []
    dropped: list[Member] = []
    selections: tuple[tuple[SliceKind, Sequence[int] | None], ...] = (("tool", tools), ("system", system))
    for kind, kept in selections:
        if kept is not None:
            cuts, gone = _holder_edits(conversation, kind, kept)
            edits += cuts
            dropped += gone
    edits += _member_cuts(conversation.members, dropped)
    body = conversation.body
    if model is None or model == conversation.model:
        return _apply(body, edits) if edits else body
    member = find_member(conversation.members, "model")
    value = msgspec.json.encode(model)
    if member is not None:
        return _apply(body, [*edits, (member.value, member.end, value)])
    rendered = _apply(body, edits)
    return rendered if conversation.dialect == "gemini" else _with_model(rendered, value)


def _message_edits(conversation: Conversation, kept: Sequence[int]) -> list[Edit]:
    alive = _alive(kept, conversation.messages, "message")
    if all(alive):
        return []
    member = list_member(conversation.members, LAYOUTS[conversation.dialect].messages)
    assert member is not None, "there are messages"
    if not any(alive):
        return [(member.value, member.end, b"[]")]
    return _sibling_cuts([(piece.start, piece.start + len(piece.raw)) for piece in conversation.messages], alive)


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
    edits += _sibling_cuts([(child.start, child.end) for child in node.children], survivors)
    return edits, True


def _alive(kept: Sequence[int], slices: Sequence[Slice], kind: str) -> list[bool]:
    alive = [False] * len(slices)
    for index in kept:
        if not 0 <= index < len(slices):
            raise CallError(f"There is no {kind} number {index}: the request has {len(slices)}.")
        alive[index] = True
    return alive


def _sibling_cuts(spans: Sequence[Span], alive: Sequence[bool]) -> list[Edit]:
    """Removes the dead among values that are separated by commas, each with one comma; one of them stays."""
    cuts: list[Edit] = []
    kept_before: int | None = None
    leading: int | None = None
    for (start, end), lives in zip(spans, alive, strict=True):
        if lives:
            if leading is not None:
                cuts.append((leading, start, b""))
                leading = None
            kept_before = end
        elif kept_before is None:
            leading = start if leading is None else leading
        else:
            cuts.append((kept_before, end, b""))
            kept_before = end
    return cuts


def _member_cuts(members: Sequence[Member], dropped: Sequence[Member]) -> list[Edit]:
    """Removes members, each with every earlier member of its name: else a duplicate would count again."""
    names = {member.key for member in dropped}
    if not names:
        return []
    spans = [(member.start, member.end) for member in members]
    alive = [member.key not in names for member in members]
    return _sibling_cuts(spans, alive) if any(alive) else [(spans[0][0], spans[-1][1], b"")]


def _with_model(body: bytes, value: bytes) -> bytes:
    opening = body.index(b"{") + 1
    rest = body[opening:]
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return body[:opening] + b'"model":' + value + comma + rest


def _apply(body: bytes, edits: list[Edit]) -> bytes:
    view = memoryview(body)
    pieces: list[bytes | memoryview] = []
    position = 0
    for start, end, text in sorted(edits):
        pieces += [view[position:start], text]
        position = end
    pieces.append(view[position:])
    return b"".join(pieces)
