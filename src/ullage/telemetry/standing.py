"""How things stand now, for Prometheus: circuits, quotas, and what was spent of what may be."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from ullage.core.errors import StoreError
from ullage.core.spend.ledger import Key
from ullage.settings.budget import make_spend_limits
from ullage.stores.exports.tables import split_target
from ullage.stores.metrics import NANO

from .exposition import make_labels
from .figures import gauge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.core.spend.ledger import SpendLimits
    from ullage.engine import Engine
    from ullage.settings import Settings
    from ullage.stores import Store

    from .exposition import Family, Labels

_CIRCUITS = {"closed": 0.0, "half-open": 0.5, "open": 1.0}


class Standing:
    """Asks a running daemon. Every call may wait for the database; what cannot be read is left out. `connections` tells how many
    clients are connected."""

    def __init__(self, engine: Engine, store: Store, settings: Settings, connections: Callable[[], int]) -> None:
        self._engine = engine
        self._connections = connections
        self._store = store
        self._limits = make_spend_limits(settings.budget)

    def __call__(self) -> Iterator[Family]:
        """The families of one scrape."""
        now_ms = time.time_ns() // 1_000_000
        yield gauge("ullage_connections", "Clients that are connected.", {(): self._connections()})
        yield gauge(
            "ullage_circuit_open",
            "Circuits of targets that failed lately: 1 open, 0.5 half open, 0 closed.",
            {_target(one["target"]): _CIRCUITS[one["state"]] for one in self._engine.health.report(now_ms)},
        )
        yield gauge(
            "ullage_quota_used_ratio",
            "How much of a provider's quota is used, or will be at this rate: 1 is all of it.",
            {
                make_labels(provider=one["provider"]): one["uvi"]
                for one in self._engine.quotas.report(now_ms)
                if one["uvi"] is not None
            },
        )
        with contextlib.suppress(StoreError):  # the store says itself what is wrong with it
            yield from self._spent()

    def _spent(self) -> Iterator[Family]:
        day = time.strftime("%Y-%m-%d")
        limits = _limits(self._limits)
        keys = {one: _key(*one, day) for one in {*limits, ("", "day"), ("", "month")}}
        totals = self._store.ledger.find_totals(keys.values())
        spent = {one: totals[key].used for one, key in keys.items() if key in totals}
        yield gauge(
            "ullage_spent_usd",
            "What was spent in this day and month of the machine's time zone, reservations included.",
            _usd(spent),
        )
        yield gauge("ullage_budget_usd", "What may be spent in a day and a month.", _usd(limits))


Part = tuple[str, str]
"""A provider, empty for all, and a period."""


def _limits(limits: SpendLimits) -> dict[Part, int]:
    own = {("", "day"): limits.day, ("", "month"): limits.month}
    for name, one in limits.providers.items():
        own |= {(name, "day"): one.day, (name, "month"): one.month}
    return {part: limit for part, limit in own.items() if limit is not None}


def _key(provider: str, period: str, day: str) -> Key:
    """The sum that a limit of a period is held against."""
    name = day if period == "day" else day[:7]
    if period == "day":
        return Key("provider_day", f"{name} {provider}") if provider else Key("day", name)
    return Key("provider_month", f"{name} {provider}") if provider else Key("month", name)


def _usd(amounts: dict[Part, int]) -> dict[Labels, float]:
    return {make_labels(provider=one[0], period=one[1]): amount / NANO for one, amount in amounts.items()}


def _target(target: str) -> Labels:
    provider, model = split_target(target)
    return make_labels(provider=provider, model=model)
