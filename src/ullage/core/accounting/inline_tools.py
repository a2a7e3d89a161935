"""Tools that a client sends as an item of the conversation instead of in the tool list (Codex 0.171.0 with its default model)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ullage.core.wire import Slice, read_tool

if TYPE_CHECKING:
    from ullage.core.content import Part, ToolSpec

WIRE_TYPE = "additional_tools"


def inline_tools(part: Part) -> tuple[ToolSpec, ...]:
    """The tools that such a part defines; none for any other part, or if they cannot be read."""
    if part.wire_type != WIRE_TYPE:
        return ()
    try:
        tools = msgspec.json.decode(part.text, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return ()
    slices = (Slice(kind="tool", index=index, start=0, raw=bytes(raw), hash=0) for index, raw in enumerate(tools))
    return tuple(read_tool(piece, "openai-responses") for piece in slices)
