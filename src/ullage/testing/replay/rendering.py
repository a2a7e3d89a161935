"""Nouns back to the wire: the messages of a record as a client of the dialect sends them.

What a noun does not hold is made up at its recorded length: signatures and encrypted reasoning are letters, a picture is a note
of its size. So every estimate weighs the request as it would have weighed the real one.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ullage.core.content import Context, Media, Message, Part, ToolSpec
    from ullage.core.wire import Dialect

    WireMessages = list[dict[str, Any]]

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai-chat", "openai-responses")
"""The dialects that records can be sent in."""


def render_messages(
    dialect: Dialect, messages: Iterable[Message], before: Sequence[dict[str, Any]] = ()
) -> WireMessages:
    """The wire form of `before`, which is not changed, with these messages behind it."""
    rendered = list(before)
    for message in messages:
        if dialect == "anthropic":
            _join(rendered, *_anthropic_message(message))
        else:
            rendered += _RENDERERS[dialect](message)
    return rendered


def render_prelude(dialect: Dialect, prelude: Context) -> dict[str, Any]:
    """The members of a body that hold system prompt and tools; in Chat the system prompt is a message and not among them."""
    texts = [text for text in prelude.system if text]
    body: dict[str, Any] = {}
    if texts and dialect == "anthropic":
        body["system"] = [{"type": "text", "text": text} for text in texts]
    if texts and dialect == "openai-responses":
        body["instructions"] = "\n".join(texts)
    if prelude.tools:
        body["tools"] = [_tool(dialect, tool) for tool in prelude.tools]
    return body


def render_system_messages(dialect: Dialect, prelude: Context) -> WireMessages:
    """The system prompt where it is a message."""
    texts = [text for text in prelude.system if text]
    return [{"role": "system", "content": text} for text in texts] if dialect == "openai-chat" else []


def _tool(dialect: Dialect, tool: ToolSpec) -> dict[str, Any]:
    words = {"name": tool.name, "description": tool.description}
    if dialect == "anthropic":
        return {**words, "input_schema": tool.parameters or {"type": "object"}}
    if tool.tools:
        return {"type": "namespace", **words, "tools": [_tool(dialect, member) for member in tool.tools]}
    function = {**words, "parameters": tool.parameters or {"type": "object"}}
    if dialect == "openai-chat":
        return {"type": "function", "function": function}
    return {"type": "function", **function, **({"defer_loading": True} if tool.deferred else {})}


def _join(rendered: WireMessages, role: str, blocks: WireMessages) -> None:
    """Puts blocks at the end; neighbours of one role are one message (clients specification, section 5)."""
    if not blocks:
        return
    if rendered and rendered[-1]["role"] == role:
        rendered[-1] = {"role": role, "content": [*rendered[-1]["content"], *blocks]}
    else:
        rendered.append({"role": role, "content": blocks})


def _anthropic_message(message: Message) -> tuple[str, WireMessages]:
    role = "assistant" if message.role == "assistant" else "user"
    return role, [block for part in message.parts if (block := _anthropic_block(part)) is not None]


def _anthropic_block(part: Part) -> dict[str, Any] | None:
    match part.kind:
        case "text":
            # The provider refuses a block without text.
            return {"type": "text", "text": part.text} if part.text else None
        case "thinking" if part.wire_type == "redacted_thinking":
            return {"type": "redacted_thinking", "data": _seal(part)}
        case "thinking":
            return {"type": "thinking", "thinking": part.text, "signature": _seal(part)}
        case "tool_call":
            return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": _decoded(part.text)}
        case "tool_result":
            return {"type": "tool_result", "tool_use_id": part.call_id, "content": _nested(part, _anthropic_block)} | (
                {"is_error": True} if part.is_error else {}
            )
        case "other":
            return _object(part)
        case _:
            return _anthropic_media(part)


def _anthropic_media(part: Part) -> dict[str, Any]:
    assert part.media is not None
    media = part.media
    omitted = {"width": media.width, "height": media.height, "bytes": media.size_bytes}
    source = {"type": "base64", "media_type": media.mime, "data_omitted": omitted}
    block = {"type": part.kind, "source": source}
    return {**block, "context": part.text} if part.text else block


def _chat_messages(message: Message) -> Iterator[dict[str, Any]]:
    """One message, and one for each tool result in it."""
    rest: list[Part] = []
    for part in message.parts:
        if part.kind == "tool_result":
            yield {"role": "tool", "tool_call_id": part.call_id, "content": _nested(part, _chat_block)}
        else:
            rest.append(part)
    if rest:
        yield _chat_message("user" if message.role == "tool" else message.role, message.name, rest)


def _chat_message(role: str, name: str | None, parts: Sequence[Part]) -> dict[str, Any]:
    thoughts = [part for part in parts if part.kind == "thinking"]
    calls = [part for part in parts if part.kind == "tool_call"]
    rest = [part for part in parts if part.kind not in ("thinking", "tool_call")]
    content = [block for part in rest if (block := _chat_block(part)) is not None]
    alone = len(content) == 1 and content[0].keys() == {"type", "text"}
    body: dict[str, Any] = {"role": role, "content": content[0]["text"] if alone else content or None}
    if name:
        body["name"] = name
    if any(part.sealed_chars for part in thoughts):
        body["reasoning_details"] = [
            {"type": "reasoning.text", "text": part.text, "signature": _seal(part)} for part in thoughts
        ]
    elif thoughts:
        body["reasoning_content"] = "".join(part.text for part in thoughts)
    if calls:
        body["tool_calls"] = [
            {"id": part.call_id, "type": "function", "function": {"name": part.name, "arguments": part.text}}
            for part in calls
        ]
    return body


def _chat_block(part: Part) -> dict[str, Any] | None:
    if part.kind == "text":
        return {"type": "text", "text": part.text} if part.text else None
    if part.media is not None:
        return {"type": f"{part.kind}_url", f"{part.kind}_url": {"url": _url(part.media), "detail": part.media.detail}}
    return _object(part)


def _response_items(message: Message) -> Iterator[dict[str, Any]]:
    """Texts and pictures in a row are one item, anything else is one of its own."""
    for spoken, parts in groupby(message.parts, key=lambda part: part.kind == "text" or part.media is not None):
        if spoken:
            blocks = [_response_block(part, message.role) for part in parts]
            yield {"type": "message", "role": message.role, "content": blocks}
        else:
            yield from map(_response_item, parts)


def _response_item(part: Part) -> dict[str, Any]:
    match part.kind:
        case "thinking":
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            return {"type": "reasoning", "summary": summary, "encrypted_content": _seal(part)}
        case "tool_call" if part.wire_type == "custom_tool_call":
            return {"type": part.wire_type, "call_id": part.call_id, "name": part.name, "input": part.text}
        case "tool_call":
            return {"type": "function_call", "call_id": part.call_id, "name": part.name, "arguments": part.text}
        case "tool_result":
            kind = part.wire_type if part.wire_type.endswith("_output") else "function_call_output"
            output = _nested(part, lambda piece: _response_block(piece, "user"))
            return {"type": kind, "call_id": part.call_id, "output": output}
        case _:
            return _object(part)


def _response_block(part: Part, role: str) -> dict[str, Any]:
    if part.media is None:
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part.text}
    if part.kind == "image":
        return {"type": "input_image", "image_url": _url(part.media), "detail": part.media.detail}
    return {"type": "input_file", "filename": part.name, "file_data": _url(part.media)}


def _nested(part: Part, block_of: Callable[[Part], dict[str, Any] | None]) -> str | WireMessages:
    """The content of a tool result: its text alone, or blocks."""
    if not part.parts:
        return part.text
    return [block for piece in part.parts if (block := block_of(piece)) is not None]


def _object(part: Part) -> dict[str, Any]:
    """A block of a kind that has no noun, as its JSON was read, with what sealed it."""
    read = _decoded(part.text) if part.text else {}
    if not isinstance(read, dict):
        return {"type": "text", "text": part.text}
    body: dict[str, Any] = {"type": part.wire_type, **read}
    return {**body, "encrypted_content": _seal(part)} if part.sealed_chars else body


def _decoded(text: str) -> Any:
    """The value of a JSON text; a text that is none as it is."""
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return text


def _seal(part: Part) -> str:
    return "s" * part.sealed_chars


def _url(media: Media) -> str:
    """A data URL that says how large the data was that it leaves out."""
    mime = media.mime or "application/octet-stream"
    if media.width is None or media.height is None or media.size_bytes is None:
        return f"data:{mime};base64,"
    return f"data:{mime};omitted,width={media.width},height={media.height},bytes={media.size_bytes}"


_RENDERERS: dict[Dialect, Callable[[Message], Iterator[dict[str, Any]]]] = {
    "openai-chat": _chat_messages,
    "openai-responses": _response_items,
}
