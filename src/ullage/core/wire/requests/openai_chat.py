"""Messages and tools of OpenAI Chat Completions and of the many hosts that speak it with additions of their own."""

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
    result_part,
    role_of,
    sound_part,
    text_part,
    thinking_part,
    type_of,
    typed_text_part,
)
from .tools import custom_tool, function_tool, hosted_tool


def read_system(value: Any) -> str:
    """This dialect has no system block outside its messages; a value handed in reads as its text."""
    return as_text(value)


def read_message(value: Any) -> Message:
    """One message; `role: "tool"` and the old `function` become a tool result."""
    if not isinstance(value, dict):
        return other_message(value)
    role = role_of(value.get("role"))
    if role == "tool":
        return Message(role=role, parts=(_result(value),), name=name_of(value.get("name")))
    parts = [
        *_thinking(value),
        *_content(value.get("content")),
        *_refusal(value.get("refusal")),
        *_spoken(value.get("audio")),
        *(_call(call) for call in as_list(value.get("tool_calls"))),
        *_old_call(value.get("function_call")),
    ]
    return Message(role=role, parts=tuple(parts), name=name_of(value.get("name")))


def read_tool(value: Any) -> ToolSpec:
    """A function, a custom tool, a bare function of the old `functions` list, or a hosted tool by its type."""
    kind = type_of(value)
    spec = as_dict(value)
    if kind == "function" and isinstance(spec.get("function"), dict):
        return function_tool(spec["function"], "parameters", outer=spec)
    if kind == "custom":
        return custom_tool(as_dict(spec.get("custom", spec)))
    if name_of(spec.get("name")) is not None and kind in ("", "function"):
        return function_tool(spec, "parameters")
    return hosted_tool(value)


def _result(value: dict[str, Any]) -> Part:
    return result_part(
        _content(value.get("content")),
        call_id=value.get("tool_call_id"),
        name=value.get("name"),
        wire_type=as_text(value.get("role")),
    )


def _content(content: Any) -> list[Part]:
    return content_parts(content, _BLOCKS, other_part)


def _image(block: dict[str, Any]) -> Part:
    return _linked("image", block)


def _video(block: dict[str, Any]) -> Part:
    return _linked("video", block)


def _document(block: dict[str, Any]) -> Part:
    return _linked("document", block)


def _linked(kind: MediaKind, block: dict[str, Any]) -> Part:
    """`{"type": "image_url", "image_url": {"url", "detail"}}`, the address also alone as a string."""
    wire_type = type_of(block)
    link = block.get(wire_type)
    detail = as_dict(link).get("detail", block.get("detail"))
    url = link.get("url") if isinstance(link, dict) else link
    return media_part(media.from_url(kind, url, detail=detail), wire_type=wire_type)


def _sound(block: dict[str, Any]) -> Part:
    return sound_part(as_dict(block.get("input_audio")))


def _file(block: dict[str, Any]) -> Part:
    file = as_dict(block.get("file"))
    name = file.get("filename")
    mime, data = media.url_data(file.get("file_data"))
    found = media.from_url("document", file.get("file_data"))
    return media_part(found, text=media.inline_text(data, mime), name=name, wire_type="file")


def _thought(block: dict[str, Any]) -> Part:
    texts = [as_text(as_dict(item).get("text", item)) for item in as_list(block.get("thinking"))]
    return thinking_part("".join(texts), sealed=block.get("signature"), wire_type="thinking")


def _refused(block: dict[str, Any]) -> Part:
    return text_part(block.get("refusal"), "refusal")


_BLOCKS: dict[str, BlockReader] = {
    **dict.fromkeys(("text", "input_text", "output_text"), typed_text_part),
    "document_url": _document,
    "file": _file,
    "image_url": _image,
    "input_audio": _sound,
    "refusal": _refused,
    "thinking": _thought,
    "video_url": _video,
}


def _thinking(value: dict[str, Any]) -> list[Part]:
    """Thinking as hosts send it back: DeepSeek's `reasoning_content`, OpenRouter's `reasoning` with its details."""
    details = [_detail(item) for item in as_list(value.get("reasoning_details"))]
    if details:
        return details
    text = value.get("reasoning_content") or value.get("reasoning")
    key = "reasoning_content" if value.get("reasoning_content") else "reasoning"
    return [thinking_part(text, wire_type=key)] if text else []


def _detail(item: Any) -> Part:
    detail = as_dict(item)
    return thinking_part(
        detail.get("text") or detail.get("summary"),
        sealed=detail.get("signature") or detail.get("data"),
        wire_type=type_of(item) or "reasoning_details",
    )


def _refusal(text: Any) -> list[Part]:
    return [text_part(text, "refusal")] if text else []


def _spoken(audio: Any) -> list[Part]:
    """An earlier spoken answer, referred to by its id."""
    if not isinstance(audio, dict):
        return []
    return [media_part(Media(kind="audio", remote=True), text=as_text(audio.get("transcript")), wire_type="audio")]


def _call(call: Any) -> Part:
    if not isinstance(call, dict):
        return other_part(call, "tool_calls")
    kind = type_of(call)
    asked = as_dict(call.get("custom")) if kind == "custom" else as_dict(call.get("function"))
    return call_part(
        asked.get("name"),
        asked.get("input") if kind == "custom" else asked.get("arguments"),
        call_id=call.get("id"),
        sealed=_signature(call),
        wire_type=kind or "function",
    )


def _signature(call: dict[str, Any]) -> Any:
    """Google's thought signature, as its OpenAI-shaped endpoint hands it out."""
    return as_dict(as_dict(call.get("extra_content")).get("google")).get("thought_signature")


def _old_call(call: Any) -> list[Part]:
    if not isinstance(call, dict):
        return []
    return [call_part(call.get("name"), call.get("arguments"), wire_type="function_call")]
