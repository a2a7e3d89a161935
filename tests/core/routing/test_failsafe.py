"""Specification of routing, section 20.2: a route where planning fails."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.routing.routes import HAIKU, OPUS, SONNET, THREE, model
from ullage.core.errors import CallError
from ullage.core.routing.failsafe import NO_FAULTS, Faults, failsafe_route, route_safely
from ullage.core.routing.filtering import Constraints, make_candidate
from ullage.core.routing.pools import Pool
from ullage.core.routing.route import RouteConfig, RouteSession, resolve_route
from ullage.core.routing.scoring import Signals

PROMPT = "Debug this failing test"
LATER = RouteSession(first_turn=False, current=SONNET)


def _targets(route) -> list[str]:
    return [one.target for one in route.ranked]


def test_the_last_known_good_target_comes_first() -> None:
    route = failsafe_route(THREE, PROMPT, last_good=HAIKU)
    assert route.target == HAIKU
    assert route.reasons == ("fail-safe", "last known good")
    assert (route.confidence, route.margin) == (None, None)
    assert route.policy == "balanced"
    assert sorted(_targets(route)) == sorted([OPUS, SONNET, HAIKU])


def test_one_that_may_not_be_taken_is_no_last_known_good() -> None:
    config = RouteConfig(constraints=Constraints(model_exclude=(HAIKU,)))
    route = failsafe_route(THREE, PROMPT, last_good=HAIKU, config=config)
    assert route.target in (OPUS, SONNET)
    assert HAIKU not in _targets(route)


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_at_most_so_many_targets_are_named_as_attempts_are_allowed(attempts: int) -> None:
    assert len(failsafe_route(THREE, PROMPT, max_attempts=attempts).ranked) == attempts


@pytest.mark.parametrize(
    ("session", "config", "context", "code"),
    [
        (RouteSession(pin="nobody/knows"), RouteConfig(), 0, "unmatched-pin"),
        (RouteSession(), RouteConfig(scope=("x/*",)), 0, "scope-empty"),
        (RouteSession(), RouteConfig(constraints=Constraints(provider_deny=("*",))), 0, "filtered-by-constraints"),
        (RouteSession(), RouteConfig(pools={"p": Pool(targets={"x/y": 1.0})}, pool="p"), 0, "pool-empty"),
        (RouteSession(), RouteConfig(), 1_000_000, "incompatible"),
        (RouteSession(circuits={OPUS: 5, SONNET: 7, HAIKU: 9}), RouteConfig(), 0, "circuits-open"),
    ],
)
def test_intentional_stops_stay_stops(session: RouteSession, config: RouteConfig, context: int, code: str) -> None:
    route = failsafe_route(THREE, PROMPT, session=session, config=config, context_tokens=context, last_good=HAIKU)
    assert route.target is None
    assert route.stop is not None
    assert route.stop.code == code


def test_a_pin_a_tier_and_a_least_tier_hold() -> None:
    assert failsafe_route(THREE, PROMPT, session=RouteSession(pin=HAIKU)).target == HAIKU
    assert _targets(failsafe_route(THREE, f"@model:{SONNET} {PROMPT}")) == [SONNET]
    assert _targets(failsafe_route(THREE, f"@ultra {PROMPT}", last_good=HAIKU)) == [OPUS]
    assert _targets(failsafe_route(THREE, PROMPT, config=RouteConfig(minimum_tier="frontier"))) == [OPUS]
    assert failsafe_route(THREE, f"@ultra {PROMPT}").prompt == PROMPT


def test_a_pool_holds_and_admits_others_only_where_it_falls_back() -> None:
    closed = RouteConfig(pools={"p": Pool(targets={HAIKU: 1.0})}, pool="p")
    assert _targets(failsafe_route(THREE, PROMPT, config=closed, last_good=OPUS)) == [HAIKU]
    open_pool = RouteConfig(pools={"p": Pool(targets={"x/y": 1.0}, fallback="any")}, pool="p")
    assert len(failsafe_route(THREE, PROMPT, config=open_pool).ranked) == 3


def test_spent_quotas_and_failed_targets_are_avoided_while_another_is_left() -> None:
    spent = {HAIKU: Signals(quota="cooldown"), SONNET: Signals(quota="blocked")}
    route = failsafe_route(THREE, PROMPT, session=replace(LATER, signals=spent), last_good=HAIKU)
    assert _targets(route) == [OPUS]
    assert {one.code for one in route.excluded} == {"quota-blocked"}
    failed = failsafe_route(THREE, PROMPT, session=replace(LATER, failed={HAIKU: "503"}), last_good=HAIKU)
    assert HAIKU not in _targets(failed)
    everyone = {one.target: Signals(quota="blocked") for one in THREE}
    assert len(failsafe_route(THREE, PROMPT, session=replace(LATER, signals=everyone)).ranked) == 3


def test_pictures_need_a_model_that_reads_them() -> None:
    blind = make_candidate(replace(model(HAIKU, 0.8, 4), inputs=("text",)))
    route = failsafe_route((*THREE[:2], blind), PROMPT, images=1, last_good=HAIKU)
    assert HAIKU not in _targets(route)


def test_a_pool_that_there_is_not_is_refused_as_planning_does() -> None:
    with pytest.raises(CallError):
        failsafe_route(THREE, PROMPT, config=RouteConfig(pool="missing"))


def _broken():
    raise ZeroDivisionError


def _refused():
    raise CallError("no such policy", code="unknown_policy")


def test_after_three_failures_in_a_row_planning_rests_for_a_minute() -> None:
    planned = resolve_route(THREE, PROMPT)
    safe = failsafe_route(THREE, PROMPT)
    faults = NO_FAULTS
    for at in (1_000, 2_000, 3_000):
        assert not faults.pausing(at)
        route, faults, error = route_safely(_broken, lambda: safe, faults, at)
        assert route is safe
        assert isinstance(error, ZeroDivisionError)
    assert faults == Faults(in_a_row=3, until_ms=63_000)
    assert route_safely(lambda: planned, lambda: safe, faults, 62_999) == (safe, faults, None)
    assert route_safely(lambda: planned, lambda: safe, faults, 63_000) == (planned, NO_FAULTS, None)
    assert route_safely(_broken, lambda: safe, faults, 63_000)[1] == Faults(in_a_row=4, until_ms=123_000)


def test_a_plan_that_is_made_forgets_the_failures_before_it() -> None:
    planned = resolve_route(THREE, PROMPT)
    _, faults, _ = route_safely(_broken, lambda: planned, NO_FAULTS, 0)
    assert route_safely(lambda: planned, lambda: planned, faults, 0)[1] == NO_FAULTS


def test_what_planning_refuses_on_purpose_is_no_failure() -> None:
    with pytest.raises(CallError):
        route_safely(_refused, lambda: failsafe_route(THREE, PROMPT), NO_FAULTS, 0)


@given(
    st.text(max_size=200),
    st.integers(0, 300_000),
    st.sampled_from([None, OPUS, HAIKU, "x/y"]),
    st.sampled_from([None, OPUS, "x/y"]),
    st.frozensets(st.sampled_from([OPUS, SONNET, HAIKU])),
    st.permutations(THREE),
)
def test_it_takes_nobody_whom_planning_may_not_take(text, context, last_good, pin, opened, candidates) -> None:
    session = RouteSession(pin=pin, circuits=dict.fromkeys(opened))
    route = failsafe_route(candidates, text, context_tokens=context, session=session, last_good=last_good)
    assert (route.target is None) == (route.stop is not None)
    assert not opened & {one.target for one in route.ranked}
    assert pin is None or route.target in (None, pin)
    again = failsafe_route(THREE, text, context_tokens=context, session=session, last_good=last_good)
    assert [one.target for one in again.ranked] == [one.target for one in route.ranked]
