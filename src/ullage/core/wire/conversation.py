"""A request cut into raw slices (design.md 5): what is not changed is never serialised again."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Dialect = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
DIALECTS: tuple[Dialect, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")

SliceKind = Literal["system", "tool", "message"]


class Slice(Struct, frozen=True, kw_only=True, gc=False):
    """One system block, tool or message, exactly as it came.

    `index` counts within its kind; `start` is the offset in the body of the request; `hash` is xxh3-64 of the dialect, the kind
    and the bytes: the key of the facts cache. It is no defence against crafted collisions and so never evidence.
    """

    kind: SliceKind
    index: int
    start: int
    raw: bytes
    hash: int


class Member(Struct, frozen=True, kw_only=True, gc=False):
    """One member of the object that holds the conversation, as offsets in the body.

    `start` is the quote that opens the key, `value` the first byte of the value, `end` the byte after it. A key that occurs twice
    is two members; the last one counts, as for every JSON reader of the providers.
    """

    key: str
    start: int
    value: int
    end: int


class Conversation(Struct, frozen=True, kw_only=True):
    """A parsed request: the body as it came and where its slices lie.

    `system` are blocks outside the message list (`system`, `instructions`, `systemInstruction`); system or developer messages
    inside the list stay messages. `tools` are the elements of the tool list in order (for Gemini: of each `functionDeclarations`
    list; hosted tools are slices too). `model` and `stream` come from the body, for Gemini from the path. `options` are the other
    top-level keys, raw. `members` are the members of the top-level object in order (of `generateContentRequest` where Gemini's
    token count wraps one).
    """

    dialect: Dialect
    body: bytes
    model: str | None
    stream: bool
    system: tuple[Slice, ...]
    tools: tuple[Slice, ...]
    messages: tuple[Slice, ...]
    options: dict[str, bytes]
    members: tuple[Member, ...] = ()
    previous_response_id: str | None = None
