"""A file that settles how to route, in the words of an `auto-model.json` (routing specification, sections 13, 14 and 31).

Each field is read by itself: a wrong one is left out and told with its path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.errors import InputError

from .capability import BenchmarkOverride
from .cost_policy import CostPolicy
from .fields import (
    FieldError,
    make_word_reader,
    read_boolean,
    read_number,
    read_object,
    read_part,
    read_texts,
    tell_meant,
)
from .filtering import Constraints
from .pools import Pool
from .pricing import PriceOverride
from .route import RouteConfig
from .rules_reading import read_rules
from .selection import Guards
from .thinking import LEVELS
from .weights import WEIGHTS, Policy, find_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PASSED_OVER = ("enabled", "aliases", "quota", "budget", "failover", "classifier", "cacheAware", "shadow")
"""Fields that other parts read: activation, delivery, money, and what is seen over time."""

_CONSTRAINTS = {
    "providerAllow": "provider_allow",
    "providerDeny": "provider_deny",
    "modelInclude": "model_include",
    "modelExclude": "model_exclude",
    "autoExclude": "auto_exclude",
}
_PRICES = {
    "input": "input",
    "output": "output",
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
    "costCoef": "cost_coefficient",
}
_SCORES = {"ramp": 1.0, "aa": 100.0, "aider": 100.0}


class RouteSettings(Struct, frozen=True, kw_only=True):
    """What a file settles. `policy` is `None` where it says none; `problems` tell of fields that were left out."""

    config: RouteConfig
    policy: Policy | None = None
    problems: tuple[str, ...] = ()


def read_settings(data: bytes) -> RouteSettings:
    """The settings of a JSON object. Raises `InputError` if it is none."""
    try:
        found = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise InputError(f"The settings of routing are no JSON object: {error}.", code="bad_routing") from error
    problems: list[str] = []
    rules, wrong = read_rules(found.get("rules", []), found.get("scenarios", {}))
    settled: dict[str, Any] = {"rules": rules}
    for name, value in found.items():
        if name in ("rules", "scenarios", *_PASSED_OVER):
            continue
        reader = _READERS.get(name)
        if reader is None:
            problems.append(f"{name}: there is no such field{tell_meant(name, (*_READERS, 'rules', 'scenarios'))}")
            continue
        settled |= reader(value, problems)
    problems += wrong
    policy = settled.pop("policy", None)
    pool = settled.get("pool")
    if pool is not None and pool not in settled.get("pools", {}):
        problems.append(f"pool: there is no pool {pool!r}{tell_meant(pool, settled.get('pools', {}))}")
    return RouteSettings(config=RouteConfig(**settled), policy=policy, problems=tuple(problems))


def _each(
    value: Any, path: str, read: Callable[[Any, str], Any], problems: list[str], known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What can be read of an object's fields, each by itself."""
    kept: dict[str, Any] = {}
    try:
        fields = read_object(value, path)
    except FieldError as error:
        problems.append(f"{error.path}: {error}")
        return kept
    for name, one in fields.items():
        try:
            if known is not None and name not in known:
                raise FieldError(f"{path}.{name}", f"there is no such field{tell_meant(name, known)}")
            kept[name] = read(one, f"{path}.{name}")
        except FieldError as error:
            problems.append(f"{error.path}: {error}")
    return kept


def _one(name: str, field: str, read: Callable[[Any, str], Any]) -> Callable[[Any, list[str]], dict[str, Any]]:
    """A reader of a field that has a single value."""

    def settle(value: Any, problems: list[str]) -> dict[str, Any]:
        try:
            return {field: read(value, name)}
        except FieldError as error:
            problems.append(f"{error.path}: {error}")
            return {}

    return settle


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise FieldError(path, "a text is expected")
    return value


def _policy(value: Any, path: str) -> str:
    found = find_policy(value) if isinstance(value, str) else None
    return found or make_word_reader(tuple(WEIGHTS))(value, path)


def _constraints(value: Any, problems: list[str]) -> dict[str, Any]:
    kept = _each(value, "constraints", _patterns, problems, _CONSTRAINTS)
    return {"constraints": Constraints(**{_CONSTRAINTS[name]: patterns for name, patterns in kept.items()})}


def _patterns(value: Any, path: str) -> tuple[str, ...]:
    return () if value == [] else read_texts(value, path)


def _pools(value: Any, problems: list[str]) -> dict[str, Any]:
    return {"pools": _each(value, "pools", _pool, problems)}


def _pool(value: Any, path: str) -> Pool:
    """A pool is good as a whole or not at all: without one of its members it would be another."""
    fields = read_object(value, path, ("targets", "providers", "fallback", "allocation", "windowHours"))
    fallback = make_word_reader(("none", "any"))(fields.get("fallback", "none"), f"{path}.fallback")
    make_word_reader(("rolling", "fixed", "daily"))(fields.get("allocation", "rolling"), f"{path}.allocation")
    targets = _members(fields.get("targets", []), f"{path}.targets")
    providers = _members(fields.get("providers", []), f"{path}.providers")
    if not targets and not providers:
        raise FieldError(path, "it has neither targets nor providers")
    return Pool(targets=targets, providers=providers, fallback="any" if fallback == "any" else "none")


def _members(value: Any, path: str) -> dict[str, float]:
    if not isinstance(value, list):
        raise FieldError(path, "a list is expected")
    found: dict[str, float] = {}
    for index, one in enumerate(value):
        fields = read_object(one, f"{path}[{index}]", ("id", "weight"))
        weight = read_number(fields.get("weight", 1), f"{path}[{index}].weight")
        if not weight:
            raise FieldError(f"{path}[{index}].weight", "a weight is above 0")
        found[_text(fields.get("id"), f"{path}[{index}].id")] = weight
    return found


def _cost_policy(value: Any, problems: list[str]) -> dict[str, Any]:
    names = {"qualityFloor": "quality_floor", "stickinessTolerance": "stickiness_tolerance"}
    kept = _each(value, "costPolicy", read_part, problems, names)
    return {"cost": CostPolicy(**{names[name]: number for name, number in kept.items()})}


def _pricing(value: Any, problems: list[str]) -> dict[str, Any]:
    settled: dict[str, Any] = {}
    known = {"costCoef": None, "overrides": None, "litellm": None}
    fields = _each(value, "pricing", lambda one, _: one, problems, known)
    if "costCoef" in fields:
        settled |= _one("pricing.costCoef", "cost_coefficient", read_number)(fields["costCoef"], problems)
    if "overrides" in fields:
        settled["price_overrides"] = _each(fields["overrides"], "pricing.overrides", _price, problems)
    return settled


def _price(value: Any, path: str) -> PriceOverride:
    fields = read_object(value, path, tuple(_PRICES))
    return PriceOverride(
        **{_PRICES[name]: read_number(price, f"{path}.{name}", most=1_000_000) for name, price in fields.items()}
    )


def _benchmarks(value: Any, problems: list[str]) -> dict[str, Any]:
    return {"benchmark_overrides": _each(value, "benchmarkOverrides", _benchmark, problems)}


def _benchmark(value: Any, path: str) -> BenchmarkOverride:
    fields = read_object(value, path, tuple(_SCORES))
    return BenchmarkOverride(
        **{name: read_number(score, f"{path}.{name}", most=_SCORES[name]) for name, score in fields.items()}
    )


def _guards(value: Any, problems: list[str]) -> dict[str, Any]:
    names = {
        "downgrades": "downgrades",
        "upgradeConfidence": "upgrade_confidence",
        "switchSpend": "switch_spend",
    }
    fields = _each(value, "guards", lambda one, _: one, problems, names)
    kept: dict[str, Any] = {}
    for name, one in fields.items():
        read = read_boolean if name == "downgrades" else read_part
        kept |= _one(f"guards.{name}", names[name], read)(one, problems)
    return {"guards": Guards(**kept)}


_READERS: Mapping[str, Callable[[Any, list[str]], dict[str, Any]]] = {
    "policy": _one("policy", "policy", _policy),
    "pool": _one("pool", "pool", _text),
    "constraints": _constraints,
    "pools": _pools,
    "costPolicy": _cost_policy,
    "pricing": _pricing,
    "capabilitySource": _one("capabilitySource", "benchmark", make_word_reader(tuple(_SCORES))),
    "benchmarkOverrides": _benchmarks,
    "guards": _guards,
    "thinking": _one("thinking", "thinking", make_word_reader(LEVELS)),
    "poolModel": _one("poolModel", "pool_model", make_word_reader(("deficit", "v1"))),
    "analyzer": _one("analyzer", "analyzer", make_word_reader(("v1", "v2"))),
    "cacheModel": _one("cacheModel", "cache_model", make_word_reader(("horizon", "v1"))),
}
