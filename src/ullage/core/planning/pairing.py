"""Calls and their results: which belongs to which, and what is without its other half (planner specification, sections 12.2 and
12.3).

A result belongs to the latest run of assistant messages before it that made its call: ids come again in later turns, and
sometimes twice in one. So pairing goes by position first and by id second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .facts import SliceFacts

FaultKind = Literal[
    "call-without-result", "result-without-call", "result-of-another-call", "reasoning-without-successor"
]


class Fault(Struct, frozen=True, gc=False):
    """Why a provider may refuse a list of messages: what is wrong with the message at `index`."""

    index: int
    kind: FaultKind


class Pairing(Struct, frozen=True, kw_only=True):
    """How the messages of a list hang together.

    `links` are pairs of a message with a result and the message with its call. `runs` gives each message, in order, the number
    of the run of assistant messages that it is in or follows. `open` are messages with calls that may still wait for a result:
    those of the last run, as long as no user message follows it.
    """

    links: tuple[tuple[int, int], ...]
    runs: tuple[int, ...]
    open: frozenset[int]
    faults: tuple[Fault, ...]


def pair(facts: Sequence[SliceFacts], kept: Iterable[int] | None = None) -> Pairing:
    """Pairs the messages of a list, or those of it that are kept, as a provider sees them: in order, without the others."""
    reading = _Reading()
    for index in range(len(facts)) if kept is None else kept:
        reading.read(facts[index], index)
    return reading.close()


class _Reading:
    """What is known at one message of the list. `_waiting` and `_again` (further calls of one key in one run) hold the message
    and the run of calls without a result, `_settled` the message of the latest call that needs none any more."""

    def __init__(self) -> None:
        self._run = 0
        self._runs: list[int] = []
        self._speaking = False
        self._opaque: int | None = None
        self._lead: int | None = None
        self._opener = -1
        self._links: list[tuple[int, int]] = []
        self._faults: list[Fault] = []
        self._waiting: dict[str, tuple[int, int]] = {}
        self._again: dict[str, list[tuple[int, int]]] = {}
        self._settled: dict[str, int] = {}

    def read(self, fact: SliceFacts, index: int) -> None:
        if fact.role == "assistant":
            if not self._speaking:
                self._run += 1
                self._speaking = True
            self._lead = index if fact.leads else None
            if fact.calls or fact.hosted:
                self._call(fact, index)
        elif not fact.system:
            self._speaking = False
            self._interrupt(fact, index)
        if fact.answers:
            self._answer(fact, index)
        if fact.opaque:
            self._opaque = index
        self._runs.append(self._run)

    def _interrupt(self, fact: SliceFacts, index: int) -> None:
        if fact.opens_turn:
            self._opener = index
        if self._lead is not None and (fact.opens_turn or fact.answers):
            self._faults.append(Fault(self._lead, "reasoning-without-successor"))
        self._lead = None

    def _call(self, fact: SliceFacts, index: int) -> None:
        waiting, run = self._waiting, self._run
        for key in fact.calls:
            before = waiting.get(key)
            if before is not None and before[1] == run:
                self._again.setdefault(key, []).append((index, run))
                continue
            if before is not None or key in self._again:
                self._give_up(key)
            waiting[key] = (index, run)
        for key in fact.hosted:
            self._settled[key] = index

    def _answer(self, fact: SliceFacts, index: int) -> None:
        for key in fact.answers:
            found = self._waiting.pop(key, None)
            call = found[0] if found is not None else self._find_call(key)
            if call is None:
                self._faults.append(Fault(index, "result-without-call"))
            else:
                self._settled[key] = call
                self._links.append((index, call))

    def _find_call(self, key: str) -> int | None:
        """The call of a result that none waits for by this key: a second one of the key, one that has a result already, for a
        result without an id any call that waits, and at last an item that may be anything."""
        again = self._again.get(key)
        if again:
            call, _ = again.pop()
            if not again:
                del self._again[key]
            return call
        if key in self._settled:
            return self._settled[key]
        if key.startswith("\0") and self._waiting:
            call, _ = self._waiting.pop(next(reversed(self._waiting)))
            return call
        return self._opaque

    def _give_up(self, key: str) -> None:
        """The key comes again in a later run: the calls of it that still wait will get no result."""
        found = self._waiting.pop(key, None)
        left = [*([found] if found is not None else []), *self._again.pop(key, [])]
        self._faults += [Fault(index, "call-without-result") for index, _ in left]

    def close(self) -> Pairing:
        if self._lead is not None:
            self._faults.append(Fault(self._lead, "reasoning-without-successor"))
        waits: set[int] = set()
        for index, run in (*self._waiting.values(), *(call for calls in self._again.values() for call in calls)):
            if run == self._run and index > self._opener:
                waits.add(index)
            else:
                self._faults.append(Fault(index, "call-without-result"))
        return Pairing(
            links=tuple(self._links),
            runs=tuple(self._runs),
            open=frozenset(waits),
            faults=tuple(sorted(self._faults, key=_place)),
        )


def _place(fault: Fault) -> tuple[int, str]:
    return fault.index, fault.kind
