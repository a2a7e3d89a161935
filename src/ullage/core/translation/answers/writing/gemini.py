"""Answers for clients of Gemini generateContent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.answers.events import AnswerEnd, AnswerStart, Failure, PartDelta, PartEnd, PartStart
from ullage.core.translation.arguments import find_object
from ullage.core.translation.errors import error_value
from ullage.core.translation.sealing import wrap

from .writer import encode

if TYPE_CHECKING:
    from ullage.core.content import StopReason, Usage
    from ullage.core.translation.answers.events import Event, WholeAnswer, WholePart
    from ullage.core.translation.nouns import Seal
    from ullage.core.translation.terms import Terms

_STOPS: dict[StopReason, str] = {"length": "MAX_TOKENS", "refusal": "SAFETY"}
_MALFORMED = "MALFORMED_FUNCTION_CALL"


class GeminiWriter:
    """A call is one part with whole arguments. The seal of thinking goes with the part behind it, as Gemini's own does.

    A call whose arguments are no object is left out: the length ran out amid it, or the answer says that it is malformed.
    """

    def __init__(self, terms: Terms, created_s: int) -> None:
        self._array = terms.array
        self._start = AnswerStart()
        self._part = PartStart(kind="text")
        self._texts: list[str] = []
        self._seal: Seal | None = None
        self._malformed = False
        self._chunks = 0

    def write(self, given: Event) -> bytes:
        """The chunks of an event."""
        match given:
            case AnswerStart():
                self._start = given
                return b""
            case PartStart():
                self._part, self._texts = given, []
                return b""
            case PartDelta(text=text):
                return self._extend(text)
            case PartEnd():
                return self._close(given.seal)
            case AnswerEnd():
                return self._end(given)
            case Failure():
                failed = self._chunk(error_value(given, "gemini"))
                return failed + b"]" if self._array else failed

    def body(self, answer: WholeAnswer) -> bytes:
        """The whole answer."""
        self._start = answer.start
        parts: list[dict[str, Any]] = []
        for part in answer.parts:
            found = self._whole_part(part)
            if found is not None:
                parts.append(found)
        return encode(self._answer(self._with_seal(parts), answer.end))

    def _extend(self, text: str) -> bytes:
        if self._part.kind == "call":
            self._texts.append(text)
            return b""
        return self._chunk(self._answer([self._text(self._part, text)]))

    def _close(self, seal: Seal | None) -> bytes:
        if self._part.kind != "call":
            self._seal = seal or self._seal
            return b""
        found = self._call(self._part, "".join(self._texts))
        return self._chunk(self._answer([found])) if found is not None else b""

    def _end(self, end: AnswerEnd) -> bytes:
        last = self._chunk(self._answer(self._with_seal([]), end))
        return last + b"]" if self._array else last

    def _whole_part(self, part: WholePart) -> dict[str, Any] | None:
        if part.start.kind == "call":
            return self._call(part.start, part.text)
        if not part.text:
            self._seal = part.seal or self._seal
            return None
        written = self._text(part.start, part.text)
        self._seal = part.seal or self._seal
        return written

    def _text(self, start: PartStart, text: str) -> dict[str, Any]:
        return {"text": text, "thought": True} if start.kind == "reasoning" else self._signed({"text": text})

    def _call(self, start: PartStart, text: str) -> dict[str, Any] | None:
        arguments = {"input": text} if start.custom else find_object(text)
        if arguments is None:
            self._malformed = True
            return None
        part: dict[str, Any] = {"functionCall": {"id": start.id, "name": start.name, "args": arguments}}
        return self._signed(part)

    def _with_seal(self, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A seal with nothing behind it stands with an empty text."""
        return parts if self._seal is None else [*parts, self._signed({"text": ""})]

    def _signed(self, part: dict[str, Any]) -> dict[str, Any]:
        seal, self._seal = self._seal, None
        return {**part, "thoughtSignature": wrap(seal, "gemini")} if seal is not None else part

    def _answer(self, parts: list[dict[str, Any]], end: AnswerEnd | None = None) -> dict[str, Any]:
        # Google's own last chunk has an empty text where it has nothing to say.
        candidate: dict[str, Any] = {"content": {"parts": parts or [{"text": ""}], "role": "model"}, "index": 0}
        if end is not None:
            ended = _STOPS.get(end.stop, "STOP")
            candidate["finishReason"] = _MALFORMED if self._malformed and ended == "STOP" else ended
        answer: dict[str, Any] = {"candidates": [candidate]}
        if end is not None and end.usage is not None:
            answer["usageMetadata"] = usage_payload(end.usage)
        return {**answer, "modelVersion": self._start.model, "responseId": self._start.id}

    def _chunk(self, value: dict[str, Any]) -> bytes:
        self._chunks += 1
        if not self._array:
            return b"data: " + encode(value) + b"\r\n\r\n"
        return (b"[" if self._chunks == 1 else b",\r\n") + encode(value)


def usage_payload(usage: Usage) -> dict[str, Any]:
    """Usage in Gemini's words: cached tokens are inside the prompt, thoughts beside the candidates."""
    prompt, output, thoughts = usage.prompt or 0, usage.output or 0, usage.reasoning
    payload = {"promptTokenCount": prompt, "candidatesTokenCount": output, "totalTokenCount": prompt + output}
    if thoughts is not None:
        payload |= {"candidatesTokenCount": max(0, output - thoughts), "thoughtsTokenCount": thoughts}
    return {**payload, "cachedContentTokenCount": usage.cache_read} if usage.cache_read else payload
