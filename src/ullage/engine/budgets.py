"""What is told of limits and of what is spent, and how the limits of one session are kept (routing specification, section 29).

Commands and the control route alike go by this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ullage.core.errors import CallError, StoreError
from ullage.core.spend import SpendTotal
from ullage.core.spend.ledger import NANO, Check, Key
from ullage.core.spend.telling import frees_at
from ullage.stores import RouteOverride
from ullage.stores.report import iso_time

from .pricing import local_day, time_zone
from .spending import KEPT_UNDER, SessionLimits, overlay, read_session_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ullage.core.spend import SpendAttempt, SpendLimits
    from ullage.core.spend.ledger import Scope
    from ullage.stores import LedgerReader, Reader, Store

HOURS = 24
_HOUR_MS = 3_600_000


class Row(NamedTuple):
    """A sum to be told, and the limit that it is held against, if there is one."""

    name: str
    key: Key | None
    check: Check | None


def report_budget(store: Reader, limits: SpendLimits, *, session: str | None, now_ms: int) -> dict[str, Any]:
    """All limits with what is spent and reserved of each, by session, day, month and provider; the hours of the last day in which
    anything was spent; what is reserved now. Raises `StoreError`."""
    ledger, day = store.ledger, local_day(now_ms)
    own = read_session_limits(store)
    held = session_limits(store, limits, session)
    rows = list(_rows(ledger, held, session, day))
    totals = ledger.find_totals([row.key for row in rows if row.key is not None])
    waiting = ledger.open_attempts()
    return {
        "at": iso_time(now_ms),
        "day": day,
        "time_zone": time_zone(now_ms),
        "on_exceed": held.on_exceed,
        "reserve_cap_usd": _usd(held.reserve_cap),
        "session": session,
        "session_limits": {name: msgspec.to_builtins(one) for name, one in own.items()},
        "rows": [_report(row, totals, waiting, day) for row in rows],
        "hours": _hours(ledger, now_ms),
        "reserved": [_open(one) for one in waiting],
    }


def session_limits(store: Reader, limits: SpendLimits, session: str | None) -> SpendLimits:
    """What holds for a session, where `limits` are those of the settings. Raises `StoreError`."""
    own = read_session_limits(store).get(session or "")
    return limits if own is None else overlay(limits, own)


def newest_spender(ledger: LedgerReader) -> str | None:
    """The session that has spent last."""
    found = ledger.totals("session", limit=1)
    return found[0].name if found else None


def put_session_limits(store: Store, session: str, given: Mapping[str, Any] | None, now_ms: int) -> SessionLimits:
    """Keeps limits of a session beside those that it has, or none any more; what holds then. Waits until that is durable.

    Raises `CallError` for limits that make no sense, and `StoreError`.
    """
    known = read_session_limits(store).get(session, SessionLimits())
    try:
        limits = msgspec.convert({**msgspec.to_builtins(known), **(given or {})}, SessionLimits)
    except msgspec.ValidationError as error:
        raise CallError(f"That is no limit: {error}.", hint="Amounts are USD, from 0 on.", code="bad_limit") from error
    if given is None:
        limits = SessionLimits()
    value = msgspec.to_builtins(limits) or None
    store.put_route_override(RouteOverride(session=KEPT_UNDER, key=session, value=value, at_ms=now_ms))
    if not store.flush():
        raise StoreError(
            "It is not known whether that was written.",
            hint=" ".join(store.problems()) or "Look with `ullage budget` before you try again.",
            code="indeterminate",
        )
    return limits


def _rows(ledger: LedgerReader, limits: SpendLimits, session: str | None, day: str) -> Iterator[Row]:
    month = day[:7]
    for check in limits.checks(""):
        if check.scope == "task":
            yield Row("task", None, check)
    found: list[tuple[str, Scope, str]] = [("session", "session", session)] if session is not None else []
    found += [("daily", "day", day), ("monthly", "month", month)]
    for provider in _providers(ledger, limits, month):
        found += [
            (f"{provider} daily", "provider_day", f"{day} {provider}"),
            (f"{provider} monthly", "provider_month", f"{month} {provider}"),
        ]
    for name, scope, key in found:
        provider = name.rpartition(" ")[0]
        limit = next((one for one in limits.checks(provider) if one.name == name), None)
        yield Row(name, Key(scope, key), limit)


def _providers(ledger: LedgerReader, limits: SpendLimits, month: str) -> list[str]:
    """Those that have a limit, or were paid this month."""
    paid = (one.name.partition(" ") for one in ledger.totals("provider_month"))
    return sorted({*limits.providers, *(provider for when, _, provider in paid if when == month)})


def _report(row: Row, totals: Mapping[Key, SpendTotal], waiting: Iterable[SpendAttempt], day: str) -> dict[str, Any]:
    limit = row.check.limit if row.check is not None else None
    common = {
        "name": row.name,
        "window": row.key.name.partition(" ")[0] if row.key is not None else None,
        "limit_usd": _usd(limit),
        "on_exceed": row.check.action if row.check is not None else None,
        "frees": frees_at(row.name, day),
    }
    if row.key is None:
        return common
    total = totals.get(row.key) or SpendTotal(scope=row.key.scope, name=row.key.name)
    reserved = sum(one.amount for one in waiting if row.key in one.spend.keys)
    return {
        **common,
        "used_usd": _usd(total.used),
        "spent_usd": _usd(total.amount - total.estimated),
        "estimated_usd": _usd(max(0, total.estimated - reserved)),
        "reserved_usd": _usd(reserved),
        "imported_usd": _usd(total.imported),
        "left_usd": None if limit is None else _usd(max(0, limit - total.used)),
        "calls": total.calls,
        "unpriced": total.unpriced,
    }


def _hours(ledger: LedgerReader, now_ms: int) -> list[dict[str, Any]]:
    first = (now_ms // _HOUR_MS - HOURS + 1) * _HOUR_MS
    keys = [Key("hour", str(first + number * _HOUR_MS)) for number in range(HOURS)]
    found = ledger.find_totals(keys)
    return [
        {"start": iso_time(int(key.name)), "usd": _usd(found[key].used), "calls": found[key].calls}
        for key in keys
        if key in found
    ]


def _open(attempt: SpendAttempt) -> dict[str, Any]:
    spend = attempt.spend
    return {
        "call": spend.id,
        "since": iso_time(spend.at_ms),
        "target": f"{spend.provider}/{spend.model}",
        "kind": spend.kind,
        "session": spend.session,
        "usd": _usd(attempt.amount),
        "capped": attempt.capped,
    }


def _usd(nano: int | None) -> float | None:
    return None if nano is None else nano / NANO
