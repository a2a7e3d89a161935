"""The blocks of a message, and the message without some of them: what stays keeps its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.errors import CallError

from .edits import apply, sibling_cuts
from .slicing import elements, find_member, members

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .conversation import Dialect, Slice
    from .slicing import Span


def count_blocks(piece: Slice, dialect: Dialect) -> int:
    """How many blocks a message has; 0 for one whose content is no list."""
    return len(_spans(piece.raw, dialect))


def without_blocks(piece: Slice, dialect: Dialect, numbers: Collection[int]) -> bytes:
    """The message without the blocks of these numbers. Raises `CallError` if that leaves none."""
    spans = _spans(piece.raw, dialect)
    alive = [number not in numbers for number in range(len(spans))]
    if not any(alive):
        raise CallError("A message must keep one of its blocks.")
    return apply(piece.raw, sibling_cuts(spans.__getitem__, alive))


def _spans(raw: bytes, dialect: Dialect) -> Sequence[Span]:
    if raw[:1] != b"{":
        return ()
    holder = find_member(members(raw), "parts" if dialect == "gemini" else "content")
    if holder is None or raw[holder.value : holder.value + 1] != b"[":
        return ()
    return elements(raw, holder.value, holder.end)
