"""Contents, system parts and tools of Gemini generateContent, in either spelling of its keys."""

from __future__ import annotations

from typing import Any

from ullage.core.content import Media, Message, Part, ToolSpec
from ullage.core.wire import media

from .parts import (
    as_dict,
    as_list,
    as_text,
    call_part,
    media_part,
    other_message,
    other_part,
    result_part,
    role_of,
    sealed_length,
    system_text,
    text_part,
    thinking_part,
)
from .tools import function_tool, hosted_tool

_CODE_TOOL = "code_execution"


def read_system(value: Any) -> str:
    """One part of the system instruction, or the whole of it."""
    texts = []
    for block in as_list(value):
        inner = as_dict(block)
        if "parts" in inner:
            texts.append(read_system(inner["parts"]))
        else:
            texts.append(as_text(inner.get("text", block)))
    return system_text(texts)


def read_message(value: Any) -> Message:
    """One content. Without a role it is the user's; with a function response its role is `tool`."""
    if not isinstance(value, dict):
        return other_message(value)
    parts = tuple(_part(part) for part in as_list(value.get("parts")))
    role = role_of(value.get("role"))
    if role != "assistant" and any(part.kind == "tool_result" for part in parts):
        role = "tool"
    return Message(role=role, parts=parts)


def read_tool(value: Any) -> ToolSpec:
    """A function declaration; a hosted tool by its key; an object that mixes both as a namespace."""
    spec = as_dict(value)
    declared = pick(spec, "functionDeclarations")
    if declared is not None:
        hosted = [hosted_tool(spec[key], key) for key in spec if key not in _names("functionDeclarations")]
        members = tuple(read_tool(item) for item in as_list(declared))
        return ToolSpec(name="functionDeclarations", kind="namespace", tools=(*members, *hosted))
    if isinstance(spec.get("name"), str):
        return function_tool(spec, "parametersJsonSchema", "parameters_json_schema", "parameters")
    key = next(iter(spec), None)
    return hosted_tool(spec.get(key) if key is not None else value, key)


def pick(value: dict[str, Any], camel: str) -> Any:
    """The member under its camelCase name or the same in snake_case; `None` if neither is there."""
    for name in _names(camel):
        if value.get(name) is not None:
            return value[name]
    return None


def snake(camel: str) -> str:
    """`functionCall` as `function_call`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in camel)


def _names(camel: str) -> tuple[str, str]:
    return camel, snake(camel)


def _part(part: Any) -> Part:
    if not isinstance(part, dict):
        return text_part(part) if isinstance(part, str) else other_part(part)
    sealed = pick(part, "thoughtSignature")
    for camel, reader in _READERS:
        value = pick(part, camel)
        if isinstance(value, dict):
            return reader(value, sealed)
    if "text" in part or part.get("thought") is True:
        return _text(part, sealed)
    return other_part(part)


def _text(part: dict[str, Any], sealed: Any) -> Part:
    if part.get("thought") is True:
        return thinking_part(part.get("text"), sealed=sealed, wire_type="thought")
    chars = sealed_length(sealed)
    return Part(
        kind="text", text=as_text(part["text"]), carries_reasoning=chars > 0, sealed_chars=chars, wire_type="text"
    )


def _call(call: dict[str, Any], sealed: Any) -> Part:
    return call_part(
        call.get("name"), call.get("args"), call_id=call.get("id"), sealed=sealed, wire_type="functionCall"
    )


def _response(response: dict[str, Any], _sealed: Any) -> Part:
    answer = text_part(response.get("response"))
    nested = [_part(part) for part in as_list(response.get("parts"))]
    return result_part(
        [answer, *nested],
        call_id=response.get("id"),
        name=response.get("name"),
        is_error="error" in as_dict(response.get("response")),
        wire_type="functionResponse",
    )


def _inline(blob: dict[str, Any], _sealed: Any) -> Part:
    mime = pick(blob, "mimeType")
    kind = media.media_kind(mime if isinstance(mime, str) else None)
    omitted = blob.get("data_omitted")
    if isinstance(omitted, dict):
        return media_part(media.from_omitted(kind, omitted, mime=mime), wire_type="inlineData")
    found = media.from_base64(kind, blob.get("data"), mime=mime)
    return media_part(
        found, text=media.inline_text(blob.get("data"), mime), name=pick(blob, "displayName"), wire_type="inlineData"
    )


def _file(file: dict[str, Any], _sealed: Any) -> Part:
    mime = pick(file, "mimeType")
    mime = mime if isinstance(mime, str) else None
    return media_part(Media(kind=media.media_kind(mime), mime=mime, remote=True), wire_type="fileData")


def _code(code: dict[str, Any], sealed: Any) -> Part:
    return call_part(_CODE_TOOL, code.get("code"), call_id=code.get("id"), sealed=sealed, wire_type="executableCode")


def _code_result(result: dict[str, Any], _sealed: Any) -> Part:
    failed = as_text(result.get("outcome")) not in ("", "OUTCOME_OK")
    return result_part(
        [text_part(result.get("output"))], name=_CODE_TOOL, is_error=failed, wire_type="codeExecutionResult"
    )


_READERS = (
    ("functionCall", _call),
    ("functionResponse", _response),
    ("inlineData", _inline),
    ("fileData", _file),
    ("executableCode", _code),
    ("codeExecutionResult", _code_result),
)
