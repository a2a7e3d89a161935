"""Answers of Gemini generateContent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.requests.reading.common import as_dict, as_list, as_text
from ullage.core.wire.answers.usage import gemini_usage
from ullage.core.wire.jsontext import compact
from ullage.core.wire.requests.gemini import pick

from .reader import Reader

if TYPE_CHECKING:
    from ullage.core.content import StopReason
    from ullage.core.translation.answers.events import PartKind
    from ullage.core.wire import Dialect

_STOPS: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "FINISH_REASON_UNSPECIFIED": "end",
    "OTHER": "end",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "UNEXPECTED_TOOL_CALL": "error",
}


class GeminiReader(Reader):
    """Chunks of parts. A signature seals the thinking before the part that carries it; calls come whole and have no ids.

    It ends with the stream, since usage may follow the reason to stop.
    """

    dialect: Dialect = "gemini"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._prose: tuple[PartKind, int] | None = None
        self._count = 0
        self._calls: set[tuple[str, str, str]] = set()
        self._stopped = False

    def read_event(self, name: str | None, payload: dict[str, Any]) -> None:
        """One chunk."""
        if payload.get("error"):
            self.fail(payload["error"])
            return
        self.start(pick(payload, "responseId"), pick(payload, "modelVersion"))
        usage = pick(payload, "usageMetadata")
        if isinstance(usage, dict):
            self.report(gemini_usage(usage))
        self._stopped = self.stop is not None
        for candidate in as_list(payload.get("candidates"))[:1]:
            found = as_dict(candidate)
            for part in as_list(as_dict(found.get("content")).get("parts")):
                self._read_part(as_dict(part))
            reason = pick(found, "finishReason")
            if isinstance(reason, str) and reason:
                self.stop = _STOPS.get(reason, "refusal")
        if pick(as_dict(pick(payload, "promptFeedback")), "blockReason"):
            self.stop = "refusal"

    def read_body(self, payload: dict[str, Any]) -> None:
        """One answer."""
        self.read_event(None, payload)

    def _read_part(self, part: dict[str, Any]) -> None:
        signature = as_text(pick(part, "thoughtSignature"))
        call = pick(part, "functionCall")
        if part.get("thought") is True:
            self._speak("reasoning", as_text(part.get("text")))
            if signature:
                self._end_prose(signature)
            return
        if isinstance(call, dict) and self._is_again(call):
            return
        if signature:
            self._seal_thinking(signature)
        if isinstance(call, dict):
            self._end_prose()
            self._count += 1
            key = ("call", self._count)
            self.open(key, "call", id_=call.get("id"), name=call.get("name"))
            self.sequence.add(key, compact(call.get("args") or {}))
            self.sequence.close(key)
        elif isinstance(part.get("text"), str):
            self._speak("text", part["text"])
        else:
            for name in part:
                self.losses.add("not_carried", f"answer.{name}", "The client's protocol has no such part.")

    def _is_again(self, call: dict[str, Any]) -> bool:
        """Whether the same call came before. One that has no id is taken for a repetition only after the reason to stop."""
        one = (as_text(call.get("id")), as_text(call.get("name")), compact(call.get("args") or {}))
        again = one in self._calls and bool(one[0] or self._stopped)
        self._calls.add(one)
        return again

    def _speak(self, kind: PartKind, text: str) -> None:
        if not text:
            return
        if self._prose is None or self._prose[0] != kind:
            self._end_prose()
            self._count += 1
            self._prose = (kind, self._count)
        self.say(self._prose, kind, text)

    def _seal_thinking(self, signature: str) -> None:
        """Thinking that is still open gets the seal; otherwise it is thinking without a readable text."""
        if self._prose is None or self._prose[0] != "reasoning":
            self._end_prose()
            self._count += 1
            self._prose = ("reasoning", self._count)
            self.open(self._prose, "reasoning")
        self._end_prose(signature)

    def _end_prose(self, signature: str = "") -> None:
        if self._prose is not None:
            self.sequence.close(self._prose, self.seal(signature) if self._prose[0] == "reasoning" else None)
            self._prose = None

    def end(self) -> None:
        """Thinking that is still open ends with its seal."""
        if self.stop is not None:
            self._end_prose()
        super().end()
