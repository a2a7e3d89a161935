"""Answers for clients of Anthropic Messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.answers.events import AnswerEnd, AnswerStart, Failure, PartDelta, PartEnd, PartStart
from ullage.core.translation.arguments import as_object
from ullage.core.translation.errors import error_value
from ullage.core.translation.sealing import wrap

from .writer import encode, event

if TYPE_CHECKING:
    from ullage.core.content import StopReason, Usage
    from ullage.core.translation.answers.events import Event, PartKind, WholeAnswer, WholePart
    from ullage.core.translation.terms import Terms

_STOPS: dict[StopReason, str] = {
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause": "pause_turn",
}
_DELTAS: dict[PartKind, tuple[str, str]] = {
    "text": ("text_delta", "text"),
    "refusal": ("text_delta", "text"),
    "reasoning": ("thinking_delta", "thinking"),
    "call": ("input_json_delta", "partial_json"),
}


class AnthropicWriter:
    """Each part is a block. A refusal in words is text, as Anthropic's models refuse."""

    def __init__(self, terms: Terms, created_s: int) -> None:
        self._index = -1
        self._part = PartStart(kind="text")

    def write(self, given: Event) -> bytes:
        """The events of an event."""
        match given:
            case AnswerStart():
                return _event({"type": "message_start", "message": _message(given, [], None, given.usage)})
            case PartStart():
                self._index += 1
                self._part = given
                return _event({"type": "content_block_start", "index": self._index, "content_block": _opened(given)})
            case PartDelta(text=text):
                kind, field = _DELTAS[self._part.kind]
                return self._delta({"type": kind, field: text})
            case PartEnd(seal=seal):
                signed = b""
                if seal is not None:
                    signed = self._delta({"type": "signature_delta", "signature": wrap(seal, "anthropic")})
                return signed + _event({"type": "content_block_stop", "index": self._index})
            case AnswerEnd():
                delta = {"stop_reason": _STOPS.get(given.stop, "end_turn"), "stop_sequence": given.stop_sequence}
                end = _event({"type": "message_delta", "delta": delta, "usage": usage_payload(given.usage)})
                return end + _event({"type": "message_stop"})
            case Failure():
                return event(error_value(given, "anthropic"), "error")

    def body(self, answer: WholeAnswer) -> bytes:
        """The whole answer."""
        content = [_block(part) for part in answer.parts if part.text or part.start.kind in ("call", "reasoning")]
        message = _message(answer.start, content, _STOPS.get(answer.end.stop, "end_turn"), answer.end.usage)
        return encode({**message, "stop_sequence": answer.end.stop_sequence})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event({"type": "content_block_delta", "index": self._index, "delta": delta})


def _event(data: dict[str, Any]) -> bytes:
    return event(data, data["type"])


def _message(
    start: AnswerStart, content: list[dict[str, Any]], stop: str | None, usage: Usage | None
) -> dict[str, Any]:
    return {
        "id": f"msg_{start.id}",
        "type": "message",
        "role": "assistant",
        "model": start.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage_payload(usage),
    }


def _opened(start: PartStart) -> dict[str, Any]:
    match start.kind:
        case "call":
            return {"type": "tool_use", "id": start.id, "name": start.name, "input": {}}
        case "reasoning":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case _:
            return {"type": "text", "text": ""}


def _block(part: WholePart) -> dict[str, Any]:
    match part.start.kind:
        case "call":
            return {**_opened(part.start), "input": as_object(part.text)}
        case "reasoning":
            signature = wrap(part.seal, "anthropic") if part.seal is not None else ""
            return {"type": "thinking", "thinking": part.text, "signature": signature}
        case _:
            return {"type": "text", "text": part.text}


def usage_payload(usage: Usage | None) -> dict[str, Any]:
    """Usage in Anthropic's words: the input parts lie side by side (accounting specification, section 7)."""
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0}
    return {
        "input_tokens": usage.input_fresh or 0,
        "cache_creation_input_tokens": usage.cache_write or 0,
        "cache_read_input_tokens": usage.cache_read or 0,
        "output_tokens": usage.output or 0,
    }
