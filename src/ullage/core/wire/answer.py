"""Answers out of bytes: one reader for all dialects, streamed or not, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .answers.anthropic import AnthropicReader
from .answers.gemini import GeminiReader
from .answers.openai_chat import ChatReader
from .answers.openai_responses import ResponsesReader
from .answers.usage import anthropic_usage, gemini_usage, openai_usage
from .jsontext import BOM, decode
from .sse import EVENT_LIMIT_BYTES, ServerSentEvent, SSEDecoder

if TYPE_CHECKING:
    from ullage.core.content import Answer, Usage

    from .answers.reader import DialectReader
    from .conversation import Dialect

_SPACE = b" \t\r\n"
# First bytes that no event stream has, but every JSON answer and HTML page.
_BODY_STARTS = (b"{", b"[", b"<")
_STREAM_STARTS = (b"data:", b"event:", b":", b"id:", b"retry:")
_DONE = b"[DONE]"
_ODD_INPUT = (msgspec.MsgspecError, RecursionError, ValueError)


_READERS: dict[Dialect, type[DialectReader]] = {
    "openai-chat": ChatReader,
    "openai-responses": ResponsesReader,
    "anthropic": AnthropicReader,
    "gemini": GeminiReader,
}


class AnswerReader:
    """Feed it the decompressed bytes of one answer as they come; `close` gives the record. It never raises.

    `streamed` says what the headers promise. A body where a stream was promised (an error, a page of some proxy) is recognised
    by its first byte, a stream where a body was promised by its first line. Kept are numbers, ids and tool calls; a body is kept
    up to 64 MiB, since it can be read only whole.
    """

    def __init__(self, dialect: Dialect, *, streamed: bool) -> None:
        self._reader = _READERS[dialect]()
        self._decoder = SSEDecoder()
        self._streamed: bool | None = None if streamed else False
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._too_long = False
        self._events = 0
        self._malformed = 0
        self._answer: Answer | None = None

    def feed(self, chunk: bytes) -> None:
        """The next bytes, cut anywhere."""
        if self._streamed is None:
            chunk = self._settle_form(chunk)
        if self._streamed:
            self._read_events(self._decoder.feed(chunk))
        elif chunk:
            self._keep(chunk)

    @property
    def spoke(self) -> bool:
        """Whether text, a call of a tool or a picture has begun; what comes as one body, speaks when it is whole."""
        return self._reader.tally.spoke

    @property
    def failed(self) -> bool:
        """Whether the provider has told of an error in what came so far."""
        return self._reader.tally.error_type is not None

    def close(self) -> Answer:
        """The record of the answer as far as it came. Calling it again gives the same."""
        if self._answer is None:
            self._finish()
            self._answer = self._reader.tally.answer(
                events=self._events, malformed_events=self._malformed + self._decoder.dropped
            )
        return self._answer

    def _settle_form(self, chunk: bytes) -> bytes:
        """Holds bytes back until the first that is no white space tells a stream from a body."""
        head = b"".join([*self._body, chunk])
        start = head.removeprefix(BOM).lstrip(_SPACE)
        if not start or BOM.startswith(head):
            # White space is of no use to either form: kept, it would be looked at again with every chunk.
            self._body = [head] if BOM.startswith(head) else []
            return b""
        self._body = []
        self._streamed = not start.startswith(_BODY_STARTS)
        return head

    def _keep(self, chunk: bytes) -> None:
        self._body_bytes += len(chunk)
        if self._body_bytes > EVENT_LIMIT_BYTES:
            self._too_long = True
            self._body = []
        elif not self._too_long:
            self._body.append(chunk)

    def _read_events(self, events: list[ServerSentEvent]) -> None:
        for event in events:
            self._events += 1
            if event.data.strip() == _DONE:
                self._reader.read_done()
                continue
            try:
                self._reader.read_event(event.event, event.data)
            except _ODD_INPUT:
                self._malformed += 1

    def _finish(self) -> None:
        if self._streamed:
            self._read_events(self._decoder.close())
            self._reader.end()
            return
        body = b"".join(self._body).removeprefix(BOM).strip(_SPACE)
        self._body = []
        if body.startswith(_STREAM_STARTS):
            self._read_events([*self._decoder.feed(body), *self._decoder.close()])
            self._reader.end()
        elif body or self._too_long:
            self._read_body(body)

    def _read_body(self, body: bytes) -> None:
        tally = self._reader.tally
        try:
            if self._too_long:
                raise ValueError(f"an answer over {EVENT_LIMIT_BYTES} bytes is not kept")
            self._reader.read_body(body)
        except _ODD_INPUT:
            problem = _foreign_problem(body)
            self._malformed += problem is None
            tally.complete = problem is not None
            tally.fail(problem or {"type": "unreadable_answer", "message": body.decode("utf-8", "replace")})
        else:
            problem = _foreign_problem(body) if tally.says_nothing else None
            if problem is not None:
                tally.fail(problem)


def _foreign_problem(body: bytes) -> Any:
    """The error in a body that is not of the dialect: a list with one (Google), `detail` (FastAPI), `message` alone."""
    value = decode(body)
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return None
    problem = value.get("error") or value.get("detail")
    return problem or (value if isinstance(value.get("message"), str) else None)


def read_answer(body: bytes, dialect: Dialect) -> Answer:
    """The record of an answer that came whole, streamed or not."""
    reader = AnswerReader(dialect, streamed=False)
    reader.feed(body)
    return reader.close()


def read_usage(payload: dict[str, Any], dialect: Dialect) -> Usage:
    """A usage object of the dialect (`usageMetadata` for Gemini) in disjoint parts; never raises."""
    match dialect:
        case "anthropic":
            return anthropic_usage(payload)
        case "gemini":
            return gemini_usage(payload)
        case "openai-chat" | "openai-responses":
            return openai_usage(payload)
