"""Tables whose names are the user's own: `[accounting.profiles.NAME]`, `[accounting.tool_shapes.NAME]`, `[[accounting.rules]]`,
`[models.overrides."PROVIDER/MODEL"]`, `[privacy.remote_providers.NAME]`, `[providers.NAME]`, and those of `routing`.

Named members of a later file replace those of an earlier one, rules are appended, those of routing with a project's first. Each
value is judged alone, as everywhere; but a rule of which nobody knows whom it is for is not used, nor what would mean something
else with one value less.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.profiles.heuristics import is_understood

from .catalog import Setting, convert, example_of, record_settings
from .overrides import HOW_TO_NAME, OVERRIDES, drop_contradictions, find_key_problem, narrow, refuse_to_project
from .privacy import REMOTE_PROVIDERS, refuse_provider_to_project
from .provenance import Choice, Problem, ProblemCode, Source, SourceKind
from .routing import ProviderSettings
from .routing_checks import (
    ALIASES,
    POOLS,
    ROUTE_RULES,
    USERS_ALONE,
    WHOLE,
    find_member_problem,
    find_missing_pools,
    find_name_problem,
)
from .table_leaves import (
    ARRAYS,
    PATHS,
    PROFILES,
    RULES,
    TABLES,
    TEMPLATE,
    Leaf,
    find_leaves,
    header_of,
    how_to_write,
    is_no_table,
    spelled_out,
    table_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from msgspec import Struct

    from .layers import Entry
    from .toml_file import KeyPath

__all__ = ["TABLES", "header_of", "judge_tables", "missing_pools", "missing_profiles", "place", "renumbered", "split"]

_MATCH = "match"


def split(entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The entries of tables, and all others."""
    tabled = [spelled_out(entry) for entry in entries if table_of(entry) is not None]
    return tabled, [entry for entry in entries if table_of(entry) is None]


def judge_tables(
    entries: Sequence[Entry], kind: SourceKind, below: Mapping[str, Choice]
) -> tuple[dict[str, Choice], list[Problem]]:
    """The members that one layer sets, as plain data under `TABLE.NAME` or `accounting.rules[KIND:PLACE]`, and what is wrong.

    `below` is what the layers before it have set.
    """
    judging = _Judging(kind, below)
    for entry in entries:
        for table, name, leaf in find_leaves(entry):
            judging.take(table, name, leaf, entry.source)
        if is_no_table(entry):
            judging.problems.append(_refused(entry.key, entry.source, "bad_value", how_to_write(entry)))
    return judging.members(), judging.problems


def renumbered(chosen: dict[str, Choice]) -> dict[str, Choice]:
    """The same with the rules of all layers counted through: `accounting.rules[0]` and on."""
    ordered = dict(chosen)
    for table in ARRAYS:
        rules = [key for key in chosen if key.startswith(f"{table}[")]
        if table == ROUTE_RULES:
            rules.sort(key=lambda key: not key.startswith(f"{table}[project:"))
        for key in rules:
            del ordered[key]
        ordered |= {f"{table}[{number}]": chosen[key] for number, key in enumerate(rules)}
    return ordered


def missing_profiles(chosen: dict[str, Choice]) -> Iterator[Problem]:
    """Profiles that a rule or the defaults name and nobody has written."""
    known = [key.removeprefix(f"{PROFILES}.") for key in chosen if key.startswith(f"{PROFILES}.")]
    for key, choice in chosen.items():
        named = choice.value if key == "accounting.defaults.profile" else None
        if key.startswith(f"{RULES}["):
            named = choice.value.get("profile")
        if named is not None and named not in known:
            hint = f"Known are {', '.join(known)}." if known else f"Write [{PROFILES}.{named}]."
            yield _refused(
                key, choice.source, "conflict", (f"{key} names a profile {named!r} that is not there.", hint)
            )


def missing_pools(chosen: dict[str, Choice]) -> Iterator[Problem]:
    """Pools that a setting or an alias names and nobody has written. A request is stopped there, so that this is told early."""
    named = {key: choice.value for key, choice in chosen.items() if key == f"{POOLS.rpartition('.')[0]}.pool"}
    named |= {
        f"{key}.pool": choice.value.get("pool") for key, choice in chosen.items() if key.startswith(f"{ALIASES}.")
    }
    pools = [key.removeprefix(f"{POOLS}.") for key in chosen if key.startswith(f"{POOLS}.")]
    for key, message, hint in find_missing_pools(named, pools):
        source = chosen[key if key in chosen else key.removesuffix(".pool")].source
        yield _refused(key, source, "conflict", (message, hint))


def place(tree: dict[str, Any], key: str, value: Any) -> bool:
    """Puts a member of a table where it belongs in the tree of all settings; false for the key of anything else."""
    for table, (*sections, name) in PATHS.items():
        member = key.removeprefix(table)
        if member == key or member[:1] not in ("[", "."):
            continue
        for section in sections:
            tree = tree.setdefault(section, {})
        if member[0] == "[":
            tree.setdefault(name, []).append(value)
        else:
            tree.setdefault(name, {})[member[1:]] = value
        return True
    return False


class _Judging:
    """What one layer says in tables, put together value by value. `problems` is what cannot be used of it."""

    def __init__(self, kind: SourceKind, below: Mapping[str, Choice]) -> None:
        self.problems: list[Problem] = []
        self._kind = kind
        self._below = below
        self._members: dict[str, Choice] = {}
        self._names: dict[str, tuple[str, str | int]] = {}
        self._places: dict[tuple[str, str], Source] = {}
        self._unsure: set[str] = set()

    def take(self, table: str, name: str | int, leaf: Leaf | None, source: Source) -> None:
        """One value of a member, or its name alone."""
        key = f"{table}[{self._kind}:{name}]" if table in ARRAYS else f"{table}.{name}"
        self._names[key] = table, name
        if (told := _name_problem(table, str(name), key) or self._trespass(table, str(name), key)) is not None:
            self._refuse_once(key, source, *told)
        elif leaf is None:
            self._members.setdefault(key, Choice({}, source))
        elif (problem := _problem_of(TABLES[table], leaf) or self._presumption(table, str(name), leaf)) is not None:
            self.problems.append(problem)
            self._unsure |= {key} if table in WHOLE or (table == RULES and _says_whom(leaf.field)) else set()
        else:
            member = self._members.setdefault(key, Choice({}, source))
            self._places[key, leaf.field] = source
            _put(member.value, (*leaf.field.split("."), *leaf.path), _value_of(TABLES[table], leaf))
            self.problems += _doubts(table, leaf)

    def members(self) -> dict[str, Choice]:
        """What may be used. To be asked for once, at the end."""
        used = {key: member for key, member in self._members.items() if key not in self._unsure}
        for key in [key for key in used if key.startswith(f"{OVERRIDES}.")]:
            problems = drop_contradictions(key, used[key].value, self._places)
            self.problems += problems
            if problems and not used[key].value:
                del used[key]
            elif self._kind == "project":
                used[key] = narrow(used[key], self._below.get(key))
        return self._good(used)

    def _good(self, used: Mapping[str, Choice]) -> dict[str, Choice]:
        """Without members that are useless as a whole, and rules of routing whose name an earlier one of this layer has."""
        good: dict[str, Choice] = {}
        rules: set[str] = set()
        for key, member in used.items():
            table, name = self._names[key]
            shown = f"{table}[{name}]" if table in ARRAYS else key
            found = find_member_problem(table, str(name), member.value)
            if found is None and table == ROUTE_RULES:
                found = ("name", "another rule has this name") if member.value["name"] in rules else None
                rules.add(member.value["name"])
            if found is None:
                good[key] = member
                continue
            field, reason = found
            place = f"{shown}.{field}" if field else shown
            told = _sentence(f"{place}: {reason}"), f"{header_of(table)} is left out."
            self.problems.append(_refused(place, self._places.get((key, field), member.source), "bad_value", told))
        return good

    def _refuse_once(self, key: str, source: Source, code: ProblemCode, told: tuple[str, str]) -> None:
        if key not in self._unsure:
            self._unsure.add(key)
            self.problems.append(_refused(key, source, code, told))

    def _trespass(self, table: str, name: str, key: str) -> tuple[ProblemCode, tuple[str, str]] | None:
        """Members that a project may not have: those of tables that are a user's alone, and a pool in place of the user's."""
        if self._kind != "project" or not (table in USERS_ALONE or (table == POOLS and key in self._below)):
            return None
        return "not_allowed", (f"A project file may not set {key}.", "It belongs in the user's own file.")

    def _presumption(self, table: str, name: str, leaf: Leaf) -> Problem | None:
        """What a project says of models and providers and only a user may say."""
        if table not in (OVERRIDES, REMOTE_PROVIDERS) or self._kind != "project":
            return None
        if table == REMOTE_PROVIDERS:
            told = refuse_provider_to_project(name, leaf.value, self._below)
        else:
            told = refuse_to_project(name, leaf.field, leaf.value, self._below)
        return None if told is None else _refused(leaf.key, leaf.source, "not_allowed", told)


def _name_problem(table: str, name: str, key: str) -> tuple[ProblemCode, tuple[str, str]] | None:
    """Why no member of a table may stand under a name."""
    reason = find_key_problem(name) if table == OVERRIDES else find_name_problem(table, name)
    if reason is None:
        return None
    hint = HOW_TO_NAME if table == OVERRIDES else f"{header_of(table)} is left out."
    return "bad_value", (_sentence(f"The key of {key} {reason}"), hint)


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


@cache
def _fields(record: type[Struct]) -> dict[str, Setting]:
    return {setting.key: setting for setting in record_settings(record)}


def _problem_of(record: type[Struct], leaf: Leaf) -> Problem | None:
    fields = _fields(record)
    if leaf.field not in fields:
        nearest = next(iter(difflib.get_close_matches(leaf.field, fields, n=1)), None)
        hint = f"Did you mean {nearest}?" if nearest else f"Known are {', '.join(fields)}."
        return _refused(leaf.key, leaf.source, "unknown_key", (f"{leaf.key} is not a setting.", hint))
    try:
        _value_of(record, leaf)
    except ValueError as error:
        setting = fields[leaf.field]
        # What stands there may be the key itself, which is never repeated.
        secret = record is ProviderSettings and leaf.field == "key"
        told = f"{leaf.key} must be {setting.allowed}." if secret else str(error)
        return _refused(leaf.key, leaf.source, "bad_value", (told, example_of(setting)))
    return None


def _value_of(record: type[Struct], leaf: Leaf) -> Any:
    """The value in its field's type. Raises `ValueError`."""
    if leaf.field == TEMPLATE:
        return leaf.value
    setting = msgspec.structs.replace(_fields(record)[leaf.field], key=".".join((leaf.key, *map(str, leaf.path))))
    if not leaf.path:
        return convert(setting, leaf.value, lenient=False)
    name, *below = leaf.path
    if below:
        raise ValueError(f"{setting.key} must be {setting.allowed}.")
    return convert(setting, {name: leaf.value}, lenient=False)[name]


def _says_whom(field: str) -> bool:
    return field == _MATCH or field.startswith(f"{_MATCH}.")


def _doubts(table: str, leaf: Leaf) -> Iterator[Problem]:
    """A pattern that can fit nothing is no error, but nobody means it."""
    if table == RULES and _says_whom(leaf.field) and not is_understood(leaf.value):
        message = f"{leaf.key} is an expression that cannot be used, so its rule never matches."
        yield _refused(leaf.key, leaf.source, "bad_value", (message, "Use a name or a glob, as claude-*."))


def _refused(key: str, source: Source, code: ProblemCode, said: tuple[str, str]) -> Problem:
    return Problem(code=code, key=key, source=source, message=said[0], hint=said[1])


def _put(tree: Any, path: KeyPath, value: Any) -> None:
    """Puts a value into nested tables and lists, making what is not there yet."""
    *steps, last = path
    for step, below in zip(steps, path[1:], strict=True):
        fresh: Any = [] if isinstance(below, int) else {}
        if isinstance(step, int):
            tree.extend(fresh for _ in range(step + 1 - len(tree)))
            tree = tree[step]
        else:
            tree = tree.setdefault(step, fresh)
    if isinstance(last, int):
        tree.append(value)
    else:
        tree[last] = value
