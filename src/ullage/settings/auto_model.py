"""Configuration files of Pi Auto Model, an extension of Pi, read as they are (routing specification, section 31).

Pi Auto Model leaves out a whole file for one wrong field. Here what is wrong is left out alone, and named with its path. What has
no place here is named too, as "no counterpart": it is what only the extension can do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from ullage.core.profiles.overrides import ModelOverride
from ullage.core.routing.fields import tell_meant
from ullage.core.routing.rules_reading import read_rules

from .auto_model_keys import CAPPED, KEYS, MARKS, NO_COUNTERPART, SECTIONS, TABLES
from .budget import BUDGET_PROVIDERS, BudgetProviderSettings
from .catalog import Setting, catalog, convert, record_settings, shown
from .ds4 import agent_folder
from .overrides import find_key_problem
from .routing import (
    ActionSettings,
    PoolSettings,
    QuotaProviderSettings,
    QuotaSettings,
    RoutingSettings,
    RuleSettings,
    TargetSettings,
    WhenSettings,
)
from .routing_checks import POOLS, QUOTA_PROVIDERS, SCENARIO_NAMES, TARGETS, find_member_problem, find_name_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ullage.core.routing.rules import Action, When

    from .json_file import JsonFile

NAME = "auto-model.json"

_PRICES = {
    "input": "input_price",
    "output": "output_price",
    "cacheRead": "cache_read_price",
    "cacheWrite": "cache_write_price",
}
_POOL = {"fallback": "fallback", "allocation": "allocation", "windowHours": "window_hours"}
_QUOTA = {
    "windowMs": "window_ms",
    "maxUsd": "max_usd",
    "maxRequests": "max_requests",
    "warningUvi": "warning_uvi",
    "blockUvi": "block_uvi",
}
_BUDGET = {"dailyUsd": "daily_usd", "monthlyUsd": "monthly_usd", "onExceed": "on_exceed"}
_SCORES = {name: name for name in ("ramp", "aa", "aider")}
_Read = Callable[[dict[str, Any], str], dict[str, Any]]
_OUR_SCENARIOS = {theirs: ours for ours, theirs in SCENARIO_NAMES.items()}


class AutoModelFile(Struct, frozen=True, kw_only=True):
    """One file: what it sets, by our keys, by the keys of overrides of models, in the tables of `routing`, and as limits of what
    may be spent at providers; and what of it is not used."""

    path: Path
    values: dict[str, Any] = {}
    overrides: dict[str, ModelOverride] = {}
    tables: RoutingSettings = RoutingSettings()
    budgets: dict[str, BudgetProviderSettings] = {}
    notes: tuple[str, ...] = ()


def find_auto_model_file(environ: Mapping[str, str], *, home: Path) -> Path:
    """Where Pi Auto Model looks for the user's settings. The file need not be there."""
    return agent_folder(environ, home) / NAME


def is_auto_model(file: JsonFile) -> bool:
    """Whether a file is one of Pi Auto Model, by keys that no other extension has; by its name where it has none."""
    return bool(MARKS & file.data.keys()) or file.path.name == NAME


def read_auto_model(file: JsonFile) -> AutoModelFile:
    """One file that has been read."""
    reading = _Reading(file.path)
    values = dict(reading.values(file.data))
    prices, targets = reading.models(file.data)
    pools = reading.members(file.data.get("pools"), "pools", POOLS, reading.pool)
    quotas = reading.members(_below(file.data, "quota.providers"), "quota.providers", QUOTA_PROVIDERS, reading.quota)
    budgets = reading.members(
        _below(file.data, "budget.providers"), "budget.providers", BUDGET_PROVIDERS, reading.budget
    )
    rules, scenarios = reading.rules(file.data)
    return AutoModelFile(
        path=file.path,
        values=values,
        overrides=prices,
        tables=RoutingSettings(
            targets=targets,
            pools={name: msgspec.convert(fields, PoolSettings) for name, fields in pools.items()},
            rules=rules,
            scenarios=scenarios,
            quota=QuotaSettings(
                providers={name: msgspec.convert(fields, QuotaProviderSettings) for name, fields in quotas.items()}
            ),
        ),
        budgets={name: msgspec.convert(fields, BudgetProviderSettings) for name, fields in budgets.items()},
        notes=tuple(reading.notes()),
    )


class _Reading:
    """Reads one file and collects what is wrong with it on the way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ignored: list[str] = []
        self._homeless: dict[str, list[str]] = {}

    def notes(self) -> Iterator[str]:
        lines = [*self._ignored, *(f"{fate}: {', '.join(names)}" for fate, names in self._homeless.items())]
        return (f"{self._path}: {line}" for line in lines)

    def values(self, data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
        """What the file sets that is a single value here, by our keys."""
        for word, value in data.items():
            name = prefix + word
            if name in TABLES:
                continue
            if name in KEYS:
                yield from self._value(name, value)
            elif name in NO_COUNTERPART:
                self._note_homeless(name, value)
            elif name not in SECTIONS:
                self._ignore(name, f"is no key of Pi Auto Model{tell_meant(name, (*KEYS, *TABLES, *SECTIONS))}")
            elif isinstance(value, dict):
                yield from self.values(value, f"{name}.")
            else:
                self._ignore(name, f"must be an object, not {shown(value)}")

    def models(self, data: Mapping[str, Any]) -> tuple[dict[str, ModelOverride], dict[str, TargetSettings]]:
        """Prices by the keys of overrides of models, and what else it knows of targets."""
        prices: dict[str, ModelOverride] = {}
        targets: dict[str, dict[str, Any]] = {}
        for name, fields in self._objects(_below(data, "pricing.overrides"), "pricing.overrides"):
            path = f"pricing.overrides.{name}"
            coefficient = {"costCoef": fields.pop("costCoef")} if "costCoef" in fields else {}
            if (reason := find_key_problem(name)) is not None:
                self._ignore(path, f"{reason}: write the provider before it")
                continue
            if found := self._fields(fields, path, ModelOverride, _PRICES):
                prices[name] = msgspec.convert(found, ModelOverride)
            self._add(
                targets, name, path, self._fields(coefficient, path, TargetSettings, {"costCoef": "cost_coefficient"})
            )
        for name, fields in self._objects(data.get("benchmarkOverrides"), "benchmarkOverrides"):
            path = f"benchmarkOverrides.{name}"
            self._add(targets, name, path, self._fields(fields, path, TargetSettings, _SCORES))
        for name, identity in self._entries(data.get("aliases"), "aliases"):
            self._add(targets, name, f"aliases.{name}", {"identity": identity})
        return prices, {name: msgspec.convert(fields, TargetSettings) for name, fields in targets.items()}

    def rules(self, data: Mapping[str, Any]) -> tuple[tuple[RuleSettings, ...], dict[str, ActionSettings]]:
        found, problems = read_rules(data.get("rules", []), data.get("scenarios", {}))
        self._ignored += problems
        rules = [
            RuleSettings(name=rule.name, when=_when(rule.when), then=_action(rule.then))
            for rule in found.entries
            if not rule.scenario
        ]
        scenarios = {_OUR_SCENARIOS[rule.name]: _action(rule.then) for rule in found.entries if rule.scenario}
        return tuple(rules), scenarios

    def pool(self, fields: dict[str, Any], path: str) -> dict[str, Any]:
        """Members are lists of ids with weights there, tables here."""
        found = self._fields({name: one for name, one in fields.items() if name in _POOL}, path, PoolSettings, _POOL)
        for name in ("targets", "providers"):
            listed = fields.get(name, [])
            if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
                raise _MemberError(f"{path}.{name}", "must be a list of {id, weight}")
            found[name] = {str(one.get("id")): one.get("weight", 1) for one in listed}
        for name in fields.keys() - {*_POOL, "targets", "providers"}:
            self._ignore(f"{path}.{name}", "is no key of Pi Auto Model")
        return found

    def quota(self, fields: dict[str, Any], path: str) -> dict[str, Any]:
        return self._fields(fields, path, QuotaProviderSettings, _QUOTA)

    def budget(self, fields: dict[str, Any], path: str) -> dict[str, Any]:
        return self._fields(fields, path, BudgetProviderSettings, _BUDGET)

    def members(self, value: Any, path: str, table: str, read: _Read) -> dict[str, dict[str, Any]]:
        """The members of a table that can be used as a whole."""
        found: dict[str, dict[str, Any]] = {}
        for name, fields in self._objects(value, path):
            try:
                member = read(fields, f"{path}.{name}")
                _check(table, name, member, f"{path}.{name}")
            except _MemberError as error:
                self._ignore(error.path, error.reason)
            else:
                found[name] = member
        return found

    def _value(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        ours, words = KEYS[name]
        value = words.get(value, value) if isinstance(value, str) else value
        if name in CAPPED and isinstance(value, int) and value > CAPPED[name]:
            value = CAPPED[name]
        try:
            yield ours, convert(replace(catalog()[ours], key=name), value, lenient=False)
        except ValueError as error:
            self._ignored.append(str(error).removesuffix("."))

    def _add(self, targets: dict[str, dict[str, Any]], name: str, path: str, fields: dict[str, Any]) -> None:
        """What is said of a target, beside what else is said of it."""
        if not fields:
            return
        try:
            _check(TARGETS, name, fields, path)
        except _MemberError as error:
            self._ignore(path, error.reason)
        else:
            targets.setdefault(name, {}).update(fields)

    def _fields(
        self, fields: Mapping[str, Any], path: str, record: type[Struct], names: Mapping[str, str]
    ) -> dict[str, Any]:
        """What can be used of a member's fields, each by itself."""
        found: dict[str, Any] = {}
        for name, value in fields.items():
            where = f"{path}.{name}"
            if name not in names:
                self._ignore(where, f"is no key of Pi Auto Model{tell_meant(name, names)}")
                continue
            try:
                found[names[name]] = convert(replace(_setting(record, names[name]), key=where), value, lenient=False)
            except ValueError as error:
                self._ignored.append(str(error).removesuffix("."))
        return found

    def _objects(self, value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, one in self._entries(value, path):
            if isinstance(one, dict):
                yield name, dict(one)
            else:
                self._ignore(f"{path}.{name}", f"must be an object, not {shown(one)}")

    def _entries(self, value: Any, path: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            yield from value.items()
        elif value is not None:
            self._ignore(path, f"must be an object, not {shown(value)}")

    def _note_homeless(self, name: str, value: Any) -> None:
        """A key that has no place here; of one that asks for nothing else than what is so anyway, nothing is said."""
        if value != NO_COUNTERPART[name]:
            self._homeless.setdefault("no counterpart here", []).append(name)

    def _ignore(self, name: str, why: str) -> None:
        self._ignored.append(f"{name} {why}")


def _setting(record: type[Struct], field: str) -> Setting:
    return next(one for one in record_settings(record) if one.key == field)


class _MemberError(Exception):
    """A member of a table that is useless as a whole: where, and why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


def _check(table: str, name: str, member: dict[str, Any], path: str) -> None:
    """Raises `_MemberError` for a name or a member that no settings file could have."""
    if (reason := find_name_problem(table, name)) is not None:
        raise _MemberError(path, reason)
    try:
        found = find_member_problem(table, name, member)
    except msgspec.ValidationError as error:
        raise _MemberError(path, f"cannot be used: {error}") from error
    if found is not None:
        raise _MemberError(path, found[1])


def _below(data: Mapping[str, Any], path: str) -> Any:
    """The value at a path of two words; `None` where it is not there."""
    section, _, name = path.partition(".")
    above = data.get(section)
    return above.get(name) if isinstance(above, dict) else None


def _when(when: When) -> WhenSettings:
    return WhenSettings(**{name: value for name, value in asdict(when).items() if value is not None})


def _action(action: Action) -> ActionSettings:
    return ActionSettings(**asdict(action))
