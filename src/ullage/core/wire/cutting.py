"""Slices out of spans, and the `Conversation` that they make up: shared by the whole parse and the one that extends another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from ullage.core.errors import RequestError

from .conversation import DIALECTS, Conversation, Dialect, Member, Slice, SliceKind
from .jsontext import decode
from .layout import LAYOUTS, Layout, holders
from .slicing import DEPTH_LIMIT, Span, find_member, nests_deeper

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_KINDS: tuple[SliceKind, ...] = ("system", "tool", "message")
_SEEDS = {(dialect, kind): xxh3_64_intdigest(f"{dialect}/{kind}".encode()) for dialect in DIALECTS for kind in _KINDS}
# A member stands inside the top-level object, an element of the message list inside the list as well.
_LEVELS_ABOVE_MEMBER = 1
_LEVELS_ABOVE_ELEMENT = 2


def cut(body: bytes, dialect: Dialect, kind: SliceKind, spans: Sequence[Span], first: int = 0) -> tuple[Slice, ...]:
    """The slices at the spans, the first of them with the index `first`."""
    seed = _SEEDS[dialect, kind]
    slices = []
    for index, (start, end) in enumerate(spans, first):
        raw = body[start:end]
        slices.append(Slice(kind=kind, index=index, start=start, raw=raw, hash=xxh3_64_intdigest(raw, seed)))
    return tuple(slices)


def cut_held(body: bytes, dialect: Dialect, kind: SliceKind, members: Sequence[Member]) -> tuple[Slice, ...]:
    """The system or tool slices, wherever their holders stand among the members."""
    trees = holders(body, members, LAYOUTS[dialect], kind)
    return cut(body, dialect, kind, [span for _, node in trees for span in node.leaves()])


def check_depth(body: bytes, members: Iterable[Member], messages: Iterable[Slice]) -> None:
    """Raises `RequestError` if one of the members or one of the messages nests too deep."""
    values = (body[member.value : member.end] for member in members)
    elements = (piece.raw for piece in messages)
    if nests_deeper(values, DEPTH_LIMIT - _LEVELS_ABOVE_MEMBER) or nests_deeper(
        elements, DEPTH_LIMIT - _LEVELS_ABOVE_ELEMENT
    ):
        raise too_deep()


def too_deep() -> RequestError:
    """The refusal of a body that nests too deep."""
    return RequestError(
        f"The request body nests deeper than {DEPTH_LIMIT} levels.",
        hint="Send nested data as text.",
        code="too_deep",
    )


def conversation_of(
    body: bytes,
    dialect: Dialect,
    members: tuple[Member, ...],
    *,
    system: tuple[Slice, ...],
    tools: tuple[Slice, ...],
    messages: tuple[Slice, ...],
    path_model: str | None,
    path_stream: bool | None,
) -> Conversation:
    """The record, with what the small members say. The path wins over the body for Gemini only."""
    return Conversation(
        dialect=dialect,
        body=body,
        model=_model(body, members, dialect, path_model),
        stream=_stream(body, members, dialect, path_stream),
        system=system,
        tools=tools,
        messages=messages,
        options=_options(body, members, LAYOUTS[dialect]),
        members=members,
        previous_response_id=_text(body, find_member(members, "previous_response_id")),
    )


def _model(body: bytes, members: Sequence[Member], dialect: Dialect, path_model: str | None) -> str | None:
    named = _text(body, find_member(members, "model"))
    first, second = (path_model, named) if dialect == "gemini" else (named, path_model)
    return first if first is not None else second


def _stream(body: bytes, members: Sequence[Member], dialect: Dialect, path_stream: bool | None) -> bool:
    if path_stream is not None and dialect == "gemini":
        return path_stream
    member = find_member(members, "stream")
    return body[member.value : member.end] == b"true" if member is not None else bool(path_stream)


def _text(body: bytes, member: Member | None) -> str | None:
    value = decode(body[member.value : member.end]) if member is not None else None
    return value if isinstance(value, str) else None


def _options(body: bytes, members: Sequence[Member], layout: Layout) -> dict[str, bytes]:
    taken = {*layout.messages, *layout.system, *layout.tools, "model", "stream"}
    return {member.key: body[member.value : member.end] for member in members if member.key not in taken}
