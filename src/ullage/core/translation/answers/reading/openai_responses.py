"""Answers of OpenAI Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.requests.reading.common import as_dict, as_list, as_text
from ullage.core.wire.answers.usage import openai_usage

from .items import Items
from .reader import Reader, as_index

if TYPE_CHECKING:
    from ullage.core.content import StopReason
    from ullage.core.translation.answers.events import PartKind
    from ullage.core.wire import Dialect

    from .items import Item, ItemKind

_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed", "response.done"})
_TEXTS: dict[str, PartKind] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}
_ARGUMENTS = {
    "response.function_call_arguments.delta": "delta",
    "response.custom_tool_call_input.delta": "delta",
    "response.function_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
}
_REASONS: dict[str, StopReason] = {"content_filter": "refusal"}
_PARAGRAPH = "\n\n"
_CALL = "call"


class ResponsesReader(Reader):
    """Items, each told once. What no delta told is taken from the item when it is done, or from the last event.

    Some hosts send arguments in the last event of a call only, or no events of items at all (BerriAI/litellm#27144).
    """

    dialect: Dialect = "openai-responses"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._items = Items()
        self._summaries: dict[Any, int | None] = {}

    def read_event(self, name: str | None, payload: dict[str, Any]) -> None:
        """One event."""
        kind = as_text(payload.get("type") or name)
        place = as_index(payload.get("output_index"))
        item, item_id = as_dict(payload.get("item")), as_text(payload.get("item_id"))
        if kind in _TEXTS:
            part = _TEXTS[kind]
            told: ItemKind = "reasoning" if part == "reasoning" else "message"
            self._extend_text(part, self._items.of_delta(told, item_id, place), payload)
        elif kind in _ARGUMENTS:
            self._extend_call(self._items.of_delta("call", item_id, place), payload, _ARGUMENTS[kind])
        elif kind == "response.output_item.added":
            self._open_item(self._items.of_event(item, place, begins=True), item)
        elif kind == "response.output_item.done":
            self._end_item(self._items.of_event(item, place, begins=False), item)
        elif kind == "error":
            self.fail(payload.get("error") or payload)
        elif isinstance(payload.get("response"), dict):
            self._read_response(payload["response"], terminal=kind in _TERMINAL)

    def read_body(self, payload: dict[str, Any]) -> None:
        """One response."""
        self._read_response(payload, terminal=True)

    def _read_response(self, response: dict[str, Any], *, terminal: bool) -> None:
        if response.get("error"):
            self.fail(response["error"])
            return
        self.start(response.get("id"), response.get("model"))
        if isinstance(response.get("usage"), dict):
            self.report(openai_usage(response["usage"]))
        if not terminal:
            return
        output = [as_dict(item) for item in as_list(response.get("output"))]
        for found, item in zip(self._items.of_output(output), output, strict=True):
            self._end_item(found, item)
        self._stop(response)
        self.end()

    def _stop(self, response: dict[str, Any]) -> None:
        match response.get("status"):
            case "completed":
                self.stop = "end"
            case "incomplete":
                reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
                self.stop = _REASONS.get(reason, "length")
            case "failed" | "cancelled":
                self.stop = "error"
            case _:
                self.stop = "end" if self.sequence.parts else None

    def _extend_text(self, kind: PartKind, item: Item, payload: dict[str, Any]) -> None:
        part = "reasoning" if kind == "reasoning" else as_index(payload.get("content_index"), 0)
        key = (item.number, part)
        number = as_index(payload.get("summary_index"), 0)
        if kind == "reasoning" and part in item.spoken and self._summaries.get(key) != number:
            self.say(key, kind, _PARAGRAPH)
        self._summaries[key] = number
        item.spoken.add(part)
        self.say(key, kind, payload.get("delta"))

    def _extend_call(self, item: Item, payload: dict[str, Any], member: str) -> None:
        """The whole arguments of a last event are added only where no piece of them came before."""
        key, text = (item.number, _CALL), as_text(payload.get(member))
        if key not in self.sequence:
            # Without its first pieces a call is told by its whole arguments alone.
            item.is_partial = True
        elif text.strip() not in ("", "{}") and (
            _CALL not in item.spoken if member != "delta" else not item.is_partial
        ):
            self.sequence.add(key, text)
            item.spoken.add(_CALL)

    def _open_item(self, found: Item, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "function_call" | "custom_tool_call" as kind:
                custom = kind == "custom_tool_call"
                key, call_id = (found.number, _CALL), item.get("call_id") or item.get("id")
                self.open(key, "call", id_=call_id, name=item.get("name"), custom=custom)
                self._extend_call(found, item, "input" if custom else "arguments")
            case "reasoning" | "message":
                pass
            case kind:
                self.losses.add("not_carried", f"answer.{kind}", "The client's protocol has no such item.")

    def _end_item(self, found: Item, item: dict[str, Any]) -> None:
        """An item that is whole, once."""
        if found.done:
            return
        found.done = True
        match item.get("type"):
            case "message":
                self._end_message(found, item)
            case "reasoning":
                self._end_reasoning(found, item)
            case _:
                self._open_item(found, item)
                self.sequence.close((found.number, _CALL))

    def _end_message(self, found: Item, item: dict[str, Any]) -> None:
        """What is left of its parts is said: some hosts count them otherwise in pieces than in the whole."""
        blocks = [as_dict(block) for block in as_list(item.get("content"))]
        is_told = len(found.spoken) >= len(blocks)
        for number, block in enumerate(blocks):
            kind: PartKind = "refusal" if block.get("type") == "refusal" else "text"
            if not is_told and number not in found.spoken:
                self.say((found.number, number), kind, block.get("refusal" if kind == "refusal" else "text"))
            if block.get("annotations"):
                self.losses.add("citations", "answer.annotations", "The client's protocol does not say what is cited.")
        for part in {*found.spoken, *range(len(blocks))}:
            self.sequence.close((found.number, part))

    def _end_reasoning(self, found: Item, item: dict[str, Any]) -> None:
        key = (found.number, "reasoning")
        if "reasoning" not in found.spoken:
            blocks = [*as_list(item.get("summary")), *as_list(item.get("content"))]
            self.say(key, "reasoning", _PARAGRAPH.join(as_text(as_dict(block).get("text")) for block in blocks))
        if key not in self.sequence and item.get("encrypted_content"):
            self.open(key, "reasoning")
        self.sequence.close(key, self.seal(item.get("encrypted_content"), as_text(item.get("id"))))
