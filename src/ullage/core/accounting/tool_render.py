"""The TypeScript-like declaration that OpenAI models are shown for a tool (accounting specification, section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping

from ullage.core.tokens import compact_json

from .schema_reading import MAX_DEPTH, PRIMITIVES, Schema, examples_of, is_filled, properties_of, text_at

_RENDERED_KEYWORDS = frozenset(
    [
        "type", "description", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "default", "title",
        "examples", "nullable", "deprecated", "$ref", "$schema", "$defs", "definitions",
    ]
)  # fmt: skip


def render_tool(name: str, description: str, parameters: Schema | None) -> str:
    """The declaration of one tool, two newlines at its end included."""
    schema = parameters if isinstance(parameters, Mapping) else {}
    argument = f"_: {_Renderer(schema).render_object(schema, ())}" if properties_of(schema) else ""
    return f"{_comment(description)}type {name} = ({argument}) => any;\n\n"


class _Renderer:
    """Renders one tool's schema; `trail` names the references that are being inlined, so that a cycle ends as `any`."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def render_object(self, schema: Schema, trail: tuple[str, ...]) -> str:
        properties = properties_of(schema)
        if not properties:
            return "object"
        required = schema.get("required")
        names = required if isinstance(required, list) else []
        lines = [self._property(name, member, name in names, trail) for name, member in properties.items()]
        return "{\n" + "".join(lines) + "}"

    def _property(self, name: str, schema: object, required: bool, trail: tuple[str, ...]) -> str:
        facts = schema if isinstance(schema, Mapping) else {}
        title = facts.get("title")
        heading = f"// {title}\n//\n" if isinstance(title, str) and title else ""
        null = " | null" if facts.get("nullable") is True else ""
        default = f" // default: {compact_json(facts['default'])}" if "default" in facts else ""
        rest = {key: value for key, value in facts.items() if key not in _RENDERED_KEYWORDS}
        constraints = f" // {compact_json(rest)}" if rest else ""
        description = _comment(text_at(facts, "description"))
        mark = "" if required else "?"
        kind = self._type(schema, trail)
        return f"{heading}{description}{examples_of(facts)}{name}{mark}: {kind}{null},{default}{constraints}\n"

    def _type(self, schema: object, trail: tuple[str, ...]) -> str:
        if not isinstance(schema, Mapping) or not schema or len(trail) > MAX_DEPTH:
            return "any"
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema["$ref"], trail)
        for keyword in ("anyOf", "oneOf"):
            if is_filled(schema.get(keyword)):
                return " | ".join(self._member(member, trail) for member in schema[keyword])
        if is_filled(schema.get("enum")):
            return " | ".join(compact_json(value) for value in schema["enum"])
        if "const" in schema:
            return compact_json(schema["const"])
        return self._named_type(schema, trail)

    def _named_type(self, schema: Schema, trail: tuple[str, ...]) -> str:
        kind = schema.get("type")
        deeper = (*trail, "")
        if isinstance(kind, list):
            return " | ".join(self._type({**schema, "type": one}, deeper) for one in kind)
        if kind == "object" or (kind is None and properties_of(schema)):
            return self.render_object(schema, deeper)
        if kind == "array":
            return self._array(schema.get("items"), deeper)
        return PRIMITIVES.get(kind, "any") if isinstance(kind, str) else "any"

    def _array(self, items: object, trail: tuple[str, ...]) -> str:
        if items is None:
            return "any[]"
        member = self._type(items, trail)
        return f"Array<{member}>" if " | " in member else f"{member}[]"

    def _member(self, schema: object, trail: tuple[str, ...]) -> str:
        description = text_at(schema, "description") if isinstance(schema, Mapping) else ""
        return self._type(schema, (*trail, "")) + (f" // {description}\n" if description else "")

    def _reference(self, reference: str, trail: tuple[str, ...]) -> str:
        for table in ("$defs", "definitions"):
            prefix = f"#/{table}/"
            definitions = self._root.get(table)
            if reference.startswith(prefix) and reference not in trail and isinstance(definitions, Mapping):
                return self._type(definitions.get(reference.removeprefix(prefix)), (*trail, reference))
        return "any"


def _comment(text: str) -> str:
    return "".join(f"// {line}\n" for line in text.split("\n")) if text else ""
