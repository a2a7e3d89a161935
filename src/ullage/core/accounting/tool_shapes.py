"""How a tool definition looks in each provider's request (accounting specification, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.tokens import compact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ullage.core.content import ToolSpec

NO_DESCRIPTION = "(no description)"


def _responses(spec: ToolSpec, description: str) -> Any:
    return {
        "type": "function",
        "name": spec.name,
        "description": description,
        "parameters": spec.parameters,
        "strict": spec.strict,
    }


def _chat(spec: ToolSpec, description: str) -> Any:
    function = {
        "name": spec.name,
        "description": description,
        "parameters": spec.parameters,
        "strict": spec.strict,
    }
    return {"type": "function", "function": function}


def _anthropic(spec: ToolSpec, description: str) -> Any:
    return {"name": spec.name, "description": description, "input_schema": spec.parameters}


def _gemini(spec: ToolSpec, description: str) -> Any:
    return {"name": spec.name, "description": description, "parametersJsonSchema": spec.parameters}


def _bedrock(spec: ToolSpec, description: str) -> Any:
    schema = {"json": spec.parameters}
    return {"toolSpec": {"name": spec.name, "description": description, "inputSchema": schema}}


def _pi_messages(spec: ToolSpec, description: str) -> Any:
    return {"name": spec.name, "description": description, "parameters": spec.parameters}


def _raw_schema(spec: ToolSpec, description: str) -> Any:
    return {**_pi_messages(spec, description), "promptGuidelines": list(spec.guidelines)}


_SHAPES: dict[str, Callable[[ToolSpec, str], Any]] = {
    "openai-responses": _responses,
    "openai-chat": _chat,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "pi-messages": _pi_messages,
    "raw-schema": _raw_schema,
    "openai-cookbook": _responses,
}
_ALIASES = {
    "openai-codex-responses": "openai-responses",
    "azure-openai-responses": "openai-responses",
    "openai-completions": "openai-chat",
    "mistral": "openai-chat",
    "mistral-conversations": "openai-chat",
    "anthropic-messages": "anthropic",
    "google": "gemini",
    "vertex": "gemini",
    "google-generative-ai": "gemini",
    "google-vertex": "gemini",
    "bedrock-converse-stream": "bedrock",
}
SHAPE_LABELS = {
    "openai-responses": "OpenAI Responses",
    "openai-chat": "OpenAI Chat",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "bedrock": "Bedrock",
    "pi-messages": "Pi Messages",
    "raw-schema": "raw schema",
    "openai-cookbook": "OpenAI Responses",
}
"""Names of the shapes for people."""

_GEMINI_LIST = '{"functionDeclarations":[', "]}"
_LIST = "[", "]"


def shape_key(key: str | None) -> str:
    """The shape behind a name or an alias; `openai-responses` for unknown ones."""
    return find_shape(key) or "openai-responses"


def find_shape(key: str | None) -> str | None:
    """The shape behind a name or an alias; `None` for unknown ones."""
    name = _ALIASES.get(key or "", key or "")
    return name if name in _SHAPES else None


def tool_payload(spec: ToolSpec, key: str | None, *, placeholder: bool = True) -> str:
    """Minified JSON of one tool as the provider receives it; `placeholder` stands in for an empty description."""
    description = spec.description or (NO_DESCRIPTION if placeholder else "")
    return compact_json(_SHAPES[shape_key(key)](spec, description))


def tools_payload(specs: Sequence[ToolSpec], key: str | None) -> str:
    """Minified JSON of all tools; nothing for no tools."""
    if not specs:
        return ""
    opening, closing = _brackets(key)
    return opening + ",".join(tool_payload(spec, key) for spec in specs) + closing


def brackets_size(key: str | None) -> int:
    """Characters around the members of `tools_payload`."""
    return sum(map(len, _brackets(key)))


def _brackets(key: str | None) -> tuple[str, str]:
    return _GEMINI_LIST if shape_key(key) == "gemini" else _LIST


def schema_strings(schema: Any) -> Iterator[str]:
    """The strings of a schema that a model reads when it is shown no JSON: property names and text values, in order."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties" and isinstance(value, dict):
                yield from value
                for member in value.values():
                    yield from schema_strings(member)
            else:
                yield from schema_strings(value)
    elif isinstance(schema, list):
        for member in schema:
            yield from schema_strings(member)
    elif isinstance(schema, str):
        yield schema


def count_properties(schema: Any) -> int:
    """Properties of a schema at every depth."""
    if isinstance(schema, dict):
        own = schema.get("properties")
        return (len(own) if isinstance(own, dict) else 0) + sum(count_properties(value) for value in schema.values())
    if isinstance(schema, list):
        return sum(count_properties(member) for member in schema)
    return 0
