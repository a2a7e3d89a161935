"""Calls and their results: which belongs to which, and what is without its other half (planner specification, sections 12.2 and
12.3).

A result belongs to the latest run of assistant messages before it that made its call: ids come again in later turns, and
sometimes twice in one. So pairing goes by position first and by id second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from .facts import NO_ID, SYSTEM_ROLES

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

    `calls` gives each message with results the messages that made the calls, in the order of the results. `runs` gives each
    message the number of the run of assistant messages that it is in or follows. `open` are messages with calls that may still
    wait for a result: those of the last run, as long as no user message follows it.
    """

    calls: dict[int, list[int]]
    runs: list[int]
    open: frozenset[int]
    faults: tuple[Fault, ...]


def pair(facts: Sequence[SliceFacts], kept: Iterable[int] | None = None) -> Pairing:
    """Pairs the messages of a list, or those of it that are kept, as a provider sees them: in order, without the others."""
    reading = _Reading()
    runs = [0] * len(facts)
    waiting = reading.waiting
    run, speaking = 0, False
    for index in range(len(facts)) if kept is None else kept:
        fact = facts[index]
        if fact.role == "assistant":
            if not speaking:
                run, speaking = run + 1, True
        elif fact.role not in SYSTEM_ROLES:
            speaking = False
        if fact.opens_turn or fact.leads or fact.hosted or reading.lead is not None:
            reading.note(fact, index, run)
        for key in fact.calls:
            if key in waiting or key in reading.again:
                reading.call_again(key, index, run)
            else:
                waiting[key] = (index, run)
        if fact.answers:
            reading.answer(fact, index, run)
        if fact.opaque:
            reading.opaque = index
        runs[index] = run
    return reading.close(runs, run)


class _Reading:
    """What is known at one message of the list.

    Maps hold the message and the run of a call: `waiting` and `again` (further calls of one key in one run) of those without a
    result, `_settled` of the latest that needs none any more. `lead` is a message that must be followed by what it led to.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[int, int]] = {}
        self.again: dict[str, list[tuple[int, int]]] = {}
        self.lead: int | None = None
        self.opaque: int | None = None
        self._opener = -1
        self._settled: dict[str, tuple[int, int]] = {}
        self._calls: dict[int, list[int]] = {}
        self._faults: list[Fault] = []

    def note(self, fact: SliceFacts, index: int, run: int) -> None:
        """Takes down what few messages have."""
        for key in fact.hosted:
            self._settled[key] = (index, run)
        if fact.opens_turn:
            self._opener = index
        if fact.role in SYSTEM_ROLES:
            return
        if self.lead is not None and (fact.opens_turn or (fact.answers and fact.role != "assistant")):
            self._faults.append(Fault(self.lead, "reasoning-without-successor"))
        self.lead = index if fact.leads and fact.role == "assistant" else None

    def call_again(self, key: str, index: int, run: int) -> None:
        """A call with a key that waits already: in the same run it is one more, in a later one the first is given up."""
        before = self.waiting.get(key)
        if before is not None and before[1] == run:
            self.again.setdefault(key, []).append((index, run))
            return
        left = [*([before] if before is not None else []), *self.again.pop(key, [])]
        self._faults += [Fault(lost, "call-without-result") for lost, _ in left]
        self.waiting[key] = (index, run)

    def answer(self, fact: SliceFacts, index: int, run: int) -> None:
        calls = []
        for key in fact.answers:
            call = self.waiting.pop(key, None) or self._find_call(key, run)
            if call is None:
                self._faults.append(Fault(index, "result-without-call"))
            else:
                self._settled[key] = call
                calls.append(call[0])
        self._calls[index] = calls

    def _find_call(self, key: str, run: int) -> tuple[int, int] | None:
        """The call of a result that none waits for by this key: a second one of the key, one that has a result already, for a
        result without an id any call of the run that waits, and at last an item that may be anything."""
        again = self.again.get(key)
        if again:
            call = again.pop()
            if not again:
                del self.again[key]
            return call
        settled = self._settled.get(key)
        by_place = key.startswith(NO_ID) and (settled is None or settled[1] != run or key == NO_ID)
        if by_place and self.waiting:
            last, call = self.waiting.popitem()
            if call[1] == run:
                return call
            self.waiting[last] = call
        if settled is None and self.opaque is not None:
            return self.opaque, run
        return settled

    def close(self, runs: list[int], last: int) -> Pairing:
        if self.lead is not None:
            self._faults.append(Fault(self.lead, "reasoning-without-successor"))
        waits: set[int] = set()
        for index, run in (*self.waiting.values(), *(call for calls in self.again.values() for call in calls)):
            if run == last and index > self._opener:
                waits.add(index)
            else:
                self._faults.append(Fault(index, "call-without-result"))
        return Pairing(
            calls=self._calls,
            runs=runs,
            open=frozenset(waits),
            faults=tuple(sorted(self._faults, key=_place)),
        )


def _place(fault: Fault) -> tuple[int, str]:
    return fault.index, fault.kind
