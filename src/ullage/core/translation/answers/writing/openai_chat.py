"""Answers for clients of Chat Completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.answers.events import AnswerEnd, AnswerStart, Failure, PartDelta, PartEnd, PartStart
from ullage.core.translation.errors import error_value

from .writer import encode, event, openai_figures

if TYPE_CHECKING:
    from ullage.core.content import StopReason, Usage
    from ullage.core.translation.answers.events import Event, PartKind, WholeAnswer, WholePart
    from ullage.core.translation.terms import Terms

_STOPS: dict[StopReason, str] = {"length": "length", "tool_calls": "tool_calls", "refusal": "content_filter"}
_FIELDS: dict[PartKind, str] = {"text": "content", "reasoning": "reasoning_content", "refusal": "refusal"}
_DONE = b"data: [DONE]\n\n"


class ChatWriter:
    """Thinking goes to `reasoning_content`, where most clients look for it; seals have no place."""

    def __init__(self, terms: Terms, created_s: int) -> None:
        self._terms = terms
        self._created_s = created_s
        self._start = AnswerStart()
        self._part = PartStart(kind="text")
        self._calls = 0

    def write(self, given: Event) -> bytes:
        """The chunks of an event."""
        match given:
            case AnswerStart():
                self._start = given
                return self._chunk({"role": "assistant", "content": ""})
            case PartStart():
                self._part = given
                return self._open_call(given) if given.kind == "call" else b""
            case PartDelta(text=text):
                return self._extend(text)
            case PartEnd():
                return b""
            case AnswerEnd():
                return self._end(given)
            case Failure():
                return event(error_value(given, "openai-chat"))

    def body(self, answer: WholeAnswer) -> bytes:
        """The whole answer."""
        self._start = answer.start
        message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
        for part in answer.parts:
            if part.start.kind == "call":
                message.setdefault("tool_calls", []).append(_call(part))
            elif part.text:
                field = _FIELDS[part.start.kind]
                message[field] = (message.get(field) or "") + part.text
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _STOPS.get(answer.end.stop, "stop"),
        }
        return encode(
            {**self._envelope("chat.completion"), "choices": [choice], "usage": usage_payload(answer.end.usage)}
        )

    def _open_call(self, start: PartStart) -> bytes:
        kind = "custom" if start.custom else "function"
        field = "input" if start.custom else "arguments"
        call = {"index": self._calls, "id": start.id, "type": kind, kind: {"name": start.name, field: ""}}
        self._calls += 1
        return self._chunk({"tool_calls": [call]})

    def _extend(self, text: str) -> bytes:
        if self._part.kind != "call":
            return self._chunk({_FIELDS[self._part.kind]: text})
        inner = {"custom": {"input": text}} if self._part.custom else {"function": {"arguments": text}}
        return self._chunk({"tool_calls": [{"index": self._calls - 1, **inner}]})

    def _end(self, end: AnswerEnd) -> bytes:
        finish = self._chunk({}, _STOPS.get(end.stop, "stop"))
        usage = usage_payload(end.usage)
        if not self._terms.include_usage or usage is None:
            return finish + _DONE
        return finish + event({**self._envelope("chat.completion.chunk"), "choices": [], "usage": usage}) + _DONE

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        body = {**self._envelope("chat.completion.chunk"), "choices": [choice]}
        return event({**body, "usage": None} if self._terms.include_usage else body)

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self._start.id}",
            "object": kind,
            "created": self._created_s,
            "model": self._start.model,
        }


def _call(part: WholePart) -> dict[str, Any]:
    start = part.start
    if start.custom:
        return {"id": start.id, "type": "custom", "custom": {"name": start.name, "input": part.text}}
    return {"id": start.id, "type": "function", "function": {"name": start.name, "arguments": part.text}}


def usage_payload(usage: Usage | None) -> dict[str, Any] | None:
    """Usage in OpenAI's words: cached tokens are inside the prompt (accounting specification, section 7)."""
    if usage is None:
        return None
    prompt, read, written, output, reasoning = openai_figures(usage)
    details = {"cached_tokens": read, **({"cache_write_tokens": written} if written else {})}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
