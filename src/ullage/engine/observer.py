"""The thread that reads what the relay passed on: requests accounted for, answers read, records written.

One thread on purpose: its caches need no locks, and it can never take more than its share of the interpreter. Its input is
bounded by bytes; past the bound a request is recorded with its usage but without its parts, and says so.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ullage.core.errors import PrivacyError, StoreError

from .attempting import answered_of, outcome_of, report_given_up, report_last
from .classifying import Question
from .costing import is_free
from .departing import Departing
from .health import Health, read_outcome
from .learning import Learning
from .observation import Observation
from .passing import read_passed_usage
from .pricing import Pricing
from .quota import Quotas, make_quota_rules, read_answered
from .reading import Reader
from .routing import Routing
from .spending import Spending
from .watching import Watchers
from .worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ullage.core.content import Answer
    from ullage.core.errors import UllageError
    from ullage.core.spend import Verdict
    from ullage.core.wire import Dialect
    from ullage.settings import Settings
    from ullage.stores import AttemptRecord, Store

    from .classifying import Reply
    from .departure import Departure
    from .exchange import Exchange, GivenUp
    from .health import Outcome
    from .knowledge import Sources
    from .targets import Targets
    from .watching import Watcher

# Answers waiting to be read. They are small and carry the usage, so they do not share the allowance of the bodies.
_ANSWERS_BYTES = 64 * 1024 * 1024


class Allowance:
    """So many bytes may wait at once. Safe to use from any thread."""

    def __init__(self, limit_bytes: int) -> None:
        self._left_bytes = limit_bytes
        self._lock = threading.Lock()

    def admit(self, size: int) -> bool:
        """Takes `size` bytes if they are left."""
        with self._lock:
            if size > self._left_bytes:
                return False
            self._left_bytes -= size
            return True

    def release(self, size: int) -> None:
        """Gives them back."""
        with self._lock:
            self._left_bytes += size


class Observer:
    """Takes exchanges in the order of their events. All methods return at once and may be called from the event loop."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        new_id: Callable[[], str],
        sources: Sources | None = None,
        data_dir: Path | None = None,
        targets: Targets | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self._store = store
        self._watchers = Watchers(watchers)
        self._reader = Reader(store=store, settings=settings, new_id=new_id, sources=sources)
        self.quotas = Quotas(make_quota_rules(settings.routing.quota), store, store)
        self.learning = Learning(store, explore=settings.routing.explore)
        self.health = Health(store, store)
        self._routing = Routing(settings, targets, self.quotas, self.learning, self.health, store, new_id=new_id)
        self.virtual_models = self._routing.names
        self._pricing = Pricing(self._reader)
        self.spending = Spending(settings, store)
        self._departing = Departing(
            self._reader,
            store=store,
            settings=settings,
            data_dir=data_dir,
            routing=self._routing,
            quotas=self.quotas,
            pricing=self._pricing,
            targets=targets,
        )
        self.classifying = self._departing.classifying
        self._worker = Worker("ullage-observer")
        self._open: dict[str, Observation] = {}
        # What was known of requests before another target was found for them, and where they went.
        self._before: dict[str, tuple[Observation, tuple[str, str, Dialect]]] = {}
        self._bodies = Allowance(settings.accounting.queue_bytes)
        self._answers = Allowance(_ANSWERS_BYTES)
        self._worker.put(self._recall)
        self._worker.start()

    def read_request(self, exchange: Exchange) -> None:
        """Accounts for a request, unless too much is waiting already."""
        if not self._bodies.admit(exchange.request_bytes):
            exchange.body = None
            exchange.warnings.append("accounting_skipped")
        self._worker.put(lambda: self._begin(exchange))

    def depart(self, exchange: Exchange) -> Future[Departure | Question]:
        """Looks at a request that waits to be sent, before all else. The answer to a question goes to `resume`."""
        future: Future[Departure | Question] = Future()
        self._worker.put(lambda: self._depart(exchange, future), urgent=True)
        return future

    def resume(self, exchange: Exchange, reply: Reply) -> Future[Departure]:
        """Goes on with a request whose question was answered."""
        future: Future[Departure] = Future()
        self._worker.put(lambda: self._resume(exchange, reply, future), urgent=True)
        return future

    def depart_again(self, exchange: Exchange, given_up: GivenUp) -> Future[Departure]:
        """Looks for another target for a request whose last one has failed."""
        future: Future[Departure] = Future()
        self._worker.put(lambda: self._depart_again(exchange, given_up, future), urgent=True)
        return future

    def stay(self, exchange: Exchange, why: UllageError) -> None:
        """The other target that was found is not asked: the request ends with the one before."""
        self._worker.put(lambda: self._stay(exchange, why), urgent=True)

    def depart_elsewhere(self, exchange: Exchange, dear: Departure, verdict: Verdict) -> Future[Departure]:
        """Looks for a cheaper target for a request that may cost more than may be spent."""
        future: Future[Departure] = Future()
        self._worker.put(lambda: self._depart_elsewhere(exchange, dear, verdict, future), urgent=True)
        return future

    def read_answer(self, exchange: Exchange, piece: bytes) -> None:
        """Reads a piece of an answer, unless too much is waiting already: then the rest of it is not read."""
        if self._answers.admit(len(piece)):
            self._worker.put(lambda: self._feed(exchange, piece), urgent=exchange.managed)
        elif "answer_skipped" not in exchange.warnings:
            exchange.warnings.append("answer_skipped")

    def finish(self, exchange: Exchange) -> None:
        """Writes the record of an exchange."""
        self._worker.put(lambda: self._finish(exchange), urgent=exchange.managed)

    def settle_passed(self, exchange: Exchange) -> None:
        """Counts what a request cost that was passed on and is not recorded."""
        self._worker.put(lambda: self._settle_passed(exchange))

    def note_models(self, exchange: Exchange) -> None:
        """Takes in what a provider says of its models."""
        self._worker.put(lambda: self._reader.note_models(exchange))

    def tell(self, facts: Callable[[], AttemptRecord]) -> None:
        """Tells those who watch of a request that nothing is recorded of."""
        if self._watchers:
            self._worker.put(lambda: self._watchers.tell_facts(facts()))

    def count(self, exchange: Exchange, body: bytes) -> Future[int | None]:
        """Estimates a request for a client that asked for a count."""
        future: Future[int | None] = Future()
        if self._bodies.admit(len(body)):
            self._worker.put(lambda: self._count(exchange, body, future))
        else:
            future.set_result(None)
        return future

    def clear(self, body: bytes, dialect: Dialect | None, to: Sequence[tuple[str, str]]) -> Future[bytes]:
        """Looks at a body that waits to be sent by somebody else."""
        future: Future[bytes] = Future()
        self._worker.put(lambda: self._clear(body, dialect, to, future), urgent=True)
        return future

    def flush(self, timeout_s: float) -> bool:
        """Waits until everything put in so far is done."""
        return self._worker.flush(timeout_s) and self.spending.flush(timeout_s)

    def close(self) -> None:
        """Does what is waiting, then ends the thread."""
        self._worker.close()
        self.spending.close()
        self.quotas.keep()

    def _recall(self) -> None:
        records = self._reader.recall_sessions()
        self._departing.recall(records)
        if self.virtual_models.listed:
            with contextlib.suppress(StoreError):  # as above: what was learned is learned anew
                self._routing.recall(records, self._store.attempts())
                self.learning.recall()

    def _begin(self, exchange: Exchange) -> None:
        body, exchange.body = exchange.body, None
        try:
            self._open[exchange.id] = self._reader.begin(exchange, body)
        finally:
            if body is not None:
                self._bodies.release(exchange.request_bytes)

    def _depart(self, exchange: Exchange, future: Future[Departure | Question]) -> None:
        body, exchange.body = exchange.body, None
        assert body is not None, "a managed request keeps its body until it is sent"
        if not future.set_running_or_notify_cancel():
            observation = self._reader.begin(exchange, body)  # the client has left
            observation.virtual = observation.model in self.virtual_models
            self._keep_open(exchange, observation)
        else:
            try:
                observation, departure = self._departing.depart(exchange, body)
            except BaseException as error:
                future.set_exception(error)
                raise
            self._keep_open(exchange, observation)
            future.set_result(departure)
            if not isinstance(departure, Question):
                self._note_sent_later(observation, exchange)

    def _note_sent_later(self, observation: Observation, exchange: Exchange) -> None:
        """Once the request is on its way: both would want the interpreter."""
        self._worker.leave(lambda: self._departing.note_sent(observation, exchange))

    def _keep_open(self, exchange: Exchange, observation: Observation) -> None:
        """Until the exchange is over: nobody tells of the end of one that is neither recorded nor costs anything."""
        if exchange.endpoint.recorded or exchange.endpoint.cost is not None:
            self._open[exchange.id] = observation

    def _resume(self, exchange: Exchange, reply: Reply, future: Future[Departure]) -> None:
        observation = self._open.get(exchange.id)
        if observation is None or not future.set_running_or_notify_cancel():
            return  # the client has left
        try:
            departure = self._departing.resume(exchange, reply)
        except BaseException as error:
            future.set_exception(error)
            raise
        future.set_result(departure)
        self._note_sent_later(observation, exchange)

    def _depart_again(self, exchange: Exchange, given_up: GivenUp, future: Future[Departure]) -> None:
        is_waited_for = future.set_running_or_notify_cancel()
        try:
            observation, address = self._open[exchange.id], exchange.address
            self._note_failed(observation, given_up, self.spending.give_up(exchange, given_up))
            if not is_waited_for:
                return  # the client has left
            again, departure = self._departing.moving.depart_again(observation, exchange, given_up)
        except BaseException as error:
            if is_waited_for:
                future.set_exception(error)
            raise
        if again is not observation:
            self._before[exchange.id] = observation, address
        self._open[exchange.id] = again
        future.set_result(departure)
        if departure.refusal is None:
            self._note_sent_later(again, exchange)

    def _stay(self, exchange: Exchange, why: UllageError) -> None:
        if exchange.id not in self._open:
            return  # the client has left
        self._return(exchange).notes = (f"nobody else is asked: {why.message}",)

    def _return(self, exchange: Exchange) -> Observation:
        """To the target that was asked last: the one that was found in its place is not."""
        self._let_go(self._open[exchange.id], exchange)
        observation, exchange.address = self._before.pop(exchange.id)
        self._open[exchange.id] = observation
        return observation

    def _let_go(self, observation: Observation, exchange: Exchange) -> None:
        """A target that was chosen is not asked: whoever comes next may try it."""
        if observation.decision is not None and exchange.endpoint.purpose == "generate":
            self._routing.let_go(observation.decision, exchange.now_ms())

    def _depart_elsewhere(
        self, exchange: Exchange, dear: Departure, verdict: Verdict, future: Future[Departure]
    ) -> None:
        if not future.set_running_or_notify_cancel():
            return  # the client has left
        try:
            observation = self._open[exchange.id]
            again, departure = self._departing.moving.depart_elsewhere(observation, exchange, dear, verdict)
        except BaseException as error:
            future.set_exception(error)
            raise
        if again is not observation:
            self._let_go(observation, exchange)
        self._open[exchange.id] = again
        future.set_result(departure)
        if departure.refusal is None:
            self._note_sent_later(again, exchange)

    def _note_failed(self, observation: Observation, given_up: GivenUp, spend: dict[str, Any]) -> None:
        observation.attempts = (*observation.attempts, report_given_up(given_up, observation.decision, spend))
        answered = answered_of(given_up)
        if answered is not None:
            self.quotas.note(answered)
        self.health.note(outcome_of(given_up))
        self._routing.note_failed(observation, given_up)
        self._departing.note_failed(observation, given_up)

    def _feed(self, exchange: Exchange, piece: bytes) -> None:
        observation = self._open.get(exchange.id)
        try:
            # Behind a gap nothing can be made of what follows.
            if observation is not None and "answer_skipped" not in exchange.warnings:
                self._reader.feed(observation, exchange, piece)
        finally:
            self._answers.release(len(piece))

    def _count(self, exchange: Exchange, body: bytes, future: Future[int | None]) -> None:
        tokens = None
        try:
            if not future.set_running_or_notify_cancel():
                return
            tokens = self._reader.count(exchange, body)
        finally:
            self._bodies.release(len(body))
            if not future.cancelled():
                future.set_result(tokens)

    def _clear(
        self, body: bytes, dialect: Dialect | None, to: Sequence[tuple[str, str]], future: Future[bytes]
    ) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(self._departing.clear(body, dialect, to))
        except BaseException as error:
            future.set_exception(error)
            if not isinstance(error, PrivacyError):
                raise

    def _finish(self, exchange: Exchange) -> None:
        if not exchange.asked and exchange.id in self._before:  # it came too late
            self._return(exchange)
        observation = self._open.pop(exchange.id, None)
        self._before.pop(exchange.id, None)
        self._departing.forget(exchange)
        if observation is not None:
            self._watchers.tell(self._reader.finish(observation, exchange, self._settle))

    def _settle_passed(self, exchange: Exchange) -> None:
        observation = self._open.pop(exchange.id, None)
        self._departing.forget(exchange)
        if not exchange.asked:
            self.spending.forget(exchange)
            return
        if observation is None:
            observation = Observation()
            self._reader.identify(observation, exchange, None)
            self._pricing.expect_passed(observation, exchange, exchange.body or b"")
        code = exchange.failure.code if exchange.failure is not None else ""
        cost = self._pricing.cost(observation, exchange, read_passed_usage(exchange))
        free = exchange.outcome == "answered" or is_free(exchange.status, code)
        self.spending.settle(exchange, self._pricing.count(observation, exchange, cost), cost, free=free)

    def _settle(self, observation: Observation, exchange: Exchange, answer: Answer | None) -> None:
        self._settle_spend(observation, exchange, answer)
        answered = outcome = None
        if exchange.asked:  # else nobody was, or it is noted already
            answered = read_answered(exchange, answer, (observation.spend or {}).get("usd"))
            outcome = read_outcome(observation, exchange, answer)
        elif not observation.attempts:
            self._let_go(observation, exchange)
        if answered is not None:
            self.quotas.note(answered)
        if outcome is not None:
            self.health.note(outcome)
        self._routing.settle(observation, exchange, answer, outcome)
        self._report_attempts(observation, exchange, outcome)
        self._departing.note_answer(observation, exchange, answer)

    def _settle_spend(self, observation: Observation, exchange: Exchange, answer: Answer | None) -> None:
        """What a call cost. Of an answer that broke nobody knows: what was reserved for it stays."""
        if exchange.endpoint.purpose != "generate":
            return
        if not exchange.asked:  # it was not sent, or what was is counted already
            self.spending.forget(exchange)
            return
        whole = answer is not None and answer.complete and answer.error_type is None
        usage = answer.usage if answer is not None and whole else None
        code = exchange.failure.code if exchange.failure is not None else ""
        cost = self._pricing.cost(observation, exchange, usage)
        observation.spend = self.spending.settle(
            exchange,
            self._pricing.count(observation, exchange, cost),
            cost,
            free=exchange.outcome == "answered" or is_free(exchange.status, code),
        )

    def _report_attempts(self, observation: Observation, exchange: Exchange, outcome: Outcome | None) -> None:
        decision, route = observation.decision, observation.route
        if decision is None or route is None or exchange.endpoint.purpose != "generate":
            return
        attempts = list(observation.attempts)
        if exchange.asked:
            attempts.append(report_last(decision, exchange, outcome, observation.spend or {}))
        observation.route = {
            **route,
            "notes": [*route["notes"], *observation.notes],
            "attempts": attempts,
            "question": observation.question,
        }
