"""How likely each target was to get a task, and tasks that try another one (routing specification, section 23.2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.routing.routes import DEBUG, HAIKU, MODELS, OPUS, SONNET, choose, task_of
from ullage.core.routing.cost_policy import CostPolicy
from ullage.core.routing.exploring import draw, explore, propensities, ticket_of
from ullage.core.routing.failsafe import failsafe_route
from ullage.core.routing.route import Route, RouteConfig, RouteSession, prepare_candidates, resolve_route
from ullage.core.routing.scoring import RouteScore, Situation
from ullage.core.routing.selection import Weighing

NEW = RouteSession()
CHOSEN = choose(DEBUG)
RANKED = CHOSEN.ranked
BY_UTILITY = Weighing(task=task_of(DEBUG), policy="balanced", situation=Situation(cache_model="v1"))


def chances_of(
    share: float, ranked: Sequence[RouteScore] = RANKED, weighing: Weighing = BY_UTILITY
) -> dict[str, float]:
    return propensities(replace(CHOSEN, ranked=tuple(ranked)), weighing, share)


def route(prompt: str = DEBUG, session: RouteSession = NEW, policy: str = "balanced") -> Route:
    return resolve_route(MODELS, prompt, session=session, policy=policy)


def test_by_default_the_chosen_target_is_certain() -> None:
    assert chances_of(0.0) == {SONNET: 1.0}
    decided = route()
    assert explore(decided, NEW, 0.0, "t1") == (decided, {SONNET: 1.0})


def test_a_part_of_the_tasks_is_shared_out_by_utility_among_the_others() -> None:
    chances = chances_of(0.2)
    assert next(iter(chances)) == SONNET
    assert chances[SONNET] == pytest.approx(0.8)
    assert sum(chances.values()) == pytest.approx(1)
    utilities = {one.target: one.utility for one in RANKED}
    assert utilities[HAIKU] > utilities[OPUS]
    assert chances[HAIKU] > chances[OPUS] > 0


def test_who_is_expected_to_do_much_worse_is_never_tried() -> None:
    best, *others = RANKED
    much_worse = [replace(one, terms=replace(one.terms, quality=best.terms.quality - 0.15)) for one in others]
    assert chances_of(0.5, [best, *much_worse]) == {best.target: 1.0}
    little_worse = [replace(one, terms=replace(one.terms, quality=best.terms.quality - 0.14)) for one in others]
    assert len(chances_of(0.5, [best, *little_worse])) == 3


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_under_cost_nobody_below_the_floor_is_tried(share: float) -> None:
    config = RouteConfig(cost=CostPolicy(quality_floor=0.9))
    decided = resolve_route(MODELS, DEBUG, policy="cost", config=config)
    assert min(one.terms.quality for one in decided.ranked) < 0.9
    for number in range(50):
        tried, chances = explore(decided, NEW, share, f"task {number}")
        assert tried.ranked[0].terms.quality >= 0.9
        assert HAIKU not in chances


def test_under_cost_the_cheaper_of_the_others_is_tried_more_often() -> None:
    chances = explore(resolve_route(MODELS, DEBUG, policy="cost"), NEW, 0.5, "t")[1]
    assert next(iter(chances)) == HAIKU
    assert chances[SONNET] > 100 * chances.get(OPUS, 0)


def test_a_cold_session_tries_nobody_that_may_not_take_over_by_itself() -> None:
    session = RouteSession(current=SONNET, cold=True, first_turn=False)
    assert HAIKU not in explore(route(session=session), session, 0.5, "t1")[1]


def test_a_route_that_was_not_weighed_is_not_left() -> None:
    decided = failsafe_route(prepare_candidates(MODELS), DEBUG)
    assert explore(decided, NEW, 1.0, "t1") == (decided, {decided.target: 1.0})


def test_a_single_target_is_certain_however_much_is_tried() -> None:
    assert chances_of(1.0, RANKED[:1]) == {SONNET: 1.0}


def test_a_ticket_falls_to_a_target_by_its_chance() -> None:
    chances = {"a": 0.5, "b": 0.25, "c": 0.25}
    drawn = [draw(chances, ticket) for ticket in (0.0, 0.49, 0.5, 0.74, 0.75, 0.99)]
    assert drawn == ["a", "a", "b", "b", "c", "c"]
    assert draw({"a": 0.5, "b": 0.4999}, 0.99995) == "a"


def test_the_same_task_is_always_drawn_alike_and_tickets_are_spread() -> None:
    tickets = [ticket_of(f"task {number}") for number in range(1_000)]
    assert tickets == [ticket_of(f"task {number}") for number in range(1_000)]
    assert all(0 <= ticket < 1 for ticket in tickets)
    assert sum(tickets) / 1_000 == pytest.approx(0.5, abs=0.05)


def test_as_many_tasks_try_another_target_as_was_asked_for_and_say_so() -> None:
    decided = route()
    tried = [explore(decided, NEW, 0.3, f"task {number}") for number in range(500)]
    others = [one for one, _ in tried if one.target != SONNET]
    assert len(others) == pytest.approx(150, abs=40)
    for one, chances in tried:
        assert one.target in chances
        assert one.ranked[0].target == one.target
        assert {score.target for score in one.ranked} == {OPUS, SONNET, HAIKU}
    assert others[0].reasons[-1] == f"tried instead of {SONNET}, to learn"


def test_the_level_of_thinking_is_that_of_the_target_that_is_tried() -> None:
    plain = [replace(one, reasoning=False) if one.id != "claude-sonnet" else one for one in MODELS]
    decided = resolve_route(plain, "Plan the architecture of a migration.", policy="balanced")
    tried = [explore(decided, NEW, 1.0, f"task {number}")[0] for number in range(9)]
    assert {one.thinking for one in tried if one.target != SONNET} <= {"off"}


@pytest.mark.parametrize(
    ("prompt", "session"),
    [
        ("@high Debug this failing test", NEW),
        (f"@model:{SONNET} Debug this failing test", NEW),
        ("@again-stronger Debug this failing test", RouteSession(current=HAIKU, first_turn=False)),
        (DEBUG, RouteSession(pin=SONNET)),
        (DEBUG, RouteSession(current=SONNET, first_turn=False)),
    ],
    ids=["tier", "model", "stronger", "pin", "warm"],
)
def test_nothing_is_tried_where_the_user_chose_or_a_cache_is_warm(prompt: str, session: RouteSession) -> None:
    decided = route(prompt, session)
    assert explore(decided, session, 1.0, "t1") == (decided, {decided.target: 1.0})


def test_where_the_cache_is_cold_a_session_may_try_another_target() -> None:
    session = RouteSession(current=SONNET, cold=True, first_turn=False)
    assert len(explore(route(session=session), session, 0.5, "t1")[1]) > 1


def test_a_route_that_was_stopped_stays_so() -> None:
    stopped = resolve_route([], DEBUG)
    assert explore(stopped, NEW, 0.5, "t1") == (stopped, {})


@given(st.floats(0, 1), st.floats(0, 1, exclude_max=True), st.integers(1, 3))
def test_chances_always_add_up_and_whoever_is_drawn_had_one(share: float, ticket: float, number: int) -> None:
    chances = chances_of(share, RANKED[:number])
    assert sum(chances.values()) == pytest.approx(1)
    assert all(0 <= chance <= 1 for chance in chances.values())
    assert draw(chances, ticket) in chances
