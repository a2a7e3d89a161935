"""What tasks of each kind are like, by those of the past: their calls, and how much each says and adds (routing specification,
section 12.4)."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.core.routing.cache_terms import Habits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.stores import AttemptRecord

_KEPT = 50
_LEAST = 3
"""Tasks of the same kinds before their median is believed."""
_PROMPT = ("input_fresh", "cache_read", "cache_write")


class Spent(Struct, frozen=True, kw_only=True):
    """What the answered calls of a task used, in tokens of their providers: how many there were, what they said together, and the
    prompts of the first and the newest."""

    answers: int = 0
    output: int = 0
    first_prompt: int = 0
    last_prompt: int = 0

    def with_call(self, *, prompt: int, output: int) -> Spent:
        """With one call more."""
        return Spent(
            answers=self.answers + 1,
            output=self.output + output,
            first_prompt=self.first_prompt if self.answers else prompt,
            last_prompt=prompt,
        )

    @property
    def output_per_call(self) -> float | None:
        return self.output / self.answers if self.answers else None

    @property
    def growth_per_call(self) -> float | None:
        """By how much the prompt grew from call to call; `None` for a single call, and where the client cut its history."""
        grown = self.last_prompt - self.first_prompt
        return grown / (self.answers - 1) if self.answers > 1 and grown >= 0 else None


NOTHING_SPENT = Spent()


class _Past:
    """The newest figures of tasks of the same kinds."""

    __slots__ = ("calls", "growth", "output")

    def __init__(self) -> None:
        self.calls: deque[float] = deque(maxlen=_KEPT)
        self.output: deque[float] = deque(maxlen=_KEPT)
        self.growth: deque[float] = deque(maxlen=_KEPT)


class RouteHabits:
    """Counts of calls by kinds. Used by one thread only."""

    def __init__(self) -> None:
        self._past: dict[frozenset[str], _Past] = {}

    def recall(self, attempts: Iterable[AttemptRecord]) -> None:
        """Takes up what was kept of calls, in any order."""
        counts: dict[str, int] = {}
        spent: dict[str, Spent] = {}
        kinds: dict[str, tuple[str, ...]] = {}
        for attempt in sorted(attempts, key=lambda one: one.created_ms):
            task = attempt.route.task_id if attempt.route is not None else None
            if task is not None and attempt.kinds:
                counts[task] = counts.get(task, 0) + 1
                kinds[task] = attempt.kinds
                if (used := _read(attempt.usage)) is not None:
                    spent[task] = spent.get(task, NOTHING_SPENT).with_call(prompt=used[0], output=used[1])
        for task, count in counts.items():
            self.add(kinds[task], count, spent.get(task, NOTHING_SPENT))

    def add(self, kinds: Iterable[str], calls: int, spent: Spent = NOTHING_SPENT) -> None:
        """Notes a task that is over."""
        if not calls:
            return
        past = self._past.setdefault(frozenset(kinds), _Past())
        past.calls.append(calls)
        for known, figure in ((past.output, spent.output_per_call), (past.growth, spent.growth_per_call)):
            if figure is not None:
                known.append(figure)

    def of(self, kinds: Iterable[str], *, made: int = 0) -> Habits:
        """The habits of tasks of these kinds, of which `made` calls were made already."""
        past, usual = self._past.get(frozenset(kinds)), Habits()
        if past is None:
            return Habits(made=made)
        output, growth = _middle(past.output), _middle(past.growth)
        return Habits(
            calls=_middle(past.calls),
            output=usual.output if output is None else output,
            growth=usual.growth if growth is None else growth,
            made=made,
        )


def _middle(figures: deque[float]) -> int | None:
    return round(median(figures)) if len(figures) >= _LEAST else None


def _read(usage: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """The tokens of prompt and answer, where both are known."""
    if usage is None or usage.get("output") is None:
        return None
    prompt = sum(usage.get(part) or 0 for part in _PROMPT)
    return (prompt, usage["output"]) if prompt else None
