"""Intervals by the bootstrap: what would have been found with other items of the same kind, the arms staying paired."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DRAWS = 10_000
"""Draws of a bootstrap (routing specification, section 28)."""

SEED = 20_261_130
"""Every bootstrap begins with it, so that the same data has the same interval."""


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

    `watch` is given the draws, to show how far they are.
    """
    numbers = random.Random(seed)  # noqa: S311 - statistics, no secrets
    size = len(rows)
    for _ in watch(range(draws)):
        yield tuple(map(sum, zip(*numbers.choices(rows, k=size), strict=True)))


def interval_of(values: Sequence[float]) -> Interval:
    """The 95 % percentile interval of at least one value."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return Interval(ordered[round(0.025 * last)], ordered[round(0.975 * last)])
