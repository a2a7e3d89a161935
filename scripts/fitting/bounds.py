"""How far held-out estimates were off, as intervals and as errors of families."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.profiles.intervals import ANY_GROUP, ANY_SIZE, size_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scripts.fitting.fitting import HeldOut

COVERAGE = 0.925
"""Share of the held-out truths that an interval holds: above the nine in ten that is promised, for those still unseen."""

LEAST_SAMPLES = 20
_LEAST_OF_ALL = 10
LEAST_RECORDINGS = 8

_ERROR_TOKENS = 64
_EXACT_ERROR = 0.005


class Cell(NamedTuple):
    """An interval, for a group, a kind of content and a class of sizes."""

    group: str
    kind: str
    size: int
    low: float
    high: float
    samples: int
    recordings: int
    largest: int


def make_intervals(held_out: Sequence[HeldOut]) -> list[Cell]:
    """The intervals that enough samples stand behind, in a fixed order."""
    cells: dict[tuple[str, str, int], list[HeldOut]] = defaultdict(list)
    for one in held_out:
        for group in (*one.sample.groups, ANY_GROUP):
            for size in (size_class(one.tokens), ANY_SIZE):
                cells[group, one.sample.kind, size].append(one)
    found = (_cell(*key, members) for key, members in sorted(cells.items()))
    return [cell for cell in found if cell is not None]


def _cell(group: str, kind: str, size: int, members: Sequence[HeldOut]) -> Cell | None:
    recordings = len({one.sample.recording for one in members})
    if len(members) < (_LEAST_OF_ALL if group == ANY_GROUP else LEAST_SAMPLES) or recordings < LEAST_RECORDINGS:
        return None
    low, high = shortest(one.miss for one in members)
    largest = max(one.sample.case.tokens for one in members)
    low, high = max(-0.99, math.floor(low * 1_000) / 1_000), math.ceil(high * 1_000) / 1_000
    return Cell(group, kind, size, low, high, len(members), recordings, largest)


def shortest(misses: Iterable[float]) -> tuple[float, float]:
    """The shortest interval around 0 that holds the share of the misses that `COVERAGE` asks for, one sample to spare."""
    ordered = sorted(misses)
    wanted = min(len(ordered), math.ceil(COVERAGE * (len(ordered) + 1)))
    windows = (
        (min(0.0, ordered[first]), max(0.0, ordered[first + wanted - 1])) for first in range(len(ordered) - wanted + 1)
    )
    return min(windows, key=lambda window: (window[1] - window[0], window))


def find_cell(cells: Mapping[tuple[str, str, int], Cell], one: HeldOut) -> Cell | None:
    """The cell that the package would use for an estimate."""
    for size in (size_class(one.tokens), ANY_SIZE):
        for group in reversed(one.sample.groups):
            if (group, one.sample.kind, size) in cells:
                return cells[group, one.sample.kind, size]
    for size in (size_class(one.tokens), ANY_SIZE):
        if (ANY_GROUP, one.sample.kind, size) in cells:
            return cells[ANY_GROUP, one.sample.kind, size]
    return None


class Covered(NamedTuple):
    """Whether an interval held the truth, and its width as a share of the truth."""

    one: HeldOut
    holds: bool
    width: float


def check_intervals(held_out: Sequence[HeldOut], folds: int) -> list[Covered]:
    """Every sample against the intervals that the samples of the other folds make."""
    found = []
    for fold in range(folds):
        others = make_intervals([one for one in held_out if one.sample.fold != fold])
        cells = {(cell.group, cell.kind, cell.size): cell for cell in others}
        for one in held_out:
            cell = find_cell(cells, one) if one.sample.fold == fold else None
            if cell is not None:
                least, most = math.floor(one.tokens * (1 + cell.low)), math.ceil(one.tokens * (1 + cell.high))
                truth = one.sample.case.tokens
                found.append(Covered(one, least <= truth <= most, (most - least) / truth))
    return found


def text_errors(held_out: Sequence[HeldOut]) -> dict[str, float]:
    """The relative error of each group's text that nine in ten stay below, for groups with enough of it; 0 where it is exact."""
    groups: dict[str, list[HeldOut]] = defaultdict(list)
    for one in held_out:
        if one.sample.kind == "text" and one.tokens >= _ERROR_TOKENS:
            for group in one.sample.groups:
                groups[group].append(one)
    return {group: _error(members) for group, members in sorted(groups.items()) if _is_enough(members)}


def _is_enough(members: Sequence[HeldOut]) -> bool:
    return len({one.sample.recording for one in members}) >= LEAST_RECORDINGS


def _error(members: Sequence[HeldOut]) -> float:
    sizes = sorted(abs(one.error) for one in members)
    error = sizes[max(0, math.ceil(0.9 * len(sizes)) - 1)]
    return 0.0 if error < _EXACT_ERROR else round(error, 3)
