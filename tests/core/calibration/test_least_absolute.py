"""Laws fitted by least absolute deviations."""

from __future__ import annotations

import pytest

from ullage.core.calibration.least_absolute import fit_law, weighted_median

WIDE = (-1_000.0, 1_000.0)


def fit(rows: list[tuple[float, ...]], targets: list[float], *, trust: float = 1.0) -> tuple[float, ...]:
    """Every coefficient begins at 1."""
    size = len(rows[0]) if rows else 2
    return fit_law(rows, targets, prior=(1.0,) * size, trust=(trust,) * size, bounds=(WIDE,) * size)


def test_without_rows_the_prior_stands() -> None:
    assert fit([], []) == (1.0, 1.0)


def test_a_prior_outside_the_bounds_is_brought_inside() -> None:
    assert fit_law([], [], prior=(9.0,), trust=(1.0,), bounds=((0.0, 2.0),)) == (2.0,)


def test_a_law_that_holds_is_found() -> None:
    rows = [(float(size), 1.0) for size in range(0, 400, 7)]
    targets = [1.6 * size + 11 for size, _ in rows]
    assert fit(rows, targets) == pytest.approx((1.6, 11.0))


def test_outliers_of_a_third_of_the_rows_do_not_move_it() -> None:
    rows = [(float(size), 1.0) for size in range(0, 400, 7)]
    targets = [1.6 * size + (9_000 if index % 3 == 0 else 11) for index, (size, _) in enumerate(rows)]
    assert fit(rows, targets) == pytest.approx((1.6, 11.0))


def test_the_prior_weighs_as_much_as_it_is_trusted() -> None:
    """Two rows of size 100 that say 2, against a prior of 1."""
    rows, targets = [(100.0,), (100.0,)], [200.0, 200.0]
    assert fit(rows, targets, trust=199.0) == (2.0,)
    assert fit(rows, targets, trust=201.0) == (1.0,)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([(5.0, 1.0)], 5.0),
        ([(1.0, 1.0), (2.0, 1.0), (9.0, 1.0)], 2.0),
        ([(1.0, 1.0), (2.0, 5.0), (9.0, 1.0)], 2.0),
        ([(9.0, 1.0), (1.0, 3.0)], 1.0),
        ([(1.0, 1.0), (9.0, 1.0)], 1.0),
        ([(-3.0, 1.0), (9.0, 1.0)], 0.0),
        ([(-9.0, 1.0), (-2.0, 1.0)], -2.0),
    ],
    ids=["alone", "middle", "heavy", "heavy first", "tie above", "tie around", "tie below"],
)
def test_the_weighted_median_halves_the_weight(values: list[tuple[float, float]], expected: float) -> None:
    assert weighted_median(values) == expected
