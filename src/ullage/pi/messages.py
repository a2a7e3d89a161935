"""Pi's messages in the words of a protocol that we read, and back: one message of Pi is one message there.

So a plan's choice among them is a choice among Pi's. Each carries the key that the extension knows it by, under `MARK`: what
is cut or kept keeps its bytes, this member too. Pi's summaries, shell commands and messages of extensions arrive as the messages
of the user that Pi makes of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from ullage.core.content import Message, Part
from ullage.core.wire import Dialect, Slice, read_message
from ullage.core.wire.jsontext import decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MARK = "pi"
"""The member of a message that holds its key."""

_ANTHROPIC_APIS = frozenset({"anthropic-messages", "bedrock-converse-stream"})
_SPOKEN: dict[str, Dialect] = {
    "anthropic-messages": "anthropic",
    "openai-completions": "openai-chat",
    "openai-responses": "openai-responses",
    "azure-openai-responses": "openai-responses",
    "openai-codex-responses": "openai-responses",
    "google-generative-ai": "gemini",
    "google-vertex": "gemini",
}
_MARKED = re.compile(rb',"pi":"([A-Za-z0-9_-]{1,64})"\}\Z')
_MARK_BYTES = 80
_encode = msgspec.json.encode


class Tool(Struct, frozen=True, kw_only=True):
    """A tool that Pi offers the model."""

    name: str
    description: str = ""
    parameters: Raw = Raw(b"{}")


def dialect_of(api: str) -> Dialect:
    """The protocol whose form stands for Pi's: Anthropic's own, where that is what Pi speaks, else Chat Completions."""
    return "anthropic" if api in _ANTHROPIC_APIS else "openai-chat"


def spoken_by(api: str) -> Dialect | None:
    """The protocol that Pi's own bodies for an API are in; `None` where it is none that we read. Google's library has a form of
    its own, in which contents are as in the protocol and all else is in `config`."""
    return _SPOKEN.get(api)


def write_message(message: Mapping[str, Any], key: str, dialect: Dialect) -> bytes:
    """One message of Pi as JSON."""
    return _encode({**write_answer(message, dialect), MARK: key})


def write_answer(message: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The same without a key, not yet as JSON."""
    return _to_anthropic(message) if dialect == "anthropic" else _to_chat(message)


def write_request(
    messages: Sequence[bytes],
    *,
    model: str,
    prompt: str,
    tools: Sequence[Tool],
    most_output: int | None,
    dialect: Dialect,
) -> bytes:
    """The body of a request, with messages that are written already."""
    head: dict[str, Any] = {"model": model, "stream": True}
    offered: list[dict[str, Any]]
    if most_output:
        head["max_tokens"] = most_output
    before: list[bytes] = []
    if dialect == "anthropic":
        if prompt:
            head["system"] = prompt
        offered = [{"name": one.name, "description": one.description, "input_schema": one.parameters} for one in tools]
    else:
        if prompt:
            before = [_encode({"role": "system", "content": prompt})]
        offered = [
            {
                "type": "function",
                "function": {"name": one.name, "description": one.description, "parameters": one.parameters},
            }
            for one in tools
        ]
    if offered:
        head["tools"] = offered
    pieces = [*before, *messages] or [b""]
    # Put together in one go: all of it is copied each time.
    pieces[0] = _encode(head)[:-1] + b',"messages":[' + pieces[0]
    pieces[-1] += b"]}"
    return b",".join(pieces)


def key_of(piece: Slice) -> str | None:
    """The key of a message; `None` for one that is not Pi's: the system prompt, what a plan adds."""
    # The mark was written last, and whoever changes a message leaves its members where they are.
    found = _MARKED.search(piece.raw, max(0, len(piece.raw) - _MARK_BYTES))
    return found[1].decode() if found is not None else None


def read_content(piece: Slice, dialect: Dialect, original: Mapping[str, Any]) -> list[Any]:
    """What a changed message holds, in Pi's form: the number of a block of the original where it stayed as it was, else a new
    block."""
    blocks = _blocks(original.get("content"))
    free = list(range(len(blocks)))
    found: list[Any] = []
    for part in _parts(read_message(piece, dialect)):
        number = next((one for one in free if _is_same(blocks[one], part)), None)
        if number is not None:
            free.remove(number)
            found.append(number)
        elif (block := _new_block(part)) is not None:
            found.append(block)
    return found


def read_text(piece: Slice, dialect: Dialect) -> str:
    """The text of a message of ours."""
    return "\n".join(part.text for part in read_message(piece, dialect).parts if part.kind == "text")


def _parts(message: Message) -> Iterator[Part]:
    """What a message holds, a tool result's content in place of the result."""
    for part in message.parts:
        if part.kind != "tool_result":
            yield part
        elif part.parts:
            yield from part.parts
        elif part.text:
            yield Part(kind="text", text=part.text)


def _is_same(block: Mapping[str, Any], part: Part) -> bool:
    match block.get("type"):
        case "text":
            return part.kind == "text" and part.text == block.get("text")
        case "thinking":
            return part.kind == "thinking" and part.text == (block.get("thinking") or "")
        case "toolCall":
            same = part.kind == "tool_call" and part.call_id == block.get("id")
            return same and decode(part.text.encode()) == (block.get("arguments") or {})
        case "image":
            return part.kind == "image"
        case _:
            return False


def _new_block(part: Part) -> dict[str, Any] | None:
    """A block that Pi did not have so; `None` for what cannot be made anew."""
    match part.kind:
        case "text":
            return {"type": "text", "text": part.text}
        case "thinking" if part.text:
            return {"type": "thinking", "thinking": part.text}
        case "tool_call":
            return {"type": "toolCall", "id": part.call_id, "name": part.name, "arguments": decode(part.text.encode())}
        case _:
            return None


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _to_anthropic(message: Mapping[str, Any]) -> dict[str, Any]:
    blocks = [_anthropic_block(block) for block in _blocks(message.get("content"))]
    match message.get("role"):
        case "assistant":
            return {"role": "assistant", "content": blocks}
        case "toolResult":
            result: dict[str, Any] = {
                "type": "tool_result",
                "tool_use_id": message.get("toolCallId"),
                "content": blocks,
            }
            if message.get("isError"):
                result["is_error"] = True
            return {"role": "user", "content": [result]}
        case _:
            return {"role": "user", "content": blocks}


def _anthropic_block(block: Mapping[str, Any]) -> dict[str, Any]:
    match block.get("type"):
        case "thinking":
            seal = block.get("thinkingSignature") or ""
            if block.get("redacted"):
                return {"type": "redacted_thinking", "data": seal}
            return {"type": "thinking", "thinking": block.get("thinking") or "", "signature": seal}
        case "toolCall":
            return {
                "type": "tool_use",
                "id": block.get("id"),
                "name": block.get("name"),
                "input": block.get("arguments") or {},
            }
        case "image":
            source = {"type": "base64", "media_type": block.get("mimeType"), "data": block.get("data") or ""}
            return {"type": "image", "source": source}
        case _:
            return {"type": "text", "text": block.get("text") or ""}


def _to_chat(message: Mapping[str, Any]) -> dict[str, Any]:
    blocks = _blocks(message.get("content"))
    said = [_chat_part(block) for block in blocks if block.get("type") in ("text", "image")]
    match message.get("role"):
        case "assistant":
            return _chat_answer(blocks, said)
        case "toolResult":
            return {"role": "tool", "tool_call_id": message.get("toolCallId"), "content": said}
        case _:
            return {"role": "user", "content": said}


def _chat_answer(blocks: Sequence[Mapping[str, Any]], said: list[dict[str, Any]]) -> dict[str, Any]:
    thought = "\n".join(block.get("thinking") or "" for block in blocks if block.get("type") == "thinking")
    calls = [
        {
            "id": block.get("id"),
            "type": "function",
            "function": {"name": block.get("name"), "arguments": _encode(block.get("arguments") or {}).decode()},
        }
        for block in blocks
        if block.get("type") == "toolCall"
    ]
    return {
        "role": "assistant",
        **({"reasoning_content": thought} if thought else {}),
        "content": said or None,
        **({"tool_calls": calls} if calls else {}),
    }


def _chat_part(block: Mapping[str, Any]) -> dict[str, Any]:
    if block.get("type") == "image":
        address = f"data:{block.get('mimeType')};base64,{block.get('data') or ''}"
        return {"type": "image_url", "image_url": {"url": address}}
    return {"type": "text", "text": block.get("text") or ""}
