"""What to do next in one request that several targets may answer: a machine without I/O (routing specification, section 19).

It is told what happened and says what to do. One target after the other is sought, sent to and listened to; nothing reaches the
client before an answer says something; after that no other target is asked, and nothing is left to decide but when its time is
over. All targets of a request share one number of
attempts, so that retries cannot multiply (complaint C30). Times are milliseconds of any clock that only goes forward.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .failures import TIMEOUT, Failure

StopCause = Literal["failed", "exhausted", "timeout"]
"""Why a request ends without an answer: its failure is nobody else's to mend, nobody is left to ask, or its time is over."""


class Limits(Struct, frozen=True, kw_only=True):
    """`max_attempts` requests are sent at most, the first one included. An answer that says nothing within
    `first_output_timeout_ms` after it was asked for is given up; all is over after `request_timeout_ms`. What still comes, be it
    thinking, when it was held back for `hold_ms`, is passed on (ours). `None`: no limit."""

    max_attempts: int = 3
    first_output_timeout_ms: int | None = None
    request_timeout_ms: int | None = None
    hold_ms: int | None = None


class Offered(Struct, frozen=True):
    """The target to ask next, `None` for none."""

    target: str | None


class Chunk(Struct, frozen=True):
    """A piece of the answer came. `output`: with it the answer says something, as `AnswerWatch` tells."""

    output: bool


class Ended(Struct, frozen=True):
    """The answer is over, or none began; `failure` says what was wrong with it, `None` for nothing."""

    failure: Failure | None = None


class Tick(Struct, frozen=True):
    """Time has passed."""


Event = Offered | Chunk | Ended | Tick


class Seek(Struct, frozen=True):
    """Find a target that was not tried, and offer it. What is still held of the last answer is dropped."""


class Send(Struct, frozen=True):
    """Send the request to the target; it is the attempt of this number, from 1 on."""

    target: str
    attempt: int


class Hold(Struct, frozen=True):
    """Keep the piece."""


class Flush(Struct, frozen=True):
    """Pass on all that was kept, the piece, and whatever follows: from here on the answer is the client's."""


class Finish(Struct, frozen=True):
    """Pass on what was kept, if anything, and end the answer as whole."""


class Stop(Struct, frozen=True, kw_only=True):
    """End without an answer. `failure` is the last one, if any."""

    cause: StopCause
    failure: Failure | None = None


class Wait(Struct, frozen=True):
    """Nothing to do, as when something comes too late."""


Action = Seek | Send | Hold | Flush | Finish | Stop | Wait

_WAIT = Wait()
_LATE = Failure(
    kind="timeout",
    status=TIMEOUT,
    retryable=True,
    counts=True,
    code="first_output_timeout",
    message="no output came in time",
)

_Phase = Literal["seeking", "listening", "passing", "over"]


class Attempts:
    """One request. `start` first; then one action for every event, the newest of which holds."""

    def __init__(self, limits: Limits, *, now_ms: float) -> None:
        self._limits = limits
        self._phase: _Phase = "seeking"
        self._sent_ms = now_ms
        self._failure: Failure | None = None
        span = limits.request_timeout_ms
        self._until_ms = None if span is None else now_ms + span
        self.tried: tuple[str, ...] = ()

    def start(self) -> Action:
        """What to do first."""
        return Seek()

    @property
    def failure(self) -> Failure | None:
        """That of the newest attempt that failed."""
        return self._failure

    @property
    def deadline_ms(self) -> float | None:
        """When a `Tick` is due at the latest, or an answer that is passed on is too long; `None` where nothing waits for time."""
        if self._phase == "over":
            return None
        moments = [moment for moment in (self._until_ms, self._output_until_ms()) if moment is not None]
        return min(moments, default=None)

    def step(self, event: Event, now_ms: float) -> Action:
        """What to do after an event."""
        if self._phase in ("passing", "over"):
            return _WAIT
        if self._until_ms is not None and now_ms >= self._until_ms:
            return self._stop("timeout")
        if self._phase == "seeking":
            return self._seek(event, now_ms)
        return self._listen(event, now_ms)

    def _seek(self, event: Event, now_ms: float) -> Action:
        if not isinstance(event, Offered):
            return _WAIT
        target = event.target
        if target is None or target in self.tried:  # nobody is asked twice in one request: that would never end
            return self._stop("exhausted")
        self.tried = (*self.tried, target)
        self._phase, self._sent_ms = "listening", now_ms
        return Send(target, len(self.tried))

    def _listen(self, event: Event, now_ms: float) -> Action:
        late = self._output_until_ms()
        match event:
            case Ended(None):
                self._phase = "over"
                return Finish()
            case Ended(Failure() as failure):
                return self._fail(failure)
            case Chunk(output) if output or self._is_held_long(now_ms):
                self._phase = "passing"
                return Flush()
        if late is not None and now_ms >= late:
            return self._fail(_LATE)
        return Hold() if isinstance(event, Chunk) else _WAIT

    def _fail(self, failure: Failure) -> Action:
        self._failure = failure
        if not failure.retryable:
            return self._stop("failed")
        if len(self.tried) >= self._limits.max_attempts:
            return self._stop("exhausted")
        self._phase = "seeking"
        return Seek()

    def _stop(self, cause: StopCause) -> Action:
        self._phase = "over"
        return Stop(cause=cause, failure=self._failure)

    def _is_held_long(self, now_ms: float) -> bool:
        return self._limits.hold_ms is not None and now_ms >= self._sent_ms + self._limits.hold_ms

    def _output_until_ms(self) -> float | None:
        span = self._limits.first_output_timeout_ms
        return self._sent_ms + span if span is not None and self._phase == "listening" else None
