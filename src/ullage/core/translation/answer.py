"""The answer of a target as the client's own dialect has it: whole, streamed, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.wire.jsontext import BOM, decode
from ullage.core.wire.sse import EVENT_LIMIT_BYTES, SSEDecoder

from .answers.events import AnswerEnd, Event, Failure, PartEnd, collect
from .answers.reading.anthropic import AnthropicReader
from .answers.reading.gemini import GeminiReader
from .answers.reading.openai_chat import ChatReader
from .answers.reading.openai_responses import ResponsesReader
from .answers.tools import ClientTools
from .answers.writing.anthropic import AnthropicWriter
from .answers.writing.gemini import GeminiWriter
from .answers.writing.openai_chat import ChatWriter
from .answers.writing.openai_responses import ResponsesWriter
from .errors import read_error_body, write_error
from .losses import Losses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.core.wire import Dialect, ServerSentEvent

    from .answers.reading.reader import Reader
    from .answers.writing.writer import Writer
    from .losses import Loss
    from .terms import Terms

_READERS: Mapping[Dialect, type[Reader]] = {
    "openai-chat": ChatReader,
    "openai-responses": ResponsesReader,
    "anthropic": AnthropicReader,
    "gemini": GeminiReader,
}
_WRITERS: Mapping[Dialect, type[Writer]] = {
    "openai-chat": ChatWriter,
    "openai-responses": ResponsesWriter,
    "anthropic": AnthropicWriter,
    "gemini": GeminiWriter,
}
_SPACE = b" \t\r\n"
# First bytes that no event stream has, but every JSON answer and HTML page.
_BODY_STARTS = (b"{", b"[", b"<")
_DONE = b"[DONE]"
_UNREADABLE = "The provider's answer cannot be read."


class AnswerTranslator:
    """One answer: either `whole`, or `feed` as the bytes of a stream come and `finish` when there are no more.

    `source` is the dialect of the target, `to` that of the client, `terms` are those of the translated request. `request_id`
    makes the ids that a provider does not give, `now_ms` (epoch) is when the answer was made. The bytes must be decompressed.

    Afterwards, `complete` says whether the answer ended as it should, `failure` what it failed by, `status` what HTTP status the
    client is to get with a whole body, and `dropped` what of the answer the client is not told.
    """

    def __init__(self, source: Dialect, to: Dialect, *, terms: Terms, request_id: str, now_ms: int) -> None:
        self.status = 200
        self.complete = False
        self.failure: Failure | None = None
        self._to = to
        self._losses = Losses()
        self._reader = _READERS[source](terms.model, request_id, self._losses)
        self._writer = _WRITERS[to](terms, now_ms // 1_000)
        self._tools = ClientTools(terms)
        self._decoder = SSEDecoder()
        self._head: list[bytes] = []
        self._head_bytes = 0
        self._streams: bool | None = None

    @property
    def dropped(self) -> tuple[Loss, ...]:
        """What of the answer the client is not told, so far."""
        return self._losses.found()

    def whole(self, status: int, body: bytes) -> bytes:
        """A whole answer, or the error that came in its place, for the client."""
        self.status = status
        if status >= 400:
            self.failure = read_error_body(status, body)
            return write_error(self.failure, self._to)
        self._read_body(body)
        events = [*self._tools.translate(self._reader.take())]
        found = collect(events)
        if isinstance(found, Failure):
            self.failure, self.status = found, found.status
            return write_error(found, self._to)
        for event in events:
            self._note(event)
        return self._writer.body(found)

    def feed(self, chunk: bytes) -> bytes:
        """What the client is sent for the next bytes of a stream, cut anywhere."""
        if self._streams is None:
            chunk = self._settle_form(chunk)
        if self._streams:
            self._read_events(self._decoder.feed(chunk))
        elif self._streams is False and chunk:
            self._keep(chunk)
        return self._write()

    def finish(self) -> bytes:
        """What the client is sent when the stream is over. One that was cut off ends with an error, never as if it were whole."""
        if self._streams is False:
            self._read_body(b"".join(self._head))
        else:
            self._read_events(self._decoder.close())
            self._reader.finish()
        self._head = []
        return self._write()

    def _settle_form(self, chunk: bytes) -> bytes:
        """Holds bytes back until the first that is no white space tells a stream from a body (an error, a page of a proxy)."""
        head = b"".join([*self._head, chunk])
        start = head.removeprefix(BOM).lstrip(_SPACE)
        if not start or BOM.startswith(head):
            self._head = [head] if BOM.startswith(head) else []
            return b""
        self._head = []
        self._streams = not start.startswith(_BODY_STARTS)
        return head

    def _keep(self, chunk: bytes) -> None:
        self._head_bytes += len(chunk)
        if self._head_bytes <= EVENT_LIMIT_BYTES:
            self._head.append(chunk)

    def _read_events(self, events: Iterable[ServerSentEvent]) -> None:
        for event in events:
            data = event.data.strip()
            if data == _DONE:
                self._reader.read_done()
            elif data and self._reader.failure is None and not self._reader.ended:
                payload = decode(data)
                if isinstance(payload, dict):
                    self._reader.read_event(event.event, payload)
                else:
                    # A piece of the answer is lost with it, so the rest cannot be trusted.
                    self._reader.fail(_UNREADABLE, 502)
        if self._decoder.dropped:
            self._reader.fail(_UNREADABLE, 502)

    def _read_body(self, body: bytes) -> None:
        payload: Any = decode(body.strip(_SPACE))
        if isinstance(payload, dict):
            self._reader.read_body(payload)
        elif isinstance(payload, list) and payload and all(isinstance(one, dict) for one in payload):
            for chunk in payload:  # Gemini's stream without `alt=sse`
                self._reader.read_event(None, chunk)
        else:
            self._reader.fail(_UNREADABLE, 502)
        self._reader.finish()

    def _write(self) -> bytes:
        written = []
        for event in self._tools.translate(self._reader.take()):
            if self.failure is None and not self.complete:
                written.append(self._writer.write(event))
                self._note(event)
        return b"".join(written)

    def _note(self, event: Event) -> None:
        if isinstance(event, PartEnd) and event.seal is not None and event.seal.data and self._to == "openai-chat":
            self._losses.add(
                "reasoning_seal", "answer.reasoning", "The client's protocol has no place for the seal of reasoning."
            )
        if isinstance(event, Failure):
            self.failure = event
        elif isinstance(event, AnswerEnd):
            self.complete = True
