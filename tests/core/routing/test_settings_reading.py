"""A file that settles how to route (routing specification, sections 31 and 32)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.errors import InputError
from ullage.core.routing.capability import BenchmarkOverride
from ullage.core.routing.cost_policy import CostPolicy
from ullage.core.routing.pools import Pool
from ullage.core.routing.pricing import PriceOverride
from ullage.core.routing.route import RouteConfig
from ullage.core.routing.selection import Guards
from ullage.core.routing.settings_reading import RouteSettings, read_settings


def read(**settings: Any) -> RouteSettings:
    return read_settings(json.dumps(settings).encode())


def test_the_documented_example_is_read_without_a_problem() -> None:
    found = read(
        enabled=True,
        policy="price",
        pool="general",
        constraints={"providerAllow": ["anthropic", "openai"], "modelExclude": ["*experimental*"], "providerDeny": []},
        aliases={"gateway/deepseek/deepseek-v4": "deepseek:deepseek-v4"},
        quota={"enabled": True},
        pools={
            "general": {
                "windowHours": 24,
                "allocation": "rolling",
                "fallback": "any",
                "targets": [{"id": "openai/gpt-5", "weight": 6}, {"id": "anthropic/claude-sonnet", "weight": 4}],
            }
        },
        capabilitySource="ramp",
        benchmarkOverrides={"openai/gpt-5": {"ramp": 0.90}},
        cacheAware={"enabled": True},
        scenarios={"review": "anthropic/*", "background": "cost"},
        costPolicy={"qualityFloor": 0.5, "stickinessTolerance": 0},
        pricing={
            "costCoef": 0.5,
            "overrides": {"anthropic/claude-haiku": {"input": 0.8, "output": 4, "costCoef": 2}},
            "litellm": {"enabled": True},
        },
    )
    assert (found.problems, found.policy) == ((), "cost")
    config = found.config
    assert config.constraints.provider_allow == ("anthropic", "openai")
    assert config.pools == {
        "general": Pool(targets={"openai/gpt-5": 6.0, "anthropic/claude-sonnet": 4.0}, fallback="any")
    }
    assert (config.pool, config.benchmark, config.cost_coefficient) == ("general", "ramp", 0.5)
    assert config.benchmark_overrides == {"openai/gpt-5": BenchmarkOverride(ramp=0.9)}
    assert config.price_overrides == {"anthropic/claude-haiku": PriceOverride(input=0.8, output=4, cost_coefficient=2)}
    assert config.cost == CostPolicy(quality_floor=0.5, stickiness_tolerance=0.0)
    assert [rule.name for rule in config.rules.entries] == ["background", "review"]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"policy": "cheap"}, "policy: 'cheap' is none of balanced, best, cost, fast"),
        ({"polcy": "cost"}, "polcy: there is no such field; did you mean 'policy'?"),
        (
            {"constraints": {"modelExlude": ["x"]}},
            "constraints.modelExlude: there is no such field; did you mean 'modelExclude'?",
        ),
        ({"constraints": {"providerAllow": 3}}, "constraints.providerAllow: a text or a list of texts is expected"),
        ({"constraints": []}, "constraints: an object is expected"),
        ({"pool": "own"}, "pool: there is no pool 'own'"),
        ({"pools": {"own": {}}}, "pools.own: it has neither targets nor providers"),
        (
            {"pools": {"own": {"targets": [{"id": "a/b", "weight": 0}]}}},
            "pools.own.targets[0].weight: a weight is above 0",
        ),
        ({"pools": {"own": {"targets": [{"weight": 1}]}}}, "pools.own.targets[0].id: a text is expected"),
        ({"pools": {"own": {"providers": 1}}}, "pools.own.providers: a list is expected"),
        ({"costPolicy": {"qualityFloor": 7}}, "costPolicy.qualityFloor: 7 is no number from 0 to 1"),
        ({"pricing": {"overrides": {"a/b": {"input": -1}}}}, "pricing.overrides.a/b.input: -1 is no number"),
        ({"pricing": {"costCoef": True}}, "pricing.costCoef: True is no number from 0 on"),
        ({"benchmarkOverrides": {"a/b": {"ramp": 85}}}, "benchmarkOverrides.a/b.ramp: 85 is no number from 0 to 1"),
        ({"guards": {"downgrades": 1}}, "guards.downgrades: 1 is neither true nor false"),
        ({"thinking": "much"}, "thinking: 'much' is none of off, minimal"),
        ({"capabilitySource": "mmlu"}, "capabilitySource: 'mmlu' is none of ramp, aa, aider"),
    ],
)
def test_a_wrong_field_is_left_out_alone_and_told_with_its_path(settings: dict[str, Any], problem: str) -> None:
    """Weakness 7 of section 33: one wrong field discarded the whole file."""
    found = read(**settings, cacheModel="v1")
    assert len(found.problems) == 1
    assert found.problems[0].startswith(problem)
    assert found.config.cache_model == "v1"


def test_what_holds_a_session_back_can_be_settled() -> None:
    found = read(guards={"downgrades": True, "upgradeConfidence": 0.9}, thinking="max", poolModel="v1", analyzer="v1")
    assert found.problems == ()
    assert found.config.guards == Guards(downgrades=True, upgrade_confidence=0.9)
    assert (found.config.thinking, found.config.pool_model, found.config.analyzer) == ("max", "v1", "v1")


def test_nothing_settles_nothing() -> None:
    assert read() == RouteSettings(config=RouteConfig())


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(InputError, match="no JSON object"):
        read_settings(b"[1]")
