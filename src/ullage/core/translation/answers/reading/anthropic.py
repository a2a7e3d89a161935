"""Answers of Anthropic Messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.nouns import REDACTED
from ullage.core.translation.requests.reading.common import as_dict, as_list, as_text
from ullage.core.wire.answers.usage import anthropic_usage
from ullage.core.wire.jsontext import compact

from .reader import Reader, as_index

if TYPE_CHECKING:
    from ullage.core.content import StopReason
    from ullage.core.wire import Dialect

_STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
    "refusal": "refusal",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_calls",
}


class AnthropicReader(Reader):
    """Blocks by the index under which they began last: some hosts leave it out or never count. It ends at `message_stop`, and
    only if anything was said."""

    dialect: Dialect = "anthropic"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._figures: dict[str, Any] = {}
        self._seals: dict[Any, tuple[str, str]] = {}
        self._blocks = 0
        self._keys: dict[int | None, int | None] = {}
        self._inputs: dict[Any, str] = {}

    def read_event(self, name: str | None, payload: dict[str, Any]) -> None:
        """One event."""
        index = as_index(payload.get("index"))
        match payload.get("type", name):
            case "message_start":
                message = as_dict(payload.get("message"))
                self._merge(message.get("usage"))
                self.start(message.get("id"), message.get("model"), self.usage)
            case "content_block_start":
                self._open_block(index, as_dict(payload.get("content_block")))
            case "content_block_delta":
                self._extend_block(self._keys.get(index), as_dict(payload.get("delta")))
            case "content_block_stop":
                self._close_block(self._keys.get(index))
            case "message_delta":
                self._merge(payload.get("usage"))
                self._stop(as_dict(payload.get("delta")))
            case "message_stop":
                for key in {*self._inputs, *self._seals}:
                    self._close_block(key)
                self.stop = self.stop or ("end" if self.sequence.parts else None)
                self.end()
            case "error":
                self.fail(payload.get("error"))

    def read_body(self, payload: dict[str, Any]) -> None:
        """One answer."""
        if payload.get("type") == "error" or payload.get("error"):
            self.fail(payload.get("error"))
            return
        self._merge(payload.get("usage"))
        self.start(payload.get("id"), payload.get("model"), self.usage)
        for index, block in enumerate(as_list(payload.get("content"))):
            self._open_block(index, as_dict(block))
            self._close_block(self._keys.get(index))
        self._stop(payload)
        self.end()

    def _open_block(self, index: int | None, block: dict[str, Any]) -> None:
        """Begins a block, which ends one that is open under the same index."""
        self._close_block(self._keys.get(index))
        self._blocks += 1
        key = self._keys[index] = self._keys[None] = self._blocks
        match block.get("type"):
            case "text":
                self.open(key, "text")
                self.sequence.add(key, as_text(block.get("text")))
                if block.get("citations"):
                    self._lose_citations()
            case "thinking":
                self.open(key, "reasoning")
                self.sequence.add(key, as_text(block.get("thinking")))
                self._seals[key] = (as_text(block.get("signature")), "")
            case "redacted_thinking":
                self.open(key, "reasoning")
                self._seals[key] = (as_text(block.get("data")), REDACTED)
            case "tool_use":
                self._open_call(key, block)
            case kind:
                self.losses.add("not_carried", f"answer.{kind}", "The client's protocol has no such part.")

    def _open_call(self, key: int, block: dict[str, Any]) -> None:
        """Input that stands in the first event of a block counts only if no piece of it follows."""
        self.open(key, "call", id_=block.get("id"), name=block.get("name"))
        if block.get("input"):
            self._inputs[key] = compact(block["input"])

    def _extend_block(self, key: int | None, delta: dict[str, Any]) -> None:
        match delta.get("type"):
            case "signature_delta":
                data, item = self._seals.get(key, ("", ""))
                self._seals[key] = (data + as_text(delta.get("signature")), item)
            case "citations_delta":
                self._lose_citations()
            case _:
                for member in ("text", "thinking", "partial_json"):
                    if text := as_text(delta.get(member)):
                        self._inputs.pop(key, None)
                        self.sequence.add(key, text)

    def _close_block(self, key: int | None) -> None:
        self.sequence.add(key, self._inputs.pop(key, ""))
        sealed = self._seals.pop(key, None)
        self.sequence.close(key, self.seal(*sealed) if sealed is not None else None)

    def _lose_citations(self) -> None:
        self.losses.add("citations", "answer.citations", "The client's protocol does not say what is cited.")

    def _stop(self, told: dict[str, Any]) -> None:
        reason = told.get("stop_reason")
        if isinstance(reason, str) and reason:
            self.stop = _STOPS.get(reason, "end")
            self.stop_sequence = told.get("stop_sequence")

    def _merge(self, figures: Any) -> None:
        """Usage is told at the start and at the end; either may be missing, and a later zero takes nothing back."""
        for key, value in as_dict(figures).items():
            if value is not None and not (value == 0 and self._figures.get(key)):
                self._figures[key] = value
        self.report(anthropic_usage(dict(self._figures)))

    def finish(self) -> None:
        """Without `message_stop` a stream is cut off, whatever it told before."""
        if not self.ended:
            self.stop = None
        super().finish()
