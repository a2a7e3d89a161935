"""Intervals by the bootstrap: what would have been found with other items of the same kind, the arms staying paired."""

from __future__ import annotations

import math
import random
import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DRAWS = 10_000
"""Draws of a bootstrap (routing specification, section 28)."""

SEED = 20_261_130
"""Every bootstrap begins with it, so that the same data has the same interval."""

_FIELD_BITS = 64


class Interval(NamedTuple):
    """Where a figure lies with 95 % confidence."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def resample(
    rows: Sequence[tuple[float, ...]],
    *,
    draws: int = DRAWS,
    seed: int = SEED,
    watch: Callable[[range], Iterable[int]] = iter,
) -> Iterator[tuple[float, ...]]:
    """The sums of the columns, for as many samples of the rows as there are draws; a row is an item with all that is compared.

    Rows are added as whole numbers: whole and binary fractions sum up exactly, others to the last digits of a double. `watch` is
    given the draws, to show how far they are.
    """
    numbers = random.Random(seed)  # noqa: S311 - statistics, no secrets
    size = len(rows)
    scales = [_scale(column) for column in zip(*rows, strict=True)]
    packed = [_pack(row, scales) for row in rows]
    fields = struct.Struct(f"<{len(scales)}Q")
    for _ in watch(range(draws)):
        total = sum(numbers.choices(packed, k=size))
        sums = fields.unpack(total.to_bytes(fields.size, "little"))
        yield tuple(size * scale.low + one * scale.unit for scale, one in zip(scales, sums, strict=True))


class _Scale(NamedTuple):
    """How a column stands in a field of `_FIELD_BITS`: so many units above the lowest of it."""

    low: float
    unit: float


def _scale(column: Sequence[float]) -> _Scale:
    """The finest unit, a power of two, by which no sum of the column leaves its field."""
    low = min(column)
    above = math.frexp(max(column) - low)[1]
    return _Scale(low, math.ldexp(1.0, max(above + len(column).bit_length() - _FIELD_BITS, sys.float_info.min_exp)))


def _pack(row: Sequence[float], scales: Sequence[_Scale]) -> int:
    """A row as one number, in which its columns lie side by side: one addition adds them all, several times as fast as each."""
    fields = (round((value - scale.low) / scale.unit) for value, scale in zip(row, scales, strict=True))
    return sum(field << place * _FIELD_BITS for place, field in enumerate(fields))


def interval_of(values: Sequence[float]) -> Interval:
    """The 95 % percentile interval of at least one value."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return Interval(ordered[round(0.025 * last)], ordered[round(0.975 * last)])
