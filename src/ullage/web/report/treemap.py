"""A treemap: rectangles whose areas are numbers, as near to squares as they get (Bruls, Huizing, van Wijk: Squarified Treemaps,
2000)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Box(NamedTuple):
    """A rectangle, its corner at the top left."""

    x: float
    y: float
    width: float
    height: float

    def inset(self, edge: float, top: float) -> Box:
        """What is left inside an edge, and below a strip at the top."""
        return Box(self.x + edge, self.y + top, max(0.0, self.width - 2 * edge), max(0.0, self.height - top - edge))


def squarify(values: Sequence[float], box: Box) -> list[Box]:
    """A box for each value, in the same order. All of `box` is used; values must be positive and should fall.

    Boxes are laid in rows along the shorter side; a row takes the next value as long as that makes its worst shape no worse.
    """
    if not values:
        return []
    scale = box.width * box.height / sum(values)
    areas = [value * scale for value in values]
    boxes: list[Box] = []
    start = 0
    while start < len(areas):
        stop = _row_end(areas, start, min(box.width, box.height))
        row = areas[start:stop]
        boxes.extend(_lay_row(row, box, last=stop == len(areas)))
        box = _rest(box, sum(row))
        start = stop
    return boxes


def _row_end(areas: Sequence[float], start: int, side: float) -> int:
    total = largest = smallest = areas[start]
    worst = _worst(total, largest, smallest, side)
    stop = start + 1
    while stop < len(areas):
        area = areas[stop]
        total += area
        largest, smallest = max(largest, area), min(smallest, area)
        shape = _worst(total, largest, smallest, side)
        if shape > worst:
            break
        worst = shape
        stop += 1
    return stop


def _worst(total: float, largest: float, smallest: float, side: float) -> float:
    """The worst ratio of sides in a row of such areas along a side."""
    if side <= 0 or total <= 0 or smallest <= 0:
        return 0.0
    return max(side * side * largest / (total * total), total * total / (side * side * smallest))


def _lay_row(areas: Sequence[float], box: Box, *, last: bool) -> Iterator[Box]:
    total = sum(areas)
    across = box.width >= box.height
    side = box.height if across else box.width
    depth = (box.width if across else box.height) if last else (total / side if side > 0 else 0.0)
    at = 0.0
    for area in areas:
        length = side * area / total if total > 0 else 0.0
        yield (Box(box.x, box.y + at, depth, length) if across else Box(box.x + at, box.y, length, depth))
        at += length


def _rest(box: Box, area: float) -> Box:
    if box.width >= box.height:
        depth = area / box.height if box.height > 0 else 0.0
        return Box(box.x + depth, box.y, max(0.0, box.width - depth), box.height)
    depth = area / box.width if box.width > 0 else 0.0
    return Box(box.x, box.y + depth, box.width, max(0.0, box.height - depth))
