"""Limits, reservations and their sums, row by row of routing specification, section 17."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.errors import CallError
from ullage.core.spend import NO_LIMITS, ProviderLimits, Spend, SpendAttempt, SpendLimits, SpendTotal
from ullage.core.spend.ledger import (
    ACTIONS,
    Change,
    Key,
    Verdict,
    adopt,
    count,
    judge,
    release,
    reserve,
    settle,
    strongest,
    to_nano,
)

HOUR_MS = 3_600_000
AT_MS = 1_780_000_000_000
Totals = dict[Key, SpendTotal]


def spend(name: str = "a", usd: float | None = 1.0, **fields: Any) -> Spend:
    common: dict[str, Any] = {"at_ms": AT_MS, "day": "2026-05-28", "provider": "openai", "model": "m", "session": "s1"}
    return Spend(id=name, estimate=None if usd is None else to_nano(usd), **(common | fields))


def limits(**fields: Any) -> SpendLimits:
    providers = {name: ProviderLimits(**in_nano(one)) for name, one in fields.pop("providers", {}).items()}
    return SpendLimits(providers=providers, **in_nano(fields))


def in_nano(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: to_nano(value) if isinstance(value, int | float) else value for name, value in fields.items()}


def used(scope: Any, name: str, usd: float) -> Totals:
    return {Key(scope, name): SpendTotal(scope=scope, name=name, amount=to_nano(usd))}


class Ledger:
    """The least that keeps one."""

    def __init__(self) -> None:
        self.totals: Totals = {}
        self.attempts: dict[str, SpendAttempt] = {}

    def put(self, change: Change | None) -> None:
        if change is not None:
            self.attempts[change.attempt.spend.id] = change.attempt
            self.totals |= {total.key: total for total in change.totals}

    def reserve(self, one: Spend, held: SpendLimits = NO_LIMITS, **more: Any) -> Verdict:
        verdict, change = reserve(held, one, self.totals, **more)
        self.put(change)
        return verdict

    def settle(self, name: str, usd: float | None) -> None:
        self.put(settle(self.attempts[name], None if usd is None else to_nano(usd), self.totals, at_ms=AT_MS + 1))

    def release(self, name: str) -> None:
        self.put(release(self.attempts[name], self.totals, at_ms=AT_MS + 1))

    def usd(self, scope: Any, name: str) -> float:
        total = self.totals.get(Key(scope, name))
        return total.used / 1e9 if total is not None else 0.0


def test_of_two_calls_at_a_dollar_each_a_blocked_day_of_one_and_a_half_lets_one_through() -> None:
    ledger, held = Ledger(), limits(day=1.5, on_exceed="block")
    assert ledger.reserve(spend("a"), held).action == "allow"
    second = ledger.reserve(spend("b"), held)
    assert (second.action, second.may_be_sent, second.reserved) == ("block", False, False)
    assert ledger.usd("day", "2026-05-28") == 1.0


@pytest.mark.parametrize(("usd", "exceeded"), [(1.0, []), (1.0001, ["daily"])])
def test_a_limit_that_is_reached_is_not_exceeded(usd: float, exceeded: list[str]) -> None:
    verdict = judge(limits(day=5), spend(usd=usd), used("day", "2026-05-28", 4.0))
    assert [one.name for one in verdict.exceeded] == exceeded
    assert verdict.action == ("downgrade" if exceeded else "allow")


@pytest.mark.parametrize(("usd", "exceeded"), [(0, []), (0.01, ["task"])])
def test_zero_is_a_limit(usd: float, exceeded: list[str]) -> None:
    verdict = judge(limits(task=0), spend(usd=usd, task="t1"), {})
    assert [one.name for one in verdict.exceeded] == exceeded


def test_the_strongest_action_wins_and_all_that_is_exceeded_is_named_in_order() -> None:
    held = limits(day=0, on_exceed="warn", providers={"p": {"day": 0, "on_exceed": "block"}})
    verdict = judge(held, spend(provider="p"), {})
    assert verdict.action == "block"
    assert [one.name for one in verdict.exceeded] == ["daily", "p daily"]


def test_every_check_is_made_in_the_order_of_the_specification() -> None:
    held = limits(task=0, session=0, day=0, month=0, providers={"p": {"day": 0, "month": 0}})
    verdict = judge(held, spend(provider="p", task="t1"), {})
    assert [one.name for one in verdict.exceeded] == ["task", "session", "daily", "monthly", "p daily", "p monthly"]


def test_a_provider_without_an_action_of_its_own_has_that_of_all() -> None:
    held = limits(on_exceed="avoid", providers={"p": {"month": 0}})
    assert judge(held, spend(provider="p"), {}).action == "avoid"
    assert judge(held, spend(provider="other"), {}).action == "allow"


def test_a_cost_that_is_known_later_counts_in_the_windows_of_its_reservation() -> None:
    ledger = Ledger()
    ledger.reserve(spend("a", 1.0, day="2026-01-31", session="1"))
    ledger.reserve(spend("b", 2.0, day="2026-02-01", session="2"))
    ledger.settle("a", 0.25)
    assert ledger.usd("day", "2026-02-01") == ledger.usd("month", "2026-02") == 2.0
    assert (ledger.usd("session", "1"), ledger.usd("session", "2")) == (0.25, 2.0)
    assert ledger.usd("day", "2026-01-31") == ledger.usd("month", "2026-01") == 0.25


@pytest.mark.parametrize("cost", [0.0, None])
def test_without_a_known_cost_the_reservation_stays_and_the_sum_is_called_an_estimate(cost: float | None) -> None:
    ledger = Ledger()
    ledger.reserve(spend("a", 1.0))
    ledger.settle("a", cost)
    assert ledger.attempts["a"].state == "estimated"
    total = ledger.totals[Key("day", "2026-05-28")]
    assert (total.amount, total.estimated) == (to_nano(1.0), to_nano(1.0))


def test_a_lower_cost_lowers_all_its_sums() -> None:
    ledger = Ledger()
    ledger.reserve(spend("a", 1.0, task="t1"))
    before = {key: total.amount for key, total in ledger.totals.items()}
    ledger.settle("a", 0.4)
    assert {before[key] - total.amount for key, total in ledger.totals.items()} == {to_nano(0.6)}
    assert len(before) == 7
    assert all(total.estimated == 0 for total in ledger.totals.values())


def test_a_cost_beyond_the_reservation_counts_whole() -> None:
    ledger = Ledger()
    ledger.reserve(spend("a", 1.0))
    ledger.settle("a", 3.0)
    assert ledger.usd("day", "2026-05-28") == 3.0


def test_what_is_known_is_not_settled_again() -> None:
    ledger = Ledger()
    ledger.reserve(spend("a", 1.0))
    ledger.settle("a", 0.4)
    ledger.settle("a", 9.0)
    ledger.release("a")
    assert ledger.usd("day", "2026-05-28") == 0.4


def test_a_cost_that_comes_late_replaces_the_estimate() -> None:
    ledger = Ledger()
    ledger.reserve(spend("a", 1.0))
    ledger.settle("a", None)
    ledger.settle("a", 0.4)
    assert ledger.usd("day", "2026-05-28") == 0.4


def test_a_call_that_was_never_sent_costs_nothing() -> None:
    ledger = Ledger()
    ledger.reserve(spend("a", 1.0))
    ledger.release("a")
    ledger.settle("a", 5.0)
    total = ledger.totals[Key("day", "2026-05-28")]
    assert (total.amount, total.estimated, total.calls) == (0, 0, 0)


@pytest.mark.parametrize("action", ["block", "avoid"])
def test_what_may_not_be_sent_is_not_counted(action: str) -> None:
    ledger = Ledger()
    assert not ledger.reserve(spend(), limits(day=0, on_exceed=action)).reserved
    assert ledger.totals == {}


def test_a_downgrade_counts_unless_a_cheaper_target_is_at_hand() -> None:
    ledger, held = Ledger(), limits(day=0)
    assert not ledger.reserve(spend("a"), held, skip_downgrade=True).reserved
    soft = ledger.reserve(spend("b"), held)
    assert (soft.action, soft.may_be_sent, soft.reserved) == ("downgrade", True, True)


def test_a_warning_lets_the_call_go() -> None:
    verdict = Ledger().reserve(spend(), limits(session=0.5, on_exceed="warn"))
    assert (verdict.action, verdict.may_be_sent, verdict.reserved) == ("warn", True, True)
    (exceeded,) = verdict.exceeded
    assert (exceeded.limit, exceeded.used) == (to_nano(0.5), 0)


def test_a_capped_reservation_counts_its_cap_and_is_flagged() -> None:
    """Complaint C16: reservations at the worst case filled a limit of $25 of which nothing was spent."""
    ledger, held = Ledger(), limits(day=25, on_exceed="block", reserve_cap=0.5)
    for number in range(50):
        verdict = ledger.reserve(spend(str(number), 9.6), held)
        assert verdict.capped
        assert verdict.action == "allow"
    assert ledger.reserve(spend("one more", 9.6), held).action == "block"
    assert not ledger.reserve(spend("small", 0), held).capped


def test_calls_without_a_session_or_task_are_held_against_these_limits_alone() -> None:
    ledger, held = Ledger(), limits(task=1, session=1, on_exceed="block")
    for name in "abc":
        assert ledger.reserve(spend(name, 1.0, session=None), held).action == "allow"
    assert ledger.reserve(spend("d", 1.1, session=None), held).action == "block"


def test_a_blocking_limit_cannot_be_enforced_without_a_price_and_that_is_said() -> None:
    held = limits(session=5, day=5, on_exceed="warn", providers={"openai": {"month": 5, "on_exceed": "block"}})
    ledger = Ledger()
    verdict = ledger.reserve(spend(usd=None), held)
    assert (verdict.action, verdict.unenforced) == ("allow", ("openai monthly",))
    assert ledger.totals[Key("day", "2026-05-28")].unpriced == 1
    ledger.settle("a", 0.3)
    assert ledger.totals[Key("day", "2026-05-28")].unpriced == 0
    assert ledger.usd("day", "2026-05-28") == 0.3


@pytest.mark.parametrize(("usd", "exceeded"), [(0.99, []), (1.0, ["daily"]), (1.01, ["daily"])])
def test_a_call_whose_cost_nobody_can_foresee_goes_beyond_a_limit_that_is_used_up(
    usd: float, exceeded: list[str]
) -> None:
    verdict = judge(limits(day=1.0), spend(usd=None, unforeseen=True), used("day", "2026-05-28", usd))
    assert [one.name for one in verdict.exceeded] == exceeded


def test_a_limit_that_is_passed_already_holds_calls_without_a_price_too() -> None:
    verdict = judge(limits(day=5, on_exceed="block"), spend(usd=None), used("day", "2026-05-28", 5.1))
    assert verdict.action == "block"


def test_what_another_program_spent_counts_for_limits() -> None:
    total = SpendTotal(scope="day", name="2026-05-28", imported=to_nano(4.5))
    verdict = judge(limits(day=5, on_exceed="block"), spend(usd=1.0), {total.key: total})
    assert verdict.action == "block"


def test_the_hour_is_that_of_the_call() -> None:
    ledger = Ledger()
    ledger.reserve(spend())
    assert ledger.usd("hour", str(AT_MS // HOUR_MS * HOUR_MS)) == 1.0


@pytest.mark.parametrize("usd", [-0.01, float("nan"), float("inf"), True])
def test_what_is_no_amount_of_money_is_an_error(usd: float) -> None:
    with pytest.raises(CallError, match="no cost"):
        to_nano(usd)


def test_a_negative_cost_is_an_error() -> None:
    _, change = reserve(NO_LIMITS, spend(), {})
    assert change is not None
    with pytest.raises(CallError):
        settle(change.attempt, -1, {}, at_ms=AT_MS)


def test_nothing_is_set_without_a_limit() -> None:
    assert not NO_LIMITS.are_set
    assert not SpendLimits(reserve_cap=1, providers={"p": ProviderLimits(on_exceed="block")}).are_set
    assert SpendLimits(task=0).are_set
    assert SpendLimits(providers={"p": ProviderLimits(day=0)}).are_set


def test_the_strongest_of_none_is_to_allow() -> None:
    assert strongest(()) == "allow"
    assert strongest(ACTIONS) == "block"


@pytest.mark.parametrize("state", ["open", "known", "estimated", "released"])
def test_a_call_counted_elsewhere_counts_the_same_when_it_is_added(state: Any) -> None:
    here, there = Ledger(), Ledger()
    for ledger in (here, there):
        ledger.reserve(spend("a", 1.0))
    match state:
        case "known":
            there.settle("a", 0.3)
        case "estimated":
            there.settle("a", None)
        case "released":
            there.release("a")
    here.put(adopt(here.attempts["a"], there.attempts["a"], here.totals))
    fresh = Ledger()
    fresh.put(count(there.attempts["a"], {}))
    figures = [
        {key: (one.amount, one.estimated, one.calls, one.unpriced) for key, one in ledger.totals.items()}
        for ledger in (here, there, fresh)
    ]
    assert figures[0] == figures[1] == figures[2]


MONEY = st.integers(0, 10_000_000_000)
CALLS = st.lists(
    st.tuples(MONEY, st.sampled_from(["s1", "s2"]), st.sampled_from(["d1", "d2"]), st.none() | MONEY), max_size=30
)


@given(calls=CALLS, cap=MONEY)
def test_sums_are_those_of_their_calls_and_a_block_is_never_passed_by_reservations(calls: Any, cap: int) -> None:
    ledger, held = Ledger(), SpendLimits(day=cap, on_exceed="block")
    for number, (estimate, session, day, cost) in enumerate(calls):
        one = Spend(id=str(number), at_ms=AT_MS, day=day, provider="p", model="m", session=session, estimate=estimate)
        verdict, change = reserve(held, one, ledger.totals)
        ledger.put(change)
        assert all(total.used <= cap for key, total in ledger.totals.items() if key.scope == "day")
        if verdict.reserved and cost is not None and cost <= estimate:
            ledger.put(settle(ledger.attempts[one.id], cost, ledger.totals, at_ms=AT_MS))
    for key, total in ledger.totals.items():
        counted = [one for one in ledger.attempts.values() if key in one.spend.keys]
        assert total.amount == sum(one.amount for one in counted)
        assert total.estimated == sum(one.amount for one in counted if one.state != "known")
        assert total.calls == len(counted)
