"""Goes through records in the order of their times, a page at once: what is long is never held whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

PAGE = 256
"""Records that are read at once: some hundred kilobytes, and a fresh look at the file each time."""


def in_pages(
    read_page: Callable[[int, int, int], list[T]], since_ms: int, time_ms: Callable[[T], int], *, page: int = PAGE
) -> Iterator[T]:
    """Everything from `since_ms` on that `read_page(since_ms, skip, limit)` gives, the oldest first.

    Between pages nothing is kept open: the next one begins at the time of the last record, without those of that time that were
    told already.
    """
    skip = 0
    while True:
        found = read_page(since_ms, skip, page)
        yield from found
        if len(found) < page:
            return
        last = time_ms(found[-1])
        told = sum(time_ms(one) == last for one in found)
        skip = skip + told if last == since_ms else told
        since_ms = last
