"""What the fake provider reads out of a request, in words that no dialect owns."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import xxhash
from msgspec import Struct

from ullage.core.content import Usage
from ullage.core.wire import Dialect

from .script import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BYTES_PER_TOKEN = 4
"""The stated count of this provider: a token is four UTF-8 bytes of the canonical prompt, rounded up."""

MEDIA_TOKENS = 1_000
"""What any picture, document or sound counts, whatever its size."""

_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class Piece(Struct, frozen=True):
    """One block of the prompt in wire order: its canonical bytes and, if it carries a cache mark, how long that lives."""

    data: bytes
    mark_s: int | None = None


class OfferedTool(Struct, frozen=True, kw_only=True):
    """A tool that the request offers. `schema` is its JSON schema, empty for kinds without one; `custom` takes free text."""

    name: str
    namespace: str | None = None
    schema: dict[str, Any] = {}
    custom: bool = False


class Prompt(Struct, frozen=True, kw_only=True):
    """A request as the fake provider understands it.

    `user_text` is the text of the last user message, `result_text` that of the tool results which end the conversation (`None`
    when it does not end with tool results). `schema` is the JSON schema the answer must follow. `include_usage` concerns streamed
    Chat answers alone. `asks_compaction` and `is_compacted` tell that the conversation ends with the request for a compaction, or
    with one. `payload` is the decoded body.
    """

    dialect: Dialect
    model: str
    stream: bool
    pieces: tuple[Piece, ...] = ()
    tools: tuple[OfferedTool, ...] = ()
    user_text: str = ""
    result_text: str | None = None
    schema: dict[str, Any] | None = None
    wants_json: bool = False
    wants_thinking: bool = False
    include_usage: bool = True
    previous_response_id: str | None = None
    store: bool = False
    asks_compaction: bool = False
    is_compacted: bool = False
    payload: dict[str, Any] = {}

    @property
    def tokens(self) -> int:
        """Size of the whole prompt by the stated count."""
        return tokens_of(sum(len(piece.data) for piece in self.pieces))


class Generation(Struct, frozen=True, kw_only=True):
    """One answer about to be written: what was asked, what is said, and what it is said to have cost.

    `number` counts the answers of this provider from 1 and makes their ids; `created_s` is epoch seconds.
    """

    number: int
    prompt: Prompt
    reply: Reply
    usage: Usage
    created_s: float

    @property
    def model(self) -> str:
        """The model that answers: the one asked for unless the script names another."""
        return self.reply.model or self.prompt.model

    def call_id(self, prefix: str, index: int) -> str:
        """Id of the tool call at `index`, the script's own if it gives one."""
        return self.reply.tool_calls[index].id or f"{prefix}{self.number:08d}{index:02d}"


class DialectModule(Protocol):
    """What each module of `dialects` offers."""

    name: Dialect
    PING: bytes
    """What the dialect sends to keep a stream alive; empty if it has nothing of its own."""
    END: list[bytes]
    """The event that ends a stream without saying anything, where there is one."""
    REQUEST_ID: str
    """The header in which the vendor names a request."""

    def read(self, payload: dict[str, Any], model: str | None, stream: bool | None) -> Prompt:
        """Reads a decoded body; `model` and `stream` come from the path where the dialect puts them there.

        Raises `ValueError` with what the provider would say against it.
        """
        ...

    def answer(self, generation: Generation) -> bytes:
        """The whole answer as one JSON body."""
        ...

    def events(self, generation: Generation) -> list[bytes]:
        """The whole answer as server-sent events."""
        ...

    def error(self, status: int, message: str, code: str | None = None, wait_s: float | None = None) -> bytes:
        """An error body: `code` replaces the vendor's usual word for the status, `wait_s` goes with a 429."""
        ...

    def error_event(self, status: int, message: str) -> bytes:
        """An error in the middle of a stream."""
        ...

    def rate_limit_headers(self, now_s: float, wait_s: float) -> list[tuple[str, str]]:
        """The headers that go with a 429: limits, nothing remaining, and when they reset."""
        ...


def tokens_of(size_bytes: int) -> int:
    """Bytes in tokens by the stated count."""
    return -(-size_bytes // BYTES_PER_TOKEN)


def text_tokens(text: str) -> int:
    """Text in tokens by the stated count."""
    return tokens_of(len(text.encode("utf-8", "replace")))


def piece(role: str, block: Any, *, mark_s: int | None = None) -> Piece:
    """A block in canonical form: text alone is its text, anything else sorted JSON without cache marks."""
    if isinstance(block, dict):
        block = {key: value for key, value in block.items() if key != "cache_control"}
        if block.keys() == {"type", "text"} or block.keys() == {"text"}:
            block = block["text"]
    text = block.encode("utf-8", "replace") if isinstance(block, str) else _encode_sorted(block)
    return Piece(role.encode("utf-8", "replace") + b"\n" + text, mark_s)


def media_piece(role: str, block: Any, *, mark_s: int | None = None) -> Piece:
    """A picture, document or sound: its identity kept, its size set to `MEDIA_TOKENS`."""
    digest = xxhash.xxh3_128_hexdigest(_encode_sorted(block)).encode()
    repeats = MEDIA_TOKENS * BYTES_PER_TOKEN // len(digest)
    return Piece(role.encode("utf-8", "replace") + b"\n" + digest * repeats, mark_s)


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else nothing."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def blocks_of(content: Any) -> list[Any]:
    """Message content as a list of blocks: a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


def text_of(content: Any) -> str:
    """The text in message content, blocks joined by a blank line."""
    texts = [block["text"] for block in blocks_of(content) if isinstance(as_dict(block).get("text"), str)]
    return "\n\n".join(texts)


def last_user_text(messages: Sequence[dict[str, Any]]) -> str:
    """The text of the last message whose role is the user."""
    return next((text_of(one.get("content")) for one in reversed(messages) if one.get("role") == "user"), "")


def trailing_text(
    messages: Sequence[dict[str, Any]], is_result: Callable[[dict[str, Any]], bool], key: str
) -> str | None:
    """The text under `key` of the tool results that end a conversation; `None` if it does not end with any."""
    results = [text_of(one.get(key)) for one in takewhile(is_result, reversed(messages))]
    return "\n\n".join(reversed(results)) if results else None


def required(payload: dict[str, Any], key: str) -> Any:
    """A field that must be there and hold something. Raises `ValueError` in a provider's words."""
    value = payload.get(key)
    if not value:
        raise ValueError(f"{key}: field required")
    return value
