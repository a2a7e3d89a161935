"""Tables whose names are the user's own: `[accounting.profiles.NAME]`, `[accounting.tool_shapes.NAME]`, `[[accounting.rules]]`,
`[models.overrides."PROVIDER/MODEL"]`, `[privacy.remote_providers.NAME]`, `[providers.NAME]`, `[routing.aliases.NAME]`.

Named members of a later file replace those of an earlier one, rules are appended. Each value is judged alone, as everywhere; but
a rule of which nobody knows whom it is for is not used.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.privacy.policy import RemoteProvider
from ullage.core.profiles.heuristics import Profile, Rule, ToolShape, is_understood
from ullage.core.profiles.overrides import ModelOverride

from .catalog import Setting, convert, example_of, record_settings
from .overrides import HOW_TO_NAME, OVERRIDES, drop_contradictions, find_key_problem, narrow, refuse_to_project
from .privacy import ALLOWED, REMOTE_PROVIDERS, refuse_provider_to_project
from .provenance import Choice, Problem, ProblemCode, Source, SourceKind
from .routing import AliasSettings, ProviderSettings
from .toml_file import KeyPath

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .layers import Entry

PROFILES, TOOL_SHAPES, RULES = "accounting.profiles", "accounting.tool_shapes", "accounting.rules"
PROVIDERS, ALIASES = "providers", "routing.aliases"
TABLES: dict[str, type[Struct]] = {
    PROFILES: Profile,
    TOOL_SHAPES: ToolShape,
    RULES: Rule,
    OVERRIDES: ModelOverride,
    REMOTE_PROVIDERS: RemoteProvider,
    PROVIDERS: ProviderSettings,
    ALIASES: AliasSettings,
}
"""The record of one member of each table."""

_PATHS = {table: tuple(table.split(".")) for table in TABLES}
_USERS_ALONE = frozenset({PROVIDERS, ALIASES})
"""Tables of which a project's file may say nothing."""
_TEMPLATE = "template"
_MATCH = "match"


class _Leaf(Struct, frozen=True):
    """One value of a member: `field` is its dotted name there, `path` what follows for a value inside a template."""

    key: str
    field: str
    path: KeyPath
    value: Any
    source: Source


def split(entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The entries of tables, and all others."""
    tabled = [_spelled_out(entry) for entry in entries if _table_of(entry) is not None]
    return tabled, [entry for entry in entries if _table_of(entry) is None]


def judge_tables(
    entries: Sequence[Entry], kind: SourceKind, below: Mapping[str, Choice]
) -> tuple[dict[str, Choice], list[Problem]]:
    """The members that one layer sets, as plain data under `TABLE.NAME` or `accounting.rules[KIND:PLACE]`, and what is wrong.

    `below` is what the layers before it have set.
    """
    judging = _Judging(kind, below)
    for entry in entries:
        for table, name, leaf in _leaves(entry):
            judging.take(table, name, leaf, entry.source)
        if _is_no_table(entry):
            judging.problems.append(_refused(entry.key, entry.source, "bad_value", _how_to_write(entry)))
    return judging.members(), judging.problems


def header_of(table: str) -> str:
    """How the header of a member is written."""
    if table == RULES:
        return f"[[{table}]]"
    return f'[{table}."PROVIDER/MODEL"]' if table == OVERRIDES else f"[{table}.NAME]"


def renumbered(chosen: dict[str, Choice]) -> dict[str, Choice]:
    """The same with the rules of all layers counted through: `accounting.rules[0]` and on."""
    rules = [key for key in chosen if key.startswith(f"{RULES}[")]
    names = {key: f"{RULES}[{number}]" for number, key in enumerate(rules)}
    return {names.get(key, key): choice for key, choice in chosen.items()}


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


def place(tree: dict[str, Any], key: str, value: Any) -> bool:
    """Puts a member of a table where it belongs in the tree of all settings; false for the key of anything else."""
    for table, (*sections, name) in _PATHS.items():
        member = key.removeprefix(table)
        if member == key or member[0] not in "[.":
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
        self._places: dict[tuple[str, str], Source] = {}
        self._unsure: set[str] = set()

    def take(self, table: str, name: str | int, leaf: _Leaf | None, source: Source) -> None:
        """One value of a member, or its name alone."""
        key = f"{RULES}[{self._kind}:{name}]" if table == RULES else f"{table}.{name}"
        if table == OVERRIDES and (reason := find_key_problem(str(name))) is not None:
            self._refuse_once(key, source, reason)
        elif leaf is None and table in _USERS_ALONE and self._kind == "project":
            self.problems.append(_refused(key, source, "not_allowed", _belongs_to_user(key)))
        elif leaf is None:
            self._members.setdefault(key, Choice({}, source))
        elif (problem := _problem_of(TABLES[table], leaf) or self._presumption(table, str(name), leaf)) is not None:
            self.problems.append(problem)
            self._unsure |= {key} if _says_whom(leaf.field) else set()
        else:
            member = self._members.setdefault(key, Choice({}, source))
            self._places[key, leaf.field] = source
            _put(member.value, (*leaf.field.split("."), *leaf.path), _value_of(TABLES[table], leaf))
            self.problems += _doubts(leaf)

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
        return used

    def _refuse_once(self, key: str, source: Source, reason: str) -> None:
        if key not in self._unsure:
            self._unsure.add(key)
            self.problems.append(_refused(key, source, "bad_value", (f"The key of {key} {reason}.", HOW_TO_NAME)))

    def _presumption(self, table: str, name: str, leaf: _Leaf) -> Problem | None:
        """What a project says of models and providers and only a user may say."""
        if self._kind != "project":
            return None
        told = None
        if table in _USERS_ALONE:
            told = _belongs_to_user(leaf.key)
        elif table == REMOTE_PROVIDERS:
            told = refuse_provider_to_project(name, leaf.value, self._below)
        elif table == OVERRIDES:
            told = refuse_to_project(name, leaf.field, leaf.value, self._below)
        return None if told is None else _refused(leaf.key, leaf.source, "not_allowed", told)


def _table_of(entry: Entry) -> str | None:
    return next((table for table, path in _PATHS.items() if entry.path[: len(path)] == path), None)


def _rest_of(table: str, entry: Entry) -> KeyPath:
    """What follows the table's name in an entry's path."""
    return entry.path[len(_PATHS[table]) :]


def _spelled_out(entry: Entry) -> Entry:
    """A remote provider's classes may stand for its table: `openrouter = ["normal"]`."""
    if _table_of(entry) != REMOTE_PROVIDERS or len(entry.path) != len(REMOTE_PROVIDERS.split(".")) + 1:
        return entry
    if isinstance(entry.value, dict):
        return entry
    return msgspec.structs.replace(entry, key=f"{entry.key}.{ALLOWED}", path=(*entry.path, ALLOWED))


def _is_no_table(entry: Entry) -> bool:
    """Whether a value stands where a table of fields should, or a table in the place of an array or the other way round."""
    table = _table_of(entry)
    assert table is not None
    rest, value = _rest_of(table, entry), entry.value
    if table == RULES and not rest:
        return not isinstance(value, list) or not all(isinstance(member, dict) for member in value)
    if rest and isinstance(rest[0], int) != (table == RULES):
        return True
    return len(rest) < 2 and value != {}


def _how_to_write(entry: Entry) -> tuple[str, str]:
    table = _table_of(entry)
    assert table is not None
    return f"{entry.key} is a table, not a value.", f"Write {header_of(table)} and its keys below it."


def _leaves(entry: Entry) -> Iterator[tuple[str, str | int, _Leaf | None]]:
    """Table, name and value of everything in an entry; no value for a member that is only named."""
    table = _table_of(entry)
    assert table is not None
    rest = _rest_of(table, entry)
    if _is_no_table(entry) and not isinstance(entry.value, list):
        return
    if table == RULES and not rest and isinstance(entry.value, list):
        for number, member in enumerate(entry.value):
            if isinstance(member, dict):
                yield from ((RULES, number, leaf) for leaf in _member_leaves(entry, (number,), member))
    elif len(rest) == 1 and entry.value == {}:
        yield table, rest[0], None
    elif len(rest) > 1:
        yield (
            table,
            rest[0],
            None if _is_for_everyone(table, rest, entry.value) else _leaf(table, entry, rest, entry.value),
        )


def _member_leaves(entry: Entry, path: KeyPath, value: Any) -> Iterator[_Leaf | None]:
    if isinstance(value, dict) and (value or len(path) == 1 or _is_for_everyone(RULES, path, value)):
        if not value:
            yield None
        for name, member in value.items():
            yield from _member_leaves(entry, (*path, name), member)
    else:
        yield _leaf(RULES, entry, path, value)


def _is_for_everyone(table: str, path: KeyPath, value: Any) -> bool:
    """Whether this is a `match` without patterns."""
    return table == RULES and path[1:] == (_MATCH,) and value == {}


def _leaf(table: str, entry: Entry, path: KeyPath, value: Any) -> _Leaf:
    inside = table == TOOL_SHAPES and path[1] == _TEMPLATE
    names = path[1:2] if inside else path[1:]
    field = ".".join("[]" if isinstance(name, int) else name for name in names)
    key = f"{RULES}[].{field}" if table == RULES else f"{table}.{path[0]}.{field}"
    return _Leaf(key, field, path[2:] if inside else (), value, entry.source)


@cache
def _fields(record: type[Struct]) -> dict[str, Setting]:
    return {setting.key: setting for setting in record_settings(record)}


def _problem_of(record: type[Struct], leaf: _Leaf) -> Problem | None:
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


def _value_of(record: type[Struct], leaf: _Leaf) -> Any:
    """The value in its field's type. Raises `ValueError`."""
    if leaf.field == _TEMPLATE:
        return leaf.value
    return convert(msgspec.structs.replace(_fields(record)[leaf.field], key=leaf.key), leaf.value, lenient=False)


def _belongs_to_user(key: str) -> tuple[str, str]:
    return f"A project file may not set {key}.", "It belongs in the user's own file."


def _says_whom(field: str) -> bool:
    return field == _MATCH or field.startswith(f"{_MATCH}.")


def _doubts(leaf: _Leaf) -> Iterator[Problem]:
    """A pattern that can fit nothing is no error, but nobody means it."""
    if _says_whom(leaf.field) and not is_understood(leaf.value):
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
