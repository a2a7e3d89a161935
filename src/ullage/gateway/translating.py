"""Answers of targets that speak another protocol than their client, in the client's own while they come.

Their requests were translated before they left (`ullage.engine.translating`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.errors import UpstreamError
from ullage.core.translation import AnswerTranslator
from ullage.engine.encoding import ANSWER_LIMIT_BYTES, make_decoder

from .aside import work_aside
from .headers import answer_headers, losses_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.translation import Loss, TranslatedRequest
    from ullage.engine import Endpoint, Exchange
    from ullage.engine.encoding import Decoder
    from ullage.upstream import Headers

    from .relay import End, Incoming, Send

# What means the same to all clients; limits and ids of other providers would be taken for those of the client's own.
_KEPT = frozenset({b"retry-after", b"retry-after-ms", b"x-should-retry", b"date", b"cache-control"})
MOST_BYTES = 64 * 1024 * 1024
"""The longest answer that is no stream: it is held whole."""

_FIRST_ERROR = 400
_UNREADABLE = 502


def settle_stream(translated: TranslatedRequest | None, endpoint: Endpoint, query: str) -> TranslatedRequest | None:
    """The same with what the client's address says of its stream: Gemini's is one JSON array where it does not ask for events."""
    if (
        translated is None
        or endpoint.dialect != "gemini"
        or not translated.terms.stream
        or "alt=sse" in query.split("&")
    ):
        return translated
    return replace(translated, terms=replace(translated.terms, array=True))


class TranslatedAnswer:
    """The answer of a target as its client gets it: `feed` with the bytes as they come, `finish` at their end.

    `status` and `headers` are those of the target's answer. Where it `streams`, the client may have the head at once and each
    piece as it comes; else there is nothing to send before the end, and `head` is settled by then.
    """

    def __init__(self, translated: TranslatedRequest, exchange: Exchange, status: int, headers: Headers) -> None:
        terms = translated.terms
        self.streams = terms.stream and status < _FIRST_ERROR
        self._kind = b"text/event-stream" if self.streams and not terms.array else b"application/json"
        self._status = status
        self._kept = [pair for pair in answer_headers(headers, status) if pair[0] in _KEPT]
        self._decode = _make_decoder(headers)
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._told = translated.dropped
        self._translator = AnswerTranslator(
            exchange.dialect,
            exchange.endpoint.dialect,
            terms=terms,
            request_id=exchange.id,
            now_ms=exchange.created_ms,
        )

    @property
    def complete(self) -> bool:
        """Whether the answer ended as it should."""
        return self._translator.complete

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be made of what is still to come: it cannot be read, is far too long, or a stream has failed."""
        return self._decode is None or self._translator.failure is not None

    @property
    def held_bytes(self) -> int:
        """How much of it `finish` has still to translate, decompressed; nothing of a stream."""
        return self._body_bytes

    @property
    def dropped(self) -> Sequence[Loss]:
        """What of the answer the client is not told."""
        return self._translator.dropped

    def feed(self, chunk: bytes) -> bytes:
        """What the client is sent for the next bytes of the target."""
        return b"".join(map(self._take, self._plain(chunk)))

    def finish(self) -> bytes:
        """What the client is sent when no more comes. An answer that was cut off, or cannot be read, ends with an error."""
        if self.streams:
            return self._translator.finish()
        status = self._status if self._decode is not None else max(self._status, _UNREADABLE)
        body = self._translator.whole(status, b"".join(self._body))
        self._status = self._translator.status
        self._body = [body]
        return body

    def head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Status and headers for the client; of an answer that does not stream once it is finished."""
        told = losses_header((*self._told, *(() if self.streams else self.dropped)))
        headers = [(b"content-type", self._kind), *self._kept, *told]
        if not self.streams:
            headers.append((b"content-length", str(len(self._body[0])).encode()))
        return self._status, headers

    def _take(self, plain: bytes) -> bytes:
        if self.streams:
            return self._translator.feed(plain)
        self._body_bytes += len(plain)
        if self._body_bytes > MOST_BYTES:
            self._body, self._decode = [], None
        else:
            self._body.append(plain)
        return b""

    def _plain(self, chunk: bytes) -> Iterator[bytes]:
        """The bytes without their content encoding, in pieces; nothing behind any that is not what it claims."""
        if self._decode is None:
            return
        try:
            yield from self._decode(chunk)
        except ValueError:
            self._decode = None


def _make_decoder(headers: Headers) -> Decoder | None:
    coding = dict(answer_headers(headers)).get(b"content-encoding", b"").decode("latin-1")
    try:
        return make_decoder(coding, ANSWER_LIMIT_BYTES)
    except ValueError:
        return None


async def relay_translated(
    response: Incoming,
    send: Send,
    exchange: Exchange,
    extra: list[tuple[bytes, bytes]],
    translated: TranslatedRequest,
) -> End:
    """Relays one answer whose head has arrived, translated for its client; the observer sees what the target said.

    Says how it ended. A stream that broke is told to be broken, in the client's own words.
    """
    answer = TranslatedAnswer(translated, exchange, response.status, response.headers)
    exchange.answer_began(response.status, answer_headers(response.headers, response.status))
    end: End = "whole"
    try:
        if answer.streams:
            await _begin(send, answer, extra)
        try:
            while not answer.is_lost and (chunk := await response.read()):
                exchange.answer_chunk(chunk)
                if piece := await work_aside(partial(answer.feed, chunk), len(chunk)):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        except UpstreamError:
            end = "cut"
        rest = await work_aside(answer.finish, answer.held_bytes)
        if not answer.streams:
            await _begin(send, answer, extra)
    except BaseException:
        response.abort()
        raise
    if end == "cut" or answer.is_lost:
        response.abort()
    else:
        response.release()
    exchange.losses += answer.dropped
    await send({"type": "http.response.body", "body": rest, "more_body": False})
    return end


async def _begin(send: Send, answer: TranslatedAnswer, extra: list[tuple[bytes, bytes]]) -> None:
    status, headers = answer.head()
    await send({"type": "http.response.start", "status": status, "headers": headers + extra})
