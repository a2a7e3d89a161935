"""Answers of OpenAI Responses: events up to `response.completed`, or one body."""

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

# The key that holds what the model asks, per type of item that the client must act on.
_CALL_INPUTS = {
    "apply_patch_call": "operation",
    "computer_call": "action",
    "custom_tool_call": "input",
    "function_call": "arguments",
    "local_shell_call": "action",
    "shell_call": "action",
    "tool_search_call": "arguments",
}
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed", "response.done"})
_ARGUMENTS_DONE = frozenset({"response.function_call_arguments.done", "response.custom_tool_call_input.done"})
_OUTPUT_DONE = _ARGUMENTS_DONE | {
    "response.output_text.done",
    "response.refusal.done",
    "response.image_generation_call.partial_image",
}
# A message has said nothing yet when it begins.
_NO_OUTPUT = ("message", "reasoning")
_STOP_REASONS: dict[str, StopReason] = {
    "completed": "end",
    "content_filter": "refusal",
    "failed": "error",
    "incomplete": "length",
    "max_output_tokens": "length",
    "max_tokens": "length",
}


class _Response(Struct):
    """A snapshot of the response; the echoed instructions and tools are skipped."""

    id: Any = None
    model: Any = None
    status: Any = None
    incomplete_details: Any = None
    output: Any = None
    usage: Any = None
    error: Any = None


class _Event(Struct):
    """Any event: each uses some of these."""

    type: Any = None
    output_index: Any = None
    item_id: Any = None
    delta: Any = None
    arguments: Any = None
    input: Any = None
    item: Any = None
    response: _Response | None = None
    error: Any = None
    code: Any = None
    message: Any = None


_EVENTS = msgspec.json.Decoder(_Event, float_hook=float)
_BODIES = msgspec.json.Decoder(_Response, float_hook=float)


class ResponsesReader(DialectReader):
    """Complete at the terminal event. Arguments may come as deltas, in a `done` event only, or in the last snapshot only."""

    def __init__(self) -> None:
        super().__init__()
        self._whole_text_chars = 0
        self._whole_thinking_chars = 0

    def read_event(self, name: str | None, data: bytes) -> None:
        """One event."""
        event = decode_as(_EVENTS, data)
        kind = event.type if isinstance(event.type, str) else name or ""
        if kind in _OUTPUT_DONE:
            self.tally.spoke = True
        if kind.endswith(".delta"):
            self._read_delta(kind, event)
        elif kind == "response.output_item.added":
            self._read_call(_key(event), event.item)
        elif kind == "response.output_item.done":
            self._read_item(_key(event), event.item)
        elif kind in _ARGUMENTS_DONE:
            self.tally.calls.open(_key(event))
            self.tally.calls.replace(_key(event), event.arguments or event.input)
        elif kind == "error":
            self.tally.fail(event.error or {"code": event.code, "message": event.message})
        elif event.response is not None:
            self._read_response(event.response, terminal=kind in _TERMINAL)
        elif event.error:
            self.tally.fail(event.error)

    def read_body(self, body: bytes) -> None:
        """A whole response or an error."""
        response = decode_as(_BODIES, body)
        self._read_response(response, terminal=True)

    def end(self) -> None:
        """Counts whole items where their texts did not come as deltas."""
        self.tally.text_chars = max(self.tally.text_chars, self._whole_text_chars)
        self.tally.thinking_chars = max(self.tally.thinking_chars, self._whole_thinking_chars)
        self._whole_text_chars = self._whole_thinking_chars = 0

    def _read_delta(self, kind: str, event: _Event) -> None:
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self.tally.say(chars(event.delta))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self.tally.thinking_chars += chars(event.delta)
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                self.tally.spoke = True
                self.tally.calls.open(_key(event))
                self.tally.calls.add(_key(event), event.delta)

    def _read_response(self, response: _Response, *, terminal: bool) -> None:
        tally = self.tally
        tally.name_response(response.id)
        tally.name_model(response.model)
        if response.error:
            tally.fail(response.error)
        if isinstance(response.usage, dict):
            tally.report(openai_usage(response.usage))
        if not terminal:
            return
        tally.complete = True
        self._read_output(response.output)
        self._read_status(response)

    def _read_output(self, output: Any) -> None:
        """The items of the last snapshot: what the stream has told already is not told again."""
        self.end()
        for index, item in enumerate(output if isinstance(output, list) else ()):
            known = isinstance(item, dict) and item.get("call_id") and self.tally.calls.has_id(item["call_id"])
            if not known:
                self._read_item(index, item)
        self.end()

    def _read_item(self, key: Any, item: Any) -> None:
        """An item that is whole."""
        if not isinstance(item, dict):
            return
        match item.get("type"):
            case "message":
                self._whole_text_chars += chars(item.get("content"))
                self.tally.spoke = self.tally.spoke or chars(item.get("content")) > 0
            case "reasoning":
                self._whole_thinking_chars += chars(item.get("summary")) + chars(item.get("content"))
            case _:
                self._read_call(key, item)

    def _read_call(self, key: Any, item: Any) -> None:
        kind = item.get("type") if isinstance(item, dict) else None
        if isinstance(kind, str) and kind not in _NO_OUTPUT:
            self.tally.spoke = True
        if not isinstance(kind, str) or kind not in _CALL_INPUTS:
            return
        name = item.get("name") or kind.removesuffix("_call")
        self.tally.calls.open(key, call_id=item.get("call_id") or item.get("id"), name=name)
        self.tally.calls.replace(key, as_text(item.get(_CALL_INPUTS[kind])))

    def _read_status(self, response: _Response) -> None:
        details = response.incomplete_details
        reason = details.get("reason") if isinstance(details, dict) else None
        self.tally.stop(reason or response.status, _STOP_REASONS)
        if self.tally.stop_reason == "end" and len(self.tally.calls):
            self.tally.stop_reason = "tool_calls"


def _key(event: _Event) -> Any:
    if isinstance(event.output_index, int):
        return event.output_index
    named = event.item_id or (event.item.get("id") if isinstance(event.item, dict) else None)
    return named if isinstance(named, str) else None
