"""Edits of bytes: what they replace, and how values leave a list with their comma."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .slicing import Span

Edit = tuple[int, int, bytes]
"""Start and end of what is replaced, and what comes in its place."""


def apply(body: bytes, edits: Iterable[Edit]) -> bytes:
    """The body with all edits made. They may touch, not overlap."""
    view = memoryview(body)
    pieces: list[bytes | memoryview] = []
    position = 0
    for start, end, text in sorted(edits):
        pieces += [view[position:start], text]
        position = end
    pieces.append(view[position:])
    return b"".join(pieces)


def sibling_cuts(span_of: Callable[[int], Span], alive: Sequence[bool]) -> list[Edit]:
    """Removes the dead among values that are separated by commas, each with one comma; one of them stays. `span_of` says where a
    value lies: only those at the ends of what is cut are asked for."""
    marks = bytes(alive)
    cuts: list[Edit] = []
    dead = marks.find(False)
    while dead >= 0:
        following = marks.find(True, dead)
        if dead > 0:
            last = following - 1 if following > 0 else len(marks) - 1
            cuts.append((span_of(dead - 1)[1], span_of(last)[1], b""))
        elif following > 0:
            cuts.append((span_of(0)[0], span_of(following)[0], b""))
        dead = marks.find(False, following) if following > 0 else -1
    return cuts
