"""Rules and scenarios as a file has them. A wrong entry is left out alone (routing specification, sections 14 and 32)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.errors import InputError

from .rules import FIRST, KIND_NAMES, SCENARIOS, Action, Rule, Rules, When, compile_prompt_pattern
from .suggesting import suggest
from .thinking import LEVELS
from .weights import WEIGHTS, find_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_TIERS = ("light", "mid", "strong", "frontier")
_MOST_PATTERN = 500


class _EntryError(Exception):
    """What is wrong with an entry: the path below it, and why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def load_rules(data: bytes) -> tuple[Rules, tuple[str, ...]]:
    """Rules and problems of a JSON object with `rules` and `scenarios`. Raises `InputError` if it is none."""
    try:
        found = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise InputError(f"The rules are no JSON object: {error}.", code="bad_rules") from error
    return read_rules(found.get("rules", ()), found.get("scenarios", {}))


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
    for name, value in {**scenarios, **(project_scenarios or {})}.items():
        path = f"scenarios.{name}"
        try:
            named[name] = Rule(name=_scenario_name(name), then=_read_scenario(value), scenario=True)
        except _EntryError as error:
            problems.append(f"{path}{error.path}: {error}")
    ordered = [named[name] for name in FIRST if name in named]
    ordered += [entry for name, entry in named.items() if name not in FIRST]
    return Rules(entries=(*entries, *ordered)), tuple(problems)


def _read_list(rules: Sequence[Any], path: str, problems: list[str]) -> list[Rule]:
    found: dict[str, Rule] = {}
    if not isinstance(rules, (list, tuple)):
        problems.append(f"{path}: a list is expected")
        return []
    for index, value in enumerate(rules):
        try:
            rule = _read_rule(value)
            if rule.name in found:
                raise _EntryError(".name", f"{rule.name!r} is there already")
            found[rule.name] = rule
        except _EntryError as error:
            problems.append(f"{path}[{index}]{error.path}: {error}")
    return list(found.values())


def _read_rule(value: Any) -> Rule:
    fields = _object(value, "", ("name", "when", "then"))
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        raise _EntryError(".name", "a name is expected")
    return Rule(name=name, when=_read_when(fields.get("when", {})), then=_read_action(fields.get("then"), ".then"))


def _read_scenario(value: Any) -> Action:
    if isinstance(value, str) and (policy := find_policy(value)) is not None:
        return Action(policy=policy)
    if isinstance(value, (str, list)):
        return Action(only=_texts(value, ""))
    return _read_action(value, "")


def _scenario_name(name: str) -> str:
    if name not in SCENARIOS:
        raise _EntryError("", f"there is no such scenario{_meant(name, SCENARIOS)}")
    return name


def _read_when(value: Any) -> When:
    fields = _object(value, ".when", tuple(_CONDITIONS))
    found = {_CONDITIONS[key][0]: _CONDITIONS[key][1](given, f".when.{key}") for key, given in fields.items()}
    when = When(**found)
    _ordered(when.min_complexity, when.max_complexity, ".when.minComplexity")
    _ordered(when.min_context_tokens, when.max_context_tokens, ".when.minContextTokens")
    return when


def _read_action(value: Any, path: str) -> Action:
    fields = _object(value, path, tuple(_ACTIONS))
    if not fields:
        raise _EntryError(path, "it has no action")
    return Action(**{_ACTIONS[key][0]: _ACTIONS[key][1](given, f"{path}.{key}") for key, given in fields.items()})


def _object(value: Any, path: str, known: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _EntryError(path, "an object is expected")
    unknown = next((key for key in value if key not in known), None)
    if unknown is not None:
        raise _EntryError(f"{path}.{unknown}", f"there is no such field{_meant(unknown, known)}")
    return value


def _meant(word: str, known: Iterable[str]) -> str:
    found = suggest(word, known)
    return f"; did you mean {found!r}?" if found is not None else ""


def _ordered(least: float | None, most: float | None, path: str) -> None:
    if least is not None and most is not None and least > most:
        raise _EntryError(path, f"{least:g} is above the largest, {most:g}")


def _texts(value: Any, path: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed or not all(isinstance(one, str) and one for one in listed):
        raise _EntryError(path, "a text or a list of texts is expected")
    return tuple(listed)


def _word(known: Sequence[str]) -> Callable[[Any, str], str]:
    def read(value: Any, path: str) -> str:
        if value not in known:
            raise _EntryError(path, f"{value!r} is none of {', '.join(known)}{_meant(str(value), known)}")
        return str(value)

    return read


def _kinds(value: Any, path: str) -> tuple[str, ...]:
    return tuple(_word((*KIND_NAMES, "mixed"))(kind, path) for kind in _texts(value, path))


def _policy(value: Any, path: str) -> str:
    found = find_policy(value) if isinstance(value, str) else None
    return found or _word(tuple(WEIGHTS))(value, path)


def _part(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise _EntryError(path, f"{value!r} is no number from 0 to 1")
    return float(value)


def _tokens(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _EntryError(path, f"{value!r} is no number of tokens from 0 on")
    return value


def _boolean(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise _EntryError(path, f"{value!r} is neither true nor false")
    return value


def _pattern(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value or len(value) > _MOST_PATTERN:
        raise _EntryError(path, f"a regular expression of at most {_MOST_PATTERN} characters is expected")
    if _explodes(value):
        raise _EntryError(path, "a repetition within a repetition may take for ever")
    try:
        compile_prompt_pattern(value)
    except re.error as error:
        raise _EntryError(path, f"it is no regular expression: {error}") from error
    return value


_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]|[*+]|\{\d*,\}|[^\\]", re.DOTALL)


def _explodes(pattern: str) -> bool:
    """Whether something that is repeated without bound repeats something without bound in turn."""
    repeats = [False]
    closed = False
    for piece in _PIECE.findall(pattern):
        unbounded = piece in ("*", "+") or piece.startswith("{")
        if unbounded and closed:
            return True
        closed = False
        if piece == "(":
            repeats.append(False)
        elif piece == ")" and len(repeats) > 1:
            closed = repeats.pop()
            repeats[-1] = repeats[-1] or closed
        elif unbounded:
            repeats[-1] = True
    return False


_CONDITIONS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "kinds": ("kinds", _kinds),
    "minComplexity": ("min_complexity", _part),
    "maxComplexity": ("max_complexity", _part),
    "minContextTokens": ("min_context_tokens", _tokens),
    "maxContextTokens": ("max_context_tokens", _tokens),
    "hasImages": ("has_images", _boolean),
    "trigger": ("trigger", _word(("user", "extension"))),
    "promptMatches": ("prompt_matches", _pattern),
}
_ACTIONS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "only": ("only", _texts),
    "exclude": ("exclude", _texts),
    "minimumTier": ("minimum_tier", _word(_TIERS)),
    "prefer": ("prefer", _texts),
    "policy": ("policy", _policy),
    "thinking": ("thinking", _word(LEVELS)),
}
