"""The worked tools of the accounting specification, sections 3 and 5.4."""

from __future__ import annotations

from typing import Any

from ullage.core.content import ToolSpec


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
