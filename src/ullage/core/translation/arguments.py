"""The arguments of tool calls: JSON text, an object, and the free input of custom tools carried inside of one."""

from __future__ import annotations

from typing import Any

import msgspec

from ullage.core.wire.jsontext import decode_as

INPUT = "input"
"""The only argument of a custom tool where it is offered as a function."""
INVALID = "INVALID_JSON"
"""Under this key Anthropic's manual on streamed arguments wants text that is no JSON."""

_OBJECTS: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any], float_hook=float)


def find_object(text: str) -> dict[str, Any] | None:
    """The object that the text stands for; no text at all is an empty one. `None` if it is no object."""
    if not text.strip():
        return {}
    try:
        return decode_as(_OBJECTS, text.encode())
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None


def as_object(text: str) -> dict[str, Any]:
    """The object, or one that holds the text where it is no JSON: never an empty one in its place."""
    found = find_object(text)
    return {INVALID: text} if found is None else found


def input_as_arguments(text: str) -> str:
    """The free input of a custom tool as the arguments of the function that stands for it."""
    return msgspec.json.encode({INPUT: text}).decode()


def arguments_as_input(text: str) -> str:
    """The free input in the arguments of a function that stands for a custom tool."""
    found = find_object(text)
    value = found.get(INPUT) if found is not None else None
    return value if isinstance(value, str) else text
