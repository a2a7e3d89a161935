"""The type of a schema's field in a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYWORDS = ("anyOf", "oneOf", "allOf")


def type_text(schema: Mapping[str, Any]) -> str:
    """Its type, types joined by `|`, the keyword that stands for one, or `object` (accounting specification, section 2)."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    if isinstance(kind, list):
        return "|".join(map(str, kind))
    return next((keyword for keyword in _KEYWORDS if keyword in schema), "object")
