"""What makes a member of a table of routing useless as a whole, and how far a project may go with routing.

Routing specification, sections 14 and 31; design, sections 10 and 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from ullage.core.errors import SettingsError
from ullage.core.privacy.hosts import is_loopback
from ullage.core.privacy.policy import PrivacySettings
from ullage.core.routing.fields import FieldError, tell_meant
from ullage.core.routing.globs import meet
from ullage.core.routing.identity import VIRTUAL_TARGETS, split_target
from ullage.core.routing.rules import KIND_NAMES, When
from ullage.core.routing.rules_reading import check_order, read_pattern
from ullage.core.routing.suggesting import suggest

from .budget import BUDGET_PROVIDERS
from .routing import ActionSettings, PoolSettings, ProviderSettings, RuleSettings, TargetSettings
from .upstreams import provider_root
from .well_known import WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from msgspec import Struct


PROVIDERS, ALIASES, TARGETS = "providers", "routing.aliases", "routing.targets"
POOLS, SCENARIOS, ROUTE_RULES = "routing.pools", "routing.scenarios", "routing.rules"
QUOTA_PROVIDERS = "routing.quota.providers"

SCENARIO_NAMES: dict[str, str] = {
    "vision": "vision",
    "long_context": "longContext",
    "background": "background",
    **{kind: kind for kind in KIND_NAMES},
}
"""Our spelling of each scenario with the one of the core."""

VIRTUAL_NAMES = frozenset({"auto", *VIRTUAL_TARGETS})
"""Names that stand for the router whatever is set."""

NOBODY = ("",)
"""A list of patterns that no provider and no target is of."""

USERS_ALONE = frozenset({PROVIDERS, ALIASES, TARGETS, QUOTA_PROVIDERS, BUDGET_PROVIDERS})
"""Tables of which a project may say nothing."""

WHOLE = frozenset({ROUTE_RULES, SCENARIOS, POOLS, ALIASES, PROVIDERS})
"""Tables whose members are good as a whole or not at all: with one value less they would mean something else, as an alias without
its models would be routed to any."""

_OF_THIS_MACHINE = frozenset({*PrivacySettings().local_providers, "vllm"})
"""Names that privacy trusts unless it is told otherwise, and those of servers that run here. Elsewhere they would be a trap."""

_NARROWS = frozenset({"routing.models", "routing.constraints.provider_allow", "routing.constraints.model_include"})
_UNITES = frozenset(
    {"routing.constraints.provider_deny", "routing.constraints.model_exclude", "routing.constraints.auto_exclude"}
)
_PREFERS = frozenset({"routing.policy", "routing.thinking"})
_TIGHTENED = _NARROWS | _UNITES
PROJECT_SAYS = _TIGHTENED | _PREFERS | {"routing.enabled", "routing.pool"}
"""Settings of routing that a project may say: preferences, and what makes the choice smaller."""


def is_tightened(key: str) -> bool:
    """Whether a project's value of a setting is put together with the one that holds without it."""
    return key in _TIGHTENED


def tighten(key: str, value: tuple[str, ...], held: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns that hold with a project's: what both allow, or what either forbids (section 31)."""
    if key in _UNITES:
        return tuple(dict.fromkeys((*held, *value)))
    if not held or not value:
        return held or value
    met = dict.fromkeys(one for mine in held for theirs in value for one in meet(mine, theirs))
    return tuple(met) or NOBODY


def refuse_to_project(key: str, value: Any, held: Any) -> str | None:
    """Why a project may not set this, where `held` holds without it."""
    if key == "routing.enabled" and value and not held:
        return "A project file may only turn routing off."
    if key == "routing.pool" and held:
        return f"A project file may not leave the pool {held!r}."
    return None


def find_missing_pools(named: Mapping[str, str | None], pools: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Settings that name a pool which nobody has written: key, what is wrong, and a hint. `named` has the pool of each key."""
    known = sorted(pools)
    for key, pool in named.items():
        if pool and pool not in known:
            meant = suggest(pool, known)
            others = f"Pools are {', '.join(known)}." if known else f"Write [{POOLS}.{pool}]."
            hint = f"Did you mean {meant!r}?" if meant else others
            yield key, f"{key} names a pool {pool!r} that is not there.", hint


def find_name_problem(table: str, name: str) -> str | None:
    """Why no member of a table may have this name, as the end of a sentence."""
    return _NAMES[table](name) if table in _NAMES else None


def find_member_problem(table: str, name: str, member: Mapping[str, Any]) -> tuple[str, str] | None:
    """The field that makes a member useless, empty for the whole of it, and what is wrong with it."""
    record, check = _CHECKS.get(table, (None, None))
    if record is None or check is None:
        return None
    try:
        check(name, msgspec.convert(member, record))
    except FieldError as error:
        return error.path.removeprefix("."), str(error)
    return None


def _provider_name(name: str) -> str | None:
    return "holds a slash or a space" if not name or "/" in name or any(map(str.isspace, name)) else None


def _alias_name(name: str) -> str | None:
    if name in VIRTUAL_NAMES:
        return "stands for the router already"
    return "is empty or has spaces in it" if not name or any(map(str.isspace, name)) else None


def _target_name(name: str) -> str | None:
    return None if split_target(name) is not None and "*" not in name else "is no `provider/model`"


def _scenario_name(name: str) -> str | None:
    return None if name in SCENARIO_NAMES else f"is no scenario{tell_meant(name, SCENARIO_NAMES)}"


def _check_provider(name: str, provider: ProviderSettings) -> None:
    if provider.url:
        try:
            root = provider_root(provider.url)
        except SettingsError as error:
            raise FieldError("url", error.message.rstrip(".")) from error
        if name.lower() in _OF_THIS_MACHINE and not is_loopback(urlsplit(root).hostname or ""):
            raise FieldError("url", f"{name} is a name for this machine alone, which may be sent everything")
    elif name not in WELL_KNOWN:
        raise FieldError("", f"it has no url{tell_meant(name, WELL_KNOWN)}")
    elif not WELL_KNOWN[name].root:
        raise FieldError("", f"it has no url; that of an account is like {WELL_KNOWN[name].example}")
    if not provider.dialects and name not in WELL_KNOWN:
        raise FieldError("", "it has no dialects")


def _check_target(_: str, target: TargetSettings) -> None:
    provider, _, model = (target.identity or "a:b").partition(":")
    if not provider or not model:
        raise FieldError("identity", f"{target.identity!r} is no `provider:model`")


def _check_pool(_: str, pool: PoolSettings) -> None:
    if not pool.targets and not pool.providers:
        raise FieldError("", "it has neither targets nor providers")


def _check_scenario(_: str, action: ActionSettings) -> None:
    if action == ActionSettings():
        raise FieldError("", "it has no action")


def _check_rule(_: str, rule: RuleSettings) -> None:
    if not rule.name:
        raise FieldError("name", "a name is expected")
    if rule.then == ActionSettings():
        raise FieldError("then", "it has no action")
    if rule.when.prompt_matches is not None:
        read_pattern(rule.when.prompt_matches, "when.prompt_matches")
    check_order(msgspec.convert(rule.when, When, from_attributes=True))


_NAMES: Mapping[str, Callable[[str], str | None]] = {
    PROVIDERS: _provider_name,
    QUOTA_PROVIDERS: _provider_name,
    BUDGET_PROVIDERS: _provider_name,
    ALIASES: _alias_name,
    TARGETS: _target_name,
    SCENARIOS: _scenario_name,
}
_CHECKS: Mapping[str, tuple[type[Struct], Callable[[str, Any], None]]] = {
    PROVIDERS: (ProviderSettings, _check_provider),
    TARGETS: (TargetSettings, _check_target),
    POOLS: (PoolSettings, _check_pool),
    SCENARIOS: (ActionSettings, _check_scenario),
    ROUTE_RULES: (RuleSettings, _check_rule),
}
