"""A request cut into raw slices (design.md 5): what is not changed is never serialised again."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Dialect = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
DIALECTS: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")

SliceKind = Literal["system", "tool", "message"]


class Slice(Struct, frozen=True, kw_only=True):
    """One system block, tool or message, exactly as it came.

    `index` counts within its kind; `start` is the offset in the body of the request; `hash` is xxh3-64 of the dialect, the kind
    and the bytes: the key of the facts cache. It is no defence against crafted collisions and so never evidence.
    """

    kind: SliceKind
    index: int
    start: int
    raw: bytes
    hash: int


class Conversation(Struct, frozen=True, kw_only=True):
    """A parsed request: the body as it came and where its slices lie.

    `system` are blocks outside the message list (`system`, `instructions`, `systemInstruction`); system or developer messages
    inside the list stay messages. `tools` are the elements of the tool list in order (for Gemini: of each `functionDeclarations`
    list; hosted tools are slices too). `model` and `stream` come from the body, for Gemini from the path. `options` are the other
    top-level keys, raw.
    """

    dialect: Dialect
    body: bytes
    model: str | None
    stream: bool
    system: tuple[Slice, ...]
    tools: tuple[Slice, ...]
    messages: tuple[Slice, ...]
    options: dict[str, bytes]
    previous_response_id: str | None = None
