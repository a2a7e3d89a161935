"""One request and its answer while they pass: what the relay notes down, quickly, for the observer to read beside it."""

from __future__ import annotations

from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.health import Failure, connection_failure

from .marks import UNMARKED, Marks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage.core.translation import Loss
    from ullage.core.wire import Dialect
    from ullage.upstream import Headers

    from .endpoint import Endpoint
    from .targets import Targets

NO_WINDOWS: Mapping[str, int] = MappingProxyType({})
"""A client that keeps to no window of its own that we know of."""

# A long answer is handed over in pieces of this size, so that an open stream holds no more.
_PIECE_BYTES = 64 * 1024
# A longer list of models is passed on and not read, and of a longer answer that is not recorded the cost stays unknown.
_KEPT_BYTES = 4 * 1024 * 1024
# Warnings of answers that we ended ourselves.
_OURS = frozenset({"daemon_stopped", "request_timeout"})


class GivenUp(Struct, frozen=True, kw_only=True):
    """An attempt of a request that nothing came of. `asked_ms` is when the target was asked, `at_ms` when it was given up, epoch
    milliseconds; `first_ms` how long it took to begin; `headers` are those of its answer, if there was one."""

    target: str
    provider: str
    failure: Failure
    status: int | None
    headers: dict[bytes, bytes]
    asked_ms: int
    at_ms: int
    first_ms: float | None


class Exchange:
    """What passes in one exchange. Written by the relay on the event loop, read by the observer after it was handed over."""

    __slots__ = (
        "_clock",
        "_hand_over",
        "_pending",
        "_pending_bytes",
        "_recorded",
        "answer_bytes",
        "answer_headers",
        "arrivals",
        "asked",
        "asked_ms",
        "body",
        "created_ms",
        "dialect",
        "endpoint",
        "failure",
        "first_byte_ms",
        "first_output_ms",
        "headers",
        "id",
        "kept",
        "last_ms",
        "looked_at",
        "losses",
        "managed",
        "marks",
        "outcome",
        "own_status",
        "planned",
        "provider",
        "request_bytes",
        "root",
        "routable",
        "sealed",
        "started",
        "status",
        "summarizable",
        "targets",
        "warnings",
        "watched",
        "windows",
    )

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - the record's own word
        endpoint: Endpoint,
        headers: Mapping[str, str],
        body: bytes,
        root: str,
        provider: str,
        created_ms: int,
        clock: Callable[[], float],
        hand_over: Callable[[Exchange, bytes], None],
        planned: bool = False,
        cleared: bool = False,
        routable: bool = False,
        sealed: bool = False,
        watched: bool = False,
        summarizable: bool = False,
        targets: Targets | None = None,
        marks: Marks = UNMARKED,
        windows: Mapping[str, int] = NO_WINDOWS,
    ) -> None:
        self.id = id
        self.endpoint = endpoint
        self.headers = headers
        self.body: bytes | None = body
        # Where it goes, and what is spoken there; a route changes them before it is sent.
        self.root = root
        self.provider = provider
        self.dialect = endpoint.dialect
        self.created_ms = created_ms
        # When the target was asked that answers: later than the request, where others were asked before.
        self.asked_ms = created_ms
        self.request_bytes = len(body)
        self.answer_bytes = 0
        self.answer_headers: dict[bytes, bytes] = {}
        self.status: int | None = None
        # That of an error of ours.
        self.own_status: int | None = None
        self.first_byte_ms: float | None = None
        # When the first text or call of a tool of a stream passed, which is known once it was read; until then when each piece of
        # it did, by where the piece ends.
        self.first_output_ms: float | None = None
        self.arrivals: deque[tuple[int, float]] = deque()
        self.last_ms: float = 0.0
        # Whether the request is planned, and whether it is looked at before it is sent, be it for that, for privacy, or because
        # it may name a model that stands for the router.
        self.planned = planned
        self.looked_at = planned or cleared
        self.routable = routable
        # Whether it may hold reasoning that a target of another protocol gave its client.
        self.sealed = sealed
        # Whether a limit of what may be spent may hold for it.
        self.watched = watched
        # Among whom is chosen for it, where that is not for us to say.
        self.targets = targets
        # What its sender says of it beside its bytes, and the windows that he keeps to, by target.
        self.marks = marks
        self.windows = windows
        # Whether it may ask for a summary that another model than it names may write.
        self.summarizable = summarizable
        self.managed = planned or cleared or routable or sealed or watched or summarizable
        self.outcome = "error"
        # Why no answer came, as far as that is the target's fault.
        self.failure: Failure | None = None
        # Whether a target was asked of which is not noted yet what came of it.
        self.asked = False
        self.warnings: list[str] = []
        # What of the answer its client was not told, for want of words in its protocol.
        self.losses: list[Loss] = []
        self.started = clock()
        self._clock = clock
        self._hand_over = hand_over
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._recorded = endpoint.recorded
        # What a provider says of its models, if that was asked for, and what may say the cost of what is not recorded.
        self.kept: list[bytes] | None = [] if endpoint.purpose == "models" or endpoint.cost else None

    def give_up(self, target: str, failure: Failure, status: int | None, headers: Headers) -> GivenUp:
        """Nothing comes of what the target has answered so far; another one may be asked."""
        self.asked = False
        return GivenUp(
            target=target,
            provider=self.provider,
            failure=failure,
            status=status,
            headers={name.lower(): value for name, value in headers},
            asked_ms=self.asked_ms,
            at_ms=self.now_ms(),
            first_ms=self.first_ms,
        )

    def ask(self) -> None:
        """A target is asked, be it the first one or another."""
        self.asked = True
        self.asked_ms = self.now_ms()
        self.first_byte_ms = None

    def answer_began(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """The head of the answer has arrived."""
        self.status = status
        self.answer_headers = dict(headers)

    def answer_arrives(self) -> None:
        """A piece of an answer has arrived, which may not be passed on yet."""
        if self.first_byte_ms is None:
            self.first_byte_ms = self._elapsed_ms()

    def answer_chunk(self, chunk: bytes) -> None:
        """A piece of the answer passes."""
        self.answer_arrives()
        if not self._recorded:
            self._keep(chunk)
            return
        self._pending.append(chunk)
        self._pending_bytes += len(chunk)
        if self.first_output_ms is None:
            self.arrivals.append((self.answer_bytes + self._pending_bytes, self._elapsed_ms()))
        if self._pending_bytes >= _PIECE_BYTES:
            self.hand_over()

    def _keep(self, chunk: bytes) -> None:
        if self.kept is not None:
            self.answer_bytes += len(chunk)
            self.kept.append(chunk)
            if self.answer_bytes > _KEPT_BYTES:
                self.kept = None

    def hand_over(self) -> None:
        """Gives what has passed so far to the observer."""
        if self._pending:
            self.answer_bytes += self._pending_bytes
            piece = b"".join(self._pending)
            self._pending, self._pending_bytes = [], 0
            self._hand_over(self, piece)

    def ended(self, how: str) -> None:
        """How the exchange ended: `whole`, `cut`, `left`, `answered` (by us), `error`."""
        self.outcome = how
        self.last_ms = self._elapsed_ms()

    def refused(self, status: int) -> None:
        """We have answered with an error of our own: nobody was asked."""
        self.own_status = status
        self.ended("answered")

    def failed(self, code: str) -> None:
        """No answer began; `code` says why."""
        self.fail(connection_failure(code))

    def fail(self, failure: Failure) -> None:
        """No answer came of what the target said, if it said anything."""
        self.failure = failure
        self.warnings.append(failure.code)
        self.ended("error")

    @property
    def address(self) -> tuple[str, str, Dialect]:
        """Where it goes: root, provider and dialect."""
        return self.root, self.provider, self.dialect

    @address.setter
    def address(self, there: tuple[str, str, Dialect]) -> None:
        self.root, self.provider, self.dialect = there

    @property
    def first_ms(self) -> float | None:
        """How long the target took to begin, from when it was asked; `None` where it did not."""
        return self._own_ms(self.first_byte_ms)

    @property
    def output_ms(self) -> float | None:
        """How long the target took until it said something, from when it was asked; thinking says nothing yet."""
        return self._own_ms(self.first_output_ms)

    def now_ms(self) -> int:
        """The time, epoch milliseconds, by the clock that the request is timed with."""
        return self.created_ms + round(self._elapsed_ms())

    @property
    def is_untold(self) -> bool:
        """Whether how it ended says nothing of its target: the client has left, we have answered, stopped or failed ourselves."""
        ours = self.outcome == "error" and self.failure is None
        return ours or self.outcome in ("left", "answered") or not _OURS.isdisjoint(self.warnings)

    def _own_ms(self, at_ms: float | None) -> float | None:
        return None if at_ms is None else round(at_ms - (self.asked_ms - self.created_ms), 3)

    def _elapsed_ms(self) -> float:
        return round((self._clock() - self.started) * 1000, 3)
