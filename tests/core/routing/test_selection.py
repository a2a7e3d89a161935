"""Which target is taken, whether a session stays, and how sure that is (routing specification, sections 10.3, 12 and 33)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.routing.routes import (
    CHINESE,
    DEBUG,
    HAIKU,
    MODELS,
    OPUS,
    REFACTOR,
    SONNET,
    SUMMARY,
    THREE,
    choose,
    model,
    scores,
)
from ullage.cli.route_text import tell_route
from ullage.core.routing.cost_policy import CostPolicy
from ullage.core.routing.filtering import make_candidate
from ullage.core.routing.report import report_route
from ullage.core.routing.route import Route, RouteConfig, RouteSession, resolve_route
from ullage.core.routing.scoring import Signals, Situation
from ullage.core.routing.selection import Guards, band, likelihood
from ullage.core.routing.weights import Policy

LUNA, FREE = "gateway/openai/gpt-5.6-luna", "openrouter/free"
PAIR = (make_candidate(model(LUNA)), make_candidate(model(FREE)))


@pytest.mark.parametrize(
    ("policy", "expected"), [("balanced", SONNET), ("best", SONNET), ("cost", HAIKU), ("fast", SONNET)]
)
def test_the_choice_of_each_policy_is_as_in_the_worked_examples(policy: Policy, expected: str) -> None:
    assert choose(DEBUG, policy).chosen.target == expected


@pytest.mark.parametrize("current", [OPUS, HAIKU])
def test_a_warm_target_stays_by_v1(current: str) -> None:
    found = choose(DEBUG, situation=Situation(context=40_000, current=current, cache_model="v1"))
    assert found.chosen.target == current


def test_by_v1_the_weakest_model_keeps_the_hardest_task() -> None:
    """Section 12.2 (c), as it is described; its figures are those of the warm and the cold case."""
    warm = Situation(context=40_000, current=HAIKU, cache_model="v1")
    found = scores(CHINESE, situation=warm)
    assert [found[one].utility for one in (HAIKU, SONNET, OPUS)] == pytest.approx([0.669110, 0.625520, 0.565], abs=1e-6)
    assert choose(CHINESE, situation=warm).chosen.target == HAIKU
    cold = scores(CHINESE, situation=replace(warm, cold=True))
    assert [cold[one].utility for one in (SONNET, OPUS, HAIKU)] == pytest.approx([0.62552, 0.565, 0.49911], abs=1e-6)
    assert choose(CHINESE, situation=replace(warm, cold=True)).chosen.target == SONNET
    best = scores(CHINESE, "best", situation=warm)
    assert [best[one].utility for one in (OPUS, HAIKU)] == pytest.approx([0.715, 0.601475], abs=1e-6)
    assert choose(CHINESE, "best", situation=warm).chosen.target == OPUS


@pytest.mark.parametrize("policy", ["balanced", "best", "fast"])
def test_the_weakest_model_does_not_keep_the_hardest_task(policy: Policy) -> None:
    """Section 32, row 11, and complaint C35: a trivial first turn must not hold a session at a weak model for good."""
    found = choose(CHINESE, policy, situation=Situation(context=40_000, current=HAIKU))
    assert found.chosen.target in (SONNET, OPUS)


def test_the_chosen_target_stands_first_whoever_scored_best() -> None:
    situation = Situation(context=40_000, current=OPUS)
    found = choose(SUMMARY, situation=situation)
    assert found.ranked[0].target == OPUS
    assert found.ranked[0].utility < found.ranked[1].utility


def test_a_session_is_not_taken_to_a_weaker_model_unless_that_is_allowed() -> None:
    """Complaint C4: a strong model was silently changed for a small one."""
    situation = Situation(context=40_000, current=OPUS, cold=True)
    held = choose(SUMMARY, situation=situation)
    assert (held.chosen.target, held.kept) == (OPUS, "no automatic downgrade")
    assert choose(SUMMARY, situation=situation, guards=Guards(downgrades=True)).chosen.target == HAIKU


def test_a_warm_session_stays_within_the_band_where_downgrades_are_allowed() -> None:
    situation = Situation(context=40_000, current=OPUS)
    held = choose(SUMMARY, situation=situation, guards=Guards(downgrades=True))
    assert (held.chosen.target, held.kept) == (OPUS, "cache-aware stickiness")


def test_an_upgrade_that_is_held_back_gives_way_to_no_weaker_one() -> None:
    found = choose(SUMMARY, situation=Situation(context=1_000, current=SONNET))
    assert found.chosen.target == SONNET


def test_a_dearer_model_takes_over_only_if_it_is_likely_better() -> None:
    """Complaint C35: models flipped three times in 22 seconds at a confidence of 0.18."""
    two, careful, bold = THREE[1:], Guards(upgrade_confidence=0.9), Guards(upgrade_confidence=0.5)
    situation = Situation(context=2_000, current=HAIKU, signals={HAIKU: Signals(reliability=0.2)})
    found = choose(DEBUG, "best", candidates=two, situation=situation, guards=careful)
    assert (found.chosen.target, found.kept) == (HAIKU, "upgrade not sure enough")
    assert choose(DEBUG, "best", candidates=two, situation=situation, guards=bold).chosen.target == SONNET


def test_switches_may_cost_a_fifth_of_what_staying_costs() -> None:
    """Section 12.4: at 100,000 tokens, filling S's cache costs 0.345 USD beyond reading it."""
    situation = Situation(context=100_000, current=HAIKU, preferences={SONNET: 0.8})
    held = choose(DEBUG, candidates=THREE[1:], situation=situation)
    assert (held.chosen.target, held.kept) == (HAIKU, "switch budget spent")
    assert held.switch is not None
    assert held.switch.cache_loss_usd == pytest.approx(0.345)
    rich = replace(situation, stayed_usd=2.0)
    assert choose(DEBUG, candidates=THREE[1:], situation=rich).chosen.target == SONNET
    spent = replace(rich, switched_usd=0.4)
    assert choose(DEBUG, candidates=THREE[1:], situation=spent).chosen.target == HAIKU
    free = Guards(switch_spend=10.0)
    assert choose(DEBUG, candidates=THREE[1:], situation=situation, guards=free).chosen.target == SONNET


def test_much_better_work_is_not_held_back_by_what_switching_costs() -> None:
    situation = Situation(context=100_000, current=HAIKU)
    assert choose(CHINESE, situation=situation).chosen.target in (SONNET, OPUS)


def test_whom_a_guard_bars_is_no_rival_of_the_one_that_takes_over() -> None:
    """Current S; H has the highest score, but would be a downgrade, so that O takes over."""
    signals = {SONNET: Signals(reliability=0.0), OPUS: Signals(reliability=0.9), HAIKU: Signals(reliability=1.0)}
    situation = Situation(context=1_000, current=SONNET, signals=signals, preferences={OPUS: 0.25, HAIKU: 0.6})
    found = choose(DEBUG, situation=situation)
    assert [one.target for one in found.ranked] == [OPUS, HAIKU, SONNET]
    assert found.ranked[1].utility > found.ranked[0].utility
    assert found.rival == SONNET
    assert found.margin is not None
    assert found.margin < found.ranked[0].utility - found.ranked[2].utility


def test_ties_go_to_the_cheaper_then_by_id() -> None:
    twins = (
        make_candidate(model("b/claude-sonnet", 3, 15)),
        make_candidate(model("a/claude-sonnet", 3, 15)),
        make_candidate(model("c/claude-sonnet", 3, 15)),
    )
    assert [one.target[0] for one in choose(DEBUG, candidates=twins).ranked] == ["a", "b", "c"]


def test_the_band_grows_with_the_part_of_the_window_that_is_filled() -> None:
    assert band(0, 200_000) == pytest.approx(0.05)
    assert band(100_000, 200_000) == pytest.approx(0.11)
    assert band(900_000, 200_000) == pytest.approx(0.17)
    assert band(1_000, None) == pytest.approx(0.17)


def test_a_small_margin_is_told_as_little_more_than_a_coin_toss() -> None:
    """Weakness 10 of section 33: margins of 0.003 to 0.014 were presented like certainties."""
    close = choose(DEBUG, "best")
    assert close.margin == pytest.approx(0.003259, abs=1e-6)
    assert 0.5 < close.confidence < 0.6
    gate = choose(REFACTOR, candidates=PAIR)
    assert gate.margin == pytest.approx(0.013644, abs=1e-6)
    assert gate.confidence < 0.75
    for found in (close, gate):
        assert found.interval is not None
        assert found.interval[0] < 0 < found.interval[1]


def test_it_says_which_change_would_have_turned_the_choice() -> None:
    """Section 10.5: a change of reliability of 0.14 would flip it."""
    found = choose(REFACTOR, candidates=PAIR)
    flips = {(flip.term, flip.of): flip for flip in found.flips}
    assert flips["reliability", FREE].needed - flips["reliability", FREE].was == pytest.approx(0.13644, abs=1e-5)
    turned = Situation(signals={FREE: Signals(reliability=flips["reliability", FREE].needed + 1e-6)}, cache_model="v1")
    assert found.chosen.target == LUNA
    assert choose(REFACTOR, candidates=PAIR, situation=turned).chosen.target == FREE


def test_where_nobody_else_is_eligible_there_is_no_margin() -> None:
    found = choose(DEBUG, candidates=THREE[:1])
    assert (found.margin, found.interval, found.rival, found.confidence, found.flips) == (None, None, None, 1.0, ())


def test_what_staying_and_leaving_cost_is_told() -> None:
    """Complaint C19: does changing the model discard the cache?"""
    found = choose(DEBUG, situation=Situation(context=100_000, current=SONNET), guards=Guards(downgrades=True))
    assert found.switch is not None
    assert (found.switch.current, found.switch.other) == (SONNET, HAIKU)
    assert found.switch.stay_usd == pytest.approx(0.5978, abs=6e-5)
    assert found.switch.switch_usd == pytest.approx(0.2514, abs=6e-5)
    assert found.switch.next_stay_usd == pytest.approx(0.063792, abs=1e-6)
    assert found.switch.next_switch_usd == pytest.approx(0.109011, abs=1e-6)


def test_costs_of_one_request_are_not_told_as_those_of_a_task() -> None:
    v1, horizon = (
        resolve_route(MODELS, DEBUG, current=SONNET, context_tokens=20_000, config=RouteConfig(cache_model=one))
        for one in ("v1", "horizon")
    )
    told = "\n".join(tell_route(v1, explain=False))
    assert "for the next request without any cache, leaving for" in told
    assert "cost of request" in told and "task" not in told.split("Staying")[1]
    assert report_route(v1)["switch"]["span"] == "request"
    told = "\n".join(tell_route(horizon, explain=False))
    assert "for the rest of the task, leaving for" in told and "cost of task" in told


def _at_sonnet(tokens: int, **more: Any) -> Route:
    return resolve_route(MODELS, DEBUG, policy="cost", current=SONNET, context_tokens=tokens, **more)


def test_where_the_tolerance_decides_it_is_told_and_nothing_of_how_sure_that_is() -> None:
    """Sonnet is kept, which is dearer for the task, since the next request is not by more than a tenth."""
    kept = _at_sonnet(36_000)
    selection = kept.selection
    assert selection is not None and selection.tolerance is not None
    assert (kept.target, selection.kept, selection.rival) == (SONNET, "cache-aware stickiness", HAIKU)
    dearer, cheaper = (one.cost_usd or 0 for one in kept.ranked[:2])
    assert dearer > 2 * cheaper
    assert (kept.confidence, kept.margin, selection.interval) == (None, None, None)
    told = selection.tolerance
    assert (told.current, told.other, told.allowed) == (SONNET, HAIKU, 1.1)
    assert 0 < told.ratio <= told.allowed
    assert selection.switch is not None and selection.switch.next_switch_usd
    assert told.ratio == pytest.approx((selection.switch.next_stay_usd or 0) / selection.switch.next_switch_usd)
    [flip] = selection.flips
    assert (flip.term, flip.of, flip.was, flip.needed) == ("stay/switch", SONNET, told.ratio, told.allowed)
    assert report_route(kept)["tolerance"]["ratio"] == round(told.ratio, 6)
    text = " ".join(tell_route(kept, explain=True))
    assert f"at {SONNET} it costs {told.ratio:.2f} times what it does at {HAIKU}; the session stays up to 1.10" in text
    assert "lacks" not in text and "%" not in text


def test_where_it_is_exceeded_the_session_goes_and_is_told_so_too() -> None:
    left = _at_sonnet(1_000)
    assert left.selection is not None and left.selection.tolerance is not None
    assert (left.target, left.selection.rival, left.confidence) == (HAIKU, SONNET, None)
    assert left.selection.tolerance.ratio > left.selection.tolerance.allowed


def test_where_the_tolerance_does_not_decide_the_cost_term_does() -> None:
    cold = _at_sonnet(36_000, session=RouteSession(current=SONNET, first_turn=False, cold=True))
    below = _at_sonnet(36_000, config=RouteConfig(cost=CostPolicy(quality_floor=0.99)))
    cheapest = resolve_route(MODELS, DEBUG, policy="cost", current=HAIKU, context_tokens=36_000)
    for found in (cold, below, cheapest):
        assert found.selection is not None
        assert found.selection.tolerance is None
        assert found.confidence is not None
    assert cheapest.margin is not None and cheapest.margin > 0


def test_likelihood_is_a_half_where_nothing_is_ahead() -> None:
    assert likelihood(0.0) == 0.5
    assert likelihood(1.96) == pytest.approx(0.975, abs=1e-4)
