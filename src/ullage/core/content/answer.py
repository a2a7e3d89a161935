"""What came back from a model, as far as accounting and planning need it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .usage import Usage

StopReason = Literal["end", "length", "tool_calls", "stop_sequence", "refusal", "pause", "error", "other"]


class ToolCall(Struct, frozen=True, kw_only=True):
    """A call the model asked for. `arguments` is the JSON text (or raw input of a custom tool) as it was streamed."""

    id: str | None
    name: str
    arguments: str


class Answer(Struct, frozen=True, kw_only=True):
    """One answer, streamed or not.

    `complete` is true only if the dialect's terminal event, or a whole JSON body, was seen. `model` is the one that answered.
    `stop_reason_raw` is the provider's own word. `text_chars` and `thinking_chars` count visible text and readable thinking.
    `error_type` and `error_message` are the provider's, from an error body or an error inside the stream.
    """

    usage: Usage | None = None
    stop_reason: StopReason | None = None
    stop_reason_raw: str | None = None
    model: str | None = None
    response_id: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    text_chars: int = 0
    thinking_chars: int = 0
    complete: bool = False
    error_type: str | None = None
    error_message: str | None = None
    events: int = 0
    malformed_events: int = 0
