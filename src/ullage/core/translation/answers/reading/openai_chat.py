"""Answers of Chat Completions, with the habits of hosts that speak it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.translation.requests.reading.common import as_dict, as_list, as_text
from ullage.core.wire.answers.usage import openai_usage

from .reader import Reader, as_index

if TYPE_CHECKING:
    from ullage.core.content import StopReason
    from ullage.core.translation.answers.events import PartKind
    from ullage.core.wire import Dialect

_STOPS: dict[str, StopReason] = {
    "content_filter": "refusal",
    "error": "error",
    "function_call": "tool_calls",
    "insufficient_system_resource": "error",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
}

_UNNUMBERED = "unnumbered"


class ChatReader(Reader):
    """Text, refusal and thinking come piece by piece; calls by their number, which some hosts leave out or repeat.

    An id that was told before means the same call where its number says no other.
    """

    dialect: Dialect = "openai-chat"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._prose: tuple[PartKind, int] | None = None
        self._proses = 0
        self._calls: dict[Any, int] = {}
        self._ids: dict[Any, str] = {}
        self._told: dict[str, tuple[Any, int]] = {}
        self._unnumbered = 0
        self._last: tuple[Any, int] | None = None

    def read_event(self, name: str | None, payload: dict[str, Any]) -> None:
        """One chunk."""
        self._read(payload, "delta")

    def read_body(self, payload: dict[str, Any]) -> None:
        """One answer."""
        self._read(payload, "message")

    def read_done(self) -> None:
        """After this nothing is told. Some hosts never say why they stop."""
        self.stop = self.stop or ("end" if self.sequence.parts else None)
        self.end()

    def _read(self, payload: dict[str, Any], holder: str) -> None:
        if payload.get("error"):
            self.fail(payload["error"])
            return
        choices = [as_dict(choice) for choice in as_list(payload.get("choices"))]
        if choices:
            self.start(payload.get("id"), payload.get("model"))
        for usage in (payload.get("usage"), as_dict(payload.get("x_groq")).get("usage")):
            if isinstance(usage, dict):
                self.report(openai_usage(usage))
        for choice in choices:
            if not choice.get("index"):
                self._read_choice(choice, as_dict(choice.get(holder)), is_whole=holder == "message")

    def _read_choice(self, choice: dict[str, Any], message: dict[str, Any], *, is_whole: bool) -> None:
        self._speak("reasoning", message.get("reasoning_content") or message.get("reasoning"))
        self._read_content(message.get("content"))
        self._speak("refusal", message.get("refusal"))
        for place, call in enumerate(map(as_dict, as_list(message.get("tool_calls")))):
            self._read_call({**call, "index": place} if is_whole else call)
        if isinstance(message.get("function_call"), dict):
            self._extend(("function_call", 0), "", message["function_call"], custom=False)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.stop = _STOPS.get(reason.lower(), "end")
        if isinstance(choice.get("usage"), dict):
            self.report(openai_usage(choice["usage"]))

    def _read_content(self, content: Any) -> None:
        """A text, or Mistral's blocks."""
        if isinstance(content, str):
            self._speak("text", content)
            return
        for block in map(as_dict, as_list(content)):
            if block.get("type") == "thinking":
                thoughts = as_list(block.get("thinking"))
                self._speak("reasoning", "".join(as_text(as_dict(one).get("text", one)) for one in thoughts))
            else:
                self._speak("text", block.get("text"))

    def _speak(self, kind: PartKind, text: Any) -> None:
        if not isinstance(text, str) or not text:
            return
        if self._prose is None or self._prose[0] != kind:
            self._end_prose()
            self._proses += 1
            self._prose = (kind, self._proses)
        self.say(self._prose, kind, text)

    def _end_prose(self) -> None:
        if self._prose is not None:
            self.sequence.close(self._prose, self.seal() if self._prose[0] == "reasoning" else None)
            self._prose = None

    def _read_call(self, call: dict[str, Any]) -> None:
        custom = isinstance(call.get("custom"), dict)
        asked = as_dict(call.get("custom") if custom else call.get("function"))
        self._extend(self._key(call, asked), call.get("id"), asked, custom=custom)

    def _key(self, call: dict[str, Any], asked: dict[str, Any]) -> Any:
        """A call's key. Where every call is number 0, or none has one, a new id with a name begins a new call."""
        number, call_id = as_index(call.get("index")), as_text(call.get("id"))
        told = self._told.get(call_id)
        if told is not None and (number is None or told[0] in (number, _UNNUMBERED)):
            return told
        key = self._numbered(number, call_id, asked) if number is not None else self._next(call_id, asked)
        if call_id and key is not None:
            self._ids.setdefault(key, call_id)
            self._told.setdefault(call_id, key)
        return key

    def _numbered(self, number: int, call_id: str, asked: dict[str, Any]) -> Any:
        key = (number, self._calls.get(number, 0))
        begins = call_id or asked.get("name") or self._last is None or self._last[0] != _UNNUMBERED
        if not begins and key not in self._ids:
            return self._last
        if call_id and asked.get("name") and self._ids.get(key, call_id) != call_id:
            self._calls[number] = key[1] + 1
            self.sequence.close(key)
            key = (number, key[1] + 1)
        return key

    def _next(self, call_id: str, asked: dict[str, Any]) -> Any:
        """Without a number, what has neither a new id nor a name goes on with the call before."""
        if not call_id and not asked.get("name"):
            return self._last
        self._unnumbered += 1
        return (_UNNUMBERED, self._unnumbered)

    def _extend(self, key: Any, call_id: Any, asked: dict[str, Any], *, custom: bool) -> None:
        self._end_prose()
        self._last = key
        self.open(key, "call", id_=call_id, name=asked.get("name"), custom=custom)
        self.sequence.add(key, as_text(asked.get("input") if custom else asked.get("arguments")))

    def end(self) -> None:
        """Thinking that is still open ends with its seal."""
        if self.stop is not None:
            self._end_prose()
        super().end()
