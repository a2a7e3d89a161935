"""What users complain about in other routers, one test each (routing specification, section 34.3).

Those that a test elsewhere names are listed in `ELSEWHERE`.
"""

from __future__ import annotations

import itertools
import socket
from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.routing.routes import CHINESE, DEBUG, HAIKU, MODELS, OPUS, PRODUCTION, REVIEW, SONNET, SUMMARY, model
from tests.core.routing.translations import TASKS
from tests.evals.outcomes import questions
from tests.routing.naming import find_test, words
from ullage.core.profiles import Prices
from ullage.core.routing.capability import BenchmarkOverride, capability_of
from ullage.core.routing.cost_policy import CostPolicy
from ullage.core.routing.filtering import Constraints, Needs
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pools import Pool
from ullage.core.routing.route import Route, RouteConfig, RouteSession, resolve_route
from ullage.core.routing.rules_reading import read_rules
from ullage.core.routing.scoring import Signals
from ullage.core.routing.task import analyze_task
from ullage.core.routing.weights import WEIGHTS
from ullage.evals.routing_learning import expect_all, fold_by_group

PROMPTS = (DEBUG, SUMMARY, CHINESE, PRODUCTION, REVIEW, "hi", "go on")
ELSEWHERE = {
    "C1": "routing/test_complaints_live.py::test_c01_thinking_counts_when_a_window_is_chosen",
    "C2": "core/routing/test_route.py::test_a_long_session_is_not_sent_to_a_window_that_is_too_small",
    "C3": "core/routing/test_route.py::test_a_pin_that_comes_too_late_is_told",
    "C4": "core/routing/test_route.py::test_a_weaker_target_that_takes_over_unasked_is_told",
    "C5": "routing/test_complaints_live.py::test_c05_who_answers_is_told_with_the_first_word",
    "C7": "core/routing/test_task.py::test_no_signal_is_unknown_and_not_simple",
    "C8": "core/routing/test_route.py::test_yes_after_a_plan_is_no_trivial_task",
    "C9": "core/routing/test_route.py::test_a_route_by_itself_costs_no_more_than_the_pin_that_it_equals",
    "C10": "routing/test_complaints_live.py::test_c10_nobody_is_sent_thinking_that_another_model_signed",
    "C11": "core/routing/test_filtering.py::test_a_request_must_fit_before_any_tier_counts",
    "C12": "core/routing/test_route.py::test_fallbacks_are_targets_of_the_route_itself",
    "C13": "gateway/test_route_trouble.py::test_a_provider_without_credit_is_left_alone_by_later_tasks",
    "C14": "core/routing/test_filtering.py::test_an_open_circuit_is_never_tried",
    "C15": "gateway/test_budgets.py::test_parallel_calls_never_pass_a_cap_of_five_dollars__litellm_34732_40095_26672",
    "C16": "gateway/test_budgets.py::test_what_an_answer_did_not_cost_is_free_again_before_the_next_call",
    "C17": "core/routing/test_scoring.py::test_the_estimate_knows_what_a_cache_holds",
    "C19": "core/routing/test_selection.py::test_what_staying_and_leaving_cost_is_told",
    "C20": "core/routing/test_filtering.py::test_deny_and_exclude_win_over_allow_and_include",
    "C21": "core/routing/test_filtering.py::test_what_may_not_be_chosen_may_be_named",
    "C24": "core/routing/test_task.py::test_the_same_task_is_as_complex_in_every_language",
    "C25": "core/routing/test_task.py::test_a_latin_word_is_found_beside_letters_without_spaces",
    "C26": "core/routing/test_task.py::test_the_same_task_is_as_complex_in_every_language",
    "C27": "core/routing/test_task.py::test_letters_that_are_tokens_count_as_tokens",
    "C30": "core/health/test_attempts.py::test_max_attempts_bounds_the_request",
    "C31": "core/routing/test_pricing.py::test_every_price_tells_where_it_is_from",
    "C33": "core/routing/test_scoring.py::test_each_target_has_its_own_cache_prices",
    "C35": "core/routing/test_selection.py::test_a_dearer_model_takes_over_only_if_it_is_likely_better",
}


def targets(route: Route) -> set[str]:
    return {one.target for one in route.ranked}


@pytest.mark.parametrize(("complaint", "place"), ELSEWHERE.items())
def test_what_is_tested_elsewhere_is_named_there(complaint: str, place: str) -> None:
    test = find_test(place)
    assert test.name.startswith(f"test_c{int(complaint[1:]):02}_") or complaint in words(test)


def test_there_is_a_test_of_every_complaint() -> None:
    here = {f"C{int(name[6:8])}" for name in globals() if name.startswith("test_c")}
    assert not here & set(ELSEWHERE)
    assert here | set(ELSEWHERE) == {f"C{number}" for number in range(1, 37)}


def test_c06_the_user_says_who_may_be_chosen_and_how_good_they_must_be() -> None:
    """C6: Auto "goes in circles" and breaks code; users want to choose the set."""
    allowed = RouteConfig(constraints=Constraints(model_exclude=("*haiku",), provider_allow=("anthropic",)))
    pooled = RouteConfig(pools={"mine": Pool(targets={OPUS: 1, SONNET: 3})}, pool="mine")
    others = (model("openai/gpt-5", 0.01, 0.01), model("local/free", 0.01, 0.01))
    for prompt, policy, config in itertools.product(PROMPTS, WEIGHTS, (allowed, pooled)):
        assert targets(resolve_route((*MODELS, *others), prompt, policy=policy, config=config)) == {OPUS, SONNET}
    for floor, target in ((0.0, HAIKU), (0.8, SONNET), (0.9, OPUS)):
        config = RouteConfig(cost=CostPolicy(quality_floor=floor))
        assert resolve_route(MODELS, CHINESE, policy="cost", config=config).target == target


def test_c18_reading_a_long_session_anew_counts_as_waiting() -> None:
    """C18: 408 s to re-read 45,000 tokens after a switch, and nobody had warned."""
    hosted, local = model("hosted/sonnet", 3, 15, 0.3, 3.75), model("local/sonnet", 0.5, 0.5)

    def route(read_ms: float | None, warm: dict[str, int], *models: ModelRecord) -> Route:
        signals = {
            hosted.target: Signals(latency_ms=30_000),
            local.target: Signals(latency_ms=15_000, read_ms=read_ms),
        }
        session = RouteSession(first_turn=False, signals=signals, warm=warm)
        return resolve_route(models, DEBUG, policy="fast", context_tokens=45_000, session=session)

    assert route(None, {}, hosted, local).target == local.target
    assert route(9.0, {local.target: 45_000}, hosted, local).target == local.target
    slow = route(9.0, {}, hosted, local)
    assert slow.target == hosted.target
    assert {one.target: one.terms.latency for one in slow.ranked} == {hosted.target: 1.0, local.target: 0.0}
    alone = route(9.0, {}, local)
    assert "reads 46,024 tokens anew, about 414 s" in alone.reasons


def test_c22_a_route_asks_nobody_and_goes_by_units_that_people_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """C22: thresholds without a unit, learned for one pair of models on unseen data; embeddings that need a key."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing is asked over the network")

    monkeypatch.setattr(socket, "socket", refuse)
    pair = (model("lab/never-heard-of", 2, 8), model("lab/nor-of-this", 0.2, 0.8))
    for prompt, policy in itertools.product(PROMPTS, WEIGHTS):
        for models in (MODELS, pair):
            route = resolve_route(models, prompt, policy=policy, context_tokens=9_000)
            yen = [replace(one, prices=_times(one.prices, 150)) for one in models]
            dear = resolve_route(yen, prompt, policy=policy, context_tokens=9_000)
            assert route.target == dear.target
            assert route.confidence == pytest.approx(dear.confidence)
            first, last = route.ranked[0].cost_usd, dear.ranked[0].cost_usd
            assert first is not None
            assert last == pytest.approx(150 * first)
            assert all(0 <= one.terms.quality <= 1 for one in route.ranked)


def _times(prices: Prices, factor: float) -> Prices:
    known = {
        part: factor * price
        for part in ("input", "output", "cache_read", "cache_write")
        if (price := getattr(prices, part)) is not None
    }
    return replace(prices, **known)


FOUR = (
    model("lab/claude-opus-5", 15, 75, inputs=("text",)),
    model("lab/claude-sonnet", 3, 15, inputs=("text",)),
    model("eyes/gemini-flash-latest", 4, 20),
    model("wide/gemini-3.1-pro-preview", 5, 25, context_window=1_000_000, inputs=("text",)),
)


@pytest.mark.parametrize(
    ("prompt", "policy", "asked", "target"),
    [
        ("Rename x to y", "balanced", {}, "lab/claude-sonnet"),
        (REVIEW, "best", {}, "lab/claude-opus-5"),
        ("What is on this screenshot?", "best", {"images": 1}, "eyes/gemini-flash-latest"),
        ("go on", "cost", {"context_tokens": 300_000}, "wide/gemini-3.1-pro-preview"),
    ],
)
def test_c23_what_is_chosen_is_asserted_and_not_that_something_is(
    prompt: str, policy: str, asked: dict[str, Any], target: str
) -> None:
    """C23: none of four routes was right, and the test passed, for it looked at the status alone."""
    four = tuple(replace(one, provider="anthropic") if one.provider == "lab" else one for one in FOUR)
    four = tuple(replace(one, provider="google") if "gemini" in one.id else one for one in four)
    route = resolve_route(four, prompt, policy=policy, **asked)
    assert route.target is not None
    assert route.target.partition("/")[2] == target.partition("/")[2]


def test_c28_a_category_of_ones_own_is_a_rule() -> None:
    """C28: fourteen fixed categories, and none can be added."""
    rules, problems = read_rules(
        [
            {"name": "invoices", "when": {"promptMatches": "invoice|rechnung|請求書"}, "then": {"only": OPUS}},
            {"name": "sketches", "when": {"maxComplexity": 0.12, "kinds": "generate"}, "then": {"only": HAIKU}},
        ],
        {},
    )
    assert problems == ()
    found = {
        prompt: resolve_route(MODELS, prompt, config=RouteConfig(rules=rules))
        for prompt in ("Sum up this invoice", "Prüfe die Rechnung", "請求書を確認して", "Write a haiku", DEBUG)
    }
    assert [route.rule for route in found.values()] == ["invoices", "invoices", "invoices", "sketches", None]
    assert [route.target for route in found.values()] == [OPUS, OPUS, OPUS, HAIKU, SONNET]
    assert [verdict.matched for verdict in found[DEBUG].verdicts] == [False, False]


def test_c29_every_level_is_reached_and_bounds_are_in_order() -> None:
    """C29: stock boundaries made the hardest class all but unreachable; overriding one left the others stale."""
    prompts = [*PROMPTS, *(prompt for task in TASKS for prompt in task.values())]
    routes = [resolve_route(MODELS, prompt, policy=policy) for prompt in prompts for policy in ("balanced", "best")]
    quarters = [min(3, int(4 * route.task.complexity)) for route in routes]
    assert set(quarters) == {0, 1, 2, 3}
    assert {route.target for route in routes} == {OPUS, SONNET, HAIKU}
    assert {route.thinking for route in routes} >= {"off", "low", "medium", "high"}
    crossed = [{"name": "x", "when": {"minComplexity": 0.8, "maxComplexity": 0.2}, "then": {"policy": "best"}}]
    rules, problems = read_rules(crossed, {})
    assert not rules.entries
    assert "rules[0].when" in problems[0]
    partial = {SONNET: BenchmarkOverride(ramp=0.95)}
    tier = [capability_of(MODELS[1], source=source, overrides=partial).overall for source in ("ramp", "aa")]
    assert tier == ["frontier", capability_of(MODELS[1], source="aa").overall]


def test_c32_nothing_is_learned_from_the_tasks_that_it_is_judged_by() -> None:
    """C32: entries of a leaderboard were fitted on the set that ranked them."""
    data = questions(100)
    folds = fold_by_group(data)
    expected = expect_all(data, "words", folds=folds)
    for fold in set(folds):
        turned = [
            replace(item, outcomes=tuple(one._replace(quality=1 - one.quality) for one in item.outcomes))
            if place == fold
            else item
            for item, place in zip(data.items, folds, strict=True)
        ]
        other = expect_all(replace(data, items=tuple(turned)), "words", folds=folds)
        changed = {place for one, two, place in zip(expected, other, folds, strict=True) if one != two}
        assert fold not in changed
        assert changed


def test_c34_a_weaker_model_does_not_take_over_in_silence() -> None:
    """C34: when the allowance ends a far weaker model goes on and still edits files."""
    light, strong = model("other/claude-haiku", 0.8, 4), MODELS[1]
    light = replace(light, provider="openai", id="gpt-5.4-nano")
    session = RouteSession(
        first_turn=False, current=SONNET, signals={SONNET: Signals(quota="blocked", uvi=1.0)}, previous=None
    )
    route = resolve_route((light, strong), DEBUG, context_tokens=20_000, session=session)
    assert route.target == light.target
    assert route.warnings == (
        f"{light.target} takes over from {SONNET}, light in place of strong: the quota of anthropic is spent (blocked)",
    )
    stays = resolve_route(
        (light, strong), DEBUG, context_tokens=20_000, session=session, config=RouteConfig(minimum_tier="strong")
    )
    assert stays.target == SONNET
    assert f"{SONNET}: quota blocked" in stays.warnings


@pytest.mark.parametrize("context", [0, 9_999, 60_000, 109_523, 109_524, 171_000, 172_000, 400_000])
def test_c36_a_summary_is_sized_by_the_window_that_takes_it(context: int) -> None:
    """C36: a compaction was sized for a window that the dispatcher refused."""
    windows = (32_000, 128_000, 200_000, 1_000_000)
    models = [model(f"lab/m{window}", 1, 1, context_window=window) for window in windows]
    errand = RouteSession(first_turn=False, trigger="extension")
    summary = resolve_route(
        models, "Summarize the conversation.", context_tokens=context, policy="cost", session=errand
    )
    work = resolve_route(models, "Summarize the conversation.", context_tokens=context)
    task = analyze_task("Summarize the conversation.", context_tokens=context)
    needed = Needs(context_tokens=task.required_context_tokens, output_tokens=task.required_output_tokens)
    fitting = {one.target for one in models if (one.context_window or 0) >= needed.window_tokens}
    assert targets(summary) == targets(work) == fitting
