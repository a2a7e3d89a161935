"""Messages, their parts, and tool definitions: what a request carries, with the text a model reads and nothing else."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Role = Literal["system", "developer", "user", "assistant", "tool"]
PartKind = Literal["text", "thinking", "tool_call", "tool_result", "image", "document", "audio", "video", "other"]
MediaKind = Literal["image", "document", "audio", "video"]
ToolKind = Literal["function", "custom", "namespace", "hosted"]


class Media(Struct, frozen=True, kw_only=True):
    """What is known of a picture, document, sound or film without decoding it whole.

    `width`, `height` in pixels; `size_bytes` of the decoded data; `detail` as the dialect spells it. `None` is unknown.
    """

    kind: MediaKind
    mime: str | None = None
    width: int | None = None
    height: int | None = None
    size_bytes: int | None = None
    pages: int | None = None
    seconds: float | None = None
    detail: str | None = None
    remote: bool = False


class Part(Struct, frozen=True, kw_only=True):
    """One block of a message.

    `text` is what the model reads as text: prose, readable thinking, the JSON text of a call's arguments, the text of a
    result. It never holds base64 data, signatures or encrypted reasoning: of those only the length is kept (`sealed_chars`).
    A tool result may nest `parts` (pictures and texts); then `text` is empty and the nested parts carry everything.
    `carries_reasoning` is true when the part lets the provider replay hidden reasoning (a signed thinking block, a non-empty
    encrypted reasoning item). `wire_type` is the dialect's own name of the block.
    """

    kind: PartKind
    text: str = ""
    name: str | None = None
    call_id: str | None = None
    media: Media | None = None
    parts: tuple[Part, ...] = ()
    is_error: bool = False
    carries_reasoning: bool = False
    sealed_chars: int = 0
    wire_type: str = ""


class Message(Struct, frozen=True, kw_only=True):
    """One entry of a conversation. A message that answers tool calls has role `tool` in every dialect."""

    role: Role
    parts: tuple[Part, ...] = ()
    name: str | None = None


class ToolSpec(Struct, frozen=True, kw_only=True):
    """One tool definition. `parameters` is the decoded JSON schema, key order kept; `None` where the kind has none.

    `deferred` tools are listed but not loaded, so they cost nothing yet. `tools` are the members of a namespace.
    `format` is the decoded grammar of a custom tool. `wire` is the definition exactly as it was sent, when it came off a wire.
    `source` is where the host has it from, as `scope · source · origin · path`; `guidelines` are texts that it adds to the system
    prompt for the tool. Both are known only where the host tells them.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None
    kind: ToolKind = "function"
    strict: bool | None = None
    deferred: bool = False
    active: bool = True
    source: str | None = None
    guidelines: tuple[str, ...] = ()
    format: Any = None
    tools: tuple[ToolSpec, ...] = ()
    wire: bytes = b""
