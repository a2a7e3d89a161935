"""From the settings of routing to what the core chooses by: routing specification, sections 13, 14 and 31."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import convert

from ullage.core.errors import CallError
from ullage.core.routing.capability import BenchmarkOverride
from ullage.core.routing.filtering import Constraints
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pools import Pool
from ullage.core.routing.pricing import PriceOverride
from ullage.core.routing.route import NO_CONFIG, RouteConfig, RouteSession, resolve_route
from ullage.core.routing.rules import Action, Rule, When
from ullage.settings import Settings
from ullage.settings.route_config import make_route_config, usual_policy

if TYPE_CHECKING:
    from typing import Any

MODELS = [
    ModelRecord(provider=provider, id=model, inputs=("text",), context_window=200_000, max_output_tokens=32_000)
    for provider, model in (
        ("anthropic", "claude-opus-5"),
        ("anthropic", "claude-sonnet"),
        ("openai", "gpt-5"),
        ("openai", "gpt-5.4-nano"),
    )
]


def config(alias: str | None = None, **routing: Any) -> RouteConfig:
    return make_route_config(convert({"routing": routing}, Settings), alias)


def test_nothing_settled_is_what_the_core_has_by_itself() -> None:
    assert config(cost_coefficient=1.0) == convert({"cost_coefficient": 1.0}, type(NO_CONFIG))
    assert usual_policy(Settings()) == "balanced"


def test_everything_settled_arrives() -> None:
    found = config(
        constraints={"provider_allow": ["anthropic"], "auto_exclude": ["*-opus-*"]},
        models=["anthropic/*"],
        pools={"p": {"targets": {"a/b": 2}, "fallback": "any", "window_hours": 5}},
        pool="p",
        pool_model="v1",
        cost={"quality_floor": 0.5},
        guards={"downgrades": True},
        thinking="high",
        capability_source="aa",
        cost_coefficient=0.5,
        targets={"a/b": {"aa": 50, "identity": "x:y"}, "c/d": {"cost_coefficient": 2}},
    )
    assert found.constraints == Constraints(provider_allow=("anthropic",), auto_exclude=("*-opus-*",))
    assert (found.scope, found.pool, found.pool_model) == (("anthropic/*",), "p", "v1")
    assert found.pools == {"p": Pool(targets={"a/b": 2}, fallback="any")}
    assert (found.cost.quality_floor, found.cost.stickiness_tolerance, found.guards.downgrades) == (0.5, 0.1, True)
    assert (found.thinking, found.benchmark, found.cost_coefficient) == ("high", "aa", 0.5)
    assert found.benchmark_overrides == {"a/b": BenchmarkOverride(aa=50)}
    assert found.price_overrides == {"c/d": PriceOverride(cost_coefficient=2)}


def test_rules_come_before_scenarios_and_kinds_in_the_order_they_are_listed() -> None:
    """Section 14."""
    found = config(
        scenarios={"plan": {"policy": "best"}, "review": {"policy": "cost"}, "long_context": {"policy": "cost"}},
        rules=[{"name": "r", "when": {"min_complexity": 0.5}, "then": {"only": ["a/*"]}}],
    )
    assert found.rules.entries == (
        Rule(name="r", when=When(min_complexity=0.5), then=Action(only=("a/*",))),
        Rule(name="longContext", then=Action(policy="cost"), scenario=True),
        Rule(name="plan", then=Action(policy="best"), scenario=True),
        Rule(name="review", then=Action(policy="cost"), scenario=True),
    )


def test_a_rule_without_conditions_always_matches() -> None:
    found = config(rules=[{"name": "r", "then": {"only": ["openai/gpt-5"]}}])
    route = resolve_route(MODELS, "Summarize this", config=found)
    assert (route.rule, route.target) == ("r", "openai/gpt-5")


@pytest.mark.parametrize(
    ("scenarios", "prompt", "trigger", "applied"),
    [
        (
            {"review": {"only": ["anthropic/*"]}, "background": {"policy": "cost"}},
            "Review this",
            "extension",
            "background",
        ),
        (
            {"plan": {"policy": "best"}, "review": {"policy": "cost"}},
            "Review this and plan the next steps",
            "user",
            "plan",
        ),
    ],
)
def test_scenarios_are_checked_in_the_order_of_the_specification(
    scenarios: dict[str, Any], prompt: str, trigger: Any, applied: str
) -> None:
    route = resolve_route(MODELS, prompt, session=RouteSession(trigger=trigger), config=config(scenarios=scenarios))
    assert route.rule == applied


def test_an_alias_says_what_differs() -> None:
    settings = convert(
        {
            "routing": {
                "policy": "best",
                "models": ["anthropic/*"],
                "pools": {"p": {"targets": {"a/b": 1}}},
                "aliases": {
                    "cheap": {"policy": "cost", "models": ["openai/*"], "thinking": "off"},
                    "sure": {"minimum_tier": "frontier", "pool": "p"},
                },
            }
        },
        Settings,
    )
    cheap, sure = make_route_config(settings, "cheap"), make_route_config(settings, "sure")
    assert (usual_policy(settings, "cheap"), cheap.scope, cheap.thinking, cheap.pool) == (
        "cost",
        ("openai/*",),
        "off",
        None,
    )
    assert (usual_policy(settings, "sure"), sure.scope, sure.minimum_tier, sure.pool) == (
        "best",
        ("anthropic/*",),
        "frontier",
        "p",
    )


def test_an_alias_that_there_is_not_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(CallError) as caught:
        config("chaep", aliases={"cheap": {}})
    assert (caught.value.code, caught.value.hint) == ("unknown_alias", "Did you mean 'cheap'?")


def test_the_least_tier_of_an_alias_holds_for_every_task() -> None:
    chosen = config("sure", aliases={"sure": {"minimum_tier": "frontier"}})
    route = resolve_route(MODELS, "Summarize this", policy="cost", config=chosen)
    assert {one.target for one in route.ranked} == {"anthropic/claude-opus-5", "openai/gpt-5"}
    assert {one.code for one in route.excluded} == {"tier-too-low"}


def test_a_task_that_asks_for_more_than_the_least_tier_gets_more() -> None:
    low = config("low", aliases={"low": {"minimum_tier": "light"}})
    assert resolve_route(MODELS, "Summarize this", config=low).excluded == ()
