"""The policy `cost`, and what a cache makes of staying and leaving (routing specification, sections 11 and 12)."""

from __future__ import annotations

import pytest

from tests.core.routing.routes import CHINESE, DEBUG, HAIKU, OPUS, SONNET, THREE, choose, scores, task_of
from ullage.core.profiles import Prices
from ullage.core.routing.cache_terms import Habits, calls_left, horizon_usd, token_prices
from ullage.core.routing.cost_policy import CostPolicy, compare
from ullage.core.routing.pricing import Price
from ullage.core.routing.scoring import Situation
from ullage.core.spend.prices import CallPrices

LETTERS = {"O": OPUS, "S": SONNET, "H": HAIKU}
PRICES = {letter: token_prices(candidate.price, 1_000) for letter, candidate in zip("OSH", THREE, strict=True)}


def prices(letter: str) -> CallPrices:
    found = PRICES[letter]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("context", "current", "pick", "stay", "switch", "ratio", "keeps", "keeps_strictly"),
    [
        (20_000, "S", "H", 0.039792, 0.029011, 1.3716, False, False),
        (30_000, "S", "H", 0.042792, 0.039011, 1.0969, True, False),
        (36_000, "S", "H", 0.044592, 0.045011, 0.9907, True, True),
        (40_000, "O", "S", 0.228960, 0.183792, 1.2458, False, False),
        (150_000, "S", "H", 0.078792, 0.159011, 0.4955, True, True),
    ],
)
def test_staying_against_switching_is_as_in_the_table(
    context: int, current: str, pick: str, stay: float, switch: float, ratio: float, keeps: bool, keeps_strictly: bool
) -> None:
    found = compare(prices(current), prices(pick), context=context, required=context + 1_024, output=2_048, warm=True)
    assert (found.stay_usd, found.switch_usd) == pytest.approx((stay, switch), abs=1e-6)
    assert found.ratio == pytest.approx(ratio, abs=1e-4)
    assert (found.keeps(0.1), found.keeps(0.0)) == (keeps, keeps_strictly)


def test_a_cold_cache_makes_both_sides_pay_for_all_of_the_prompt() -> None:
    found = compare(prices("S"), prices("H"), context=40_000, required=41_024, output=2_048, warm=False)
    assert (found.stay_usd, found.switch_usd) == pytest.approx((0.153792, 0.0410112))


@pytest.mark.parametrize(
    ("prompt", "floor", "expected"),
    [(DEBUG, 0.9, SONNET), (CHINESE, 0.8, SONNET), (CHINESE, 0.9, OPUS), (DEBUG, 0.0, HAIKU)],
)
def test_the_cheapest_that_reaches_the_floor_is_taken(prompt: str, floor: float, expected: str) -> None:
    assert choose(prompt, "cost", cost=CostPolicy(quality_floor=floor)).chosen.target == expected


def test_a_floor_that_nobody_reaches_is_none() -> None:
    two = THREE[1:]
    assert choose(CHINESE, "cost", candidates=two, cost=CostPolicy(quality_floor=1.0)).chosen.target == HAIKU


def test_a_target_below_the_floor_does_not_stay() -> None:
    situation = Situation(context=150_000, current=HAIKU, cache_model="v1")
    found = choose(DEBUG, "cost", situation=situation, cost=CostPolicy(quality_floor=0.9))
    assert found.chosen.target == SONNET


@pytest.mark.parametrize(("context", "expected"), [(20_000, HAIKU), (30_000, SONNET)])
def test_under_cost_the_tolerance_decides_and_no_band_of_utility(context: int, expected: str) -> None:
    """Section 32, row 13."""
    situation = Situation(context=context, current=SONNET, cache_model="v1")
    assert choose(DEBUG, "cost", situation=situation).chosen.target == expected


def test_under_cost_the_list_goes_by_cost_behind_the_chosen() -> None:
    situation = Situation(context=30_000, current=SONNET, cache_model="v1")
    assert [one.target for one in choose(DEBUG, "cost", situation=situation).ranked] == [SONNET, HAIKU, OPUS]


@pytest.mark.parametrize(
    ("context", "current", "target", "expected"),
    [
        (4_000, "S", "S", 0.02),
        (16_000, "S", "S", 0.08),
        (200_000, "S", "S", 0.08),
        (4_000, "S", "H", -0.008),
        (40_000, "S", "H", -0.08),
        (40_000, "O", "S", -0.08),
        (40_000, "O", "H", -0.08),
        (40_000, "O", "O", 0.0),
        (40_000, "H", "S", 0.0),
        (40_000, "H", "O", 0.0),
    ],
)
def test_bonus_and_tax_of_v1_are_as_in_the_table(context: int, current: str, target: str, expected: float) -> None:
    situation = Situation(context=context, current=LETTERS[current], cache_model="v1")
    assert scores(DEBUG, situation=situation)[LETTERS[target]].adjustment == pytest.approx(expected)


def test_the_horizon_adds_no_bonus_and_no_tax() -> None:
    found = scores(DEBUG, situation=Situation(context=40_000, current=SONNET))
    assert {one.adjustment for one in found.values()} == {0.0}


@pytest.mark.parametrize(
    ("context", "calls", "stay_s", "to_h", "stay_o", "to_s"),
    [
        (20_000, 1, 0.0218, 0.0242, 0.1092, 0.0908),
        (20_000, 2, 0.0458, 0.0306, 0.2289, 0.1148),
        (100_000, 1, 0.0458, 0.1042, 0.2292, 0.3908),
        (100_000, 2, 0.0938, 0.1170, 0.4689, 0.4388),
        (100_000, 12, 0.5978, 0.2514, 2.9892, 0.9428),
    ],
)
def test_the_horizon_is_as_in_the_table(
    context: int, calls: int, stay_s: float, to_h: float, stay_o: float, to_s: float
) -> None:
    def usd(letter: str, warm: int) -> float:
        return horizon_usd(prices(letter), context=context, warm=warm, fresh=1_024, calls=calls, habits=Habits())

    found = (usd("S", context), usd("H", 0), usd("O", context), usd("S", 0))
    assert found == pytest.approx((stay_s, to_h, stay_o, to_s), abs=6e-5)


def test_a_task_of_explaining_or_reviewing_is_short() -> None:
    explain, debug = task_of("explain this function"), task_of(DEBUG)
    assert (calls_left(explain, Habits()), calls_left(debug, Habits())) == (4, 12)
    assert calls_left(debug, Habits(calls=7, made=3)) == 4
    assert calls_left(debug, Habits(made=40)) == 1


def test_the_coefficient_scales_what_is_weighed_with_its_cache() -> None:
    listed = Prices(input=2.0, output=8.0, cache_read=0.2)
    found = token_prices(Price(prices=listed, source="override", coefficient=0.5), 1_000)
    assert found == CallPrices(input=1.0, output=4.0, cache_read=0.1, cache_write=1.0)
