"""The worked tools of the accounting specification, sections 3 and 5.4."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ullage.core.content import ToolSpec

_KEYWORDS = [
    "type",
    "properties",
    "items",
    "required",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "description",
    "title",
]


def make_tool(name: str, description: str, parameters: dict[str, Any] | None) -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters=parameters)


PING = make_tool(
    "ping",
    "Send a ping.",
    {
        "type": "object",
        "properties": {"host": {"type": "string", "description": "Target host"}},
        "required": ["host"],
    },
)
MODE = make_tool(
    "mode",
    "Pick a mode",
    {"type": "object", "properties": {"level": {"type": "string", "enum": ["a", "bb"], "description": ""}}},
)
FIND_FILES = make_tool(
    "find_files",
    "Find files by glob pattern.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Glob to match."},
            "filters": {
                "type": "array",
                "description": "Extra filters",
                "items": {
                    "type": "object",
                    "properties": {
                        "field": {"type": "string", "enum": ["size", "mtime"]},
                        "min": {"type": "integer", "minimum": 0, "default": 10},
                    },
                    "required": ["field"],
                },
            },
        },
        "required": ["pattern"],
    },
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_KEYWORDS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
"""Values as they may stand anywhere in a schema, its keywords among the keys."""
