"""What an answer adds up to while it streams: numbers, ids and tool calls, never its text."""

from __future__ import annotations

from typing import Any

from ullage.core.content import Answer, StopReason, ToolCall, Usage

# Arguments are kept for tools that look at them; beyond this much of them in one answer the rest is cut.
ARGUMENTS_LIMIT_CHARS = 1_048_576
CALLS_LIMIT = 4_096
MESSAGE_LIMIT_CHARS = 2_000


class Calls:
    """Tool calls under construction, by whatever key the dialect tells them apart."""

    def __init__(self) -> None:
        self._calls: dict[Any, _Call] = {}
        self._chars = 0

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, key: Any) -> bool:
        return key in self._calls

    def open(self, key: Any, *, call_id: Any = None, name: Any = None) -> None:
        """Begins a call, or adds what is now known of one that has begun."""
        call = self._calls.get(key)
        if call is None:
            if len(self._calls) >= CALLS_LIMIT:
                return
            call = self._calls[key] = _Call()
        if isinstance(call_id, str) and call_id:
            call.id = call_id
        if isinstance(name, str) and name:
            call.name = name

    def add(self, key: Any, arguments: Any) -> None:
        """Appends a piece of a call's arguments."""
        call = self._calls.get(key)
        if call is not None and isinstance(arguments, str):
            piece = arguments[: max(0, ARGUMENTS_LIMIT_CHARS - self._chars)]
            call.arguments.append(piece)
            self._chars += len(piece)

    def replace(self, key: Any, arguments: Any) -> None:
        """The whole arguments, in place of the pieces that came before; an empty text replaces nothing."""
        call = self._calls.get(key)
        if call is not None and isinstance(arguments, str) and arguments:
            self._chars -= sum(len(piece) for piece in call.arguments)
            call.arguments = []
            self.add(key, arguments)

    def id_of(self, key: Any) -> str | None:
        """The id of a call, if it has begun and has one."""
        call = self._calls.get(key)
        return call.id if call is not None else None

    def has_id(self, call_id: Any) -> bool:
        """Whether a call of that id has begun."""
        return any(call.id == call_id for call in self._calls.values())

    def finished(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began."""
        return tuple(
            ToolCall(id=call.id, name=call.name, arguments="".join(call.arguments)) for call in self._calls.values()
        )


class _Call:
    def __init__(self) -> None:
        self.id: str | None = None
        self.name = ""
        self.arguments: list[str] = []


class Tally:
    """The state of one answer; the reader of the dialect writes it, `answer` makes the record.

    `spoke`: something that a client acts on or shows as the answer has begun: text, a call of a tool, a picture. Thinking, pings
    and the head of an answer are none of that (routing specification, section 19).
    """

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.stop_reason: StopReason | None = None
        self.stop_reason_raw: str | None = None
        self.model: str | None = None
        self.response_id: str | None = None
        self.text_chars = 0
        self.thinking_chars = 0
        self.calls = Calls()
        self.complete = False
        self.spoke = False
        self.error_type: str | None = None
        self.error_message: str | None = None

    def say(self, text_chars: int) -> None:
        """So much more visible text has come."""
        self.text_chars += text_chars
        self.spoke = self.spoke or text_chars > 0

    @property
    def says_nothing(self) -> bool:
        """Whether nothing of an answer, nor an error, was found."""
        return not (self.usage or self.stop_reason_raw or self.response_id or self.error_type or len(self.calls))

    def name_model(self, value: Any) -> None:
        """The model that answers; the last name that is not empty holds."""
        if isinstance(value, str) and value:
            self.model = value

    def name_response(self, value: Any) -> None:
        """The id of the response, likewise."""
        if isinstance(value, str) and value:
            self.response_id = value

    def report(self, usage: Usage) -> None:
        """The usage as now reported. One without figures says nothing, and one of zeros takes nothing back."""
        if usage.total is None or (usage.total == 0 and self.usage is not None):
            return
        self.usage = usage

    def stop(self, raw: Any, reasons: dict[str, StopReason]) -> None:
        """The provider's stop reason and ours for it."""
        if isinstance(raw, str) and raw:
            self.stop_reason_raw = raw[:MESSAGE_LIMIT_CHARS]
            self.stop_reason = reasons.get(raw.lower(), "other")

    def fail(self, error: Any) -> None:
        """An error object of any dialect, or an error that is a plain text."""
        if isinstance(error, dict):
            kind = next((error[key] for key in ("type", "status", "code") if error.get(key)), None)
            message = error.get("message")
        else:
            kind, message = None, error
        self.error_type = str(kind)[:MESSAGE_LIMIT_CHARS] if kind is not None else "error"
        self.error_message = message[:MESSAGE_LIMIT_CHARS] if isinstance(message, str) else None

    def answer(self, *, events: int, malformed_events: int) -> Answer:
        """The record of what was seen so far."""
        return Answer(
            usage=self.usage,
            stop_reason=self.stop_reason,
            stop_reason_raw=self.stop_reason_raw,
            model=self.model,
            response_id=self.response_id,
            tool_calls=self.calls.finished(),
            text_chars=self.text_chars,
            thinking_chars=self.thinking_chars,
            complete=self.complete,
            error_type=self.error_type,
            error_message=self.error_message,
            events=events,
            malformed_events=malformed_events,
        )


def chars(value: Any) -> int:
    """Length of a text in code points; of a list of text blocks, all of them together."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(chars(block.get("text")) for block in value if isinstance(block, dict))
    return 0
