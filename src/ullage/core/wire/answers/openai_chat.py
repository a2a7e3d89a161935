"""Answers of Chat Completions: chunks up to `[DONE]`, or one body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.wire.jsontext import as_text, decode_as

from .reader import DialectReader
from .tally import chars
from .usage import openai_usage

if TYPE_CHECKING:
    from ullage.core.content import StopReason

_STOP_REASONS: dict[str, StopReason] = {
    "content_filter": "refusal",
    "end_turn": "end",
    "eos": "end",
    "error": "error",
    "function_call": "tool_calls",
    "insufficient_system_resource": "error",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "stop": "end",
    "tool_calls": "tool_calls",
}


class _Message(Struct):
    content: Any = None
    refusal: Any = None
    reasoning: Any = None
    reasoning_content: Any = None
    tool_calls: Any = None
    function_call: Any = None
    audio: Any = None
    images: Any = None


class _Choice(Struct):
    index: Any = 0
    delta: _Message | None = None
    message: _Message | None = None
    finish_reason: Any = None
    usage: Any = None


class _Chunk(Struct):
    """A chunk of a stream or a whole body: they differ in `delta` and `message` only. `choices` may be empty."""

    id: Any = None
    model: Any = None
    choices: list[_Choice] | None = None
    usage: Any = None
    x_groq: Any = None
    error: Any = None


_CHUNKS = msgspec.json.Decoder(_Chunk, float_hook=float)


class ChatReader(DialectReader):
    """Complete at `[DONE]`; a stream that ends without it after a finish reason is complete too."""

    def __init__(self) -> None:
        super().__init__()
        self._open_calls: dict[Any, int] = {}
        self._last_call: Any = None

    def read_event(self, _name: str | None, data: bytes) -> None:
        """One chunk."""
        self._read(decode_as(_CHUNKS, data))

    def read_done(self) -> None:
        """The stream ends as it should."""
        self.tally.complete = True

    def read_body(self, body: bytes) -> None:
        """A whole answer or an error."""
        self._read(decode_as(_CHUNKS, body))
        self.tally.complete = True

    def end(self) -> None:
        """Some hosts leave `[DONE]` out: a finish reason is enough."""
        if self.tally.stop_reason_raw is not None:
            self.tally.complete = True

    def _read(self, chunk: _Chunk) -> None:
        tally = self.tally
        tally.name_response(chunk.id)
        tally.name_model(chunk.model)
        if chunk.error:
            tally.fail(chunk.error)
        self._read_usage(chunk.usage)
        if isinstance(chunk.x_groq, dict):
            self._read_usage(chunk.x_groq.get("usage"))
        for choice in chunk.choices or ():
            message = choice.delta or choice.message
            if message is not None:
                self._read_message(choice.index, message)
            tally.stop(choice.finish_reason, _STOP_REASONS)
            self._read_usage(choice.usage)

    def _read_usage(self, payload: Any) -> None:
        if isinstance(payload, dict):
            self.tally.report(openai_usage(payload))

    def _read_message(self, choice: Any, message: _Message) -> None:
        self.tally.say(chars(message.content) + chars(message.refusal))
        if message.audio or message.images:
            self.tally.spoke = True
        self.tally.thinking_chars += chars(message.reasoning_content) or chars(message.reasoning)
        if isinstance(message.tool_calls, list):
            for call in message.tool_calls:
                if isinstance(call, dict):
                    self._read_call(choice, call)
        if isinstance(message.function_call, dict):
            self._extend_call((as_text(choice), "function_call"), None, message.function_call)

    def _read_call(self, choice: Any, call: dict[str, Any]) -> None:
        """A call or a piece of one. Some hosts number every call 0, or none at all: then a new id begins a new call."""
        custom = call.get("custom")
        asked = custom if isinstance(custom, dict) else call.get("function")
        asked = asked if isinstance(asked, dict) else {}
        self._extend_call(self._call_key(choice, call, asked), call.get("id"), asked)

    def _call_key(self, choice: Any, call: dict[str, Any], asked: dict[str, Any]) -> Any:
        index = call.get("index")
        if not isinstance(index, int):
            return self._unnumbered_key(choice, call, asked)
        place = (as_text(choice), index)
        key = (*place, self._open_calls.get(place, 0))
        known = self.tally.calls.id_of(key)
        if known is not None and call.get("id") and call["id"] != known and asked.get("name"):
            self._open_calls[place] = key[-1] + 1
            key = (*place, key[-1] + 1)
        return key

    def _unnumbered_key(self, choice: Any, call: dict[str, Any], asked: dict[str, Any]) -> Any:
        if isinstance(call.get("id"), str):
            return (as_text(choice), "id", call["id"])
        return (as_text(choice), "new", len(self.tally.calls)) if asked.get("name") else self._last_call

    def _extend_call(self, key: Any, call_id: Any, asked: dict[str, Any]) -> None:
        arguments = asked.get("input") if "input" in asked else asked.get("arguments")
        self._last_call = key
        self.tally.spoke = True
        self.tally.calls.open(key, call_id=call_id, name=asked.get("name"))
        self.tally.calls.add(key, as_text(arguments))
