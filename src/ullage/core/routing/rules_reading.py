"""Rules and scenarios as a file has them. A wrong entry is left out alone (routing specification, sections 14 and 32)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .fields import (
    FieldError,
    make_word_reader,
    read_boolean,
    read_object,
    read_part,
    read_texts,
    read_tokens,
    tell_meant,
)
from .pattern_cost import search_length
from .rules import FIRST, KIND_NAMES, SCENARIOS, Action, Rule, Rules, When, compile_prompt_pattern
from .thinking import LEVELS
from .weights import WEIGHTS, find_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TIERS = ("light", "mid", "strong", "frontier")
_MOST_PATTERN = 500
NO_NAMES: Mapping[str, str] = MappingProxyType({})


def read_rules(
    rules: Sequence[Any],
    scenarios: Mapping[str, Any],
    *,
    project_rules: Sequence[Any] = (),
    project_scenarios: Mapping[str, Any] | None = None,
) -> tuple[Rules, tuple[str, ...]]:
    """Rules in the order of their checking, and a line for each entry that cannot be used: its path, and what is wrong.

    A project's rules come first, its scenarios stand in place of those of the same name.
    """
    problems: list[str] = []
    entries = [*_read_list(project_rules, "rules", problems), *_read_list(rules, "rules", problems)]
    named: dict[str, Rule] = {}
    for name, value in _merge(scenarios, project_scenarios or {}, problems).items():
        path = f"scenarios.{name}"
        try:
            named[name] = Rule(name=_scenario_name(name), then=_read_scenario(value), scenario=True)
        except FieldError as error:
            problems.append(f"{path}{error.path}: {error}")
    ordered = [named[name] for name in FIRST if name in named]
    ordered += [entry for name, entry in named.items() if name not in FIRST]
    return Rules(entries=(*entries, *ordered)), tuple(problems)


def _merge(scenarios: Any, project: Any, problems: list[str]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for one in (scenarios, project):
        if isinstance(one, Mapping):
            merged |= one
        else:
            problems.append("scenarios: an object is expected")
    return merged


def _read_list(rules: Sequence[Any], path: str, problems: list[str]) -> list[Rule]:
    found: dict[str, Rule] = {}
    if not isinstance(rules, (list, tuple)):
        problems.append(f"{path}: a list is expected")
        return []
    for index, value in enumerate(rules):
        try:
            rule = _read_rule(value)
            if rule.name in found:
                raise FieldError(".name", f"{rule.name!r} is there already")
            found[rule.name] = rule
        except FieldError as error:
            problems.append(f"{path}[{index}]{error.path}: {error}")
    return list(found.values())


def _read_rule(value: Any) -> Rule:
    fields = read_object(value, "", ("name", "when", "then"))
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        raise FieldError(".name", "a name is expected")
    return Rule(name=name, when=_read_when(fields.get("when", {})), then=_read_action(fields.get("then"), ".then"))


def _read_scenario(value: Any) -> Action:
    if isinstance(value, str) and (policy := find_policy(value)) is not None:
        return Action(policy=policy)
    if isinstance(value, (str, list)):
        return Action(only=read_texts(value, ""))
    return _read_action(value, "")


def _scenario_name(name: str) -> str:
    if name not in SCENARIOS:
        raise FieldError("", f"there is no such scenario{tell_meant(name, SCENARIOS)}")
    return name


def _read_when(value: Any) -> When:
    fields = read_object(value, ".when", tuple(_CONDITIONS))
    found = {_CONDITIONS[key][0]: _CONDITIONS[key][1](given, f".when.{key}") for key, given in fields.items()}
    when = When(**found)
    check_order(when, _NAMES)
    return when


def check_order(when: When, names: Mapping[str, str] = NO_NAMES) -> None:
    """Raises `FieldError` for a least value above its largest. `names` are those that the file has for conditions, where they
    are not ours."""
    for what in ("complexity", "context_tokens"):
        least, most = getattr(when, f"min_{what}"), getattr(when, f"max_{what}")
        if least is not None and most is not None and least > most:
            name = f"min_{what}"
            raise FieldError(f".when.{names.get(name, name)}", f"{least:g} is above the largest, {most:g}")


def _read_action(value: Any, path: str) -> Action:
    fields = read_object(value, path, tuple(_ACTIONS))
    if not fields:
        raise FieldError(path, "it has no action")
    return Action(**{_ACTIONS[key][0]: _ACTIONS[key][1](given, f"{path}.{key}") for key, given in fields.items()})


def _kinds(value: Any, path: str) -> tuple[str, ...]:
    return tuple(make_word_reader((*KIND_NAMES, "mixed"))(kind, path) for kind in read_texts(value, path))


def _policy(value: Any, path: str) -> str:
    found = find_policy(value) if isinstance(value, str) else None
    return found or make_word_reader(tuple(WEIGHTS))(value, path)


def read_pattern(value: Any, path: str) -> str:
    """A regular expression that is short enough and cannot take for ever. Raises `FieldError` for any other."""
    if not isinstance(value, str) or not value or len(value) > _MOST_PATTERN:
        raise FieldError(path, f"a regular expression of at most {_MOST_PATTERN} characters is expected")
    try:
        compile_prompt_pattern(value)
        length = search_length(value)
    except (re.error, RecursionError, OverflowError) as error:
        raise FieldError(path, f"it is no regular expression: {error}") from error
    if length is None:
        raise FieldError(path, "it may take for ever: what it repeats can be matched in too many ways")
    return value


_CONDITIONS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "kinds": ("kinds", _kinds),
    "minComplexity": ("min_complexity", read_part),
    "maxComplexity": ("max_complexity", read_part),
    "minContextTokens": ("min_context_tokens", read_tokens),
    "maxContextTokens": ("max_context_tokens", read_tokens),
    "hasImages": ("has_images", read_boolean),
    "trigger": ("trigger", make_word_reader(("user", "extension"))),
    "promptMatches": ("prompt_matches", read_pattern),
}
_NAMES = {field: name for name, (field, _) in _CONDITIONS.items()}
_ACTIONS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "only": ("only", read_texts),
    "exclude": ("exclude", read_texts),
    "minimumTier": ("minimum_tier", make_word_reader(_TIERS)),
    "prefer": ("prefer", read_texts),
    "policy": ("policy", _policy),
    "thinking": ("thinking", make_word_reader(LEVELS)),
}
