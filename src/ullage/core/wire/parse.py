"""Bytes to a `Conversation`: cuts a request body into slices and hashes them, without decoding a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from xxhash import xxh3_64_intdigest

from ullage.core.errors import RequestError

from .conversation import DIALECTS, Conversation, Dialect, Member, Slice, SliceKind
from .jsontext import BOM, decode
from .layout import LAYOUTS, Layout, holders, list_member, message_spans, root_members
from .slicing import DEPTH_LIMIT, Span, check_utf8, find_member, nests_deeper

if TYPE_CHECKING:
    from collections.abc import Sequence

_KINDS: tuple[SliceKind, ...] = ("system", "tool", "message")
_SEEDS = {(dialect, kind): xxh3_64_intdigest(f"{dialect}/{kind}".encode()) for dialect in DIALECTS for kind in _KINDS}
# An element of the message list stands inside the list and the top-level object.
_LEVELS_ABOVE_ELEMENT = 2


def parse_request(
    body: bytes,
    dialect: Dialect,
    *,
    path_model: str | None = None,
    path_stream: bool | None = None,
) -> Conversation:
    """Cuts the body into slices.

    `path_model` and `path_stream` are what the path of the request says of model and streaming (Gemini names both there, some
    hosts of other dialects the model): the path wins for Gemini, elsewhere the body does. Raises `RequestError` if the body
    is not one JSON object in UTF-8, or nests deeper than 200 levels (design 5).
    """
    try:
        check_utf8(body)
        return _cut(body, dialect, path_model, path_stream)
    except UnicodeDecodeError as error:
        raise RequestError(f"The request body is not UTF-8: {error.reason} at a byte past {error.start}.") from error
    except msgspec.MsgspecError as error:
        raise RequestError(
            f"The request body is not one JSON object: {error}.", hint="Send one JSON object as the body."
        ) from error
    except RecursionError as error:
        raise _too_deep() from error


def _cut(body: bytes, dialect: Dialect, path_model: str | None, path_stream: bool | None) -> Conversation:
    layout = LAYOUTS[dialect]
    found = root_members(body, len(BOM) if body.startswith(BOM) else 0, layout)
    holder = list_member(found, layout.messages)
    messages = message_spans(body, holder) if holder is not None else []
    _check_depth(body, found, holder, messages)
    return Conversation(
        dialect=dialect,
        body=body,
        model=_model(body, found, dialect, path_model),
        stream=_stream(body, found, dialect, path_stream),
        system=_slices(body, dialect, "system", _leaves(body, found, layout, "system")),
        tools=_slices(body, dialect, "tool", _leaves(body, found, layout, "tool")),
        messages=_slices(body, dialect, "message", messages),
        options=_options(body, found, layout),
        members=found,
        previous_response_id=_text(body, find_member(found, "previous_response_id")),
    )


def _leaves(body: bytes, found: Sequence[Member], layout: Layout, kind: SliceKind) -> list[Span]:
    return [span for _, node in holders(body, found, layout, kind) for span in node.leaves()]


def _slices(body: bytes, dialect: Dialect, kind: SliceKind, spans: Sequence[Span], first: int = 0) -> tuple[Slice, ...]:
    seed = _SEEDS[dialect, kind]
    slices = []
    for index, (start, end) in enumerate(spans, first):
        raw = body[start:end]
        slices.append(Slice(kind=kind, index=index, start=start, raw=raw, hash=xxh3_64_intdigest(raw, seed)))
    return tuple(slices)


def _check_depth(body: bytes, found: Sequence[Member], holder: Member | None, messages: Sequence[Span]) -> None:
    others = [(member.value, member.end) for member in found if member is not holder]
    if nests_deeper(body, others, DEPTH_LIMIT - 1) or nests_deeper(body, messages, DEPTH_LIMIT - _LEVELS_ABOVE_ELEMENT):
        raise _too_deep()


def _too_deep() -> RequestError:
    return RequestError(
        f"The request body nests deeper than {DEPTH_LIMIT} levels.",
        hint="Send nested data as text.",
        code="too_deep",
    )


def _model(body: bytes, found: Sequence[Member], dialect: Dialect, path_model: str | None) -> str | None:
    named = _text(body, find_member(found, "model"))
    first, second = (path_model, named) if dialect == "gemini" else (named, path_model)
    return first if first is not None else second


def _stream(body: bytes, found: Sequence[Member], dialect: Dialect, path_stream: bool | None) -> bool:
    if path_stream is not None and dialect == "gemini":
        return path_stream
    member = find_member(found, "stream")
    return body[member.value : member.end] == b"true" if member is not None else bool(path_stream)


def _text(body: bytes, member: Member | None) -> str | None:
    value = decode(body[member.value : member.end]) if member is not None else None
    return value if isinstance(value, str) else None


def _options(body: bytes, found: Sequence[Member], layout: Layout) -> dict[str, bytes]:
    taken = {*layout.messages, *layout.system, *layout.tools, "model", "stream"}
    return {member.key: body[member.value : member.end] for member in found if member.key not in taken}
