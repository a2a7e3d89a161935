"""What is said of limits: in an answer's header, in a refusal, and when each frees again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ledger import NANO

if TYPE_CHECKING:
    from .ledger import Exceeded, Spend, Verdict

_CENT = NANO // 100
_LAST_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SETTINGS = {"task": "task_usd", "session": "session_usd", "daily": "daily_usd", "monthly": "monthly_usd"}


def usd_text(nano: int) -> str:
    """An amount for people: cents, and of less than a cent as much as there is."""
    usd = nano / NANO
    return f"{usd:.2f}" if nano % _CENT == 0 or nano >= NANO else f"{usd:.6f}".rstrip("0")


def frees_at(name: str, day: str) -> str:
    """When a limit frees, `name` as `Check` has it, for a call of that local day: `at 2026-02-01 00:00`, or with what."""
    window = name.rpartition(" ")[2]
    if window == "daily":
        return f"at {_day_after(day)} 00:00"
    if window == "monthly":
        return f"at {_month_after(day)}-01 00:00"
    return "with your next prompt" if window == "task" else "with a new session"


def _day_after(day: str) -> str:
    """The next day of the Gregorian calendar."""
    year, month, number = map(int, day.split("-"))
    leaps = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    last = 29 if month == 2 and leaps else _LAST_DAYS[month - 1]
    return f"{day[:8]}{number + 1:02}" if number < last else f"{_month_after(day)}-01"


def _month_after(day: str) -> str:
    year, month = int(day[:4]), int(day[5:7])
    return f"{year:04}-{month + 1:02}" if month < len(_LAST_DAYS) else f"{year + 1:04}-01"


def budget_line(verdict: Verdict) -> str:
    """What a client is told of a call that goes beyond a limit, or that nobody can hold to one; empty where all is well."""
    told = [
        f"{one.name}: {usd_text(one.used)} of {usd_text(one.limit)} USD are used, this call may cost {usd_text(verdict.amount)}"
        for one in verdict.exceeded
    ]
    if told:
        told.insert(0, verdict.action)
    if verdict.unenforced:
        told.append(f"not held to {', '.join(verdict.unenforced)}: its price is not known")
    return "; ".join(told)


def block_message(spend: Spend, verdict: Verdict) -> tuple[str, str]:
    """Why a call is not sent, by the limit that weighs most, and what to do."""
    told = next(one for one in verdict.exceeded if one.action == verdict.action)
    message = (
        f"the {told.name} limit of {usd_text(told.limit)} USD does not allow this call: {usd_text(told.used)} USD are spent or"
        f" reserved, and at {spend.provider}/{spend.model} it may cost up to {usd_text(verdict.amount)} USD"
    )
    hint = (
        f"It frees {frees_at(told.name, spend.day)}. Ask for a shorter answer, raise {setting_of(told)}, or wait for calls that"
        " are being answered; `ullage budget` shows what is spent and reserved."
    )
    return message, hint


def setting_of(exceeded: Exceeded) -> str:
    """The setting that a limit is set with."""
    provider, _, window = exceeded.name.rpartition(" ")
    return f"budget.providers.{provider}.{_SETTINGS[window]}" if provider else f"budget.{_SETTINGS[window]}"
