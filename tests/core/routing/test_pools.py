"""Who of a pool is behind its share (routing specification, section 13)."""

from __future__ import annotations

import pytest

from ullage.core.routing.pools import Pool, pool_scores, project

TEN = Pool(targets={"p/a": 9, "p/b": 1})


@pytest.mark.parametrize(
    ("weights", "attempts", "projected", "expected"),
    [
        ({"p/a": 9, "p/b": 1}, (9, 0), (1.1111, 1.0), (0, 1)),
        ({"p/a": 6, "p/b": 4}, (3, 2), (0.6667, 0.75), (1, 0)),
        ({"p/a": 6, "p/b": 3, "p/c": 1}, (5, 1, 0), (1.0, 0.6667, 1.0), (0, 1, 0)),
        ({"p/a": 1, "p/b": 1}, (0, 0), (1, 1), (0.5, 0.5)),
    ],
)
def test_projections_and_scores_of_v1_are_as_in_the_table(
    weights: dict[str, float], attempts: tuple[int, ...], projected: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    made = dict(zip(weights, attempts, strict=True))
    assert tuple(project(Pool(targets=weights), weights, made).values()) == pytest.approx(projected, abs=5e-5)
    found = pool_scores(Pool(targets=weights), weights, made, model="v1")
    assert tuple(found.values()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("attempts", "expected"), [((9, 1), (0.5, 0.5)), ((10, 0), (0.3, 0.7)), ((0, 10), (1.0, 0.0)), ((0, 0), (0.5, 0.5))]
)
def test_a_score_is_a_half_and_twice_the_missing_share(
    attempts: tuple[int, int], expected: tuple[float, float]
) -> None:
    found = pool_scores(TEN, TEN.targets, dict(zip(TEN.targets, attempts, strict=True)))
    assert tuple(found.values()) == pytest.approx(expected)


def test_a_small_imbalance_weighs_little() -> None:
    """Weakness 6 of section 33: a hundredth off weighed as much as ten times off."""
    even = Pool(targets={"p/a": 1, "p/b": 1})
    made = {"p/a": 505, "p/b": 495}
    assert pool_scores(even, even.targets, made, model="v1") == {"p/a": 0.0, "p/b": 1.0}
    assert tuple(pool_scores(even, even.targets, made).values()) == pytest.approx((0.49, 0.51))


def test_who_is_no_member_has_nothing_and_without_a_pool_all_have_a_half() -> None:
    assert pool_scores(TEN, ["p/a", "p/z"], {})["p/z"] == 0.0
    assert pool_scores(None, ["p/a"], {"p/a": 9}) == {"p/a": 0.5}


def test_a_member_stands_in_each_list_that_is_not_empty() -> None:
    both = Pool(targets={"p/a": 2}, providers={"p": 3})
    assert (both.has("p/a"), both.has("p/b"), both.has("q/a")) == (True, False, False)
    assert Pool(providers={"p": 3}).has("p/b")
    assert both.weight("p/a") == 6
