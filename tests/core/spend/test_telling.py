"""What is said of limits."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.spend import ProviderLimits, Spend, SpendLimits, SpendTotal, Verdict
from ullage.core.spend.ledger import Key, judge, to_nano
from ullage.core.spend.telling import block_message, budget_line, frees_at, usd_text

CALL = Spend(id="a", at_ms=0, day="2026-12-31", provider="openai", model="gpt-5", session="s", estimate=to_nano(0.125))


@pytest.mark.parametrize(
    ("usd", "text"),
    [(5, "5.00"), (0, "0.00"), (0.25, "0.25"), (0.0009, "0.0009"), (12.345678, "12.35"), (0.1234567, "0.123457")],
)
def test_amounts_are_told_in_cents_and_small_ones_as_they_are(usd: float, text: str) -> None:
    assert usd_text(to_nano(usd)) == text


@pytest.mark.parametrize(
    ("name", "day", "when"),
    [
        ("daily", "2026-12-31", "at 2027-01-01 00:00"),
        ("openai daily", "2026-02-28", "at 2026-03-01 00:00"),
        ("monthly", "2026-01-31", "at 2026-02-01 00:00"),
        ("monthly", "2026-12-01", "at 2027-01-01 00:00"),
        ("task", "2026-12-31", "with your next prompt"),
        ("session", "2026-12-31", "with a new session"),
    ],
)
def test_a_limit_frees_when_its_window_is_over(name: str, day: str, when: str) -> None:
    assert frees_at(name, day) == when


def verdict(limits: SpendLimits, spend: Spend = CALL) -> Verdict:
    used = SpendTotal(scope="day", name="2026-12-31", amount=to_nano(4.9))
    return judge(limits, spend, {Key("day", "2026-12-31"): used})


def test_a_refusal_names_the_limit_what_is_spent_when_it_frees_and_what_to_do() -> None:
    message, hint = block_message(CALL, verdict(SpendLimits(day=to_nano(5), session=0, on_exceed="block")))
    assert message.startswith("the session limit of 0.00 USD")
    message, hint = block_message(CALL, verdict(SpendLimits(day=to_nano(5), on_exceed="block")))
    assert message == (
        "the daily limit of 5.00 USD does not allow this call: 4.90 USD are spent or reserved, and at openai/gpt-5 it may cost"
        " up to 0.125 USD"
    )
    assert "frees at 2027-01-01 00:00" in hint
    assert "budget.daily_usd" in hint


def test_a_refusal_is_by_the_limit_whose_action_holds() -> None:
    limits = SpendLimits(
        day=to_nano(5), on_exceed="warn", providers={"openai": ProviderLimits(day=0, on_exceed="block")}
    )
    message, hint = block_message(CALL, verdict(limits))
    assert "the openai daily limit of 0.00 USD" in message
    assert "budget.providers.openai.daily_usd" in hint


def test_a_warning_is_one_line_and_none_where_all_is_well() -> None:
    assert budget_line(verdict(SpendLimits(day=to_nano(6)))) == ""
    assert budget_line(verdict(SpendLimits(day=to_nano(5), on_exceed="warn"))) == (
        "warn; daily: 4.90 of 5.00 USD are used, this call may cost 0.125"
    )


def test_a_limit_that_cannot_be_held_is_told() -> None:
    unpriced = Spend(id="a", at_ms=0, day="2026-12-31", provider="openai", model="new")
    line = budget_line(verdict(SpendLimits(day=to_nano(5), on_exceed="block"), unpriced))
    assert line == "not held to daily: its price is not known"


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2999, 12, 30)))
def test_the_next_day_is_that_of_the_calendar(day: date) -> None:
    assert frees_at("daily", day.isoformat()) == f"at {day + timedelta(days=1)} 00:00"
