"""Which targets do well and which are left alone, by the answers that pass; shared with other processes through the store.

Routing specification, section 18. A circuit is a small row of its own, written when it changes, and read before every choice and
every failure. What two processes note in the same moment is written over by the later one: a strike may be lost, or two tries be
made at once. Clients name what models they like, so that rows are bounded: what is over is forgotten, and of many the oldest.
"""

from __future__ import annotations

import contextlib
import random
import threading
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.errors import StoreError
from ullage.core.health import (
    CLOSED,
    RULES,
    Circuit,
    Failure,
    begin_probe,
    circuit_state,
    connection_failure,
    end_probe,
    is_admitted,
    judge,
    note_failure,
    note_success,
    reopens_ms,
)
from ullage.core.health.circuit import MOST_JITTER
from ullage.core.quota import read_headers
from ullage.stores import RouteOverride

from .quota import quota_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ullage.core.content import Answer
    from ullage.stores import Reader, Store

    from .exchange import Exchange
    from .observation import Observation
    from .routing import Decision

KEPT_UNDER = "ullage:health"
"""Session of the rows, whose keys are the targets. No session of a client has that name."""

MOST_ROWS = 200
"""Circuits that are known and kept at once."""
_TOLD_MS = 600_000
"""So long a closed circuit stays as a row, to tell other processes that it was closed."""
_UNTRIED_MS = 86_400_000
"""One that might be tried for so long, and was not, is nobody's choice."""

_OF_A_KEY = ("rate-limit", "out-of-credit", "usage-limit", "auth")
_UNAUTHORIZED = 401


class Outcome(Struct, frozen=True, kw_only=True):
    """What one request says of its target. `asked_ms` is when it was sent, `at_ms` when it was over. `failure` is `None` where it
    was answered; `retry_at_ms` is when the provider says it may be asked again. `told`: it says anything at all. `key`: it says
    something of the key that routed requests go with."""

    target: str
    asked_ms: int
    at_ms: int
    failure: Failure | None = None
    retry_at_ms: int | None = None
    told: bool = True
    key: bool = True


class _Row(Struct, frozen=True, kw_only=True):
    """A circuit as it is kept. Of several rows the newest holds; `at_ms` goes forward with every change."""

    circuit: Circuit
    at_ms: int


_NEW = _Row(circuit=CLOSED, at_ms=0)


def spread() -> float:
    """A jitter for one cooldown, drawn anew each time."""
    return random.uniform(-MOST_JITTER, MOST_JITTER)  # noqa: S311 - nothing is hidden by it


def no_spread() -> float:
    """No jitter: cooldowns are exact."""
    return 0.0


class Health:
    """The circuits of all targets. Any thread may note and ask. What others have noted is read from `reader`, what is noted here
    is written to `writer`. `jitter` gives that of a cooldown, from -0.1 to 0.1."""

    def __init__(
        self, reader: Reader | None = None, writer: Store | None = None, *, jitter: Callable[[], float] = spread
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._jitter = jitter
        self._lock = threading.Lock()
        self._rows: dict[str, _Row] = {}
        self._candidates: frozenset[str] = frozenset()

    def circuits(self, targets: Iterable[str], now_ms: int) -> dict[str, int | None]:
        """Those of the targets that are not to be asked now, each with when it may be tried again (`RouteSession.circuits`)."""
        targets = tuple(targets)
        self._look(now_ms)
        with self._lock:
            self._candidates = frozenset((*targets, *map(_all_of, targets)))
            rows = list(self._rows.items())
        times = {key: reopens_ms(row.circuit, now_ms) for key, row in rows if not is_admitted(row.circuit, now_ms)}
        if not times:
            return {}
        found: dict[str, int | None] = {}
        for target in targets:
            open_ = [times[key] for key in (target, _all_of(target)) if key in times]
            if open_:
                found[target] = max(open_, key=lambda at: at or 0)
        return found

    def note_sent(self, target: str, now_ms: int) -> None:
        """A request goes to the target; where its circuit is half open, it is the try."""
        for key in (target, _all_of(target)):
            self._change(key, now_ms, lambda circuit: begin_probe(circuit, now_ms))

    def note(self, outcome: Outcome) -> None:
        """Takes in how a request ended."""
        failure = outcome.failure
        if failure is not None and outcome.told:
            self._look(outcome.at_ms)
        everywhere = failure is not None and failure.status == _UNAUTHORIZED

        def change(circuit: Circuit) -> Circuit:
            if not outcome.told:
                return end_probe(circuit)
            if failure is None:
                return note_success(circuit, asked_ms=outcome.asked_ms)
            return note_failure(
                circuit,
                failure,
                asked_ms=outcome.asked_ms,
                now_ms=outcome.at_ms,
                retry_at_ms=outcome.retry_at_ms,
                jitter=self._jitter(),
            )

        def end(circuit: Circuit) -> Circuit:
            return change(circuit) if failure is None else end_probe(circuit)

        # A key that is refused is refused for all of its provider's models, and one that is taken was put right.
        if outcome.key:
            self._change(_all_of(outcome.target), outcome.at_ms, change if everywhere else end)
        self._change(outcome.target, outcome.at_ms, end if everywhere else change)

    def report(self, now_ms: int) -> list[dict[str, Any]]:
        """What programs and people are told of targets that failed lately, in the order of their names."""
        self._look(now_ms)
        with self._lock:
            rows = sorted(self._rows.items())
        return [_report(target, row.circuit, now_ms) for target, row in rows if row.circuit != CLOSED]

    def _change(self, target: str, now_ms: int, change: Callable[[Circuit], Circuit]) -> None:
        with self._lock:
            before = self._rows.get(target, _NEW)
            after = change(before.circuit)
            if after == before.circuit:
                return
            row = self._rows[target] = _Row(circuit=after, at_ms=max(now_ms, before.at_ms + 1))
        if self._writer is not None:
            value = msgspec.to_builtins(row)
            self._writer.put_route_override(RouteOverride(session=KEPT_UNDER, key=target, value=value, at_ms=row.at_ms))
        self._forget(now_ms)

    def _look(self, now_ms: int) -> None:
        """Takes up what other processes have noted. What cannot be read is not there: the next answers make up for it."""
        if self._reader is None:
            return
        try:
            kept = self._reader.route_overrides(KEPT_UNDER)
        except StoreError:  # the store says itself what is wrong with it
            return
        for target, plain in kept.items():
            with contextlib.suppress(msgspec.ValidationError):
                row = msgspec.convert(plain, _Row)
                with self._lock:
                    if row.at_ms > self._rows.get(target, _NEW).at_ms:
                        self._rows[target] = row
        with self._lock:
            # What is long written and not there was forgotten by another process.
            for target in [one for one, row in self._rows.items() if one not in kept and now_ms > row.at_ms + _TOLD_MS]:
                del self._rows[target]
        self._forget(now_ms)

    def _forget(self, now_ms: int) -> None:
        """What is over, and of too many those that nobody chooses among, then the closed ones, then the oldest."""
        with self._lock:
            gone = [target for target, row in self._rows.items() if _is_over(row, now_ms)]
            left = self._rows.keys() - set(gone)
            if len(left) > MOST_ROWS:
                gone += sorted(left, key=self._worth)[: len(left) - MOST_ROWS]
            rows = [(target, self._rows.pop(target)) for target in gone]
        if self._writer is not None:
            for target, row in rows:
                self._writer.drop_route_override(KEPT_UNDER, target, row.at_ms)

    def _worth(self, target: str) -> tuple[bool, bool, int]:
        row = self._rows[target]
        return target in self._candidates, row.circuit != CLOSED, row.at_ms


def read_outcome(observation: Observation, exchange: Exchange, answer: Answer | None) -> Outcome | None:
    """What a request that is over says of its target; `None` for one that asked for no answer of a model.

    What was not routed may have gone with another key, so limits that its provider told, and that the key was refused, say
    nothing here. Neither does the refusal of a client's own key, which it may put right at once, as where it has run out.
    """
    target = _target(observation, exchange)
    if target is None or exchange.endpoint.purpose != "generate":
        return None
    asked_ms, at_ms = exchange.asked_ms, exchange.created_ms + round(exchange.last_ms)
    failure = _failure(observation, exchange, answer)
    if exchange.is_untold or (failure is not None and _is_of_another_key(failure, observation.decision)):
        return Outcome(target=target, asked_ms=asked_ms, at_ms=at_ms, told=False)
    retry_at_ms = find_retry(exchange.provider, exchange.answer_headers, at_ms) if failure is not None else None
    return Outcome(
        target=target,
        asked_ms=asked_ms,
        at_ms=at_ms,
        failure=failure,
        retry_at_ms=retry_at_ms,
        key=observation.decision is not None and not observation.decision.destination.client_key,
    )


def find_retry(provider: str, headers: Mapping[bytes, bytes], at_ms: int) -> int | None:
    """When a provider says that it may be asked again, in the headers of an answer that came at `at_ms`."""
    return read_headers(provider, quota_headers(headers), at_ms).retry_at_ms


def _target(observation: Observation, exchange: Exchange) -> str | None:
    if observation.decision is not None:
        return observation.decision.target
    return None if observation.virtual or not observation.model else f"{exchange.provider}/{observation.model}"


def _all_of(target: str) -> str:
    """The key of what concerns all targets of a provider; no target has that name."""
    return f"{target.partition('/')[0]}/*"


def _is_over(row: _Row, now_ms: int) -> bool:
    if row.circuit.retry_at_ms is not None:
        return now_ms > row.circuit.retry_at_ms + _UNTRIED_MS and now_ms > row.at_ms + _UNTRIED_MS
    return now_ms > row.at_ms + _TOLD_MS


def _is_of_another_key(failure: Failure, decision: Decision | None) -> bool:
    if decision is None:
        return failure.kind in _OF_A_KEY
    return failure.kind == "auth" and decision.destination.client_key


def _failure(observation: Observation, exchange: Exchange, answer: Answer | None) -> Failure | None:
    if exchange.failure is not None or exchange.status is None:
        return exchange.failure
    cut = exchange.outcome != "whole"
    if answer is None or observation.reader is None:
        # It was too much to read. That it came whole is known.
        return connection_failure("upstream_closed") if cut else None
    return judge(exchange.status, answer, spoke=observation.reader.spoke, cut=cut)


def _report(target: str, circuit: Circuit, now_ms: int) -> dict[str, Any]:
    return {
        "target": target,
        "state": circuit_state(circuit, now_ms),
        "openings": circuit.openings,
        "strikes": sum(now_ms - at <= RULES.within_ms for at in circuit.strikes),
        "retry_at_ms": circuit.retry_at_ms,
        "trying": circuit.probe_ms is not None and not is_admitted(circuit, now_ms),
    }
