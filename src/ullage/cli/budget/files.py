"""What Pi Auto Model has spent, by its `budget.json` and `metrics.json`, as sums of ours.

Routing specification, sections 17.5 and 25.
Its amounts are estimates unless a cost was reported, by the local days of the machine that it ran on. An entry that is wrong is
left out alone, and named with its place.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.spend import SpendTotal
from ullage.core.spend.ledger import to_nano

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ullage.core.spend.ledger import Scope

BUDGET, METRICS = "budget.json", "metrics.json"
_HOUR_MS = 3_600_000
_MOST_USD = 1_000_000
_METRICS_VERSIONS = (1, 2, 3)
_LATEST_MS = 1 << 42


class Taken(NamedTuple):
    """Sums that a file holds, and what of it cannot be used, each with its place."""

    totals: tuple[SpendTotal, ...]
    notes: tuple[str, ...]


class _Reading:
    """Reads one file and collects what is wrong with it on the way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.notes: list[str] = []

    def amount(self, value: Any, place: str) -> int | None:
        """An amount of USD in nano-USD; nothing for none, for zero, and for what is no amount."""
        if value is None or value == 0:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.refuse(place, f"{value!r} is no amount")
            return None
        if not 0 < value <= _MOST_USD:
            self.refuse(place, f"{value!r} is no amount that was spent")
            return None
        return to_nano(value)

    def entries(self, value: Any, place: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            yield from value.items()
        elif value is not None:
            self.refuse(place, "is no object")

    def refuse(self, place: str, why: str) -> None:
        self.notes.append(f"{self._path}: {place} {why}")


def is_budget(data: Mapping[str, Any]) -> bool:
    """Whether an object is a `budget.json`."""
    return isinstance(data.get("usage"), dict)


def is_metrics(data: Mapping[str, Any]) -> bool:
    """Whether an object is a `metrics.json`."""
    return isinstance(data.get("targets"), dict)


def read_budget(data: Mapping[str, Any], path: Path, *, now_ms: int) -> Taken:
    """The sums of a `budget.json`: day, month, sessions, providers and hours."""
    reading = _Reading(path)
    if data.get("version") != 1:
        reading.refuse("version", f"{data.get('version')!r} is not known")
        return Taken((), tuple(reading.notes))
    totals = tuple(_budget_totals(data["usage"], reading, now_ms))
    return Taken(totals, tuple(reading.notes))


def read_metrics(data: Mapping[str, Any], path: Path) -> Taken:
    """The hours of a `metrics.json`, as it has estimated them."""
    reading = _Reading(path)
    if data.get("version") not in _METRICS_VERSIONS:
        reading.refuse("version", f"{data.get('version')!r} is not known")
        return Taken((), tuple(reading.notes))
    totals = []
    for name, bucket in reading.entries(data.get("buckets"), "buckets"):
        place = f"buckets.{name}"
        if not isinstance(bucket, dict) or (start_ms := _hour(bucket.get("startAt"))) is None:
            reading.refuse(place, "is no hour")
            continue
        amount = reading.amount(bucket.get("estimatedCostUsd"), f"{place}.estimatedCostUsd")
        if amount is not None:
            totals.append(_total("hour", str(start_ms), amount, start_ms))
    return Taken(tuple(totals), tuple(reading.notes))


def _budget_totals(usage: Mapping[str, Any], reading: _Reading, now_ms: int) -> Iterator[SpendTotal]:
    day, month = _day(usage.get("dayKey")), _month(usage.get("monthKey"))
    for when, scope, name in ((day, "day", "dayKey"), (month, "month", "monthKey")):
        if when is None:
            reading.refuse(f"usage.{name}", f"{usage.get(name)!r} is no {scope}")
    if day is not None and (amount := reading.amount(usage.get("dailyUsd"), "usage.dailyUsd")) is not None:
        yield _total("day", day, amount, now_ms)
    if month is not None and (amount := reading.amount(usage.get("monthlyUsd"), "usage.monthlyUsd")) is not None:
        yield _total("month", month, amount, now_ms)
    for session, value in reading.entries(usage.get("sessions"), "usage.sessions"):
        if (amount := reading.amount(value, f"usage.sessions.{session}")) is not None:
            yield _total("session", session, amount, now_ms)
    yield from _provider_totals(usage, reading, day, month, now_ms)
    yield from _hour_totals(usage, reading)


def _provider_totals(
    usage: Mapping[str, Any], reading: _Reading, day: str | None, month: str | None, now_ms: int
) -> Iterator[SpendTotal]:
    for provider, spent in reading.entries(usage.get("providers"), "usage.providers"):
        place = f"usage.providers.{provider}"
        if not isinstance(spent, dict):
            reading.refuse(place, "is no object")
            continue
        daily = reading.amount(spent.get("dailyUsd"), f"{place}.dailyUsd")
        monthly = reading.amount(spent.get("monthlyUsd"), f"{place}.monthlyUsd")
        if day is not None and daily is not None:
            yield _total("provider_day", f"{day} {provider}", daily, now_ms)
        if month is not None and monthly is not None:
            yield _total("provider_month", f"{month} {provider}", monthly, now_ms)


def _hour_totals(usage: Mapping[str, Any], reading: _Reading) -> Iterator[SpendTotal]:
    history = usage.get("history", [])
    if not isinstance(history, list):
        reading.refuse("usage.history", "is no list")
        return
    for number, bucket in enumerate(history):
        place = f"usage.history[{number}]"
        if not isinstance(bucket, dict) or (start_ms := _hour(bucket.get("startAt"))) is None:
            reading.refuse(place, "is no hour")
        elif (amount := reading.amount(bucket.get("usd"), f"{place}.usd")) is not None:
            yield _total("hour", str(start_ms), amount, start_ms)


def _total(scope: Scope, name: str, amount: int, at_ms: int) -> SpendTotal:
    return SpendTotal(scope=scope, name=name.encode("utf-8", "replace").decode(), at_ms=at_ms, imported=amount)


def _hour(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 < value < _LATEST_MS and value % _HOUR_MS == 0 else None


def _day(value: Any) -> str | None:
    try:
        return dt.date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        return None


def _month(value: Any) -> str | None:
    found = _day(f"{value}-01")
    return found[:7] if found is not None else None
