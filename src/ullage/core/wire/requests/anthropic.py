"""Messages, system blocks and tools of Anthropic Messages."""

from __future__ import annotations

from typing import Any

from ullage.core.content import Media, MediaKind, Message, Part, ToolSpec
from ullage.core.wire import media

from .parts import (
    BlockReader,
    as_dict,
    as_list,
    as_text,
    call_part,
    content_parts,
    media_part,
    name_of,
    other_message,
    other_part,
    plain_json,
    result_part,
    role_of,
    system_text,
    text_part,
    thinking_part,
    type_of,
)
from .tools import function_tool, hosted_tool


def read_system(value: Any) -> str:
    """A system block, or the whole system prompt where it came as a string."""
    texts = [as_text(as_dict(block).get("text", block)) for block in as_list(value)]
    return system_text(texts)


def read_message(value: Any) -> Message:
    """One message. `role: "system"` may stand among the others; a user message with a tool result has the role `tool`."""
    if not isinstance(value, dict):
        return other_message(value)
    parts = tuple(_content(value.get("content")))
    role = role_of(value.get("role"))
    if role == "user" and any(part.kind == "tool_result" for part in parts):
        role = "tool"
    return Message(role=role, parts=parts, name=name_of(value.get("name")))


def read_tool(value: Any) -> ToolSpec:
    """A tool with an input schema, or one of Anthropic's own by its dated type."""
    spec = as_dict(value)
    if type_of(value) in ("", "custom", "function") and name_of(spec.get("name")) is not None:
        return function_tool(spec, "input_schema", "parameters")
    return hosted_tool(value)


def _content(content: Any) -> list[Part]:
    return content_parts(content, _BLOCKS, _other)


def _other(block: dict[str, Any]) -> Part:
    kind = type_of(block)
    if kind.endswith("_tool_result"):
        return _hosted_result(block)
    if kind.endswith("tool_use"):
        return _call(block)
    return other_part(block)


def _text(block: dict[str, Any]) -> Part:
    return text_part(block.get("text"))


def _thinking(block: dict[str, Any]) -> Part:
    return thinking_part(block.get("thinking"), sealed=block.get("signature"), wire_type="thinking")


def _redacted(block: dict[str, Any]) -> Part:
    return thinking_part("", sealed=block.get("data"), wire_type="redacted_thinking")


def _call(block: dict[str, Any]) -> Part:
    return call_part(block.get("name"), block.get("input"), call_id=block.get("id"), wire_type=type_of(block))


def _result(block: dict[str, Any]) -> Part:
    return result_part(
        _content(block.get("content")),
        call_id=block.get("tool_use_id"),
        is_error=block.get("is_error") is True,
        wire_type="tool_result",
    )


def _hosted_result(block: dict[str, Any]) -> Part:
    """The result of a tool that Anthropic ran: what is readable of it; found pages come encrypted."""
    return result_part(
        [text_part(plain_json(block.get("content")))],
        call_id=block.get("tool_use_id"),
        wire_type=type_of(block),
    )


def _image(block: dict[str, Any]) -> Part:
    return media_part(_source("image", block.get("source")), wire_type="image")


def _document(block: dict[str, Any]) -> Part:
    """A document with what of it is text: title, context, and the body where the source holds text."""
    source = as_dict(block.get("source"))
    body = ""
    if source.get("type") == "text":
        body = as_text(source.get("data"))
    elif source.get("type") == "content":
        body = "\n".join(part.text for part in _content(source.get("content")))
    lead = system_text([as_text(block.get("title")), as_text(block.get("context"))])
    return media_part(
        _source("document", block.get("source")),
        text=system_text([lead, body]),
        name=block.get("title"),
        wire_type="document",
    )


def _source(kind: MediaKind, value: Any) -> Media:
    source = as_dict(value)
    mime = source.get("media_type")
    if isinstance(source.get("data_omitted"), dict):
        return media.from_omitted(kind, source["data_omitted"], mime=mime)
    match source.get("type"):
        case "base64":
            return media.from_base64(kind, source.get("data"), mime=mime)
        case "text":
            return Media(kind=kind, mime=mime if isinstance(mime, str) else "text/plain")
        case "content":
            return Media(kind=kind)
        case _:
            return media.from_url(kind, source.get("url"), mime=mime)


def _search_result(block: dict[str, Any]) -> Part:
    texts = [as_text(block.get("source")), as_text(block.get("title"))]
    texts += [part.text for part in _content(block.get("content"))]
    return Part(kind="text", text=system_text(texts), wire_type="search_result")


_BLOCKS: dict[str, BlockReader] = {
    "document": _document,
    "image": _image,
    "redacted_thinking": _redacted,
    "search_result": _search_result,
    "text": _text,
    "thinking": _thinking,
    "tool_result": _result,
}
