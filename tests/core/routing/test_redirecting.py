"""Routes that go elsewhere than decided (routing specification, section 24)."""

from __future__ import annotations

import pytest

from tests.core.routing.routes import DEBUG, HAIKU, MODELS, OPUS, SONNET
from ullage.core.routing.failsafe import failsafe_route
from ullage.core.routing.filtering import Constraints
from ullage.core.routing.redirecting import redirect, shadow
from ullage.core.routing.route import Route, RouteConfig, RouteSession, prepare_candidates, resolve_route
from ullage.core.routing.scoring import Signals

AT_OPUS = RouteSession(current=OPUS, cold=True, first_turn=False)


def route(session: RouteSession, prompt: str = DEBUG, **config: Constraints) -> Route:
    return resolve_route(
        MODELS, prompt, session=session, policy="balanced", context_tokens=1_000, config=RouteConfig(**config)
    )


def downwards() -> Route:
    """A route that would leave the target of the session."""
    decided = resolve_route(MODELS, "@again-cheaper Debug this failing test", session=AT_OPUS, context_tokens=1_000)
    assert decided.target is not None
    assert decided.target != OPUS
    return decided


def test_the_sessions_target_is_kept_and_it_is_said_what_would_have_been_chosen() -> None:
    decided = redirect(route(AT_OPUS), SONNET)
    kept, told = shadow(decided, AT_OPUS)
    assert kept.target == OPUS
    assert kept.ranked[0].target == OPUS
    assert kept.reasons[-2:] == (f"shadow kept {OPUS}", f"would select {SONNET}")
    assert told == SONNET
    assert {one.target for one in kept.ranked} == {OPUS, SONNET, HAIKU}


def test_where_the_sessions_target_is_chosen_anyway_nothing_changes_and_that_is_told() -> None:
    session = RouteSession(current=SONNET, first_turn=False)
    decided = route(session)
    kept, told = shadow(decided, session)
    assert kept is decided
    assert told == SONNET


@pytest.mark.parametrize(
    ("session", "prompt"),
    [
        (RouteSession(), DEBUG),
        (RouteSession(current="gone/away"), DEBUG),
        (RouteSession(current=OPUS, pin=HAIKU), DEBUG),
        (RouteSession(current=OPUS), f"@model:{SONNET} {DEBUG}"),
        (RouteSession(current=HAIKU), f"@high {DEBUG}"),
    ],
    ids=["no target yet", "target not there", "pinned", "pinned in the prompt", "tier in the prompt"],
)
def test_there_is_no_shadow_under_pins_and_without_a_target_to_keep(session: RouteSession, prompt: str) -> None:
    decided = route(session, prompt)
    assert shadow(decided, session) == (decided, None)


def test_a_target_that_a_constraint_bars_is_not_kept() -> None:
    session = RouteSession(current=OPUS, first_turn=False)
    decided = route(session, constraints=Constraints(model_exclude=(OPUS,)))
    assert shadow(decided, session) == (decided, None)


def test_a_step_down_that_the_prompt_asks_for_is_watched_only_where_staying_is_still_open() -> None:
    decided = downwards()
    assert shadow(decided, AT_OPUS) == (decided, None)


def test_a_redirected_route_has_the_thinking_of_its_target() -> None:
    decided = route(RouteSession())
    assert redirect(decided, HAIKU).thinking == decided.thinking_for(decided.ranked[-1])


def test_what_is_said_of_a_redirected_route_is_said_of_its_target() -> None:
    """Escalation: reasons, price and tier were those of the weaker target, with its certainty."""
    session = RouteSession(current=HAIKU, first_turn=False)
    decided = resolve_route(MODELS, "Rename x in this line.", policy="cost", session=session, context_tokens=1_000)
    assert decided.target == HAIKU
    assert {"low cost", "cache-aware stickiness", "price $0.8/$4 per 1M (catalog)"} <= set(decided.reasons)
    moved = redirect(decided, SONNET, "because")
    assert moved.reasons[-1] == "because"
    assert "price $3/$15 per 1M (catalog)" in moved.reasons
    assert not {"low cost", "cache-aware stickiness", "price $0.8/$4 per 1M (catalog)"} & set(moved.reasons)
    told = [one for one in moved.reasons if one.startswith("capability")]
    assert told == [moved.ranked[0].candidate.capability.describe()]
    assert (moved.confidence, moved.margin) == (None, None)
    selection = moved.selection
    assert selection is not None
    assert (selection.kept, selection.rival, selection.interval, selection.flips) == (None, None, None, ())


def test_warnings_of_the_target_that_was_left_are_gone_and_others_stay() -> None:
    session = RouteSession(
        current=OPUS,
        first_turn=False,
        circuits={OPUS: 1},
        signals=dict.fromkeys((SONNET, HAIKU), Signals(quota="blocked")),
    )
    decided = route(session)
    assert decided.target == HAIKU
    moved = redirect(decided, SONNET)
    assert [one for one in moved.warnings if HAIKU in one] == []
    assert f"{SONNET}: quota blocked" in moved.warnings
    assert any(
        one.startswith(f"{SONNET} takes over from {OPUS}, strong in place of frontier") for one in moved.warnings
    )


def test_the_target_that_was_chosen_anyway_stays_as_it_is_told() -> None:
    decided = route(RouteSession())
    assert redirect(decided, SONNET) == decided
    assert redirect(decided, SONNET, "more").reasons == (*decided.reasons, "more")


def test_a_route_that_was_not_weighed_says_no_more_of_another_target() -> None:
    decided = failsafe_route(prepare_candidates(MODELS), DEBUG, last_good=SONNET)
    assert decided.reasons == ("fail-safe", "last known good")
    assert redirect(decided, HAIKU, "because").reasons == ("fail-safe", "because")
