"""The declaration of a tool as OpenAI's models are shown it, in three styles, found from what providers counted.

`render_tool` is the published reference (accounting specification, section 5.3). This one follows what was counted since: an
object none of whose members is explained stands on one line; the schema's own title and description come before it; a title is
one line; a line of a description loses the white space around it; constraints are members of one object without quotes around
their names. `lined` (gpt-5 line, o-series) sets each member of a union on a line of its own and never an object of a list on one
line; `flat` (gpt-4o line) does both. `legacy` (gpt-3.5, gpt-4) has no objects on one line and no descriptions below the second
level (section 20).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ullage.core.tokens import compact_json

from .schema_reading import MAX_DEPTH, PRIMITIVES, Schema, examples_of, is_filled, properties_of, text_at

if TYPE_CHECKING:
    from ullage.core.profiles import DeclarationStyle

SEPARATOR = ";\n\n"
"""Ends a declaration and parts it from the next: a tokenizer always cuts before it, so that counts of parts add up."""

_TOLD_ELSEWHERE = frozenset(
    [
        "type", "description", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "default", "title",
        "examples", "nullable", "deprecated", "$ref", "$schema", "$defs", "definitions", "additionalProperties", "strict",
    ]
)  # fmt: skip
_LEGACY_DESCRIBED_LEVELS = 1


def declare_tool(name: str, description: str, parameters: Schema | None, style: DeclarationStyle) -> str:
    """The declaration of one tool, `SEPARATOR` before it and none behind it."""
    schema = parameters if isinstance(parameters, Mapping) else {}
    writer = _Legacy(schema) if style == "legacy" else _Writer(schema, lined=style == "lined")
    argument = f"_: {writer.heading(schema, 0)}{writer.object_type(schema, ())}" if properties_of(schema) else ""
    return f"{SEPARATOR}{writer.comment(description)}type {name} = ({argument}) => any"


class _Writer:
    """Writes one tool's schema; a trail names the references that are being followed, so that a cycle ends as `any`."""

    def __init__(self, root: Schema, *, lined: bool) -> None:
        self._root = root
        self._lined = lined

    def comment(self, text: str) -> str:
        text = text.strip()
        return "".join(f"// {line.strip()}".rstrip() + "\n" for line in text.split("\n")) if text else ""

    def heading(self, schema: Schema, depth: int) -> str:
        """Title and description of a schema or a property."""
        return self.comment(text_at(schema, "title")) + self.comment(text_at(schema, "description"))

    def _members(self, schema: Schema, trail: tuple[str, ...]) -> list[tuple[str, str, str]]:
        """Of each property: what stands above it, itself, and what stands behind it."""
        required = schema.get("required")
        names = required if isinstance(required, list) else []
        return [self._member(name, member, name in names, trail) for name, member in properties_of(schema).items()]

    def object_type(self, schema: Schema, trail: tuple[str, ...], *, listed: bool = False) -> str:
        members = self._members(schema, trail)
        if not members:
            return "object"
        if not (listed and self._lined) and all(map(_is_plain, members)):
            return "{ " + ", ".join(body for _, body, _ in members) + " }"
        return "{\n" + "".join(f"{heading}{body},{notes}\n" for heading, body, notes in members) + "}"

    def _member(self, name: str, schema: object, required: bool, trail: tuple[str, ...]) -> tuple[str, str, str]:
        facts = schema if isinstance(schema, Mapping) else {}
        heading = self.heading(facts, len(trail)) + examples_of(facts)
        null = " | null" if facts.get("nullable") is True else ""
        return heading, f"{name}{'' if required else '?'}: {self._type(schema, trail)}{null}", _notes(facts)

    def _type(self, schema: object, trail: tuple[str, ...], *, listed: bool = False) -> str:
        if not isinstance(schema, Mapping) or not schema or len(trail) > MAX_DEPTH:
            return "any"
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema["$ref"], trail, listed=listed)
        for keyword in ("anyOf", "oneOf"):
            if is_filled(schema.get(keyword)):
                return self.union([self._choice(member, trail) for member in schema[keyword]])
        if is_filled(schema.get("enum")):
            return " | ".join(compact_json(value) for value in schema["enum"])
        if "const" in schema:
            return compact_json(schema["const"])
        return self._named_type(schema, trail, listed=listed)

    def union(self, members: list[str]) -> str:
        return "\n | " + "\n | ".join(members) if self._lined else " | ".join(members)

    def _named_type(self, schema: Schema, trail: tuple[str, ...], *, listed: bool) -> str:
        kind = schema.get("type")
        deeper = (*trail, "")
        if isinstance(kind, list):
            return " | ".join(self._type({**schema, "type": one}, deeper) for one in kind)
        if kind == "object" or (kind is None and properties_of(schema)):
            return self.object_type(schema, deeper, listed=listed)
        if kind == "array":
            return self._list(schema.get("items"), deeper)
        return PRIMITIVES.get(kind, "any") if isinstance(kind, str) else "any"

    def _list(self, items: object, trail: tuple[str, ...]) -> str:
        if items is None:
            return "any[]"
        member = self._type(items, trail, listed=True)
        return f"Array<{member}>" if " | " in member else f"{member}[]"

    def _choice(self, schema: object, trail: tuple[str, ...]) -> str:
        facts = schema if isinstance(schema, Mapping) else {}
        described = text_at(facts, "description")
        notes = "" if "anyOf" in facts else _notes(facts)
        return self._type(schema, (*trail, "")) + notes + (f" // {described}" if described else "")

    def _reference(self, reference: str, trail: tuple[str, ...], *, listed: bool) -> str:
        for table in ("$defs", "definitions"):
            prefix = f"#/{table}/"
            definitions = self._root.get(table)
            if reference.startswith(prefix) and reference not in trail and isinstance(definitions, Mapping):
                target = definitions.get(reference.removeprefix(prefix))
                return self._type(target, (*trail, reference), listed=listed)
        return "any"


class _Legacy(_Writer):
    """gpt-3.5 and gpt-4: every member on a line of its own, nested ones set in by two."""

    def __init__(self, root: Schema) -> None:
        super().__init__(root, lined=False)

    def comment(self, text: str) -> str:
        return f"// {text}\n" if text else ""

    def heading(self, schema: Schema, depth: int) -> str:
        title = text_at(schema, "title")
        named = f"// {title}\n//\n" if title and schema is not self._root else ""
        described = (
            text_at(schema, "description") if schema is not self._root and depth < _LEGACY_DESCRIBED_LEVELS else ""
        )
        return named + self.comment(described)

    def object_type(self, schema: Schema, trail: tuple[str, ...], *, listed: bool = False) -> str:
        members = self._members(schema, trail)
        if not members:
            return "object"
        inset = "  " * sum(not step for step in trail)
        return "{\n" + "".join(f"{heading}{inset}{body},{notes}\n" for heading, body, notes in members) + "}"


def _is_plain(member: tuple[str, str, str]) -> bool:
    heading, body, notes = member
    return not heading and not notes and "\n" not in body


def _notes(facts: Schema) -> str:
    """What stands behind a member: its default, then its constraints."""
    default = f" // default: {compact_json(facts['default'])}" if "default" in facts else ""
    rest = [f"{key}: {compact_json(value)}" for key, value in facts.items() if key not in _TOLD_ELSEWHERE]
    return default + (f" // {{{','.join(rest)}}}" if rest else "")
