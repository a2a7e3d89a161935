"""Tools, calls and results as Gemini's models are shown them, found from what the provider counted.

Gemini 2.5 reads Python: a function with its arguments in the docstring, a keyword-only data class for each object, a call that is
printed, a result keyed by the function's name. Gemini 3 reads the notation that its open sister publishes in her chat template
(FunctionGemma): names without quotes, strings between marks that are tokens of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.tokens import compact_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MARK = "\x00"
"""Stands for a token of the vocabulary that no text can spell."""

_PYTHON_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_WORDS = re.compile(r"[^A-Za-z0-9]+")
_MAX_DEPTH = 32


def python_declaration(name: str, description: str, parameters: Any) -> str:
    """The function that stands for a tool, the classes of its objects before it."""
    schema = parameters if isinstance(parameters, dict) else {}
    writer = _Python(schema)
    fields = list(writer.fields(schema, _camel(name), ()))
    arguments = "".join(f"    {field},\n" for field, _ in fields)
    explained = "".join(f"    {text}\n" for _, text in fields)
    function = f'def {name}(\n{arguments}) -> dict:\n  """{description}\n\n  Args:\n{explained}  """\n\n'
    return "".join(writer.classes) + function


def python_call(name: str, arguments: str) -> str:
    """The line that stands for a call."""
    values = _decode(arguments)
    if not isinstance(values, dict):
        return f"print(default_api.{name}({arguments}))"
    words = ", ".join(f"{key} = {_python_value(value)}" for key, value in values.items())
    return f"print(default_api.{name}({words}))"


def python_result(name: str | None, text: str) -> str:
    """The object that stands for a result."""
    value = _decode(text)
    inner = _spaced(value) if isinstance(value, (dict, list)) else _spaced({"result": text})
    return f'{{"{name or "function"}_response": {inner}}}'


def marked_declaration(name: str, description: str, parameters: Any) -> str:
    """A declaration in the newer notation."""
    members = [f"description:{_marked(description)}"] if description else []
    if isinstance(parameters, dict) and parameters:
        members.append(f"parameters:{{{_marked_schema(parameters, 0)}}}")
    return f"{MARK}declaration:{name}{{{','.join(members)}}}{MARK}"


def marked_call(name: str, arguments: str) -> str:
    """A call in the newer notation."""
    value = _decode(arguments)
    inner = _marked_members(value) if isinstance(value, dict) else _marked(arguments)
    return f"{MARK}call:{name}{{{inner}}}{MARK}"


def marked_result(name: str | None, text: str) -> str:
    """A result in the newer notation."""
    value = _decode(text)
    inner = _marked_members(value) if isinstance(value, dict) else f"value:{_marked(text)}"
    return f"{MARK}response:{name or 'function'}{{{inner}}}{MARK}"


class _Python:
    """Writes the types of a schema; a trail names the references that are being followed."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self.classes: list[str] = []

    def fields(self, schema: Mapping[str, Any], owner: str, trail: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Each property as an argument and as a line of the docstring."""
        properties = schema.get("properties")
        required = schema.get("required")
        names = required if isinstance(required, list) else []
        for name, member in properties.items() if isinstance(properties, dict) else ():
            facts = member if isinstance(member, dict) else {}
            kind = self._type(facts, owner + _camel(name), trail)
            optional = "" if name in names else (" = None" if "None" in kind else " | None = None")
            description = facts.get("description")
            yield f"{name}: {kind}{optional}", f"{name}: {description if isinstance(description, str) else ''}"

    def _type(self, schema: Any, name: str, trail: tuple[str, ...]) -> str:
        if not isinstance(schema, dict) or len(trail) > _MAX_DEPTH:
            return "Any"
        if isinstance(schema.get("$ref"), str):
            return self._reference(schema, name, trail)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list) and schema[keyword]:
                return " | ".join(dict.fromkeys(self._type(member, name, trail) for member in schema[keyword]))
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return f"Literal[{', '.join(map(repr, schema['enum']))}]"
        return f"Literal[{schema['const']!r}]" if "const" in schema else self._named_type(schema, name, trail)

    def _named_type(self, schema: dict[str, Any], name: str, trail: tuple[str, ...]) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(self._type({**schema, "type": one}, name, (*trail, "")) for one in kind)
        kind = str(kind or ("object" if schema.get("properties") else "")).lower()
        if kind == "array":
            items = schema.get("items")
            return f"list[{self._type(items, name, (*trail, ''))}]" if items else "list"
        if kind == "object":
            return self._object(schema, name, (*trail, ""))
        return _PYTHON_TYPES.get(kind, "Any")

    def _object(self, schema: dict[str, Any], name: str, trail: tuple[str, ...]) -> str:
        if not schema.get("properties"):
            other = schema.get("additionalProperties")
            return f"dict[str, {self._type(other, name, trail) if isinstance(other, dict) else 'Any'}]"
        fields = list(self.fields(schema, name, trail))
        description = schema.get("description")
        explained = "".join(f"    {text}\n" for _, text in fields)
        members = "".join(f"  {field}\n" for field, _ in fields)
        docstring = f'  """{description if isinstance(description, str) else ""}\n\n  Attributes:\n{explained}  """\n'
        self.classes.append(f"@dataclasses.dataclass(kw_only=True)\nclass {name}:\n{docstring}{members}\n")
        return name

    def _reference(self, schema: dict[str, Any], name: str, trail: tuple[str, ...]) -> str:
        reference = schema["$ref"]
        for table in ("$defs", "definitions"):
            definitions, prefix = self._root.get(table), f"#/{table}/"
            if reference.startswith(prefix) and reference not in trail and isinstance(definitions, dict):
                target = definitions.get(reference.removeprefix(prefix))
                beside = {key: value for key, value in schema.items() if key != "$ref"}
                return self._type({**target, **beside} if isinstance(target, dict) else {}, name, (*trail, reference))
        return "Any"


def _marked_schema(schema: Mapping[str, Any], depth: int) -> str:
    members = []
    if isinstance(schema.get("description"), str) and schema["description"]:
        members.append(f"description:{_marked(schema['description'])}")
    if isinstance(schema.get("enum"), list):
        members.append(f"enum:[{','.join(_marked(str(value)) for value in schema['enum'])}]")
    if isinstance(schema.get("properties"), dict) and schema["properties"] and depth < _MAX_DEPTH:
        inner = (
            f"{name}:{{{_marked_schema(_dict(member), depth + 1)}}}" for name, member in schema["properties"].items()
        )
        members.append(f"properties:{{{','.join(inner)}}}")
    if isinstance(schema.get("required"), list) and schema["required"]:
        members.append(f"required:[{','.join(_marked(str(name)) for name in schema['required'])}]")
    if isinstance(schema.get("items"), dict) and depth < _MAX_DEPTH:
        members.append(f"items:{{{_marked_schema(schema['items'], depth + 1)}}}")
    if schema.get("nullable") is True:
        members.append("nullable:true")
    if isinstance(schema.get("type"), str):
        members.append(f"type:{_marked(schema['type'].upper())}")
    return ",".join(members)


def _marked_members(values: Mapping[str, Any]) -> str:
    return ",".join(f"{key}:{_marked_value(value, 0)}" for key, value in values.items())


def _marked_value(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return _marked(value)
    if depth > _MAX_DEPTH:
        return compact_json(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{_marked_value(member, depth + 1)}' for key, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(_marked_value(member, depth + 1) for member in value)}]"
    return compact_json(value)


def _marked(text: str) -> str:
    return f"{MARK}{text}{MARK}"


def _python_value(value: Any) -> str:
    return repr(value) if isinstance(value, str) else _spaced(value)


def _spaced(value: Any) -> str:
    """JSON with a space behind each comma and colon outside of strings."""
    return msgspec.json.format(compact_json(value).encode(), indent=0).decode()


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in _WORDS.split(name) if word)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _decode(text: str) -> Any:
    if not text.startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
