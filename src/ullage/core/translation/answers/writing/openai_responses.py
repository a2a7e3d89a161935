"""Answers for clients of OpenAI Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.answers.events import (
    AnswerEnd,
    AnswerStart,
    Failure,
    PartDelta,
    PartEnd,
    PartStart,
    WholePart,
)
from ullage.core.translation.errors import openai_words
from ullage.core.translation.sealing import wrap

from .writer import encode, event, openai_figures

if TYPE_CHECKING:
    from ullage.core.content import StopReason, Usage
    from ullage.core.translation.answers.events import Event, PartKind, WholeAnswer
    from ullage.core.translation.terms import Terms

_INCOMPLETE: dict[StopReason, str] = {"length": "max_output_tokens", "refusal": "content_filter"}
_LEADS: dict[PartKind, str] = {"text": "msg", "refusal": "msg", "reasoning": "rs", "call": "fc"}
_USUAL: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "reasoning": {"effort": None, "summary": None},
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}


class ResponsesWriter:
    """Each part is an item. The last event holds all of them once more, which is what many clients read alone."""

    def __init__(self, terms: Terms, created_s: int) -> None:
        self._terms = terms
        self._created_s = created_s
        self._start = AnswerStart()
        self._number = -1
        self._part = PartStart(kind="text")
        self._texts: list[str] = []
        self._items: list[dict[str, Any]] = []

    def write(self, given: Event) -> bytes:
        """The events of an event."""
        match given:
            case AnswerStart():
                self._start = given
                response = self._response("in_progress")
                return self._event("response.created", response=response) + self._event(
                    "response.in_progress", response=response
                )
            case PartStart():
                return self._open(given)
            case PartDelta(text=text):
                return self._extend(text)
            case PartEnd():
                return self._close(WholePart(start=self._part, text="".join(self._texts), seal=given.seal))
            case AnswerEnd():
                status = "incomplete" if given.stop in _INCOMPLETE else "completed"
                return self._event(f"response.{status}", response=self._response(status, given))
            case Failure():
                return self._fail(given)

    def body(self, answer: WholeAnswer) -> bytes:
        """The whole answer."""
        self._start = answer.start
        for part in answer.parts:
            self._items.append(self._item(part, "completed"))
        status = "incomplete" if answer.end.stop in _INCOMPLETE else "completed"
        return encode(self._response(status, answer.end))

    def _open(self, start: PartStart) -> bytes:
        self._part, self._texts = start, []
        item = self._item(WholePart(start=start, text=""), "in_progress")
        if start.kind in ("text", "refusal"):
            item["content"] = []
        opened = self._event("response.output_item.added", output_index=len(self._items), item=item)
        if start.kind in ("text", "refusal"):
            return opened + self._event("response.content_part.added", **self._place(), part=_content(start, ""))
        return opened

    def _extend(self, text: str) -> bytes:
        first = not self._texts
        self._texts.append(text)
        match self._part.kind:
            case "text":
                return self._event("response.output_text.delta", **self._place(), delta=text, logprobs=[])
            case "refusal":
                return self._event("response.refusal.delta", **self._place(), delta=text)
            case "reasoning":
                opened = b""
                if first:
                    part = {"type": "summary_text", "text": ""}
                    opened = self._event("response.reasoning_summary_part.added", **self._place(), part=part)
                return opened + self._event("response.reasoning_summary_text.delta", **self._place(), delta=text)
            case "call":
                return self._event(f"{self._call_kind}.delta", **self._place(), delta=text)

    def _close(self, part: WholePart) -> bytes:
        item = self._item(part, "completed")
        closed = self._close_part(part)
        done = self._event("response.output_item.done", output_index=len(self._items), item=item)
        self._items.append(item)
        return closed + done

    def _close_part(self, part: WholePart) -> bytes:
        place = self._place()
        match part.start.kind:
            case "text":
                said = self._event("response.output_text.done", **place, text=part.text, logprobs=[])
                return said + self._event("response.content_part.done", **place, part=_content(part.start, part.text))
            case "refusal":
                said = self._event("response.refusal.done", **place, refusal=part.text)
                return said + self._event("response.content_part.done", **place, part=_content(part.start, part.text))
            case "reasoning":
                if not part.text:
                    return b""
                said = self._event("response.reasoning_summary_text.done", **place, text=part.text)
                whole = {"type": "summary_text", "text": part.text}
                return said + self._event("response.reasoning_summary_part.done", **place, part=whole)
            case "call":
                told = {"input": part.text} if part.start.custom else {"arguments": part.text}
                named = {} if part.start.custom else {"name": self._named(part.start)["name"]}
                return self._event(f"{self._call_kind}.done", **place, **named, **told)

    @property
    def _call_kind(self) -> str:
        return "response.custom_tool_call_input" if self._part.custom else "response.function_call_arguments"

    def _fail(self, failure: Failure) -> bytes:
        """Both events that OpenAI has for it: SDKs raise at the first, Codex reads the second."""
        kind, code = openai_words(failure)
        error = {"code": code, "message": failure.message, "param": None}
        told = self._event("error", **error, error={"type": kind, **error})
        response = {
            **self._response("failed"),
            "error": {"code": code or "server_error", "message": failure.message},
        }
        return told + self._event("response.failed", response=response)

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number, **fields}, kind)

    def _place(self) -> dict[str, Any]:
        place: dict[str, Any] = {"item_id": self._item_id(self._part), "output_index": len(self._items)}
        match self._part.kind:
            case "text" | "refusal":
                place["content_index"] = 0
            case "reasoning":
                place["summary_index"] = 0
            case "call":
                pass
        return place

    def _item_id(self, start: PartStart) -> str:
        return f"{_LEADS[start.kind]}_{self._start.id}_{len(self._items)}"

    def _item(self, part: WholePart, status: str) -> dict[str, Any]:
        start = part.start
        item: dict[str, Any] = {"id": self._item_id(start)}
        match start.kind:
            case "text" | "refusal":
                content = [_content(start, part.text)]
                return {**item, "type": "message", "status": status, "role": "assistant", "content": content}
            case "reasoning":
                summary = [{"type": "summary_text", "text": part.text}] if part.text else []
                sealed = wrap(part.seal, "openai-responses") if part.seal is not None else None
                return {**item, "type": "reasoning", "summary": summary, "encrypted_content": sealed}
            case "call":
                return {**item, "status": status, "call_id": start.id, **self._called(part)}

    def _called(self, part: WholePart) -> dict[str, Any]:
        named = self._named(part.start)
        if part.start.custom:
            return {"type": "custom_tool_call", **named, "input": part.text}
        return {"type": "function_call", **named, "arguments": part.text}

    def _named(self, start: PartStart) -> dict[str, str]:
        placed = self._terms.namespaces.get(start.name)
        return {"namespace": placed[0], "name": placed[1]} if placed is not None else {"name": start.name}

    def _response(self, status: str, end: AnswerEnd | None = None) -> dict[str, Any]:
        reason = _INCOMPLETE.get(end.stop) if end is not None else None
        return {
            "id": f"resp_{self._start.id}",
            "object": "response",
            "created_at": self._created_s,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": {"reason": reason} if reason is not None else None,
            **_USUAL,
            **self._terms.echo,
            "model": self._start.model,
            "output": list(self._items),
            "previous_response_id": None,
            "store": False,
            "usage": usage_payload(end.usage) if end is not None and end.usage is not None else None,
        }


def _content(start: PartStart, text: str) -> dict[str, Any]:
    if start.kind == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def usage_payload(usage: Usage) -> dict[str, Any]:
    """Usage in OpenAI's words: cached tokens are inside the input (accounting specification, section 7)."""
    prompt, read, written, output, reasoning = openai_figures(usage)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + output,
    }
