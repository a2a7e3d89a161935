"""How far held-out estimates were off, as intervals and as errors of families."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.profiles.families import ROWS, UNKNOWN_ROW
from ullage.core.profiles.intervals import ANY_GROUP, ANY_SIZE, interval_groups, size_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scripts.fitting.fitting import HeldOut

COVERAGE = 0.92
"""Share of the held-out truths that an interval holds: above the nine in ten that is promised, for those still unseen."""

LEAST_SAMPLES = 15
_LEAST_OF_ALL = 10
LEAST_RECORDINGS = 8

_NOTHING_KNOWN = 0.5
_ERROR_TOKENS = 64
_EXACT_ERROR = 0.005
_LARGEST_ERROR = 0.4


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
        for group in (*interval_groups(one.sample.groups, one.sample.case.provider), ANY_GROUP):
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


class Bounded(NamedTuple):
    """A held-out estimate with the interval that the other folds give it; without one, half of it to either side."""

    held_out: HeldOut
    low: int
    high: int
    measured: bool


def bound(held_out: Sequence[HeldOut], folds: int) -> list[Bounded]:
    """Every held-out sample with its interval, in the same order."""
    found: dict[int, Bounded] = {}
    for fold in range(folds):
        others = make_intervals([one for one in held_out if one.sample.fold != fold])
        cells = {(cell.group, cell.kind, cell.size): cell for cell in others}
        for number, one in enumerate(held_out):
            if one.sample.fold == fold:
                found[number] = _bounded(one, _find_cell(cells, one))
    return [found[number] for number in range(len(held_out))]


def _bounded(one: HeldOut, cell: Cell | None) -> Bounded:
    low, high = (cell.low, cell.high) if cell is not None else (-_NOTHING_KNOWN, _NOTHING_KNOWN)
    measured = cell is not None and cell.group != ANY_GROUP
    return Bounded(one, math.floor(one.tokens * (1 + low)), math.ceil(one.tokens * (1 + high)), measured)


def _find_cell(cells: Mapping[tuple[str, str, int], Cell], one: HeldOut) -> Cell | None:
    """The cell that the package would use for an estimate."""
    sizes = (size_class(one.tokens), ANY_SIZE)
    groups = interval_groups(one.sample.groups, one.sample.case.provider)
    own = ((group, one.sample.kind, size) for size in sizes for group in groups)
    for key in (*own, *((ANY_GROUP, one.sample.kind, size) for size in sizes)):
        if key in cells:
            return cells[key]
    return None


def find_errors(held_out: Sequence[HeldOut]) -> dict[tuple[str, str], float]:
    """By group and place in a family, the relative error that nine in ten stay below, for groups with enough samples.

    `error` is of text, never below what the group's rows say: hidden text that is always the same makes short requests look
    better than ratios are; it is 0 where text is exact. `tools.error` is of tools, on which all of a request's error is laid.
    """
    texts: dict[str, list[float]] = defaultdict(list)
    tools: dict[str, list[float]] = defaultdict(list)
    for one in held_out:
        for group in one.sample.groups:
            if one.sample.kind == "text" and one.tokens >= _ERROR_TOKENS:
                texts[group].append(abs(one.error))
        if one.sample.kind == "tools" and one.sample.tools > 0:
            tools[one.sample.groups[0]].append(abs(one.tokens - one.sample.case.tokens) / one.sample.tools)
    found = {
        (group, "error"): max(_nine_in_ten(sizes), _published_error(group))
        for group, sizes in texts.items()
        if len(sizes) >= LEAST_SAMPLES
    }
    found |= {
        (group, "tools.error"): _nine_in_ten(sizes) for group, sizes in tools.items() if len(sizes) >= LEAST_SAMPLES
    }
    return dict(sorted(found.items()))


def _published_error(group: str) -> float:
    return min(row.error for row in (*ROWS, UNKNOWN_ROW) if group in row.fitted)


def _nine_in_ten(sizes: Sequence[float]) -> float:
    error = sorted(sizes)[max(0, math.ceil(0.9 * len(sizes)) - 1)]
    return 0.0 if error < _EXACT_ERROR else round(error, 3)
