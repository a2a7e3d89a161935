"""A tool call as the inspector counts it (accounting specification, section 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.tokens import compact_json

if TYPE_CHECKING:
    from ullage.core.content import Part


def call_json(part: Part) -> str:
    """JSON of the call's id, name and arguments; arguments that are no JSON are a text in it."""
    return compact_json({"id": part.call_id, "name": part.name, "arguments": _arguments(part.text)})


def _arguments(text: str) -> Any:
    try:
        return msgspec.json.decode(text) if text else {}
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
