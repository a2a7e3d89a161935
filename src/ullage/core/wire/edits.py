"""Edits of bytes: what they replace, and how values leave a list with their comma."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def sibling_cuts(spans: Sequence[Span], alive: Sequence[bool]) -> list[Edit]:
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
