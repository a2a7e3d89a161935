"""Ways of choosing a model for each task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.evals.outcomes import issues, layers, questions
from ullage.evals.routing_data import Item, Outcome
from ullage.evals.routing_methods import LEARNED, PROPOSED, SHIPPED, Method, plan_methods, threshold_methods
from ullage.evals.routing_targets import by_price, find_candidates

if TYPE_CHECKING:
    from ullage.evals.routing_data import RoutingSet


def carry_out(data: RoutingSet) -> dict[str, Method]:
    methods = [plan() for plan in plan_methods(data, find_candidates(data, layers))]
    return {one.name: one for one in methods}


def spent(method: Method) -> float:
    return sum(answer.spend for answer in method.answers)


def score(method: Method) -> float:
    return sum(answer.quality for answer in method.answers) / len(method.answers)


@pytest.fixture(scope="module")
def of_issues() -> dict[str, Method]:
    return carry_out(issues())


def test_every_kind_of_method_is_there(of_issues: dict[str, Method]) -> None:
    assert list(of_issues) == [
        "always gpt-5",
        "always gpt-5-mini",
        "random",
        "cheapest",
        "cheapest first, the next on failure",
        "oracle",
        "router, balanced",
        "router, best",
        "router, cost",
        "router, balanced, learned kind statistics",
        "router, best, learned kind statistics",
        "router, balanced, repository statistics in place of tiers",
        "router, best, repository statistics in place of tiers",
    ]
    kinds = [one.kind for one in of_issues.values()]
    assert (kinds.count(SHIPPED), kinds.count(LEARNED), kinds.count(PROPOSED)) == (3, 2, 2)


def test_a_cascade_pays_for_what_failed_too(of_issues: dict[str, Method]) -> None:
    cascade = of_issues["cheapest first, the next on failure"]
    item, answer = next(
        (item, answer)
        for item, answer in zip(issues().items, cascade.answers, strict=True)
        if item.outcomes[1].quality == 0
    )
    assert answer.quality == 1
    assert answer.spend == pytest.approx(item.outcomes[0].spend + item.outcomes[1].spend)
    assert score(cascade) == score(of_issues["oracle"]) == 1
    assert spent(of_issues["oracle"]) < spent(cascade)


def test_the_oracle_takes_the_cheapest_of_those_that_do_it_and_of_those_that_fail() -> None:
    item = Item(id="x", group=None, prompt="?", outcomes=(Outcome(0, 3), Outcome(0, 1)))
    found = carry_out(replace(issues(), items=(item,)))["oracle"]
    assert found.answers[0].spend == 1


def test_a_lot_is_what_may_be_expected_of_it(of_issues: dict[str, Method]) -> None:
    lot = of_issues["random"]
    assert score(lot) == pytest.approx((score(of_issues["always gpt-5"]) + score(of_issues["always gpt-5-mini"])) / 2)


def test_the_router_goes_by_prices_and_rows_alone(of_issues: dict[str, Method]) -> None:
    """gpt-5 has a prior and gpt-5-mini none: the best policy takes the one, the cheapest the other."""
    assert of_issues["router, best"].answers == of_issues["always gpt-5"].answers
    assert of_issues["router, cost"].answers == of_issues["cheapest"].answers


def test_outcomes_of_a_task_do_not_move_its_own_route() -> None:
    """A task judged by others of its kind only: turning its own outcomes over changes no choice that is made for it."""
    data = questions(30)
    turned = Item(
        id=data.items[0].id, group=None, prompt=data.items[0].prompt, outcomes=(Outcome(1.0, 0.0), Outcome(0.0, 1.0))
    )
    other = carry_out(replace(data, items=(turned, *data.items[1:])))
    for name, method in carry_out(data).items():
        if method.kind in (SHIPPED, LEARNED, PROPOSED):
            assert other[name].answers[0].shares == method.answers[0].shares


def test_words_that_tell_hard_from_easy_are_learned() -> None:
    data = questions(300)
    found = carry_out(data)["router, balanced, word statistics in place of tiers"]
    by_word = {"apples": 0.0, "stars": 0.0}
    for item, answer in zip(data.items, found.answers, strict=True):
        by_word["stars" if "stars" in item.prompt else "apples"] += answer.shares[1]
    assert by_word == {"apples": 0.0, "stars": 100.0}


def test_a_set_without_prices_has_no_cheapest() -> None:
    data = replace(issues(), unit="calls")
    assert by_price(find_candidates(data, layers)) is None
    assert "cheapest" not in carry_out(data)


def test_models_that_nobody_knows_stay_unknown() -> None:
    data = replace(issues(), models=("gpt-5", "made-up-1"))
    one, other = find_candidates(data, layers)
    assert one.capability.overall == "frontier"
    assert (other.target, other.capability.overall) == ("unknown/made-up-1", "unknown")


def test_the_hardest_tasks_go_to_the_strong_model_and_alike_ones_share() -> None:
    data = questions(40)
    made = {
        share: method
        for _, share, method in threshold_methods(
            data, {"stars": lambda item: float("stars" in item.prompt)}, (0.2, 0.35, 1.0)
        )
    }
    for share, method in made.items():
        assert sum(answer.shares[1] for answer in method.answers) == pytest.approx(share * 40)
    stars = [answer for item, answer in zip(data.items, made[0.2].answers, strict=True) if "stars" in item.prompt]
    assert {answer.shares[1] for answer in stars} == {8 / 14}
    assert score(made[0.35]) == pytest.approx(1.0)
