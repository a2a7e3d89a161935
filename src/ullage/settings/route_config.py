"""From the settings of routing to what the core chooses by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import convert
from msgspec.structs import replace

from ullage.core.errors import CallError
from ullage.core.routing.capability import BenchmarkOverride
from ullage.core.routing.cost_policy import CostPolicy
from ullage.core.routing.filtering import Constraints
from ullage.core.routing.pools import Pool
from ullage.core.routing.pricing import PriceOverride
from ullage.core.routing.route import RouteConfig
from ullage.core.routing.rules import FIRST, Action, Rule, Rules, When
from ullage.core.routing.selection import Guards
from ullage.core.routing.suggesting import suggest

from .routing import AliasSettings
from .routing_checks import SCENARIO_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ullage.core.routing.weights import Policy

    from .records import Settings
    from .routing import ActionSettings, RoutingSettings, TargetSettings, WhenSettings

_NO_ALIAS = AliasSettings()


def make_route_config(settings: Settings, alias: str | None = None) -> RouteConfig:
    """What the user has settled of routing; under an alias, with what differs for it.

    The policy stands beside it: `usual_policy`. Raises `CallError` for an alias that there is not.
    """
    routing, named = settings.routing, _alias(settings, alias)
    return RouteConfig(
        constraints=convert(routing.constraints, Constraints, from_attributes=True),
        scope=named.models or routing.models,
        pools={name: convert(pool, Pool, from_attributes=True) for name, pool in routing.pools.items()},
        pool=named.pool or routing.pool or None,
        pool_model=routing.pool_model,
        rules=Rules(entries=(*_rules(routing), *_scenarios(routing.scenarios))),
        cost=convert(routing.cost, CostPolicy, from_attributes=True),
        guards=convert(routing.guards, Guards, from_attributes=True),
        cache_model=routing.cache_model,
        analyzer=routing.analyzer,
        thinking=named.thinking or (None if routing.thinking == "auto" else routing.thinking),
        minimum_tier=named.minimum_tier,
        benchmark=None if routing.capability_source == "catalog" else routing.capability_source,
        benchmark_overrides=_benchmarks(routing.targets),
        price_overrides=_prices(routing.targets),
        cost_coefficient=routing.cost_coefficient,
    )


def usual_policy(settings: Settings, alias: str | None = None) -> Policy:
    """The policy of tasks that no rule has another one for. Raises `CallError` for an alias that there is not."""
    return _alias(settings, alias).policy or settings.routing.policy


def _alias(settings: Settings, name: str | None) -> AliasSettings:
    if name is None:
        return _NO_ALIAS
    aliases = settings.routing.aliases
    if name not in aliases:
        meant = suggest(name, aliases)
        raise CallError(
            f"There is no alias {name!r}.",
            hint=f"Did you mean {meant!r}?" if meant else f"Aliases are {', '.join(sorted(aliases)) or 'none'}.",
            code="unknown_alias",
        )
    return aliases[name]


def make_condition(when: WhenSettings) -> When:
    """The condition of a rule in the core's own record, where no kinds are no condition."""
    found = convert(when, When, from_attributes=True)
    return found if found.kinds else replace(found, kinds=None)


def _rules(routing: RoutingSettings) -> Iterator[Rule]:
    for rule in routing.rules:
        yield Rule(
            name=rule.name,
            when=make_condition(rule.when),
            then=convert(rule.then, Action, from_attributes=True),
        )


def _scenarios(scenarios: Mapping[str, ActionSettings]) -> Iterator[Rule]:
    """Those that are no kind of task come first, in their own order (routing specification, section 14)."""
    named = {SCENARIO_NAMES[name]: action for name, action in scenarios.items()}
    ordered = (*(name for name in FIRST if name in named), *(name for name in named if name not in FIRST))
    for name in ordered:
        yield Rule(name=name, then=convert(named[name], Action, from_attributes=True), scenario=True)


def _benchmarks(targets: Mapping[str, TargetSettings]) -> dict[str, BenchmarkOverride]:
    found = {name: convert(one, BenchmarkOverride, from_attributes=True) for name, one in targets.items()}
    return {name: one for name, one in found.items() if one != BenchmarkOverride()}


def _prices(targets: Mapping[str, TargetSettings]) -> dict[str, PriceOverride]:
    """Only coefficients: prices are overridden with the rest of a model's profile."""
    return {
        name: PriceOverride(cost_coefficient=one.cost_coefficient)
        for name, one in targets.items()
        if one.cost_coefficient is not None
    }
