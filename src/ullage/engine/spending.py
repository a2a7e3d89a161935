"""What the calls that pass may cost and did: reserved before one is sent where a limit is set, settled by what it cost.

Routing specification, section 17. The ledger is asked in a thread of its own, one call after the other, so that neither the event
loop nor the observer waits for the database. Where no limit is set, nothing is reserved: what a call cost is counted afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import StoreError, UllageError
from ullage.core.spend import Spend, SpendLimits, Verdict
from ullage.core.spend.ledger import OnExceed, to_nano
from ullage.core.spend.telling import block_message, budget_line
from ullage.settings.budget import Usd, make_spend_limits

from .classifying import Reply
from .costing import is_free
from .pricing import price_question, question_cost
from .worker import Worker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ullage.settings import Settings
    from ullage.stores import Store

    from .classifying import Question
    from .departure import Departure
    from .exchange import Exchange, GivenUp

logger = logging.getLogger("ullage.engine")

KEPT_UNDER = "ullage:budget"
"""Session of the rows whose keys are the sessions that have limits of their own. No session of a client has that name."""

_HEED_EVERY_S = 1.0
"""How soon a limit holds that a command has set for a session."""
_ELSEWHERE = 4
"""So often at most another target is looked for, for the sake of a limit."""

SPENDING_FAILED = UllageError(
    "what may be spent could not be looked up, so the request was not sent",
    code="budget_failed",
    hint="`ullage serve` says more on standard error.",
)


class SessionLimits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Limits of one session in place of those of the settings, USD."""

    session_usd: Usd | None = None
    task_usd: Usd | None = None
    on_exceed: OnExceed | None = None


class Reservation(Struct):
    """A call that was judged. `sent` says that it is on its way."""

    spend: Spend
    verdict: Verdict
    sent: bool = False


class Spending:
    """Judges and counts. Any thread may ask."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.limits = make_spend_limits(settings.budget)
        self._store = store
        self._worker = Worker("ullage-spending")
        self._held: dict[str, Reservation] = {}
        self._sessions: dict[str, SessionLimits] = {}
        self._closing = threading.Event()
        self._heeding = threading.Thread(target=self._keep_heeding, name="ullage-limits", daemon=True)
        self._heeding.start()
        self._worker.start()

    @property
    def watches(self) -> bool:
        """Whether a limit may hold for any call."""
        return self.limits.are_set or bool(self._sessions)

    def limits_of(self, session: str | None) -> SpendLimits:
        """What holds for a call of a session."""
        own = self._sessions.get(session or "")
        return self.limits if own is None else overlay(self.limits, own)

    def heed(self) -> None:
        """Reads the limits of sessions anew: they hold for whatever is judged from now on. May wait for the database."""
        with contextlib.suppress(StoreError):  # those that are known hold; the store says itself what is wrong with it
            self._sessions = read_session_limits(self._store)

    async def admit(
        self,
        exchange_id: str,
        departure: Departure,
        elsewhere: Callable[[Departure, Verdict], Awaitable[Departure]] | None,
    ) -> Departure:
        """The departure with its most probable cost reserved; one to another target, found by `elsewhere`, where a limit asks for
        that and where there is one; or one that is refused."""
        moves = _ELSEWHERE
        while departure.spend is not None and departure.refusal is None:
            may_move = elsewhere is not None and moves > 0 and departure.destination is not None
            try:
                reservation = await asyncio.wrap_future(self._reserve(exchange_id, departure.spend, may_move=may_move))
            except Exception:  # a check that fails is one that was not passed
                logger.exception("What may be spent could not be looked up.")
                return replace(departure, refusal=SPENDING_FAILED)
            verdict = reservation.verdict
            if verdict.reserved:
                reservation.sent = True
                return replace(departure, budget=budget_line(verdict))
            if elsewhere is None or not may_move or verdict.action == "block":
                return replace(departure, refusal=_refusal(departure.spend, verdict), budget=budget_line(verdict))
            moves = moves - 1 if verdict.action == "avoid" else 0
            found = await elsewhere(departure, verdict)
            if found.refusal is None:
                departure = found
            else:
                moves = 0
        return departure

    async def ask(self, question: Question, exchange: Exchange, put: Callable[[], Awaitable[Reply]]) -> Reply:
        """Has a question put about a task, if what that costs may be spent, and counts what it cost."""
        spend = price_question(question, exchange)
        cost, free = None, True
        try:
            if self.watches:
                reservation = await asyncio.wrap_future(self._reserve(spend.id, spend, may_move=False))
                if not reservation.verdict.reserved:
                    return Reply(failure="budget")
                reservation.sent = True
            free = False
            reply = await put()
            cost, free = question_cost(question, reply.usage), is_free(reply.status, reply.code)
        finally:  # also for a client that leaves while the reservation is being written
            at_ms = exchange.now_ms()
            self._worker.put(lambda: self._settle(spend.id, spend, cost, at_ms, free=free), urgent=True)
        return reply

    def settle(self, exchange: Exchange, spend: Spend, cost: int | None, *, free: bool) -> dict[str, Any]:
        """Counts what a call cost that is over, nano-USD; `None` where nobody knows, `free` where surely nothing. What its record
        says of it."""
        held = self._held.get(exchange.id)
        at_ms = exchange.created_ms + round(exchange.last_ms)
        self._worker.put(lambda: self._settle(exchange.id, spend, cost, at_ms, free=free), urgent=True)
        return _report(held, cost, free=free)

    def give_up(self, exchange: Exchange, given_up: GivenUp) -> dict[str, Any]:
        """Counts an attempt that came to nothing, before the next one is sent. What the record of its call says of it."""
        free = is_free(given_up.status, given_up.failure.code)
        held = self._held.get(exchange.id)
        self._worker.put(lambda: self._end(exchange.id, None, given_up.at_ms, free=free), urgent=True)
        return _report(held, None, free=free)

    def forget(self, exchange: Exchange) -> None:
        """What is reserved for an attempt that was never sent, as its request was over before, is free again."""
        at_ms = exchange.created_ms + round(exchange.last_ms)
        self._worker.put(lambda: self._end(exchange.id, None, at_ms, free=True), urgent=True)

    def flush(self, timeout_s: float) -> bool:
        """Waits until everything put in so far is done. False if that took too long."""
        done: Future[None] = Future()
        self._worker.put(lambda: done.set_result(None), urgent=True)
        with contextlib.suppress(TimeoutError):
            done.result(timeout_s)
            return True
        return False

    def close(self) -> None:
        """Does what is waiting, then ends the threads."""
        self._closing.set()
        self._heeding.join(timeout=30)
        self._worker.close()

    def _reserve(self, key: str, spend: Spend, *, may_move: bool) -> Future[Reservation]:
        future: Future[Reservation] = Future()
        self._worker.put(lambda: self._judge(key, spend, future, may_move=may_move), urgent=True)
        return future

    def _judge(self, key: str, spend: Spend, future: Future[Reservation], *, may_move: bool) -> None:
        if not future.set_running_or_notify_cancel():
            return  # the client has left
        try:
            verdict = self._store.ledger.reserve(self.limits_of(spend.session), spend, skip_downgrade=may_move)
            reservation = Reservation(spend, verdict)
            if verdict.reserved:
                self._held[key] = reservation
        except BaseException as error:
            future.set_exception(error)
            raise
        future.set_result(reservation)

    def _settle(self, key: str, spend: Spend, cost: int | None, at_ms: int, *, free: bool) -> None:
        if key in self._held:
            self._end(key, cost, at_ms, free=free)
        elif not free:
            self._store.ledger.book(spend, cost, at_ms=at_ms)

    def _end(self, key: str, cost: int | None, at_ms: int, *, free: bool) -> None:
        held = self._held.pop(key, None)
        if held is None:
            return
        ledger, attempt = self._store.ledger, held.spend.id
        if free or not held.sent:
            ledger.release(attempt, at_ms=at_ms)
        else:
            ledger.settle(attempt, cost, at_ms=at_ms)

    def _keep_heeding(self) -> None:
        """Commands change the limits of sessions in the store: they are to hold for the next call, though nothing was held to a
        limit before."""
        while True:
            self.heed()
            if self._closing.wait(_HEED_EVERY_S):
                return


def read_session_limits(store: Any) -> dict[str, SessionLimits]:
    """The limits of sessions that a store holds. Raises `StoreError`."""
    found: dict[str, SessionLimits] = {}
    for session, value in store.route_overrides(KEPT_UNDER).items():
        if isinstance(value, dict):
            with contextlib.suppress(msgspec.ValidationError):
                found[session] = msgspec.convert(value, SessionLimits)
    return found


def overlay(limits: SpendLimits, own: SessionLimits) -> SpendLimits:
    """The limits of a session: what it says itself holds in place of the settings."""
    return replace(
        limits,
        session=limits.session if own.session_usd is None else to_nano(own.session_usd),
        task=limits.task if own.task_usd is None else to_nano(own.task_usd),
        on_exceed=own.on_exceed or limits.on_exceed,
    )


def _refusal(spend: Spend, verdict: Verdict) -> UllageError:
    message, hint = block_message(spend, verdict)
    return UllageError(message, hint=hint, code="budget_exceeded")


def _report(held: Reservation | None, cost: int | None, *, free: bool) -> dict[str, Any]:
    usd = 0.0 if free else None if cost is None else cost / 1_000_000_000
    if held is None:
        return {"usd": usd}
    verdict = held.verdict
    return {
        "usd": usd,
        "reserved_usd": verdict.amount / 1_000_000_000,
        "capped": verdict.capped,
        "action": verdict.action,
        "exceeded": [one.name for one in verdict.exceeded],
        "unenforced": list(verdict.unenforced),
    }
