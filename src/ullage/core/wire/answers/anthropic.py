"""Answers of Anthropic Messages: events up to `message_stop`, or one body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.wire.jsontext import compact, decode_as

from .reader import DialectReader
from .tally import chars
from .usage import anthropic_usage

if TYPE_CHECKING:
    from ullage.core.content import StopReason

_THINKING = ("thinking", "redacted_thinking")
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
    "refusal": "refusal",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_calls",
}


class _Delta(Struct):
    text: Any = None
    thinking: Any = None
    partial_json: Any = None
    stop_reason: Any = None


class _Message(Struct):
    id: Any = None
    model: Any = None
    content: Any = None
    stop_reason: Any = None
    usage: Any = None


class _Event(Struct):
    """Any event: each uses some of these."""

    type: Any = None
    index: Any = None
    delta: _Delta | None = None
    message: _Message | None = None
    content_block: Any = None
    usage: Any = None
    error: Any = None


class _Body(_Message):
    type: Any = None
    error: Any = None
    input_tokens: Any = None


_EVENTS = msgspec.json.Decoder(_Event, float_hook=float)
_BODIES = msgspec.json.Decoder(_Body, float_hook=float)


class AnthropicReader(DialectReader):
    """Complete at `message_stop` only. Usage of `message_start` and `message_delta` is merged: either may be missing."""

    def __init__(self) -> None:
        super().__init__()
        self._usage: dict[str, Any] = {}
        self._thinks = False

    def read_event(self, name: str | None, data: bytes) -> None:
        """One event."""
        event = decode_as(_EVENTS, data)
        match event.type if isinstance(event.type, str) else name:
            case "content_block_delta" if event.delta is not None:
                self._read_delta(event.index, event.delta)
            case "content_block_start":
                self._read_block(event.index, event.content_block)
            case "content_block_stop":
                self.tally.spoke = self.tally.spoke or not self._thinks
            case "message_start" if event.message is not None:
                self._read_message(event.message)
            case "message_delta":
                self._merge_usage(event.usage)
                if event.delta is not None:
                    self.tally.stop(event.delta.stop_reason, _STOP_REASONS)
            case "message_stop":
                self.tally.complete = True
            case "error":
                self.tally.fail(event.error)
            case _ if event.error:
                self.tally.fail(event.error)

    def read_body(self, body: bytes) -> None:
        """A whole answer, an error, or a token count."""
        answer = decode_as(_BODIES, body)
        if answer.error or answer.type == "error":
            self.tally.fail(answer.error)
        elif answer.usage is None and answer.input_tokens is not None:
            self._merge_usage({"input_tokens": answer.input_tokens})
        self._read_message(answer)
        self.tally.complete = True

    def _read_message(self, message: _Message) -> None:
        self.tally.name_response(message.id)
        self.tally.name_model(message.model)
        self._merge_usage(message.usage)
        self.tally.stop(message.stop_reason, _STOP_REASONS)
        if isinstance(message.content, list):
            for index, block in enumerate(message.content):
                self._read_block(index, block)

    def _read_block(self, index: Any, block: Any) -> None:
        """A block, whole or as it begins; its input is an empty object if it is yet to come."""
        if not isinstance(block, dict):
            return
        self.tally.say(chars(block.get("text")))
        self.tally.thinking_chars += chars(block.get("thinking"))
        self._thinks = block.get("type") in _THINKING
        if not self._thinks and block.get("type") != "text":
            self.tally.spoke = True
        if block.get("type") == "tool_use":
            self.tally.calls.open(_key(index), call_id=block.get("id"), name=block.get("name"))
            if block.get("input"):
                self.tally.calls.add(_key(index), compact(block["input"]))

    def _read_delta(self, index: Any, delta: _Delta) -> None:
        self.tally.say(chars(delta.text))
        self.tally.thinking_chars += chars(delta.thinking)
        if delta.partial_json:
            self.tally.spoke = True
            self.tally.calls.add(_key(index), delta.partial_json)

    def _merge_usage(self, payload: Any) -> None:
        """The later figure wins, unless it takes back what was already counted: these figures only grow."""
        if not isinstance(payload, dict):
            return
        for key, value in payload.items():
            if value is not None and not (value == 0 and self._usage.get(key)):
                self._usage[key] = value
        self.tally.report(anthropic_usage(dict(self._usage)))


def _key(index: Any) -> Any:
    return index if isinstance(index, int) else None
