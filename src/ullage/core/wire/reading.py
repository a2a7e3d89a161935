"""Slices to nouns: decodes one slice and hands it to the reader of its dialect. Nothing here raises for odd content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ullage.core.content import Context, Message, ToolSpec

from .jsontext import decode
from .requests import anthropic, gemini, openai_chat, openai_responses

if TYPE_CHECKING:
    from .conversation import Conversation, Dialect, Slice


class _Requests(Protocol):
    """What the module of a dialect offers: values as decoded to nouns, never raising."""

    def read_system(self, value: Any) -> str: ...

    def read_message(self, value: Any) -> Message: ...

    def read_tool(self, value: Any) -> ToolSpec: ...


_READERS: dict[Dialect, _Requests] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
}


def read_system(piece: Slice, dialect: Dialect) -> str:
    """The text of a system slice."""
    return _READERS[dialect].read_system(decode(piece.raw))


def read_tool(piece: Slice, dialect: Dialect) -> ToolSpec:
    """The definition in a tool slice; `wire` holds its bytes."""
    return msgspec.structs.replace(_READERS[dialect].read_tool(decode(piece.raw)), wire=piece.raw)


def read_message(piece: Slice, dialect: Dialect) -> Message:
    """The message in a slice; a message with a tool result of the client has the role `tool` in every dialect."""
    return _READERS[dialect].read_message(decode(piece.raw))


def read_context(conversation: Conversation) -> Context:
    """Everything of a request that bears on its prompt, decoded."""
    dialect = conversation.dialect
    return Context(
        system=tuple(read_system(piece, dialect) for piece in conversation.system),
        tools=tuple(read_tool(piece, dialect) for piece in conversation.tools),
        messages=tuple(read_message(piece, dialect) for piece in conversation.messages),
    )
