"""What a count endpoint rejects, taken out of a captured request and named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from ullage.core.wire import Conversation, parse_request, render
from ullage.core.wire.jsontext import decode, decode_as

if TYPE_CHECKING:
    from collections.abc import Collection

    from .endpoints import CountEndpoint

_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_LIST = msgspec.json.Decoder(list[Raw])


class Countable(Struct, frozen=True, kw_only=True):
    """A request that its endpoint takes. `lost` names what bears on the prompt and had to be taken out."""

    conversation: Conversation
    lost: tuple[str, ...] = ()


def make_countable(conversation: Conversation, endpoint: CountEndpoint) -> Countable:
    """The request without the tools that the provider runs and without remote sources, where its endpoint rejects them.

    Everything else keeps its bytes. A message of which nothing would be left goes whole.
    """
    lost = [f"`{name}`" for name in endpoint.unseen if name in conversation.options]
    kept_tools = []
    for index, piece in enumerate(conversation.tools):
        kind = _type_of(piece.raw)
        if kind.startswith(endpoint.server_tools) and endpoint.server_tools:
            lost.append(f"the server tool {kind}")
        else:
            kept_tools.append(index)
    conversation, sources = _without_sources(_parsed(conversation, tools=kept_tools), endpoint.refused_sources)
    if sources:
        lost.append(
            f"{sources} block{'s' if sources > 1 else ''} with a {' or '.join(endpoint.refused_sources)} source"
        )
    return Countable(conversation=conversation, lost=tuple(lost))


def _type_of(raw: bytes) -> str:
    value = decode(raw)
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


def _parsed(
    conversation: Conversation, *, tools: list[int] | None = None, messages: list[int] | None = None
) -> Conversation:
    body = render(conversation, tools=tools, messages=messages)
    if body is conversation.body:
        return conversation
    return parse_request(body, conversation.dialect, path_model=conversation.model, path_stream=conversation.stream)


def _without_sources(conversation: Conversation, refused: Collection[str]) -> tuple[Conversation, int]:
    """The conversation without blocks whose source is of a refused type, and how many those were."""
    body = conversation.body
    emptied: set[int] = set()
    count = 0
    for piece in reversed(conversation.messages):
        if not refused or not _holds(decode(piece.raw), refused):
            continue
        members = decode_as(_OBJECT, piece.raw)
        content, found = _without_blocks(bytes(members["content"]), refused)
        count += found
        if content == b"[]":
            emptied.add(piece.index)
        members["content"] = Raw(content)
        body = body[: piece.start] + msgspec.json.encode(members) + body[piece.start + len(piece.raw) :]
    if body is conversation.body:
        return conversation, 0
    changed = parse_request(body, conversation.dialect, path_model=conversation.model, path_stream=conversation.stream)
    kept = [index for index in range(len(changed.messages)) if index not in emptied]
    return _parsed(changed, messages=kept), count


def _without_blocks(content: bytes, refused: Collection[str]) -> tuple[bytes, int]:
    kept: list[bytes] = []
    count = 0
    for raw in decode_as(_LIST, content):
        value = decode(bytes(raw))
        if _is_refused(value, refused):
            count += 1
        elif _holds(value, refused):
            members = decode_as(_OBJECT, bytes(raw))
            inner, found = _without_blocks(bytes(members["content"]), refused)
            members["content"] = Raw(inner)
            kept.append(msgspec.json.encode(members))
            count += found
        else:
            kept.append(bytes(raw))
    return b"[" + b",".join(kept) + b"]", count


def _holds(value: Any, refused: Collection[str]) -> bool:
    """Whether a message or a tool result holds such a block at any depth."""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list):
        return False
    return any(_is_refused(block, refused) or _holds(block, refused) for block in content)


def _is_refused(block: Any, refused: Collection[str]) -> bool:
    source = block.get("source") if isinstance(block, dict) else None
    return isinstance(source, dict) and source.get("type") in refused
