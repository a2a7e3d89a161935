"""Random commands against ledgers of both kinds and a model of one: a list of calls, each with what of it counts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from ullage.core.spend import ProviderLimits, Spend, SpendLimits
from ullage.core.spend.ledger import RESERVATION_MS
from ullage.stores import MemoryLedger, SqliteLedger
from ullage.stores.files import open_for_writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.stores import Ledger

NAMES = st.sampled_from("abcdefgh")
DAYS = st.sampled_from(["2026-01-31", "2026-02-01"])
SESSIONS = st.sampled_from(["s1", "s2", None])
PROVIDERS = st.sampled_from(["p", "q"])
AMOUNTS = st.integers(0, 5)
LIMITS = SpendLimits(
    day=12, session=8, on_exceed="block", providers={"q": ProviderLimits(month=6, on_exceed="downgrade")}
)


class Model:
    """What each call counts, by its id, and when it was reserved; a call that was never sent counts nothing."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[Spend, int]] = {}
        self.open: set[str] = set()
        self.ended: set[str] = set()

    def used(self, **marks: Any) -> int:
        return sum(
            amount
            for one, amount in self.calls.values()
            if all((getattr(one, name) or "").startswith(mark) for name, mark in marks.items())
        )

    def may_be_sent(self, one: Spend) -> bool:
        amount = one.estimate or 0
        day = self.used(day=one.day) + amount <= 12
        session = self.used(session=one.session) if one.session else 0
        return day and session + amount <= 8


class LedgerMachine(RuleBasedStateMachine):
    """Two ledgers on one file take turns, as two processes would; one in memory does all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "ullage.db"
        self.on_file = [SqliteLedger(path, clock_ms=lambda: 0, connect=open_for_writing) for _ in range(2)]
        self.in_memory = MemoryLedger()
        self.model = Model()
        self.now_ms = 0

    def teardown(self) -> None:
        for ledger in self.on_file:
            assert ledger.problems() == ()
            ledger.close()
        self.folder.cleanup()

    @rule(name=NAMES, day=DAYS, session=SESSIONS, provider=PROVIDERS, amount=AMOUNTS, turn=st.booleans())
    def reserve(self, name: str, day: str, session: str | None, provider: str, amount: int, turn: bool) -> None:
        one = Spend(id=name, at_ms=self.now_ms, day=day, provider=provider, model="m", session=session, estimate=amount)
        is_new = name not in self.model.calls
        if is_new:
            stuck = {held for held in self.model.open if self.model.calls[held][0].at_ms < self.now_ms - RESERVATION_MS}
            self.model.open -= stuck
        expected = self.model.may_be_sent(one)
        for ledger in self.ledgers(turn):
            verdict = ledger.reserve(LIMITS, one)
            assert not is_new or verdict.may_be_sent == verdict.reserved == expected
        if is_new and expected:
            self.model.calls[name] = (one, amount)
            self.model.open.add(name)

    @rule(name=NAMES, cost=st.none() | AMOUNTS, turn=st.booleans())
    def settle(self, name: str, cost: int | None, turn: bool) -> None:
        for ledger in self.ledgers(turn):
            ledger.settle(name, cost, at_ms=self.now_ms)
        if name in self.model.calls and name not in self.model.ended:
            self.model.open.discard(name)
            if cost:
                self.model.calls[name] = (self.model.calls[name][0], cost)
                self.model.ended.add(name)

    @rule(name=NAMES, turn=st.booleans())
    def release(self, name: str, turn: bool) -> None:
        for ledger in self.ledgers(turn):
            ledger.release(name, at_ms=self.now_ms)
        if name in self.model.calls and name not in self.model.ended:
            self.model.open.discard(name)
            self.model.ended.add(name)
            self.model.calls[name] = (self.model.calls[name][0], 0)

    @rule(hours=st.sampled_from([0.2, 1.0]))
    def wait(self, hours: float) -> None:
        self.now_ms += int(hours * RESERVATION_MS)

    @invariant()
    def sums_are_those_of_the_calls(self) -> None:
        for ledger in (*self.on_file, self.in_memory):
            found = {(one.scope, one.name): one.amount for one in ledger.totals("day") + ledger.totals("session")}
            for (scope, name), amount in found.items():
                assert amount == self.model.used(**{scope: name})
            assert {one.spend.id for one in ledger.open_attempts()} == self.model.open

    def ledgers(self, turn: bool) -> Sequence[Ledger]:
        return self.on_file[turn], self.in_memory


@pytest.mark.slow
def test_every_ledger_counts_as_the_model_does() -> None:
    run_state_machine_as_test(LedgerMachine, settings=settings(max_examples=40, stateful_step_count=20, deadline=None))  # type: ignore[no-untyped-call]
