"""What holds of every route (routing specification, sections 2.3, 11 and 30)."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage.core.profiles import Prices
from ullage.core.routing.capability import capability_of, tier_rank
from ullage.core.routing.cost_policy import CostPolicy
from ullage.core.routing.filtering import Constraints
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pools import Pool
from ullage.core.routing.report import report_route
from ullage.core.routing.route import Route, RouteConfig, RouteSession, resolve_route
from ullage.core.routing.rules_reading import read_rules
from ullage.core.routing.scoring import Signals
from ullage.core.routing.weights import WEIGHTS

relaxed = settings(deadline=None, max_examples=60)

NAMES = ("claude-opus-5", "claude-sonnet", "claude-haiku", "gpt-5", "nobody-knows", "mini/free")
PROVIDERS = ("anthropic", "openai", "local")
TARGETS = tuple(f"{provider}/{name}" for provider in PROVIDERS for name in NAMES)
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
        [{}, {"anthropic/claude-opus-5": Signals(quota="blocked"), "local/gpt-5": Signals(reliability=0.9)}]
    ),
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


@relaxed
@given(models=models(), prompt=prompts, ask=asks, session=sessions, config=configs)
def test_no_target_breaks_a_hard_constraint(
    models: list[ModelRecord], prompt: str, ask: dict[str, Any], session: RouteSession, config: RouteConfig
) -> None:
    """By any policy, pin, rule, pool or fallback."""
    route = resolve_route(models, prompt, **ask, session=session, config=config)
    known = {model.target: model for model in models}
    assert (route.target is None) == (route.stop is not None)
    for target in order(route):
        model = known[target]
        assert model.authenticated
        assert model.provider not in config.constraints.provider_deny
        assert not (config.constraints.model_exclude and target.endswith("sonnet"))
        assert not ask["images"] or model.inputs is None or "image" in model.inputs
        needed = -(-115 * max(ask["context_tokens"], route.task.required_context_tokens) // 100)
        assert model.context_window is None or model.context_window >= needed + route.task.required_output_tokens
        assert model.max_output_tokens is None or model.max_output_tokens >= route.task.required_output_tokens
        assert target not in session.circuits
        if session.pin is not None:
            assert target == session.pin
        elif route.prefix.model is not None:
            assert target == route.prefix.model
        elif config.pool == "some":
            assert config.pools["some"].has(target)
        if session.pin is None and route.prefix.mode == "high":
            assert tier_rank(capability_of(model).overall) >= tier_rank("strong")


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


@relaxed
@given(
    models=models(),
    prompt=prompts,
    ask=asks,
    session=sessions,
    config=configs,
    added=st.sampled_from(TARGETS).flatmap(records),
)
def test_an_ineligible_candidate_changes_nothing(
    models: list[ModelRecord],
    prompt: str,
    ask: dict[str, Any],
    session: RouteSession,
    config: RouteConfig,
    added: ModelRecord,
) -> None:
    assume(added.target not in {model.target for model in models})
    barred = replace(added, authenticated=False)
    plain = resolve_route(models, prompt, **ask, session=session, config=config)
    more = resolve_route([*models, barred], prompt, **ask, session=session, config=config)
    assert (more.target, more.thinking, more.confidence) == (plain.target, plain.thinking, plain.confidence)
    assert [(one.target, one.utility) for one in more.ranked] == [(one.target, one.utility) for one in plain.ranked]


@settings(relaxed, max_examples=120)
@given(
    models=models(),
    prompt=prompts,
    ask=asks,
    session=sessions,
    config=configs,
    data=st.data(),
    part=st.sampled_from(["input", "output", "cache_read", "cache_write"]),
    factor=st.floats(1.001, 100),
)
def test_a_dearer_model_never_ranks_higher_under_cost(
    models: list[ModelRecord],
    prompt: str,
    ask: dict[str, Any],
    session: RouteSession,
    config: RouteConfig,
    data: st.DataObject,
    part: str,
    factor: float,
) -> None:
    raised = data.draw(st.sampled_from(models))
    price = getattr(raised.prices, part)
    assume(price is not None)
    dearer = replace(raised, prices=replace(raised.prices, **{part: price * factor}))
    config, ask = replace(config, rules=read_rules([], {})[0]), {**ask, "policy": "cost"}
    before = order(resolve_route(models, prompt, **ask, session=session, config=config))
    changed = [dearer if model is raised else model for model in models]
    after = order(resolve_route(changed, prompt, **ask, session=session, config=config))
    assert set(before) == set(after)
    if raised.target in before:
        assert after.index(raised.target) >= before.index(raised.target)


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
