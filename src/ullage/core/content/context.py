"""What one call sends to a model, in the order a provider reads it."""

from __future__ import annotations

from msgspec import Struct

from .message import Message, ToolSpec


class Context(Struct, frozen=True, kw_only=True):
    """Everything of one call that bears on its prompt.

    `system` holds the system blocks outside the message list. `complete` is false where the record leaves out the system
    prompt or the tools (session files of Pi and Claude Code): then those show up in the gap, not as zero.
    """

    system: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[Message, ...] = ()
    complete: bool = True
