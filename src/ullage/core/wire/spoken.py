"""The texts of a message outside its tool results, and others in their place: all other bytes stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .edits import apply
from .jsontext import decode
from .slicing import elements, find_member, members

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .conversation import Dialect, Slice
    from .slicing import Span

_TEXT_KINDS = ("", "text", "input_text", "output_text")


def spoken_texts(piece: Slice, dialect: Dialect) -> tuple[str, ...]:
    """The texts of a message in their order: one where its content is a text, else those of its text blocks."""
    return tuple(decode(piece.raw[start:end]) for start, end in _spans(piece.raw, dialect))


def replace_spoken(piece: Slice, dialect: Dialect, texts: Mapping[int, str]) -> bytes:
    """The message with other texts, by their number among those of `spoken_texts`."""
    spans = list(_spans(piece.raw, dialect))
    return apply(piece.raw, [(*spans[number], msgspec.json.encode(text)) for number, text in texts.items()])


def _spans(raw: bytes, dialect: Dialect) -> Iterator[Span]:
    """Where the strings of the texts lie."""
    if raw[:1] == b'"':
        yield 0, len(raw)  # the whole input of a Responses request
        return
    if raw[:1] != b"{":
        return
    holder = find_member(members(raw), "parts" if dialect == "gemini" else "content")
    if holder is None:
        return
    opening = raw[holder.value : holder.value + 1]
    if opening == b'"':
        yield holder.value, holder.end
    elif opening == b"[":
        for start, end in elements(raw, holder.value, holder.end):
            span = _block_text(raw, start, end)
            if span is not None:
                yield span
    elif opening == b"{" and (span := _block_text(raw, holder.value, holder.end)) is not None:
        yield span


def _block_text(raw: bytes, start: int, end: int) -> Span | None:
    if raw[start : start + 1] == b'"':
        return start, end
    if raw[start : start + 1] != b"{":
        return None
    block = members(raw, start, end)
    text, kind = find_member(block, "text"), find_member(block, "type")
    named = decode(raw[kind.value : kind.end]) if kind is not None else ""
    is_text = text is not None and raw[text.value : text.value + 1] == b'"' and named in _TEXT_KINDS
    return (text.value, text.end) if is_text and text is not None else None
