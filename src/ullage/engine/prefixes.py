"""What was made of a list of slices, kept for the list that goes on from it: only what is new is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ullage.core.caching import shared_length

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from ullage.core.wire import Slice

Value = TypeVar("Value")

_LISTS = 16


class Prefixes(Generic[Value]):
    """Remembers the hashes of the newest lists and what was made of each slice. A list that begins as another one did takes over
    what it can.

    Bounded by the number of lists, the least recently used goes first. Not safe for several threads.
    """

    def __init__(self, lists: int = _LISTS) -> None:
        self._limit = lists
        self._kept: dict[tuple[Hashable, int], tuple[tuple[int, ...], tuple[Value, ...]]] = {}

    def map(
        self,
        purpose: Hashable,
        slices: Sequence[Slice],
        hashes: tuple[int, ...],
        make: Callable[[Slice], Value],
    ) -> tuple[Value, ...]:
        """`make` of every slice, in order, for a `purpose` that decides what is made. `hashes` are those of the slices."""
        if not slices:
            return ()
        key = (purpose, hashes[0])
        before = self._kept.pop(key, None)
        if before is None:
            made = tuple(map(make, slices))
        else:
            shared = shared_length(before[0], hashes)
            made = (*before[1][:shared], *map(make, slices[shared:]))
        self._kept[key] = (hashes, made)
        if len(self._kept) > self._limit:
            del self._kept[next(iter(self._kept))]
        return made
