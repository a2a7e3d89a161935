"""The answer of one target while nobody has got anything of it: looked at as it comes, and held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.health import AnswerWatch, Chunk, Ended, connection_failure
from ullage.engine.encoding import ANSWER_LIMIT_BYTES, make_decoder

from .aside import work_aside
from .headers import answer_headers

if TYPE_CHECKING:
    from ullage.core.errors import UpstreamError
    from ullage.core.wire import Dialect
    from ullage.engine.departure import Departure
    from ullage.engine.encoding import Decoder
    from ullage.upstream import Headers, UpstreamResponse

MOST_HELD_BYTES = 16 * 1024 * 1024
"""An answer that is longer is passed on as it is, whatever it says: no request may take more memory."""


class Heard:
    """One attempt: `begin` with the head of its answer, then `hear` piece by piece. What was held back is read again after that,
    and then what is still to come. `error` is why no answer began, or why it broke. Unless it `holds`, every piece counts as
    output: there is nobody else to be asked."""

    def __init__(self, departure: Departure, number: int, *, holds: bool) -> None:
        self.departure = departure
        self.number = number
        self._holds = holds
        self.error: UpstreamError | None = None
        self.whole = False
        """Whether all of it is there."""
        self._response: UpstreamResponse | None = None
        self._watch: AnswerWatch | None = None
        self._decode: Decoder | None = None
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._plain_bytes = 0

    @property
    def status(self) -> int:
        """That of the answer; 0 where none has begun."""
        return self._response.status if self._response is not None else 0

    @property
    def headers(self) -> Headers:
        """Those of the answer."""
        return self._response.headers if self._response is not None else ()

    def begin(self, response: UpstreamResponse, dialect: Dialect) -> None:
        """The head of an answer in this dialect has arrived."""
        self._response = response
        headers = dict(answer_headers(response.headers))
        streamed = headers.get(b"content-type", b"").startswith(b"text/event-stream")
        self._watch = AnswerWatch(dialect, response.status, streamed=streamed)
        try:
            self._decode = make_decoder(headers.get(b"content-encoding", b"").decode("latin-1"), ANSWER_LIMIT_BYTES)
        except ValueError:
            self._decode = None

    async def hear(self) -> Chunk | Ended:
        """The next piece. Raises `UpstreamError` where the answer breaks."""
        assert self._response is not None and self._watch is not None, "it has begun"
        chunk = await self._response.read()
        if not chunk:
            self.whole = True
            return await self._judge(self._watch)
        self._held.append(chunk)
        self._held_bytes += len(chunk)
        sign = self._look(chunk, self._watch)
        if sign == "failure" and self._holds:
            return await self._judge(self._watch)
        return Chunk(sign == "output" or not self._holds or self._held_bytes > MOST_HELD_BYTES)

    def broke(self, error: UpstreamError) -> Ended:
        """No answer has begun, or it has broken."""
        self.error = error
        if self._watch is None:
            return Ended(connection_failure(error.code, error.message))
        return Ended(self._watch.close(cut=True))

    async def read(self) -> bytes:
        """The bytes of the answer from its beginning, as `UpstreamResponse.read` gives them."""
        if self._held:
            held, self._held = b"".join(self._held), []
            return held
        return b"" if self.whole or self._response is None else await self._response.read()

    def close(self) -> None:
        """Nothing more is wanted of the answer; what is held can still be read."""
        if self.whole:
            self.release()
        else:
            self.abort()

    def release(self) -> None:
        """As `UpstreamResponse.release`."""
        if self._response is not None:
            self._response.release()

    def abort(self) -> None:
        """As `UpstreamResponse.abort`."""
        if self._response is not None:
            self._response.abort()

    async def _judge(self, watch: AnswerWatch) -> Ended:
        return Ended(await work_aside(watch.close, self._plain_bytes))

    def _look(self, chunk: bytes, watch: AnswerWatch) -> str:
        """What is known of the answer; one that cannot be decoded is not ours to judge."""
        if self._decode is None:
            return "output"
        sign = "nothing"
        try:
            for plain in self._decode(chunk):
                self._plain_bytes += len(plain)
                sign = watch.feed(plain)
        except ValueError:
            self._decode = None
            return "output"
        return sign
