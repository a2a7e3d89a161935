"""The tables whose names are the user's own, and each value that a file has in them, with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.privacy.policy import RemoteProvider
from ullage.core.profiles.heuristics import Profile, Rule, ToolShape
from ullage.core.profiles.overrides import ModelOverride
from ullage.core.routing.weights import find_policy

from .budget import BUDGET_PROVIDERS, BudgetProviderSettings
from .overrides import OVERRIDES
from .privacy import ALLOWED, REMOTE_PROVIDERS
from .provenance import Source
from .routing import (
    ActionSettings,
    AliasSettings,
    PoolSettings,
    ProviderSettings,
    QuotaProviderSettings,
    RuleSettings,
    TargetSettings,
)
from .routing_checks import ALIASES, POOLS, PROVIDERS, QUOTA_PROVIDERS, ROUTE_RULES, SCENARIOS, TARGETS
from .toml_file import KeyPath

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .layers import Entry

PROFILES, TOOL_SHAPES, RULES = "accounting.profiles", "accounting.tool_shapes", "accounting.rules"
TABLES: dict[str, type[Struct]] = {
    PROFILES: Profile,
    TOOL_SHAPES: ToolShape,
    RULES: Rule,
    OVERRIDES: ModelOverride,
    REMOTE_PROVIDERS: RemoteProvider,
    PROVIDERS: ProviderSettings,
    ALIASES: AliasSettings,
    TARGETS: TargetSettings,
    POOLS: PoolSettings,
    ROUTE_RULES: RuleSettings,
    SCENARIOS: ActionSettings,
    QUOTA_PROVIDERS: QuotaProviderSettings,
    BUDGET_PROVIDERS: BudgetProviderSettings,
}
"""The record of one member of each table."""

PATHS: dict[str, tuple[str, ...]] = {table: tuple(table.split(".")) for table in TABLES}
ARRAYS = (RULES, ROUTE_RULES)
"""Tables whose members have places instead of names."""

TEMPLATE = "template"
_FREE = frozenset({(TOOL_SHAPES, TEMPLATE), (POOLS, "targets"), (POOLS, "providers")})
"""Fields whose names below are the user's own as well."""

_MAY_BE_EMPTY = frozenset({(RULES, "match"), (ROUTE_RULES, "when"), (ROUTE_RULES, "then")})
"""Tables within a member that may hold nothing."""

_OF_ONE = frozenset({ROUTE_RULES, SCENARIOS})
"""Tables in which a text by itself is a list of one."""


class Leaf(Struct, frozen=True):
    """One value of a member: `field` is its dotted name there, `path` what follows for a value inside a field with free names."""

    key: str
    field: str
    path: KeyPath
    value: Any
    source: Source


def table_of(entry: Entry) -> str | None:
    """The table that an entry belongs to; `None` for any other setting."""
    return next((table for table, path in PATHS.items() if entry.path[: len(path)] == path), None)


def header_of(table: str) -> str:
    """How the header of a member is written."""
    if table in ARRAYS:
        return f"[[{table}]]"
    return f'[{table}."PROVIDER/MODEL"]' if table in (OVERRIDES, TARGETS) else f"[{table}.NAME]"


def spelled_out(entry: Entry) -> Entry:
    """An entry in place of its short form: a remote provider's classes for its table (`openrouter = ["normal"]`), a policy or
    patterns for what a scenario does (`review = "cost"`, `plan = ["anthropic/*"]`)."""
    table = table_of(entry)
    if table not in (REMOTE_PROVIDERS, SCENARIOS) or len(_rest(table, entry)) != 1 or isinstance(entry.value, dict):
        return entry
    field = ALLOWED
    if table == SCENARIOS:
        field = "policy" if isinstance(entry.value, str) and find_policy(entry.value) else "only"
    return replace(entry, key=f"{entry.key}.{field}", path=(*entry.path, field))


def is_no_table(entry: Entry) -> bool:
    """Whether a value stands where a table of fields should, or a table in the place of an array or the other way round."""
    table = _needed(entry)
    rest, value = _rest(table, entry), entry.value
    if table in ARRAYS and not rest:
        return not isinstance(value, list) or not all(isinstance(member, dict) for member in value)
    if rest and isinstance(rest[0], int) != (table in ARRAYS):
        return True
    return len(rest) < 2 and value != {}


def how_to_write(entry: Entry) -> tuple[str, str]:
    """What is wrong with an entry that is no table, and what to do."""
    return f"{entry.key} is a table, not a value.", f"Write {header_of(_needed(entry))} and its keys below it."


def find_leaves(entry: Entry) -> Iterator[tuple[str, str | int, Leaf | None]]:
    """Table, name and value of everything in an entry; no value for a member that is only named."""
    table = _needed(entry)
    rest = _rest(table, entry)
    if is_no_table(entry) and not isinstance(entry.value, list):
        return
    if table in ARRAYS and not rest and isinstance(entry.value, list):
        for number, member in enumerate(entry.value):
            if isinstance(member, dict):
                yield from ((table, number, leaf) for leaf in _below(table, entry, (number,), member))
    elif len(rest) == 1 and entry.value == {}:
        yield table, rest[0], None
    elif len(rest) > 1:
        empty = _is_empty(table, rest, entry.value)
        yield table, rest[0], None if empty else _leaf(table, entry, rest, entry.value)


def _needed(entry: Entry) -> str:
    table = table_of(entry)
    assert table is not None
    return table


def _rest(table: str, entry: Entry) -> KeyPath:
    """What follows the table's name in an entry's path."""
    return entry.path[len(PATHS[table]) :]


def _below(table: str, entry: Entry, path: KeyPath, value: Any) -> Iterator[Leaf | None]:
    if isinstance(value, dict) and (value or len(path) == 1 or _is_empty(table, path, value)):
        if not value:
            yield None
        for name, member in value.items():
            yield from _below(table, entry, (*path, name), member)
    else:
        yield _leaf(table, entry, path, value)


def _is_empty(table: str, path: KeyPath, value: Any) -> bool:
    """Whether this is a table within a member that holds nothing, and may: a `match` without patterns is for everyone."""
    return value == {} and len(path) == 2 and (table, path[1]) in _MAY_BE_EMPTY


def _leaf(table: str, entry: Entry, path: KeyPath, value: Any) -> Leaf:
    inside = (table, path[1]) in _FREE
    names = path[1:2] if inside else path[1:]
    field = ".".join("[]" if isinstance(name, int) else name for name in names)
    if table == RULES:
        key = f"{RULES}[].{field}"
    else:
        key = f"{table}[{path[0]}].{field}" if table in ARRAYS else f"{table}.{path[0]}.{field}"
    of_one = table in _OF_ONE and isinstance(value, str) and field.rpartition(".")[2] in _LISTS
    return Leaf(key, field, path[2:] if inside else (), [value] if of_one else value, entry.source)


_LISTS = frozenset({"only", "exclude", "prefer", "kinds"})
