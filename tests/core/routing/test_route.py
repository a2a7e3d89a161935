"""A route as a whole (routing specification, sections 2.3, 3, 14, 15, 30, 32 and 33)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.routing.routes import CHINESE, DEBUG, HAIKU, MODELS, OPUS, REFACTOR, SONNET, model
from ullage.core.errors import CallError
from ullage.core.routing.cache_terms import Habits
from ullage.core.routing.classifier import read_verdict
from ullage.core.routing.filtering import Constraints
from ullage.core.routing.pools import Pool
from ullage.core.routing.report import report_route
from ullage.core.routing.route import Route, RouteConfig, RouteSession, prepare_candidates, resolve_route
from ullage.core.routing.rules_reading import read_rules
from ullage.core.routing.scoring import Signals


def rules(entries: list[Any] | None = None, scenarios: dict[str, Any] | None = None) -> RouteConfig:
    return RouteConfig(rules=read_rules(entries or [], scenarios or {})[0])


def codes(route: Route) -> dict[str, str]:
    return {one.target: one.code for one in route.excluded}


def test_a_prompt_has_a_route_with_its_reasons() -> None:
    route = resolve_route(MODELS, DEBUG)
    assert (route.target, route.thinking, route.policy) == (SONNET, "low", "balanced")
    assert route.reasons == ("debug", "test", "capability strong (catalog, medium confidence)")


def test_the_sample_of_the_document_has_the_level_and_complexity_of_the_formulas() -> None:
    """Section 32, row 9."""
    route = resolve_route(MODELS, DEBUG, context_tokens=12_000)
    assert route.thinking == "low"
    assert route.task.complexity == pytest.approx(0.31575)


def test_a_fitting_target_is_not_pushed_out_by_a_healthy_one_that_does_not_fit() -> None:
    """Section 2.3, section 32, row 1."""
    small = model("q/claude-opus-5", 1, 1, context_window=2_000)
    signals = {SONNET: Signals(quota="blocked", uvi=1.2)}
    route = resolve_route((MODELS[1], small), DEBUG, session=RouteSession(signals=signals))
    assert route.target == SONNET
    assert codes(route) == {"q/claude-opus-5": "window-too-small"}
    assert route.warnings == (f"{SONNET}: quota blocked",)
    assert "quota pressure" in route.reasons


def test_a_spent_quota_is_avoided_while_another_is_left() -> None:
    signals = {SONNET: Signals(quota="cooldown")}
    route = resolve_route(MODELS, DEBUG, session=RouteSession(signals=signals))
    assert route.target != SONNET
    assert codes(route) == {SONNET: "quota-blocked"}


def test_a_member_is_taken_although_another_is_cheaper() -> None:
    config = RouteConfig(pools={"own": Pool(targets={SONNET: 1})}, pool="own")
    assert resolve_route(MODELS, DEBUG, policy="cost", config=config).target == SONNET


def test_a_manual_pin_outranks_the_pool_and_the_rules() -> None:
    """Section 32, row 2."""
    config = RouteConfig(
        pools={"own": Pool(targets={SONNET: 1})},
        pool="own",
        rules=read_rules([{"name": "all", "then": {"only": SONNET, "policy": "cost"}}], {})[0],
    )
    route = resolve_route(MODELS, "@low " + DEBUG, config=config, session=RouteSession(pin=OPUS))
    assert (route.target, route.rule, route.policy) == (OPUS, None, "balanced")


def test_a_pool_that_there_is_not_is_told_with_what_was_meant() -> None:
    with pytest.raises(CallError, match="no pool 'onw'") as caught:
        resolve_route(MODELS, DEBUG, config=RouteConfig(pools={"own": Pool(targets={SONNET: 1})}, pool="onw"))
    assert caught.value.hint == "Did you mean 'own'?"


def test_what_may_be_used_by_name_is_not_chosen() -> None:
    """Complaint C21."""
    config = RouteConfig(constraints=Constraints(auto_exclude=(SONNET,)))
    assert resolve_route(MODELS, DEBUG, config=config).target != SONNET
    assert resolve_route(MODELS, f"@model:{SONNET} {DEBUG}", config=config).target == SONNET


def test_an_allow_list_is_hard() -> None:
    """Complaint C20."""
    config = RouteConfig(constraints=Constraints(model_include=(HAIKU,)))
    assert resolve_route(MODELS, CHINESE, policy="best", config=config).target == HAIKU


def test_a_long_session_is_not_sent_to_a_window_that_is_too_small() -> None:
    """Complaints C2 and C11: what fits is asked before what is cheap."""
    small = model("local/small", 0.01, 0.01, context_window=65_536)
    route = resolve_route((*MODELS, small), "ok continue", policy="cost", context_tokens=92_208)
    assert codes(route)["local/small"] == "window-too-small"
    assert route.target != "local/small"


def test_yes_after_a_plan_is_no_trivial_task() -> None:
    """Complaints C7 and C8."""
    first = resolve_route(MODELS, CHINESE)
    then = resolve_route(MODELS, "yes", session=RouteSession(first_turn=False, previous=first.task))
    assert then.target == first.target
    assert then.task.kinds == first.task.kinds


def test_a_route_by_itself_costs_no_more_than_the_pin_that_it_equals() -> None:
    """Complaint C9."""
    free = resolve_route(MODELS, DEBUG)
    pinned = resolve_route(MODELS, f"@model:{SONNET} {DEBUG}")
    assert free.target == pinned.target
    assert free.ranked[0].cost_usd == pinned.ranked[0].cost_usd


def test_fallbacks_are_targets_of_the_route_itself() -> None:
    """Complaint C12."""
    assert {one.target for one in resolve_route(MODELS, DEBUG).ranked} == {OPUS, SONNET, HAIKU}


def test_an_open_circuit_is_left_out_before_scoring() -> None:
    """Complaint C14."""
    route = resolve_route(MODELS, DEBUG, current=SONNET, session=RouteSession(circuits={SONNET: 1_000}))
    assert codes(route) == {SONNET: "circuit-open"}


def test_what_failed_is_set_aside_for_the_next_task() -> None:
    route = resolve_route(MODELS, DEBUG, session=RouteSession(failed={SONNET: "it failed twice"}))
    assert codes(route) == {SONNET: "failed-before"}


def test_a_rule_may_filter_prefer_and_change_policy_and_thinking() -> None:
    config = rules(
        [
            {
                "name": "tests",
                "when": {"kinds": "test"},
                "then": {"exclude": "claude-sonnet", "policy": "best", "thinking": "max"},
            }
        ]
    )
    route = resolve_route(MODELS, DEBUG, policy="cost", config=config)
    assert (route.rule, route.policy, route.thinking) == ("tests", "best", "max")
    assert codes(route) == {SONNET: "rule-excluded"}
    preferred = resolve_route(MODELS, DEBUG, config=rules([{"name": "p", "then": {"prefer": OPUS}}]))
    plain = resolve_route(MODELS, DEBUG)
    utility = {one.target: one.utility for one in plain.ranked}
    assert {one.target: one.utility - utility[one.target] for one in preferred.ranked} == pytest.approx(
        {OPUS: 0.1, SONNET: 0.0, HAIKU: 0.0}
    )


def test_a_rule_raises_the_least_tier() -> None:
    route = resolve_route(MODELS, DEBUG, config=rules(scenarios={"test": {"minimumTier": "frontier"}}))
    assert route.target == OPUS


def test_a_rule_that_leaves_nobody_is_ignored_with_a_warning() -> None:
    route = resolve_route(MODELS, DEBUG, config=rules([{"name": "r", "then": {"only": "openai/*", "policy": "cost"}}]))
    assert (route.target, route.rule, route.policy) == (SONNET, None, "balanced")
    assert route.warnings == ("the rule r is ignored: it leaves no target",)


def test_rules_are_skipped_where_the_prompt_has_a_pin() -> None:
    config = rules([{"name": "cheap", "then": {"policy": "cost"}}])
    route = resolve_route(MODELS, "@high " + DEBUG, config=config)
    assert (route.rule, route.verdicts, route.prompt) == (None, (), DEBUG)
    assert {one.target for one in route.ranked} == {OPUS, SONNET}


def test_a_step_up_or_down_is_for_one_prompt_on_any_turn_and_told() -> None:
    """Weakness 11 of section 33."""
    up = resolve_route(MODELS, "@again-stronger " + DEBUG, current=SONNET)
    assert (up.target, up.prompt) == (OPUS, DEBUG)
    assert up.warnings == ("@again-stronger: for this prompt only, stronger than strong",)
    assert up.selection is not None and up.ranked[0].cost_usd is not None
    down = resolve_route(MODELS, "@again-cheaper " + DEBUG, current=SONNET)
    assert down.target == HAIKU
    top = resolve_route(MODELS, "@again-stronger " + DEBUG, current=OPUS)
    assert top.target == OPUS
    assert top.warnings == ("@again-stronger: there is no target stronger than frontier",)


def test_who_is_cheaper_is_expected_to_cost_less_and_not_only_lighter() -> None:
    dear = (MODELS[0], MODELS[1], model(HAIKU, 4, 20, 0.4, 5))
    kept = resolve_route(dear, "@again-cheaper " + DEBUG, current=SONNET)
    assert kept.target == SONNET
    assert kept.warnings == ("@again-cheaper: nobody lighter than strong is expected to cost less than staying",)
    light = model("openai/gpt-5.4-nano", 0.05, 0.4)
    other = resolve_route((*dear, light), "@again-cheaper " + DEBUG, current=SONNET)
    assert other.target == "openai/gpt-5.4-nano"
    [told] = [one.reason for one in other.excluded if one.target == HAIKU]
    assert told.startswith("@again-cheaper: it is expected to cost $")
    assert other.warnings == ("@again-cheaper: for this prompt only, lighter than strong and cheaper",)


def test_a_warm_cache_may_be_cheaper_than_a_lighter_model() -> None:
    """A task of few calls in a long context, section 12.4."""
    ask = "@again-cheaper Explain this."
    warm = RouteSession(current=SONNET, first_turn=False, habits=Habits(calls=1))
    kept = resolve_route(MODELS, ask, session=warm, context_tokens=100_000)
    assert (kept.target, kept.warnings[0][:22]) == (SONNET, "@again-cheaper: nobody")
    cold = replace(warm, cold=True)
    assert resolve_route(MODELS, ask, session=cold, context_tokens=100_000).target == HAIKU


def test_a_price_that_is_not_known_is_taken_for_lower_only_where_none_is_known_to_be_and_told() -> None:
    unpriced = model("openai/gpt-5.4-nano")
    lighter = resolve_route((MODELS[1], unpriced), "@again-cheaper " + DEBUG, current=SONNET)
    assert lighter.target == "openai/gpt-5.4-nano"
    assert lighter.warnings[0].endswith("lighter than strong; whether it costs less is not known")
    priced = resolve_route((*MODELS, unpriced), "@again-cheaper " + DEBUG, current=SONNET)
    assert priced.target == HAIKU
    assert "openai/gpt-5.4-nano" in codes(priced)


def test_who_is_stronger_is_expected_to_do_this_task_no_worse() -> None:
    """A model of a higher tier may be worse at what the task is about."""
    candidates = prepare_candidates(MODELS[:2])
    weak = replace(
        candidates[0].capability, coding="light", reasoning="light", tool_use="light", instruction_following="light"
    )
    clumsy = (replace(candidates[0], capability=weak), candidates[1])
    kept = resolve_route(clumsy, "@again-stronger " + REFACTOR, current=SONNET)
    assert kept.target == SONNET
    assert kept.warnings == ("@again-stronger: nobody stronger than strong would do this task better",)


def test_a_step_goes_from_the_current_target_even_where_that_may_not_take_the_prompt() -> None:
    blind = model("anthropic/claude-sonnet", 3, 15, inputs=("text",))
    up = resolve_route((MODELS[0], blind, MODELS[2]), "@again-stronger Look.", images=1, current=SONNET)
    assert (up.target, codes(up)) == (OPUS, {SONNET: "no-vision", HAIKU: "rule-excluded"})


def test_a_current_target_that_there_is_not_is_told() -> None:
    route = resolve_route(MODELS, DEBUG, current="anthropic/claude-sonet")
    assert route.warnings == (f"anthropic/claude-sonet is current and unknown; did you mean {SONNET}?",)


def test_a_cold_cache_and_the_rule_stand_among_the_reasons() -> None:
    config = rules([{"name": "best of all", "then": {"policy": "best"}}])
    route = resolve_route(MODELS, DEBUG, session=RouteSession(current=OPUS, cold=True, first_turn=False), config=config)
    assert route.reasons[-2:] == ("best of all", "cache cold")


def test_the_described_system_can_be_had_as_a_whole() -> None:
    config = RouteConfig(analyzer="v1", cache_model="v1")
    route = resolve_route(MODELS, "Summarize this paragraph in three bullets.", config=config)
    assert route.task.complexity == pytest.approx(0.1105)
    quality = {one.target: one.terms.quality for one in route.ranked}
    assert quality == pytest.approx({OPUS: 1.0, SONNET: 0.986077, HAIKU: 0.957457}, abs=1e-6)


def test_a_pin_later_on_stays_in_the_text() -> None:
    route = resolve_route(MODELS, "@low " + DEBUG, current=SONNET)
    assert route.prompt == "@low " + DEBUG


def test_a_pin_that_nobody_has_gives_no_route_and_a_suggestion() -> None:
    route = resolve_route(MODELS, "@model:anthropic/claude-sonet x")
    assert route.target is None
    assert route.stop is not None
    assert route.stop.code == "unmatched-pin"
    assert f"did you mean {SONNET}?" in route.warnings[-1]


def test_the_level_of_a_fallback_is_fitted_to_it() -> None:
    dull = model("local/dull", 1, 1, reasoning=False)
    partial = model("p/claude-opus-5", 90, 90, thinking_levels={"low": None})
    route = resolve_route((*MODELS, dull, partial), DEBUG)
    levels = {one.target: route.thinking_for(one) for one in route.ranked}
    assert (levels["local/dull"], levels["p/claude-opus-5"]) == ("off", "minimal")


def test_the_order_of_models_changes_nothing() -> None:
    assert report_route(resolve_route(MODELS, DEBUG)) == report_route(resolve_route(reversed(MODELS), DEBUG))


def test_prepared_candidates_have_the_same_route() -> None:
    assert resolve_route(prepare_candidates(MODELS), DEBUG) == resolve_route(MODELS, DEBUG)


def test_a_report_has_the_shape_of_the_interface() -> None:
    report = report_route(resolve_route(MODELS, DEBUG, current=HAIKU, context_tokens=40_000))
    shape = {"target", "thinking", "policy", "confidence", "margin", "task", "ranked", "excluded", "rule", "warnings"}
    assert shape <= set(report)
    assert {"target", "score", "terms", "cost"} <= set(report["ranked"][0])
    assert {"kinds", "complexity"} <= set(report["task"])
    assert report["switch"]["stay_usd"] < report["switch"]["switch_usd"]
    assert report["explanation"]["flips"]


def test_a_report_without_a_route_says_why() -> None:
    report = report_route(resolve_route((), DEBUG))
    assert (report["target"], report["confidence"], report["ranked"]) == (None, None, [])
    assert report["stop"]["code"] == "scope-empty"


def test_what_a_classifier_says_of_a_task_holds_for_its_route() -> None:
    """Section 5, the worked example: the answer raises what the words leave open, and is no pin."""
    plain = resolve_route(MODELS, "Please have a look at the thing")
    grade = read_verdict('{"complexity":0.8,"requiresReasoning":true,"minTier":"strong","x":1}')
    graded = resolve_route(MODELS, "Please have a look at the thing", session=RouteSession(grade=grade))
    assert plain.task.confidence < 0.5
    assert (graded.task.complexity, graded.task.demand.reasoning, graded.task.confidence) == (0.8, 0.7, 0.65)
    assert graded.task.minimum_tier == "strong"
    assert {one.code for one in graded.excluded} == {"tier-too-low"}


def test_a_weaker_target_that_takes_over_unasked_is_told() -> None:
    """Complaint C4: a strong model was silently changed for a small one."""
    pair = MODELS[1:]
    spent = RouteSession(first_turn=False, current=SONNET, signals={SONNET: Signals(quota="blocked")})
    told = f"{HAIKU} takes over from {SONNET}, light in place of strong"
    assert resolve_route(pair, DEBUG, session=spent).warnings == (f"{told}: the quota of anthropic is spent (blocked)",)
    failed = RouteSession(first_turn=False, current=SONNET, failed={SONNET: "it failed twice"})
    assert resolve_route(pair, DEBUG, session=failed).warnings == (f"{told}: it failed twice",)
    assert resolve_route(pair, DEBUG, session=RouteSession(first_turn=False, current=SONNET, pin=HAIKU)).warnings == ()
    up = RouteSession(first_turn=False, current=HAIKU, failed={HAIKU: "it failed twice"})
    assert resolve_route(pair, DEBUG, session=up).warnings == ()


def test_a_pin_that_comes_too_late_is_told() -> None:
    """Complaint C3: a marker that was not heeded was passed over in silence."""
    for pin in ("@ultra", f"@model:{OPUS}"):
        late = resolve_route(MODELS, f"{pin} {DEBUG}", current=HAIKU)
        assert late.prompt == f"{pin} {DEBUG}"
        assert "not heeded" in late.warnings[0]
    assert resolve_route(MODELS, f"@media is what I mean; {DEBUG}", current=HAIKU).warnings == ()
