"""How many calls tasks of each kind take, by those of the past (routing specification, section 12.4)."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import TYPE_CHECKING

from ullage.core.routing.cache_terms import Habits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.stores import AttemptRecord

_KEPT = 50
_LEAST = 3
"""Tasks of the same kinds before their median is believed."""


class RouteHabits:
    """Counts of calls by kinds. Used by one thread only."""

    def __init__(self) -> None:
        self._calls: dict[frozenset[str], deque[int]] = {}

    def recall(self, attempts: Iterable[AttemptRecord]) -> None:
        """Takes up what was kept of calls, in any order."""
        counts: dict[str, int] = {}
        kinds: dict[str, tuple[str, ...]] = {}
        for attempt in attempts:
            task = attempt.route.task_id if attempt.route is not None else None
            if task is not None and attempt.kinds:
                counts[task] = counts.get(task, 0) + 1
                kinds[task] = attempt.kinds
        for task, count in counts.items():
            self.add(kinds[task], count)

    def add(self, kinds: Iterable[str], calls: int) -> None:
        """Notes a task that is over."""
        if calls:
            self._calls.setdefault(frozenset(kinds), deque(maxlen=_KEPT)).append(calls)

    def of(self, kinds: Iterable[str]) -> Habits:
        """The habits of tasks of these kinds."""
        known = self._calls.get(frozenset(kinds))
        return Habits(calls=round(median(known))) if known is not None and len(known) >= _LEAST else Habits()
