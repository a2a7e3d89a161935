"""What holds of every route (routing specification, sections 2.3, 11 and 30)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage.core.profiles import Prices
from ullage.core.routing.capability import capability_of, tier_rank
from ullage.core.routing.cost_policy import CostPolicy
from ullage.core.routing.escalation import step_up
from ullage.core.routing.exclusions import STAGES, Code
from ullage.core.routing.exploring import explore
from ullage.core.routing.failsafe import failsafe_route
from ullage.core.routing.filtering import Constraints
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pools import Pool
from ullage.core.routing.redirecting import redirect, shadow
from ullage.core.routing.report import report_route
from ullage.core.routing.route import Route, RouteConfig, RouteSession, prepare_candidates, resolve_route
from ullage.core.routing.rules_reading import read_rules
from ullage.core.routing.scoring import Signals
from ullage.core.routing.settings_reading import read_settings
from ullage.core.routing.weights import WEIGHTS

relaxed = settings(deadline=None, max_examples=50)
CANARY = "canarybird"
"""A word of prompts that nothing may repeat."""

NAMES = ("claude-opus-5", "claude-sonnet", "claude-haiku", "gpt-5", "nobody-knows", "mini/free")
PROVIDERS = ("anthropic", "openai", "local")
TARGETS = tuple(f"{provider}/{name}" for provider in PROVIDERS for name in NAMES)
PARTS = ("input", "output", "cache_read", "cache_write")
PREFIXES = ("", "@low ", "@high ", "@model:anthropic/claude-haiku ", "@again-cheaper ", "@again-stronger ")
PROMPTS = (
    "Debug this failing test",
    "go on",
    "审查这个系统架构，并且给出分阶段迁移方案和取舍。",
    "write a spec for the deploy step",
    "",
)

prices = st.one_of(st.none(), st.floats(0.01, 100, allow_nan=False).map(lambda value: round(value, 3)))


@st.composite
def models(draw: st.DrawFn) -> list[ModelRecord]:
    targets = draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=6, unique=True))
    return [draw(records(target)) for target in targets]


def records(target: str) -> st.SearchStrategy[ModelRecord]:
    provider, _, name = target.partition("/")
    return st.builds(
        ModelRecord,
        provider=st.just(provider),
        id=st.just(name),
        reasoning=st.sampled_from([True, False, None]),
        inputs=st.sampled_from([("text",), ("text", "image"), None]),
        context_window=st.sampled_from([None, 8_000, 64_000, 200_000]),
        max_output_tokens=st.sampled_from([None, 1_000, 8_192]),
        prices=st.builds(Prices, input=prices, output=prices, cache_read=prices, cache_write=prices),
        authenticated=st.sampled_from([True, True, True, False]),
    )


RULES = read_rules(
    [
        {"name": "only", "when": {"kinds": "debug"}, "then": {"only": "openai/*", "policy": "best"}},
        {"name": "prefer", "when": {"minContextTokens": 50_000}, "then": {"prefer": "*haiku", "thinking": "max"}},
    ],
    {"plan": {"minimumTier": "strong"}},
)[0]

configs = st.builds(
    RouteConfig,
    constraints=st.builds(
        Constraints,
        provider_deny=st.sampled_from([(), ("local",)]),
        model_exclude=st.sampled_from([(), ("*sonnet",)]),
        auto_exclude=st.sampled_from([(), ("openai/*",)]),
    ),
    pools=st.just(
        {
            "some": Pool(targets=dict.fromkeys(TARGETS[::2], 1.0)),
            "any": Pool(providers={"local": 1.0}, fallback="any"),
        }
    ),
    pool=st.sampled_from([None, None, "some", "any"]),
    rules=st.sampled_from([RULES, read_rules([], {})[0]]),
    cost=st.builds(CostPolicy, quality_floor=st.sampled_from([0.0, 0.8])),
    cache_model=st.sampled_from(["horizon", "v1"]),
    scope=st.sampled_from([(), (), ("anthropic/*", "openai/*")]),
    minimum_tier=st.sampled_from([None, None, "mid"]),
)
sessions = st.builds(
    RouteSession,
    first_turn=st.booleans(),
    current=st.sampled_from([None, *TARGETS]),
    pin=st.sampled_from([None, None, None, "anthropic/claude-sonnet"]),
    cold=st.booleans(),
    circuits=st.sampled_from([{}, {"anthropic/gpt-5": 1, "openai/gpt-5": 1}]),
    failed=st.sampled_from([{}, {"openai/claude-haiku": "it failed"}]),
    signals=st.sampled_from(
        [
            {},
            {
                "anthropic/claude-opus-5": Signals(quota="blocked"),
                "local/gpt-5": Signals(reliability=0.9, latency_ms=9_000, read_ms=3),
                "openai/gpt-5": Signals(latency_ms=2_000),
            },
        ]
    ),
    preferences=st.sampled_from([{}, {"local/nobody-knows": 0.2, "openai/gpt-5": -0.2}]),
)
prompts = st.builds(str.__add__, st.sampled_from(PREFIXES), st.sampled_from(PROMPTS))
asks: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "context_tokens": st.sampled_from([0, 5_000, 60_000, 150_000]),
        "images": st.sampled_from([0, 1]),
        "policy": st.sampled_from(tuple(WEIGHTS)),
    }
)


def order(route: Route) -> list[str]:
    return [one.target for one in route.ranked]


def check(target: str, route: Route, known: dict[str, ModelRecord], session: RouteSession, config: RouteConfig) -> None:
    """That a target breaks nothing of what is hard, sections 2.3 and 6. The order of the checks is that of the stages."""
    model, task = known[target], route.task
    tier = tier_rank(capability_of(model).overall)
    assert model.authenticated
    assert not config.scope or model.provider != "local"
    assert model.provider not in config.constraints.provider_deny
    assert not (config.constraints.model_exclude and target.endswith("sonnet"))
    named = session.pin or route.prefix.model
    assert target == named or not (config.constraints.auto_exclude and model.provider == "openai")
    assert named in (None, target)
    assert config.minimum_tier is None or tier >= tier_rank(config.minimum_tier)
    assert not task.requires_vision or model.inputs is None or "image" in model.inputs
    needed = -(-115 * task.required_context_tokens // 100) + task.required_output_tokens
    assert model.context_window is None or model.context_window >= needed
    assert model.max_output_tokens is None or model.max_output_tokens >= task.required_output_tokens
    assert target not in session.circuits
    assert session.pin is not None or config.pool != "some" or config.pools["some"].has(target)
    if session.pin is None and route.prefix.mode == "high":
        assert tier >= tier_rank("strong")


Decide = Callable[..., Route]


def decide(models: list[ModelRecord], prompt: str, *, session: RouteSession, config: RouteConfig, **ask: Any) -> Route:
    return resolve_route(models, prompt, **ask, session=session, config=config)


def fail_safe(
    models: list[ModelRecord], prompt: str, *, session: RouteSession, config: RouteConfig, policy: str, **ask: Any
) -> Route:
    candidates = prepare_candidates(models, config)
    last_good = models[0].target
    return failsafe_route(candidates, prompt, **ask, session=session, config=config, last_good=last_good)


@settings(relaxed, max_examples=80)
@given(
    models=models(),
    prompt=prompts,
    ask=asks,
    session=sessions,
    config=configs,
    way=st.sampled_from([decide, fail_safe]),
)
def test_no_target_breaks_a_hard_constraint(
    models: list[ModelRecord], prompt: str, ask: dict[str, Any], session: RouteSession, config: RouteConfig, way: Decide
) -> None:
    """By any policy, pin, rule, pool or fallback, nor where planning fails."""
    route = way(models, prompt, **ask, session=session, config=config)
    known = {model.target: model for model in models}
    assert (route.target is None) == (route.stop is not None) == (not route.ranked)
    assert route.target == next(iter(order(route)), None)
    for target in order(route):
        check(target, route, known, session, config)


@settings(relaxed, max_examples=80)
@given(
    models=models(),
    prompt=prompts,
    ask=asks,
    session=sessions,
    config=configs,
    task=st.uuids().map(str),
    level=st.sampled_from(["off", "high"]),
)
def test_what_comes_after_a_decision_breaks_no_hard_constraint_either(
    models: list[ModelRecord],
    prompt: str,
    ask: dict[str, Any],
    session: RouteSession,
    config: RouteConfig,
    task: str,
    level: Any,
) -> None:
    """A fallback, a lot that is drawn to learn, a session that is only watched, mistakes that ask for more."""
    route = resolve_route(models, prompt, **ask, session=session, config=config)
    if route.target is None:
        return
    known = {model.target: model for model in models}
    explored, chances = explore(route, session, 0.9, task)
    watched, _ = shadow(route, session)
    assert sum(chances.values()) == 1 or abs(sum(chances.values()) - 1) < 1e-5
    for other in (explored, watched, *(redirect(route, target) for target in order(route))):
        assert other.target is not None
        assert set(order(other)) == set(order(route))
        assert other.target == order(other)[0]
        check(other.target, other, known, session, config)
    floor, before = config.cost.floor, route.ranked[0].terms.quality
    if route.policy == "cost":
        assert explored.ranked[0].terms.quality >= min(floor, before)
    for current in order(route):
        step = step_up(route.ranked, current, level)
        if step is not None:
            check(step.target, route, known, session, config)
            rank, before = (tier_rank(capability_of(known[one]).overall) for one in (step.target, current))
            assert (step.raised == "target" and rank > before) or (step.raised, rank) == ("thinking", before)


@relaxed
@given(
    models=models(),
    prompt=prompts,
    ask=asks,
    session=sessions,
    config=configs,
    way=st.sampled_from([decide, fail_safe]),
)
def test_every_candidate_is_ranked_or_out_with_a_code(
    models: list[ModelRecord], prompt: str, ask: dict[str, Any], session: RouteSession, config: RouteConfig, way: Decide
) -> None:
    route = way(models, prompt, **ask, session=session, config=config)
    out = [one.target for one in route.excluded]
    told = {*order(route), *out}
    assert len(out) == len(set(out))
    assert not set(out) & set(order(route))
    assert told == {model.target for model in models} or way is fail_safe
    for one in route.excluded:
        assert one.code in get_args(Code)
        assert one.stage in STAGES
        assert one.reason


@relaxed
@given(models=models(), prefix=st.sampled_from(PREFIXES), ask=asks, session=sessions, config=configs)
def test_a_report_is_json_without_a_word_of_the_prompt(
    models: list[ModelRecord], prefix: str, ask: dict[str, Any], session: RouteSession, config: RouteConfig
) -> None:
    prompt = f"{prefix}Debug the {CANARY}: Error: {CANARY} at {CANARY} (a.py:3)"
    route = resolve_route(models, prompt, **ask, session=session, config=config)
    report = report_route(route)
    assert CANARY not in json.dumps(report, allow_nan=False)
    assert CANARY in route.prompt


@relaxed
@given(models=models(), prompt=prompts, ask=asks, session=sessions, config=configs, data=st.data())
def test_the_same_input_has_the_same_route_in_any_order(
    models: list[ModelRecord],
    prompt: str,
    ask: dict[str, Any],
    session: RouteSession,
    config: RouteConfig,
    data: st.DataObject,
) -> None:
    shuffled = data.draw(st.permutations(models))
    one = resolve_route(models, prompt, **ask, session=session, config=config)
    other = resolve_route(shuffled, prompt, **ask, session=session, config=config)
    assert report_route(one) == report_route(other)


BARRIERS: dict[
    str, Callable[[ModelRecord, RouteSession, RouteConfig], tuple[ModelRecord, RouteSession, RouteConfig]]
] = {
    "no key": lambda model, session, config: (replace(model, authenticated=False), session, config),
    "a small window": lambda model, session, config: (replace(model, context_window=500), session, config),
    "short answers": lambda model, session, config: (replace(model, max_output_tokens=500), session, config),
    "an open circuit": lambda model, session, config: (
        model,
        replace(session, circuits={**session.circuits, model.target: 7}),
        config,
    ),
    "an excluded model": lambda model, session, config: (
        model,
        session,
        replace(
            config,
            constraints=replace(config.constraints, model_exclude=(*config.constraints.model_exclude, model.target)),
        ),
    ),
}


@settings(relaxed, max_examples=80)
@given(
    models=models(),
    prompt=prompts,
    ask=asks,
    session=sessions,
    config=configs,
    added=st.sampled_from(TARGETS).flatmap(records),
    barrier=st.sampled_from(sorted(BARRIERS)),
)
def test_an_ineligible_candidate_changes_nothing(
    models: list[ModelRecord],
    prompt: str,
    ask: dict[str, Any],
    session: RouteSession,
    config: RouteConfig,
    added: ModelRecord,
    barrier: str,
) -> None:
    """Unless it is the one that the session is at or that is pinned: then more is known of what is asked for."""
    assume(added.target not in {model.target for model in models} | {session.current})
    barred, session, config = BARRIERS[barrier](added, session, config)
    plain = resolve_route(models, prompt, **ask, session=session, config=config)
    more = resolve_route([*models, barred], prompt, **ask, session=session, config=config)
    assert (more.target, more.thinking, more.confidence) == (plain.target, plain.thinking, plain.confidence)
    assert (more.margin, more.policy, more.rule, more.reasons) == (
        plain.margin,
        plain.policy,
        plain.rule,
        plain.reasons,
    )
    assert more.ranked == plain.ranked
    assert {one.target for one in more.excluded} - {one.target for one in plain.excluded} == {barred.target}


@settings(relaxed, max_examples=100)
@given(
    models=models(),
    prompt=prompts,
    ask=asks,
    session=sessions,
    config=configs,
    data=st.data(),
    factor=st.floats(1.001, 100),
)
def test_a_dearer_model_never_ranks_higher_under_cost(
    models: list[ModelRecord],
    prompt: str,
    ask: dict[str, Any],
    session: RouteSession,
    config: RouteConfig,
    data: st.DataObject,
    factor: float,
) -> None:
    known = [(one, part) for one in models for part in PARTS if getattr(one.prices, part) is not None]
    if not known:
        return
    raised, part = data.draw(st.sampled_from(known))
    dearer = replace(raised, prices=replace(raised.prices, **{part: getattr(raised.prices, part) * factor}))
    config, ask = replace(config, rules=read_rules([], {})[0]), {**ask, "policy": "cost"}
    before = order(resolve_route(models, prompt, **ask, session=session, config=config))
    changed = [dearer if model is raised else model for model in models]
    after = order(resolve_route(changed, prompt, **ask, session=session, config=config))
    assert set(before) == set(after)
    if raised.target in before:
        assert after.index(raised.target) >= before.index(raised.target)


SETTLED: dict[str, Any] = {
    "policy": "balanced",
    "pool": "shared",
    "constraints": {"providerDeny": ["nobody"], "modelExclude": ["*mini*"], "autoExclude": ["local/gpt-5"]},
    "pools": {
        "shared": {
            "targets": [{"id": target, "weight": 1 + number} for number, target in enumerate(TARGETS)],
            "providers": [
                {"id": "anthropic", "weight": 3},
                {"id": "openai", "weight": 2},
                {"id": "local", "weight": 1},
            ],
            "fallback": "any",
        },
        "other": {"targets": [{"id": "a/b", "weight": 1}]},
    },
    "rules": [
        {"name": "a", "when": {"kinds": "debug", "hasImages": False}, "then": {"prefer": "*haiku", "thinking": "max"}},
        {"name": "b", "when": {"minContextTokens": 5_000, "trigger": "user"}, "then": {"exclude": "openai/*"}},
    ],
    "costPolicy": {"qualityFloor": 0.4, "stickinessTolerance": 0.2},
    "pricing": {
        "costCoef": 0.5,
        "overrides": {"anthropic/claude-haiku": {"input": 0.8, "output": 4}, "gpt-5": {"costCoef": 2, "input": 1}},
    },
    "capabilitySource": "ramp",
    "benchmarkOverrides": {"openai/gpt-5": {"ramp": 0.84}, "local/nobody-knows": {"ramp": 0.8, "aa": 41}},
}


@st.composite
def shuffled(draw: st.DrawFn, value: Any) -> Any:
    """The same JSON with the keys of all objects, and what has no order of the lists, in another order."""
    if isinstance(value, dict):
        keys = draw(st.permutations(sorted(value)))
        return {key: value[key] if key == "rules" else draw(shuffled(value[key])) for key in keys}
    if isinstance(value, list):
        return [draw(shuffled(one)) for one in draw(st.permutations(value))]
    return value


@settings(relaxed, max_examples=30)
@given(models=models(), prompt=prompts, ask=asks, session=sessions, other=shuffled(SETTLED))
def test_the_order_of_the_keys_of_a_file_is_irrelevant(
    models: list[ModelRecord], prompt: str, ask: dict[str, Any], session: RouteSession, other: Any
) -> None:
    one, two = (read_settings(json.dumps(settled).encode()) for settled in (SETTLED, other))
    assert one.problems == two.problems == ()
    routes = [resolve_route(models, prompt, **ask, session=session, config=read.config) for read in (one, two)]
    assert report_route(routes[0]) == report_route(routes[1])


@settings(relaxed, max_examples=3)
@given(models=models(), prompt=prompts, ask=asks, session=sessions, config=configs)
def test_the_same_input_has_the_same_route_a_hundred_times(
    models: list[ModelRecord], prompt: str, ask: dict[str, Any], session: RouteSession, config: RouteConfig
) -> None:
    first = json.dumps(report_route(resolve_route(models, prompt, **ask, session=session, config=config)))
    for _ in range(100):
        assert json.dumps(report_route(resolve_route(models, prompt, **ask, session=session, config=config))) == first


def test_the_order_of_the_keys_of_a_rule_is_irrelevant() -> None:
    forward = {
        "name": "a",
        "when": {"kinds": "debug", "hasImages": False},
        "then": {"prefer": "*haiku", "thinking": "max"},
    }
    backward = {
        key: dict(reversed(value.items())) if isinstance(value, dict) else value
        for key, value in reversed(forward.items())
    }
    assert read_rules([forward], {}) == read_rules([backward], {})
