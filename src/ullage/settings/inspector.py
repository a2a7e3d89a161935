"""Configuration files of the Pi inspector (pi-contextimate, once prefix-inspector), read as they are.

Accounting specification, sections 3.1, 4.3 and 14. What has no place in our settings is named, never dropped in silence.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.profiles.heuristics import Defaults, Heuristics, Match, Profile, Rule, ToolShape, is_understood

from .json_file import JsonFile, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NAMES = ("pi-contextimate", "prefix-inspector")
VARIABLES = ("PI_CONTEXTIMATE_CONFIG", "PI_PREFIX_INSPECTOR_CONFIG")
_HIGHEST_DENOMINATOR = 1_000_000

_DENOMINATORS = {
    "textDenominator": "text_denominator",
    "sessionDenominator": "session_denominator",
    "toolDenominator": "tool_denominator",
}
_SCALARS = {
    "defaultTextDenominator": "textDenominator",
    "defaultSessionDenominator": "sessionDenominator",
    "defaultToolDenominator": "toolDenominator",
    "defaultToolNumerator": "toolNumerator",
}
_PATCH = {*_DENOMINATORS, "label", "toolNumerator", "toolNumeratorShape"}
_TABLES = {"profiles", "toolShapes", "rules", "defaults"}
KEYS = frozenset(_TABLES | _SCALARS.keys())
"""What stands at the top of a file."""
_MATCH = ("provider", "model", "id", "api")


class InspectorFile(Struct, frozen=True, kw_only=True):
    """One file: what it sets, and what of it has no place here. `skipped` says why nothing of it is used.

    `scalars` are the older names of defaults at the top of a file; they win over the defaults of every file.
    """

    path: Path
    skipped: str = ""
    missing: bool = False
    heuristics: Heuristics = Heuristics()
    scalars: dict[str, Any] = {}
    notes: tuple[str, ...] = ()


def find_inspector_files(environ: Mapping[str, str], *, home: Path, cwd: Path) -> list[Path]:
    """Where the inspector looks, in its order: a later file overrides. None need be there."""
    own = [folder / f"{name}.json" for name in NAMES for folder in (home / ".pi" / "agent", cwd / ".pi")]
    named = (text.strip() for variable in VARIABLES for text in environ.get(variable, "").split(":"))
    return [*own, *(cwd / _expanded(text, home) for text in named if text)]


def read_inspector_file(path: Path) -> InspectorFile:
    """One file. Nothing about it is an error: what cannot be read is skipped, and says why."""
    return read_inspector(read_json(path))


def read_inspector(file: JsonFile) -> InspectorFile:
    """The same of a file that has been read."""
    if file.skipped:
        return InspectorFile(path=file.path, skipped=file.skipped, missing=file.missing)
    return _Reading(file.path).file(file.data)


def merge_inspector_files(files: Iterable[InspectorFile]) -> Heuristics:
    """All files together: defaults key by key, profiles and shapes by name, rules one after another (section 14)."""
    merged = Heuristics()
    scalars: dict[str, Any] = {}
    for file in files:
        one = file.heuristics
        scalars |= file.scalars
        merged = Heuristics(
            profiles=merged.profiles | one.profiles,
            tool_shapes=merged.tool_shapes | one.tool_shapes,
            defaults=_over(merged.defaults, one.defaults),
            rules=merged.rules + one.rules,
        )
    return msgspec.structs.replace(merged, defaults=msgspec.structs.replace(merged.defaults, **scalars))


def _expanded(text: str, home: Path) -> Path:
    return home if text == "~" else home / text[2:] if text.startswith("~/") else Path(text)


def _over(base: Defaults, upper: Defaults) -> Defaults:
    said = {name: value for name, value in msgspec.structs.asdict(upper).items() if value is not None}
    return msgspec.structs.replace(base, **said)


class _Reading:
    """Reads one file and collects notes on the way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._notes: list[str] = []
        self._inline: dict[str, ToolShape] = {}

    def file(self, data: dict[str, Any]) -> InspectorFile:
        for key in sorted(data.keys() - KEYS):
            self._note(key, "has no place here")
        profiles = {name: self._profile(f"profiles.{name}", one) for name, one in self._table("profiles", data)}
        shapes = {name: self._shape(f"toolShapes.{name}", one) for name, one in self._table("toolShapes", data)}
        rules = data.get("rules", [])
        if not isinstance(rules, list):
            self._note("rules", "is no list")
            rules = []
        heuristics = Heuristics(
            profiles=profiles,
            defaults=self._defaults(data.get("defaults", {})),
            rules=tuple(filter(None, (self._rule(f"rules[{place}]", one) for place, one in enumerate(rules)))),
        )
        scalars = self._patch("", {_SCALARS[key]: data[key] for key in _SCALARS if key in data})
        return InspectorFile(
            path=self._path,
            heuristics=msgspec.structs.replace(heuristics, tool_shapes=self._inline | shapes),
            scalars=scalars,
            notes=tuple(self._notes),
        )

    def _table(self, key: str, data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        table = data.get(key, {})
        if not isinstance(table, dict):
            self._note(key, "is no object")
            return
        for name, member in table.items():
            if isinstance(member, dict):
                yield name, member
            elif isinstance(member, str) and key == "toolShapes":
                yield name, {"shape": member}
            else:
                self._note(f"{key}.{name}", "is no object")

    def _profile(self, where: str, data: dict[str, Any]) -> Profile:
        self._leftovers(where, data, _PATCH)
        return Profile(label=self._text(where, data, "label"), **self._patch(where, data))

    def _defaults(self, data: Any) -> Defaults:
        if not isinstance(data, dict):
            self._note("defaults", "is no object")
            return Defaults()
        self._leftovers("defaults", data, {*_PATCH - {"label"}, "profile"})
        return Defaults(profile=self._text("defaults", data, "profile"), **self._patch("defaults", data))

    def _rule(self, where: str, data: Any) -> Rule | None:
        if not isinstance(data, dict):
            self._note(where, "is no object")
            return None
        match = self._match(f"{where}.match", data.get("match", {}))
        if match is None:
            return None
        self._leftovers(where, data, {*_PATCH, "profile", "match"})
        return Rule(
            label=self._text(where, data, "label"),
            profile=self._text(where, data, "profile"),
            match=match,
            **self._patch(where, data),
        )

    def _match(self, where: str, data: Any) -> Match | None:
        """Whom a rule is for; `None` for one that could never match."""
        if not isinstance(data, dict):
            self._note(where, "is no object, so the rule is for everyone")
            return Match()
        self._leftovers(where, data, set(_MATCH))
        parts = {part: self._text(where, data, part) for part in _MATCH}
        never = {part: pattern for part, pattern in parts.items() if pattern is not None and not is_understood(pattern)}
        for part, pattern in never.items():
            self._note(
                f"{where}.{part}", f"is an expression that cannot be used here, so its rule is left out: {pattern}"
            )
        return None if never else Match(**parts)

    def _shape(self, where: str, data: dict[str, Any]) -> ToolShape:
        self._leftovers(where, data, {"label", "denominator", "url", "referenceUrl", "shape", "template"})
        return ToolShape(
            label=self._text(where, data, "label"),
            denominator=self._number(where, data, "denominator"),
            url=self._text(where, data, "referenceUrl") or self._text(where, data, "url"),
            shape=self._text(where, data, "shape"),
            template=data.get("template"),
        )

    def _patch(self, where: str, data: dict[str, Any]) -> dict[str, Any]:
        """The denominators and the numerator that an object sets, under our names."""
        patch: dict[str, Any] = {ours: self._number(where, data, theirs) for theirs, ours in _DENOMINATORS.items()}
        patch["tool_numerator"] = self._numerator(where, data)
        return {name: value for name, value in patch.items() if value is not None}

    def _numerator(self, where: str, data: dict[str, Any]) -> str | None:
        """A name; a shape that is written in its place gets one."""
        told = data.get("toolNumerator", data.get("toolNumeratorShape"))
        if not isinstance(told, dict):
            key = "toolNumerator" if "toolNumerator" in data else "toolNumeratorShape"
            return self._text(where, data, key)
        name = f"inline-{len(self._inline) + 1}"
        self._inline[name] = self._shape(f"{where}.toolNumerator", told)
        return name

    def _number(self, where: str, data: dict[str, Any], key: str) -> float | None:
        value = data.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _HIGHEST_DENOMINATOR:
            return float(value)
        if key in data:
            self._note(f"{where}.{key}", "is no positive number")
        return None

    def _text(self, where: str, data: dict[str, Any], key: str) -> str | None:
        value = data.get(key)
        if isinstance(value, str) and value:
            return value
        if key in data and value is not None:
            self._note(f"{where}.{key}", "is no text")
        return None

    def _leftovers(self, where: str, data: dict[str, Any], known: set[str]) -> None:
        for key in sorted(data.keys() - known):
            self._note(f"{where}.{key}", "has no place here")

    def _note(self, key: str, reason: str) -> None:
        self._notes.append(f"{self._path}: {key.lstrip('.')} {reason}")
