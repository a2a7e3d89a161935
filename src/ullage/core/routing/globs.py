"""What two patterns of targets have in common (routing specification, sections 6 and 31)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .identity import matches

if TYPE_CHECKING:
    from collections.abc import Collection

_MOST = 64
"""Patterns that one pair may come to: more would be `*a*b*` met with `*c*d*` and the like, which nobody needs."""


@lru_cache(maxsize=1_024)
def meet(one: str, other: str) -> tuple[str, ...]:
    """Patterns that together name exactly what both of these name: none where nothing is of both.

    `openai/*` and `*-mini` meet in `openai/*-mini`. Of two whose stars overlap in too many ways only that is given which one of
    them covers of the other: that is less, never more.
    """
    found = _meet(one, other)
    if found is None:
        found = {narrow for narrow, wide in ((one, other), (other, one)) if matches(wide, narrow)}
    return _without_covered(found)


def _meet(one: str, other: str) -> set[str] | None:
    """All ways in which the stars of either pattern can take the characters of the other; `None` for too many.

    `row[j]` has what the rest of the first pattern and the rest of the other from `j` on have in common.
    """
    row: list[set[str]] = [set() if other[j:].strip("*") else {""} for j in range(len(other) + 1)]
    for i in range(len(one) - 1, -1, -1):
        above, row = row, [set() for _ in range(len(other) + 1)]
        row[-1] = set() if one[i:].strip("*") else {""}
        for j in range(len(other) - 1, -1, -1):
            row[j] = _step(one[i], other[j], across=above[j], along=row[j + 1], both=above[j + 1])
            if len(row[j]) > _MOST:
                return None
    return row[0]


def _step(a: str, b: str, *, across: Collection[str], along: Collection[str], both: Collection[str]) -> set[str]:
    """`across` is without `a`, `along` without `b`, `both` without either."""
    if a == b == "*":
        return {rest if rest[:1] == "*" else f"*{rest}" for rest in (*across, *along)}
    if a == "*":
        return {*across, *(b + rest for rest in along)}
    if b == "*":
        return {*along, *(a + rest for rest in across)}
    return {a + rest for rest in both} if a.lower() == b.lower() else set()


def _without_covered(patterns: Collection[str]) -> tuple[str, ...]:
    """The widest ones, which cover the others."""
    kept: list[str] = []
    for pattern in sorted(patterns, key=lambda one: (len(one), one)):
        if not any(matches(wider, pattern) for wider in kept):
            kept = [*(one for one in kept if not matches(pattern, one)), pattern]
    return tuple(kept)
