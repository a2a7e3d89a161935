"""Members of a JSON schema as the declarations of tools need them; whatever has another type than it should is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ullage.core.tokens import compact_json

Schema = Mapping[str, Any]

PRIMITIVES = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}
"""TypeScript's names of the primitive types (accounting specification, section 5.3)."""

MAX_DEPTH = 64
"""Deeper schemas end as `any`: no real tool comes near, and a hostile one must not exhaust the stack."""


def properties_of(schema: Schema) -> Mapping[str, Any]:
    """The properties of an object, in their order."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def examples_of(facts: Schema) -> str:
    """The comment lines that show a schema's examples; empty without any."""
    examples = facts.get("examples")
    if not isinstance(examples, list) or not examples:
        return ""
    return "// Examples:\n" + "".join(f"// - {compact_json(example)}\n" for example in examples)


def is_filled(value: object) -> bool:
    """Whether a member is a list with something in it."""
    return isinstance(value, list) and bool(value)


def text_at(schema: Schema, key: str) -> str:
    """A member's text; empty if it has none."""
    value = schema.get(key)
    return value if isinstance(value, str) else ""
