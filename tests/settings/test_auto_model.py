"""Files of Pi Auto Model read as they are: routing specification, section 31."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.core.profiles.overrides import ModelOverride
from ullage.settings.auto_model import AutoModelFile, is_auto_model, read_auto_model
from ullage.settings.auto_model_keys import KEYS
from ullage.settings.budget import BudgetProviderSettings
from ullage.settings.catalog import catalog
from ullage.settings.json_file import JsonFile, read_json
from ullage.settings.routing import ActionSettings, PoolSettings, RoutingSettings, RuleSettings, TargetSettings

FILE = Path(__file__).resolve().parents[1] / "data" / "auto-model" / "auto-model.json"


def read(**data: Any) -> AutoModelFile:
    return read_auto_model(JsonFile(path=Path("auto-model.json"), data=data))


def notes(**data: Any) -> list[str]:
    return [note.removeprefix("auto-model.json: ") for note in read(**data).notes]


def test_a_whole_file_is_taken_over() -> None:
    found = read_auto_model(read_json(FILE))
    assert found.notes == ()
    assert found.values == {
        "routing.policy": "cost",
        "routing.pool": "general",
        "routing.constraints.provider_allow": ("anthropic", "openai"),
        "routing.constraints.model_exclude": ("*experimental*",),
        "routing.quota.enabled": True,
        "routing.quota.window_ms": 86_400_000,
        "routing.failover.max_attempts": 4,
        "routing.failover.request_timeout_ms": 180_000,
        "budget.task_usd": 0.05,
        "budget.daily_usd": 5.0,
        "budget.on_exceed": "downgrade",
        "routing.classifier.enabled": False,
        "routing.classifier.threshold": 0.4,
        "routing.classifier.timeout_ms": 2_000,
        "routing.capability_source": "ramp",
        "routing.shadow": True,
        "routing.cost.quality_floor": 0.6,
        "routing.cost.stickiness_tolerance": 0.2,
        "routing.cost_coefficient": 0.5,
        "models.refresh": True,
        "models.refresh_hours": 12.0,
    }
    assert found.overrides == {
        "anthropic/claude-haiku": ModelOverride(
            input_price=0.8, output_price=4, cache_read_price=0.08, cache_write_price=1
        )
    }
    assert found.tables.pools == {
        "general": PoolSettings(
            targets={"openai/gpt-5": 6, "anthropic/claude-sonnet": 4},
            fallback="any",
            allocation="daily",
            window_hours=12,
        )
    }
    assert found.tables.targets["anthropic/claude-haiku"] == TargetSettings(cost_coefficient=0.25)
    assert found.tables.identities == {
        "gateway/deepseek/deepseek-v4": "deepseek:deepseek-v4",
        "deepseek/deepseek-v4": "deepseek:deepseek-v4",
    }
    assert [rule.name for rule in found.tables.rules] == ["hotfix"]
    assert found.tables.scenarios["long_context"] == ActionSettings(prefer=("google/*",), thinking="low")


def test_every_key_has_a_setting_here() -> None:
    assert {ours for ours, _ in KEYS.values()} <= catalog().keys()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"classifier": {"timeoutMs": 0}}, "classifier.timeoutMs must be a whole number from 1 to 2000, not 0"),
        ({"policy": "chaep"}, "policy must be one of balanced, best, cost, fast, not 'chaep'"),
        ({"polcy": "cost"}, "polcy is no key of Pi Auto Model; did you mean 'policy'?"),
        ({"costPolicy": {"qualityFloor": 2}}, "costPolicy.qualityFloor must be a number from 0 to 1, not 2"),
        ({"costPolicy": 3}, "costPolicy must be an object, not 3"),
        ({"pools": {"p": {"targets": [{"id": "a/b", "weight": 0}]}}}, "pools.p cannot be used: Expected `float` > 0.0"),
        ({"pools": {"p": {"targets": ["a/b"]}}}, "pools.p.targets must be a list of {id, weight}"),
        ({"pools": {"p": {"fallback": "any"}}}, "pools.p it has neither targets nor providers"),
        ({"pricing": {"overrides": {"gpt-5": {"input": 1}}}}, "pricing.overrides.gpt-5 is neither `*` nor"),
        ({"pricing": {"overrides": {"a/b": {"input": -1}}}}, "pricing.overrides.a/b.input must be a number from 0"),
        ({"aliases": {"a/b": "nothing"}}, "aliases.a/b 'nothing' is no `provider:model`"),
        ({"aliases": {"a/b": 3}}, "aliases.a/b cannot be used: Expected `str | null`, got `int`"),
        ({"benchmarkOverrides": {"a/b": {"ramp": 90}}}, "benchmarkOverrides.a/b.ramp must be a number from 0 to 1"),
        ({"quota": {"providers": {"x": {"maxUsd": 0}}}}, "quota.providers.x.maxUsd must be a number above 0"),
        ({"budget": {"dailyUsd": -1}}, "budget.dailyUsd must be a number from 0 to 1000000, not -1"),
        ({"budget": {"providers": {"x": {"weeklyUsd": 1}}}}, "budget.providers.x.weeklyUsd is no key of Pi Auto Model"),
        ({"rules": [{"name": "r", "then": {"thinking": "lots"}}]}, "rules[0].then.thinking: 'lots' is none of off,"),
        ({"scenarios": {"reveiw": "cost"}}, "scenarios.reveiw: there is no such scenario; did you mean 'review'?"),
        ({"enabled": False}, "no counterpart here: enabled"),
        ({"pricing": {"litellm": {"url": "https://x.example"}}}, "no counterpart here: pricing.litellm.url"),
    ],
)
def test_what_is_wrong_is_named_with_its_path_and_leaves_the_rest(data: dict[str, Any], told: str) -> None:
    kept = {"shadow": {"enabled": True}}
    (note,) = notes(**data, **kept)
    assert note.startswith(told)
    assert read(**data, **kept).values["routing.shadow"] is True


def test_what_is_so_anyway_is_not_worth_a_word() -> None:
    assert notes(enabled=True, cacheAware={"enabled": True}) == []


def test_a_rule_is_taken_over_whole_or_not_at_all() -> None:
    found = read(rules=[{"name": "a", "then": {"policy": "price"}}, {"name": "b", "then": {"nothing": 1}}])
    assert found.tables.rules == (RuleSettings(name="a", then=ActionSettings(policy="cost")),)


@pytest.mark.parametrize(
    ("name", "data", "known"),
    [
        ("auto-model.json", {}, True),
        ("x.json", {"policy": "cost"}, True),
        ("x.json", {"rules": []}, False),
        ("x.json", {"context": {"mode": "managed"}}, False),
    ],
)
def test_a_file_is_known_by_its_keys_or_its_name(name: str, data: dict[str, Any], known: bool) -> None:
    assert is_auto_model(JsonFile(path=Path(name), data=data)) is known


@pytest.mark.parametrize("value", [None, 3, "x", [], [3], {"a": 3}, {"": {}}, {"a/b": None}, {"a/b": {"x": []}}, True])
def test_whatever_stands_there_is_no_error(value: Any) -> None:
    for key in msgspec.json.decode(FILE.read_bytes()) | {"pricing": 0, "quota": 0}:
        read(**{key: value})
        found = read(
            pricing={"overrides": value},
            quota={"providers": value},
            **({key: value} if key not in ("pricing", "quota") else {}),
        )
        assert isinstance(found.tables, RoutingSettings)


def test_limits_of_providers_are_taken_over() -> None:
    found = read(budget={"providers": {"anthropic": {"dailyUsd": 2, "monthlyUsd": 50, "onExceed": "block"}}})
    limits = BudgetProviderSettings(daily_usd=2, monthly_usd=50, on_exceed="block")
    assert (found.budgets, found.notes) == ({"anthropic": limits}, ())
