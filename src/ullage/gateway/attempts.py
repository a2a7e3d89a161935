"""A routed request: one target after the other is asked, until one says something (routing specification, section 19).

What to do next is said by `ullage.core.health.Attempts`; here it is done. Nothing reaches the client before an answer says
something, and after that no other target is asked.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.errors import UpstreamError
from ullage.core.health import (
    Attempts,
    Finish,
    Flush,
    Hold,
    Limits,
    Offered,
    Seek,
    Stop,
    Tick,
    Wait,
    connection_failure,
)
from ullage.core.health import Send as SendTo

from .answering import refuse, status_of
from .headers import TRACE_HEADER, request_headers, told_headers, warning_headers
from .hearing import Heard
from .relay import relay
from .sending import send_to
from .translating import relay_translated, settle_stream

if TYPE_CHECKING:
    from ullage.core.health import Action, Failure
    from ullage.engine import Endpoint, Engine, Exchange
    from ullage.engine.departure import Departure
    from ullage.settings.routing import FailoverSettings
    from ullage.upstream import Headers, UpstreamClient

    from .relay import End, Send
    from .sending import Outgoing

HOLD_MS = 120_000
"""A model that still thinks after so long is passed on. Clients wait for the head of an answer for some minutes only: five where
they use Node's `fetch` (undici's `headersTimeout`)."""

_FIRST_ERROR = 400
_OURS = ("first_output_timeout", "upstream_closed", "empty_answer")
_UNREADABLE_CODE, _UNREADABLE = "unreadable_answer", "its answer could not be read"
_LONGEST_QUOTE = 500
_SILENT = connection_failure("upstream_timeout", "no answer came within the time of the request")
_TOO_LONG = UpstreamError(
    "the request took longer than it may",
    code="request_timeout",
    hint="`routing.failover.request_timeout_ms` sets the limit.",
)


class Routed(NamedTuple):
    """A request as it came, and `departure`, which is what its first target is to get. `since_s` is when it came, by the clock of
    the event loop."""

    outgoing: Outgoing
    endpoint: Endpoint
    exchange: Exchange
    query: str
    departure: Departure
    since_s: float


class Delivery:
    """Delivers routed requests. `limits` hold for each of them."""

    def __init__(self, engine: Engine, upstream: UpstreamClient, limits: FailoverSettings) -> None:
        self._engine = engine
        self._upstream = upstream
        self._holds = limits.max_attempts > 1 or limits.first_output_timeout_ms is not None
        self._limits = Limits(
            # Who sets a limit for the first output knows how long his models think.
            hold_ms=HOLD_MS if limits.first_output_timeout_ms is None else None,
            max_attempts=limits.max_attempts,
            first_output_timeout_ms=limits.first_output_timeout_ms,
            request_timeout_ms=limits.request_timeout_ms,
        )

    async def deliver(self, routed: Routed, send: Send) -> None:
        """Asks until there is an answer, and gives it to the client, or the one error that is left."""
        machine = Attempts(self._limits, now_ms=1000 * routed.since_s)
        departure: Departure | None = routed.departure
        heard: Heard | None = None
        action = machine.start()
        try:
            while isinstance(action, Seek | SendTo):
                if isinstance(action, SendTo):
                    assert departure is not None, "it was offered"
                    heard = Heard(departure, action.attempt, holds=self._holds)
                    action = await self._listen(machine, routed, heard)
                else:
                    if heard is not None:
                        departure = await self._seek(machine, routed, heard)
                    action = machine.step(Offered(departure.target if departure is not None else None), _now_ms())
            await self._end(action, machine, routed, heard, send)
        except BaseException:
            if heard is not None:
                heard.abort()
            raise

    async def _listen(self, machine: Attempts, routed: Routed, heard: Heard) -> Action:
        """Asks one target, and holds back its answer until it is known whether the client gets it."""
        try:
            async with _limit(machine):
                return await self._hear(machine, routed, heard)
        except TimeoutError:
            # A timer may ring a moment too early.
            return machine.step(Tick(), max(_now_ms(), machine.deadline_ms or 0))

    async def _hear(self, machine: Attempts, routed: Routed, heard: Heard) -> Action:
        outgoing = send_to(routed.outgoing, heard.departure, routed.endpoint, routed.query)
        headers = request_headers(outgoing.headers, outgoing.dialect)
        routed.exchange.ask()
        try:
            heard.begin(
                await self._upstream.open(outgoing.method, outgoing.url, headers, outgoing.body), outgoing.dialect
            )
            action: Action = Hold()
            while isinstance(action, Hold | Wait):
                event = await heard.hear()
                if not heard.whole:
                    routed.exchange.answer_arrives()
                action = machine.step(event, _now_ms())
        except UpstreamError as error:
            return machine.step(heard.broke(error), _now_ms())
        return action

    async def _seek(self, machine: Attempts, routed: Routed, heard: Heard) -> Departure | None:
        """What another target is to get in place of the one that has failed; `None` where there is nobody else."""
        assert machine.failure is not None, "why else should another one be asked"
        heard.close()
        status = heard.status or None
        given_up = routed.exchange.give_up(heard.departure.target, machine.failure, status, heard.headers)
        try:
            async with _limit(machine):
                departure = await self._engine.depart_again(routed.exchange, given_up)
        except TimeoutError:
            return None
        if departure.refusal is not None:
            return None
        return departure

    async def _end(self, action: Action, machine: Attempts, routed: Routed, heard: Heard | None, send: Send) -> None:
        """Gives the client what there is: an answer, what the last target said of its failure, or what we say of it."""
        if heard is not None and (isinstance(action, Flush | Finish) or _is_told(action, heard)):
            await self._pass_on(machine, routed, heard, send)
            return
        assert isinstance(action, Stop), "nothing is left to do"
        exchange = routed.exchange
        late = action.cause == "timeout"
        if heard is not None:
            heard.close()
            exchange.fail(_SILENT if late or action.failure is None else action.failure)
        else:  # nobody was asked: that is no failure of a target
            exchange.warnings.append(_TOO_LONG.code)
            exchange.refused(status_of(_TOO_LONG))
        error, status = (_TOO_LONG, None) if late or heard is None else _explain(action.failure, heard)
        await refuse(send, routed.endpoint, error, exchange.id, told=_told(routed, heard), status=status)

    async def _pass_on(self, machine: Attempts, routed: Routed, heard: Heard, send: Send) -> None:
        """The answer is the client's: what was held back, and what is still to come."""
        exchange = routed.exchange
        extra = [(b"x-ullage-request", exchange.id.encode()), *_told(routed, heard)]
        translated = settle_stream(heard.departure.translated, routed.endpoint, routed.query)
        end: End = "cut"
        begun = False

        async def begin(message: dict[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with _limit(machine):
                if translated is None:
                    end = await relay(heard, begin, exchange, extra)
                else:
                    end = await relay_translated(heard, begin, exchange, extra, translated)
        except TimeoutError:
            if not begun:
                exchange.fail(_SILENT)
                await refuse(send, routed.endpoint, _TOO_LONG, exchange.id, told=_told(routed, heard))
                return
            exchange.warnings.append(_TOO_LONG.code)
        exchange.ended(end)


def _now_ms() -> float:
    return 1000 * asyncio.get_running_loop().time()


def _limit(machine: Attempts) -> asyncio.Timeout:
    """What is done within is over when the machine wants to be asked again."""
    deadline_ms = machine.deadline_ms
    return asyncio.timeout_at(None if deadline_ms is None else deadline_ms / 1000)


def _is_told(action: Action, heard: Heard) -> bool:
    """Whether the target itself says what is wrong, in an answer that is there whole."""
    return isinstance(action, Stop) and action.cause != "timeout" and heard.whole and heard.status >= _FIRST_ERROR


def _told(routed: Routed, heard: Heard | None) -> Headers:
    headers = routed.exchange.headers
    departure, number = (heard.departure, heard.number) if heard is not None else (routed.departure, 0)
    told = told_headers(departure, trace=headers.get(TRACE_HEADER) == "1", attempts=number)
    return [*told, *warning_headers(headers)]


def _explain(failure: Failure | None, heard: Heard) -> tuple[UpstreamError, int | None]:
    """The error of a target that has told none itself, or none but in a stream; with its status, if that has one."""
    if heard.error is not None or failure is None:
        return heard.error or _TOO_LONG, None
    # What cannot be read is quoted nowhere: it may be a page of a proxy, or half an answer.
    said = _UNREADABLE if failure.code == _UNREADABLE_CODE else failure.message or failure.code
    error = UpstreamError(
        f"{heard.departure.target} failed: {said[:_LONGEST_QUOTE]}",
        code=failure.code if failure.code in _OURS else "upstream_error",
        hint="Nobody else could be asked; `ullage auto doctor` says who is left alone, and why.",
    )
    return error, failure.status
