"""Measured constants, set into the rows of families."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from msgspec import Struct

    from .records import Family

Constants = dict[str, dict[str, float]]
"""By group, then by the place in a family: `framing.user` or `prose`."""


def group_constants(rows: Iterable[tuple[Any, ...]]) -> Constants:
    """The constants of rows that begin with group, place and value."""
    found: Constants = {}
    for group, place, value, *_ in rows:
        found.setdefault(group, {})[place] = value
    return found


def with_constants(family: Family, constants: Mapping[str, Mapping[str, float]]) -> Family:
    """The family with the constants of its groups in their places; a later group has the last word."""
    merged: dict[str, float] = {}
    for group in family.fitted:
        merged.update(constants.get(group, {}))
    changes: dict[str, dict[str, Any]] = {}
    for place, value in merged.items():
        part, _, name = place.rpartition(".")
        changes.setdefault(part, {})[name] = value
    parts = {part: _changed(getattr(family, part), members) for part, members in changes.items() if part}
    return replace(family, **parts, **changes.get("", {}))


def _changed(part: Struct, members: Mapping[str, Any]) -> Struct:
    return replace(part, **members)
