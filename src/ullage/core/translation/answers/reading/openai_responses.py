"""Answers of OpenAI Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.requests.reading.common import as_dict, as_list, as_text
from ullage.core.wire.answers.usage import openai_usage

from .reader import Reader, as_index

if TYPE_CHECKING:
    from ullage.core.content import StopReason
    from ullage.core.translation.answers.events import PartKind
    from ullage.core.wire import Dialect

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


class ResponsesReader(Reader):
    """Items by their place. What no delta told is taken from the item when it is done, or from the last event.

    Some hosts send arguments in the last event of a call only, or no events of items at all (BerriAI/litellm#27144).
    """

    dialect: Dialect = "openai-responses"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._spoken: set[Any] = set()
        self._done: set[Any] = set()
        self._summaries: dict[Any, int | None] = {}

    def read_event(self, name: str | None, payload: dict[str, Any]) -> None:
        """One event."""
        kind = as_text(payload.get("type") or name)
        place = as_index(payload.get("output_index"))
        if kind in _TEXTS:
            self._extend_text(_TEXTS[kind], place, payload)
        elif kind in _ARGUMENTS:
            self._extend_call(place, payload, _ARGUMENTS[kind])
        elif kind == "response.output_item.added":
            self._open_item(place, as_dict(payload.get("item")))
        elif kind == "response.output_item.done":
            self._end_item(place, as_dict(payload.get("item")))
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
        for place, item in enumerate(as_list(response.get("output"))):
            self._end_item(place, as_dict(item))
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

    def _extend_text(self, kind: PartKind, place: Any, payload: dict[str, Any]) -> None:
        key: Any = (place, as_index(payload.get("content_index"), 0)) if kind != "reasoning" else (place, "reasoning")
        number = as_index(payload.get("summary_index"), 0)
        if kind == "reasoning" and key in self._spoken and self._summaries.get(key) != number:
            self.say(key, kind, _PARAGRAPH)
        self._summaries[key] = number
        self._spoken.add(key)
        self.say(key, kind, payload.get("delta"))

    def _extend_call(self, place: Any, payload: dict[str, Any], member: str) -> None:
        """The whole arguments of a last event are added only where no piece of them came before."""
        key = (place, "call")
        if member == "delta" or key not in self._spoken:
            text = as_text(payload.get(member))
            self.sequence.add(key, text)
            if text:
                self._spoken.add(key)

    def _open_item(self, place: Any, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "function_call" | "custom_tool_call" as kind:
                custom = kind == "custom_tool_call"
                key, call_id = (place, "call"), item.get("call_id") or item.get("id")
                self.open(key, "call", id_=call_id, name=item.get("name"), custom=custom)
                self._extend_call(place, item, "input" if custom else "arguments")
            case "reasoning" | "message":
                pass
            case kind:
                self.losses.add("not_carried", f"answer.{kind}", "The client's protocol has no such item.")

    def _end_item(self, place: Any, item: dict[str, Any]) -> None:
        """An item that is whole, once."""
        if place in self._done:
            return
        self._done.add(place)
        match item.get("type"):
            case "message":
                for number, block in enumerate(map(as_dict, as_list(item.get("content")))):
                    kind: PartKind = "refusal" if block.get("type") == "refusal" else "text"
                    self._end_text((place, number), kind, block.get("refusal" if kind == "refusal" else "text"))
                    if block.get("annotations"):
                        self.losses.add(
                            "citations", "answer.annotations", "The client's protocol does not say what is cited."
                        )
            case "reasoning":
                self._end_reasoning(place, item)
            case _:
                if (place, "call") not in self.sequence:
                    self._open_item(place, item)
                self._extend_call(place, item, "input" if item.get("type") == "custom_tool_call" else "arguments")
                self.sequence.close((place, "call"))

    def _end_text(self, key: Any, kind: PartKind, text: Any) -> None:
        if key not in self._spoken:
            self.say(key, kind, text)
        self.sequence.close(key)

    def _end_reasoning(self, place: Any, item: dict[str, Any]) -> None:
        key = (place, "reasoning")
        if key not in self._spoken:
            blocks = [*as_list(item.get("summary")), *as_list(item.get("content"))]
            self.say(key, "reasoning", _PARAGRAPH.join(as_text(as_dict(block).get("text")) for block in blocks))
        if key not in self.sequence and item.get("encrypted_content"):
            self.open(key, "reasoning")
        self.sequence.close(key, self.seal(item.get("encrypted_content"), as_text(item.get("id"))))
