"""JSON schemas in what each provider takes of them: Gemini's subset of OpenAPI, and Anthropic's for answers.

The same schema always gives the same bytes: members stand in the order of the table, properties in the order in which they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.wire.requests.parts import as_list

from .losses import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .losses import Losses

_SCHEMAS_LIMIT = 10_000
"""More than any tool has: references that are put in place can multiply."""

_GEMINI_PLAIN = (
    *("title", "description", "format", "pattern", "minimum", "maximum", "minItems", "maxItems"),
    *("minLength", "maxLength", "minProperties", "maxProperties"),
)
_GEMINI_FORMATS = frozenset({"enum", "date-time", "float", "double", "int32", "int64"})
_IGNORED = frozenset(
    {"$schema", "$id", "$defs", "definitions", "$ref", "$comment", "additionalProperties", "default", "examples"}
)
_GEMINI_KNOWN = frozenset(
    {
        *_GEMINI_PLAIN,
        *_IGNORED,
        *(
            "type",
            "nullable",
            "enum",
            "const",
            "properties",
            "required",
            "items",
            "anyOf",
            "oneOf",
            "allOf",
            "prefixItems",
        ),
        *("propertyOrdering", "example"),
    }
)
# The types that each rule is for.
_NUMBERS, _WORDS = ("integer", "number"), ("string",)
_RULES: Mapping[str, tuple[str, ...]] = {
    "properties": ("object",),
    "required": ("object",),
    "minProperties": ("object",),
    "maxProperties": ("object",),
    "items": ("array",),
    "minItems": ("array",),
    "maxItems": ("array",),
    "minimum": _NUMBERS,
    "maximum": _NUMBERS,
    "pattern": _WORDS,
    "minLength": _WORDS,
    "maxLength": _WORDS,
    "format": (*_NUMBERS, *_WORDS),
    "enum": ("string", "integer", "number", "boolean"),
    "const": ("string", "integer", "number", "boolean"),
}
# Members that hold schemas by names of the user's, and members that hold no schema.
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"enum", "const", "default", "examples", "required"})
# What Anthropic's structured answers refuse, by its manual.
_ANTHROPIC_REFUSED = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("maxItems", "uniqueItems", "minProperties", "maxProperties", "patternProperties"),
    }
)


def gemini_schema(schema: dict[str, Any], losses: Losses, *, where: str) -> dict[str, Any]:
    """The schema in Gemini's subset. References are put in place; what has no place is left out and told once."""
    return _Gemini(schema, losses, where).convert(schema, frozenset())


class _Gemini:
    def __init__(self, root: dict[str, Any], losses: Losses, where: str) -> None:
        self._root = root
        self._losses = losses
        self._where = where
        self._converted = 0

    def convert(self, given: Any, seen: frozenset[str]) -> dict[str, Any]:
        """One schema and all in it. `seen` are the references on the way here: one that comes again is any object."""
        self._converted += 1
        if self._converted > _SCHEMAS_LIMIT:
            raise refuse(self._where, "its schema refers to itself too often for a target without references.")
        schema, seen = self._resolve(given, seen)
        if schema.keys() - _GEMINI_KNOWN or schema.get("additionalProperties", False) is not False:
            self._simplified()
        kinds = _kinds_of(schema)
        if len(kinds) > 1 and not (schema.get("anyOf") or schema.get("oneOf")):
            schema = _as_choice(schema, kinds)
        written: dict[str, Any] = {}
        self._write_type(schema, written)
        self._write_plain(schema, written)
        self._write_choices(schema, written, seen)
        self._write_members(schema, written, seen)
        return written

    def _resolve(self, given: Any, seen: frozenset[str]) -> tuple[dict[str, Any], frozenset[str]]:
        """The schema with what it refers to and all that it must also be, in one."""
        schema = given if isinstance(given, dict) else {}
        while isinstance(reference := schema.get("$ref"), str):
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            if reference in seen:
                self._simplified()
                return {"type": "object", **rest}, seen
            seen |= {reference}
            schema = {**self._find(reference), **rest}
        every = schema.get("allOf")
        if isinstance(every, list):
            schema = {key: value for key, value in schema.items() if key != "allOf"}
            for one in every:
                found, seen = self._resolve(one, seen)
                schema = _merged(schema, found)
        return schema, seen

    def _find(self, reference: str) -> dict[str, Any]:
        found: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) and step else found
        return found if isinstance(found, dict) and reference.startswith("#") else {}

    def _write_type(self, schema: dict[str, Any], written: dict[str, Any]) -> None:
        plain = _kinds_of(schema)
        if len(plain) == 1:
            written["type"] = plain[0].upper()
        elif "properties" in schema:
            written["type"] = "OBJECT"
        elif "enum" in schema or "const" in schema:
            written["type"] = "STRING"
        if "null" in as_list(schema.get("type")) or schema.get("nullable") is True:
            written["nullable"] = True

    def _write_plain(self, schema: dict[str, Any], written: dict[str, Any]) -> None:
        for key in _GEMINI_PLAIN:
            if key == "format" and schema.get(key) not in _GEMINI_FORMATS:
                continue
            if schema.get(key) is not None:
                written[key] = schema[key]

    def _write_choices(self, schema: dict[str, Any], written: dict[str, Any], seen: frozenset[str]) -> None:
        words = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if isinstance(words, list):
            texts = [word for word in words if isinstance(word, str)]
            if None in words:
                written["nullable"] = True
            if texts and written.get("type") == "STRING":
                written["enum"] = texts
            elif words:
                self._simplified()
        either = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(either, list):
            options = [self.convert(one, seen) for one in either if not _is_null(one)]
            if len(options) < len(either):
                written["nullable"] = True
            if len(options) == 1:
                written.update({**options[0], **written})
            elif options:
                written["anyOf"] = options

    def _write_members(self, schema: dict[str, Any], written: dict[str, Any], seen: frozenset[str]) -> None:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            written["properties"] = {name: self.convert(value, seen) for name, value in properties.items()}
            required = [
                name for name in as_list(schema.get("required")) if isinstance(name, str) and name in properties
            ]
            if required:
                written["required"] = required
        if written.get("type") == "ARRAY":
            written["items"] = self.convert(schema.get("items", {}), seen) or {"type": "STRING"}

    def _simplified(self) -> None:
        self._losses.add("schema", self._where, "Rules that the target's schemas do not know are left out.")


def anthropic_schema(schema: dict[str, Any], losses: Losses) -> dict[str, Any]:
    """The schema of an answer as Anthropic takes it: every object closed, without limits on numbers and lengths.

    One that `has_maps` means something else when it is closed.
    """
    written = _closed(schema)
    if _uses(schema, _ANTHROPIC_REFUSED) or any(one.get("additionalProperties") for one in _schemas_in(schema)):
        losses.add("schema", "response_format", "Rules that the target's schemas do not know are left out.")
    return written if isinstance(written, dict) else {}


def has_maps(schema: Any) -> bool:
    """Whether objects in it have members whose names it does not say."""
    return any(
        _is_object(one)
        and (isinstance(one.get("additionalProperties"), dict) or not one.get("properties"))
        and one.get("additionalProperties") is not False
        for one in _schemas_in(schema)
    )


def _schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    """The schema and all in it."""
    if isinstance(value, list):
        for one in value:
            yield from _schemas_in(one)
    if not isinstance(value, dict):
        return
    yield value
    for key, inner in value.items():
        if key in _NAMED and isinstance(inner, dict):
            for one in inner.values():
                yield from _schemas_in(one)
        elif key not in _VALUES:
            yield from _schemas_in(inner)


def _is_object(schema: dict[str, Any]) -> bool:
    return "object" in as_list(schema.get("type")) or ("type" not in schema and "properties" in schema)


def _closed(value: Any) -> Any:
    if isinstance(value, list):
        return [_closed(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: inner if key in ("enum", "const") else _closed(inner) for key, inner in value.items()}
    if isinstance(value.get("properties"), dict):
        kept["properties"] = {name: _closed(inner) for name, inner in value["properties"].items()}
    if isinstance(value.get("type"), str) or "properties" in value or "$ref" in value or "anyOf" in value:
        kept = {key: inner for key, inner in kept.items() if key not in _ANTHROPIC_REFUSED}
    if _is_object(value):
        kept["additionalProperties"] = False
    return kept


def _uses(value: Any, keys: frozenset[str]) -> bool:
    if isinstance(value, list):
        return any(_uses(one, keys) for one in value)
    return isinstance(value, dict) and (not keys.isdisjoint(value) or any(_uses(one, keys) for one in value.values()))


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    both = {**second, **first}
    if isinstance(first.get("properties"), dict) and isinstance(second.get("properties"), dict):
        both["properties"] = {**second["properties"], **first["properties"]}
    if isinstance(first.get("required"), list) and isinstance(second.get("required"), list):
        both["required"] = list(dict.fromkeys([*second["required"], *first["required"]]))
    return both


def _kinds_of(schema: dict[str, Any]) -> list[str]:
    """The types that the schema allows, beside none."""
    return [kind for kind in as_list(schema.get("type")) if isinstance(kind, str) and kind != "null"]


def _as_choice(schema: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    """A schema of several types as one of several schemas, each with the rules of its own type."""
    rules = {key: value for key, value in schema.items() if key in _RULES}
    either = [{"type": kind, **{key: value for key, value in rules.items() if kind in _RULES[key]}} for kind in kinds]
    rest = {key: value for key, value in schema.items() if key not in rules}
    null = ["null"] if "null" in as_list(schema.get("type")) else []
    return {**rest, "type": null, "anyOf": either}


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"
