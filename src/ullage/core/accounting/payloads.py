"""A request in any shape whose tokens we estimate: the four dialects, and two more that are put into Anthropic's form first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from ullage.core.content import source_line
from ullage.core.errors import CallError, RequestError
from ullage.core.wire import DIALECTS, parse_request, read_context
from ullage.core.wire.jsontext import decode

from .options import Options, read_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage.core.content import Context, ToolSpec
    from ullage.core.wire import Dialect

SHAPES = (*DIALECTS, "bedrock", "pi-messages")
"""Shapes that `read_payload` knows."""


class Payload(NamedTuple):
    """A request read: what is sent, what changes its prompt, and the model it names itself."""

    context: Context
    options: Options
    model: str | None


def read_payload(body: bytes, shape: str) -> Payload:
    """Reads a request body. Raises `RequestError` if it is not one JSON object, `CallError` for an unknown shape."""
    if shape not in SHAPES:
        raise CallError(
            f"There is no request shape {shape!r}.", hint=f"Known are {', '.join(SHAPES)}.", code="unknown_shape"
        )
    translate = _TRANSLATED.get(shape)
    request = _decode(body) if translate is not None else {}
    if translate is not None:
        body = msgspec.json.encode(translate(request))
    conversation = parse_request(body, cast("Dialect", shape if translate is None else "anthropic"))
    context = read_context(conversation)
    if shape == "pi-messages":
        context = replace(context, tools=tuple(map(_told_by_pi, context.tools, _dicts(request.get("tools")))))
    return Payload(context, read_options(conversation), conversation.model)


def guess_shape(body: bytes) -> str | None:
    """The shape of a request body by its keys; `None` if it looks like none."""
    request = _decode(body)
    keys = set(request)
    if keys & {"contents", "generateContentRequest", "systemInstruction"}:
        return "gemini"
    if "input" in keys or "instructions" in keys:
        return "openai-responses"
    if "messages" not in keys:
        return None
    if keys & {"toolConfig", "inferenceConfig", "additionalModelRequestFields"}:
        return "bedrock"
    return _guess_by_messages(request, keys)


def _guess_by_messages(request: Mapping[str, Any], keys: set[str]) -> str:
    tools = request.get("tools")
    first = tools[0] if isinstance(tools, list) and tools and isinstance(tools[0], dict) else {}
    if "systemPrompt" in keys:
        return "pi-messages"
    if keys & {"system", "anthropic_version", "thinking"} or "input_schema" in first:
        return "anthropic"
    blocks = [block for message in _dicts(request.get("messages")) for block in _dicts(message.get("content"))]
    kinds = {kind for block in blocks if isinstance(kind := block.get("type"), str)}
    if kinds & {"toolCall"} or any(message.get("role") == "toolResult" for message in _dicts(request.get("messages"))):
        return "pi-messages"
    if kinds & {"tool_use", "tool_result", "thinking", "image"}:
        return "anthropic"
    if blocks and all(block.get("type") is None for block in blocks):
        return "bedrock"
    model = request.get("model")
    return "anthropic" if isinstance(model, str) and "claude" in model and "max_tokens" in keys else "openai-chat"


def _from_bedrock(request: Mapping[str, Any]) -> dict[str, Any]:
    config = _dict(request.get("toolConfig"))
    extra = _dict(request.get("additionalModelRequestFields"))
    translated: dict[str, Any] = {
        "system": [
            {"type": "text", "text": block["text"]} for block in _dicts(request.get("system")) if "text" in block
        ],
        "messages": [
            {"role": message.get("role"), "content": _bedrock_blocks(message.get("content"))}
            for message in _dicts(request.get("messages"))
        ],
        "tools": [_bedrock_tool(tool) for tool in _dicts(config.get("tools")) if "toolSpec" in tool],
        "thinking": extra.get("thinking") or extra.get("reasoning_config") or extra.get("reasoningConfig"),
    }
    choice = _dict(config.get("toolChoice"))
    schema = _bedrock_schema(request)
    for kind, value in choice.items():
        translated["tool_choice"] = {"type": kind, **_dict(value)}
    if schema is not None:
        translated["output_config"] = {"format": schema}
    return translated


def _bedrock_schema(request: Mapping[str, Any]) -> dict[str, Any] | None:
    structure = _dict(_dict(_dict(request.get("outputConfig")).get("textFormat")).get("structure"))
    schema = _dict(structure.get("jsonSchema"))
    text = schema.get("schema")
    if not isinstance(text, str):
        return None
    return {"name": schema.get("name"), "schema": decode(text.encode("utf-8", "replace"))}


def _bedrock_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    spec = _dict(tool["toolSpec"])
    schema = _dict(spec.get("inputSchema")).get("json")
    return {"name": spec.get("name"), "description": spec.get("description", ""), "input_schema": schema}


def _bedrock_blocks(content: Any) -> list[dict[str, Any]]:
    return [block for item in _dicts(content) if (block := _bedrock_block(item)) is not None]


def _bedrock_block(block: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = next((key for key in block if key in _BEDROCK_BLOCKS), None)
    if kind is not None:
        return _BEDROCK_BLOCKS[kind](block[kind])
    return None if "cachePoint" in block else {"type": "unknown", **block}


def _text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value if isinstance(value, str) else _dict(value).get("text", "")}


def _tool_use(value: Any) -> dict[str, Any]:
    use = _dict(value)
    return {"type": "tool_use", "id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}


def _tool_result(value: Any) -> dict[str, Any]:
    result = _dict(value)
    return {
        "type": "tool_result",
        "tool_use_id": result.get("toolUseId"),
        "content": _bedrock_blocks(result.get("content")),
    }


def _reasoning(value: Any) -> dict[str, Any]:
    text = _dict(_dict(value).get("reasoningText"))
    return {"type": "thinking", "thinking": text.get("text", ""), "signature": text.get("signature", "")}


def _json_text(value: Any) -> dict[str, Any]:
    return _text(msgspec.json.encode(value).decode())


def _media(kind: str) -> Callable[[Any], dict[str, Any]]:
    def translate(value: Any) -> dict[str, Any]:
        source = _dict(_dict(value).get("source"))
        omitted = source.get("bytes_omitted")
        known = {"data_omitted": omitted} if isinstance(omitted, dict) else {"data": source.get("bytes")}
        media_type = f"{kind}/{_dict(value).get('format', 'png')}"
        return {"type": kind, "source": {"type": "base64", "media_type": media_type, **known}}

    return translate


_BEDROCK_BLOCKS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "text": _text,
    "guardContent": lambda value: _text(_dict(value).get("text")),
    "json": _json_text,
    "toolUse": _tool_use,
    "toolResult": _tool_result,
    "reasoningContent": _reasoning,
    "image": _media("image"),
    "video": _media("image"),
    "document": _media("document"),
}


def _from_pi(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "system": request.get("systemPrompt") or request.get("system") or "",
        "messages": [_pi_message(message) for message in _dicts(request.get("messages"))],
        "tools": [{**tool, "input_schema": tool.get("parameters")} for tool in _dicts(request.get("tools"))],
    }


def _told_by_pi(spec: ToolSpec, tool: Mapping[str, Any]) -> ToolSpec:
    """The tool with what Pi knows of it beside its definition, where it is told."""
    guidelines = tool.get("promptGuidelines")
    return replace(
        spec,
        source=source_line(tool.get("sourceInfo")),
        guidelines=tuple(filter(_is_text, guidelines)) if isinstance(guidelines, list) else (),
        active=tool.get("active") is not False,
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _pi_message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    blocks = [_text(content)] if isinstance(content, str) else [_pi_block(block) for block in _dicts(content)]
    if message.get("role") != "toolResult":
        return {"role": message.get("role"), "content": blocks}
    result = {"type": "tool_result", "tool_use_id": message.get("toolCallId"), "content": blocks}
    return {"role": "user", "content": [result]}


def _pi_block(block: Mapping[str, Any]) -> dict[str, Any]:
    match block.get("type"):
        case "toolCall":
            return _tool_use({**block, "toolUseId": block.get("id"), "input": block.get("arguments")})
        case "thinking":
            return {**block, "signature": block.get("thinkingSignature", "")}
        case "image":
            source = {"type": "base64", "media_type": block.get("mimeType"), "data": block.get("data")}
            return {"type": "image", "source": source}
        case _:
            return dict(block)


_TRANSLATED: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "bedrock": _from_bedrock,
    "pi-messages": _from_pi,
}


def _decode(body: bytes) -> dict[str, Any]:
    value = decode(body)
    if not isinstance(value, dict):
        parse_request(body, DIALECTS[0])  # takes the same texts, and says what is wrong with the others
        raise RequestError("The request body is not one JSON object.", hint="Give one JSON object.")
    return value


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
