"""Planner specification, section 5, with contradictions C1 to C4 of section 34."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.planning import (
    Adaptive,
    Category,
    Limits,
    Overrides,
    Tier,
    find_tier,
    report_adaptive,
    resolve_categories,
)

ROOM = 10_000_000
"""More than any budget of these tests: what a plan may fill at all does not bear on them."""

NATIVE = Limits(recent_tail_tokens=80_000, max_retrieved_history_tokens=40_000, max_project_tokens=40_000)


def resolved(
    window: int, *, limits: Limits | None = None, overrides: Overrides | None = None, **fields: Any
) -> Adaptive:
    given = {"room": ROOM, **fields}
    return resolve_categories(window=window, limits=limits or Limits(), overrides=overrides or Overrides(), **given)


def nominal(adaptive: Adaptive) -> tuple[int, int, int]:
    return adaptive.recent_tail.nominal, adaptive.history.nominal, adaptive.project.nominal


def used(adaptive: Adaptive) -> tuple[int, int, int]:
    return adaptive.recent_tail.resolved, adaptive.history.resolved, adaptive.project.resolved


@pytest.mark.parametrize(
    ("window", "tier"),
    [
        (1, Tier(12_000, 4_000, 4_000)),
        (40_000, Tier(12_000, 4_000, 4_000)),
        (40_001, Tier(24_000, 8_000, 12_000)),
        (128_000, Tier(24_000, 8_000, 12_000)),
        (131_072, Tier(24_000, 8_000, 12_000)),
        (131_073, Tier(32_000, 16_000, 20_000)),
        (200_000, Tier(32_000, 16_000, 20_000)),
        (262_144, Tier(32_000, 16_000, 20_000)),
        (262_145, Tier(64_000, 32_000, 32_000)),
        (1_050_000, Tier(64_000, 32_000, 32_000)),
    ],
)
def test_the_boundaries_of_tiers_are_binary_and_inclusive(window: int, tier: Tier) -> None:
    """Section 5.1; C3: not 128,000 and 256,000."""
    assert find_tier(window) == tier


def test_a_ratio_divides_tiers_and_overrides_alike() -> None:
    overrides = Overrides(max_retrieved_history_tokens=12_000)
    adaptive = resolved(200_000, ratio=1.2, overrides=overrides)
    assert nominal(adaptive) == (32_000, 12_000, 20_000)
    assert used(adaptive) == (26_666, 10_000, 16_666)
    assert [adaptive.recent_tail.explicit, adaptive.history.explicit, adaptive.project.explicit] == [False, True, False]


def test_a_ratio_below_one_raises_a_category_up_to_its_cap() -> None:
    """C1: the reference reports a tail of 30,000 and uses its tier of 24,000; here what is reported is used."""
    assert used(resolved(128_000, ratio=0.8)) == (30_000, 10_000, 15_000)
    assert used(resolved(128_000, ratio=0.25)) == (64_000, 16_000, 20_000)


def test_tuning_raises_automatic_budgets_by_an_eighth() -> None:
    assert used(resolved(128_000, factor=1.125)) == (27_000, 9_000, 13_500)


def test_tuning_stops_at_the_caps() -> None:
    assert used(resolved(1_050_000, factor=1.125)) == (64_000, 16_000, 20_000)


def test_tuning_leaves_an_explicit_budget_alone() -> None:
    """Section 9: an exact tail override of 20,000 stays while history goes from 8,000 to 9,000."""
    adaptive = resolved(128_000, factor=1.125, overrides=Overrides(recent_tail_tokens=20_000))
    assert used(adaptive)[:2] == (20_000, 9_000)


def test_higher_caps_make_the_largest_tier_reachable() -> None:
    """C4: with the default caps no window has more history than 16,000 or more of a project than 20,000."""
    assert nominal(resolved(1_050_000)) == (64_000, 16_000, 20_000)
    assert nominal(resolved(1_050_000, limits=NATIVE)) == (64_000, 32_000, 32_000)


@pytest.mark.parametrize(
    ("window", "limits", "ratio", "factor", "tail", "others"),
    [
        (1_050_000, NATIVE, 0.987355, 1.125, 72_922, 36_461),
        (1_050_000, NATIVE, 0.987355, 1.0, 64_819, 32_409),
        (1_050_000, NATIVE, 0.98757, 1.0, 64_805, 32_402),
        (128_000, Limits(), 0.97475, 1.125, 27_699, None),
        (128_000, Limits(), 0.97702, 1.0, 24_564, None),
    ],
)
def test_the_published_tails_come_out_to_the_token(
    window: int, limits: Limits, ratio: float, factor: float, tail: int, others: int | None
) -> None:
    adaptive = resolved(window, limits=limits, ratio=ratio, factor=factor)
    assert adaptive.recent_tail.resolved == tail
    if others is not None:
        assert (adaptive.history.resolved, adaptive.project.resolved) == (others, others)


@pytest.mark.parametrize(
    ("override", "reference"),
    [(70_000, 64_000), (64_001, 64_000), (64_000, 64_000), (50_000, 50_000), (0, 0)],
)
def test_an_explicit_budget_wins_over_the_general_cap(override: int, reference: int) -> None:
    """C2: the reference cuts it to the cap without a word."""
    explicit = resolved(1_050_000, overrides=Overrides(recent_tail_tokens=override)).recent_tail
    assert explicit == Category(nominal=override, resolved=override, explicit=True)
    assert min(override, Limits().recent_tail_tokens) == reference


def test_a_ratio_below_one_raises_an_explicit_budget_no_further_than_the_cap() -> None:
    within = resolved(200_000, ratio=0.5, overrides=Overrides(max_retrieved_history_tokens=12_000))
    beyond = resolved(200_000, ratio=0.5, overrides=Overrides(max_retrieved_history_tokens=18_000))
    assert (within.history.resolved, beyond.history.resolved) == (16_000, 18_000)


def test_no_budget_is_larger_than_what_a_plan_may_fill() -> None:
    overrides = Overrides(recent_tail_tokens=500_000, max_project_tokens=7_000)
    assert used(resolved(8_192, room=5_120, overrides=overrides)) == (5_120, 4_000, 5_120)


def test_a_budget_that_is_not_zero_stays_above_it() -> None:
    limits = Limits(recent_tail_tokens=1, max_retrieved_history_tokens=0)
    assert used(resolved(128_000, limits=limits, ratio=4.0)) == (1, 0, 3_000)


def test_without_awareness_only_the_tail_keeps_its_tier() -> None:
    """Section 3.2."""
    assert used(resolved(32_000, enabled=False)) == (12_000, 16_000, 20_000)


def test_the_report_is_plain() -> None:
    plain = report_adaptive(resolved(128_000, overrides=Overrides(max_project_tokens=5)))
    assert (
        msgspec.json.decode(msgspec.json.encode(plain))
        == plain
        == {
            "recent_tail": {"nominal": 24_000, "resolved": 24_000, "explicit": False},
            "history": {"nominal": 8_000, "resolved": 8_000, "explicit": False},
            "project": {"nominal": 5, "resolved": 5, "explicit": True},
        }
    )
