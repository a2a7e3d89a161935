"""Routed calls listed and added up: decisions, successes, times, and what they cost beside what was predicted.

Routing specification, sections 25 and 29.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.routing.learning import delivered

from .metrics import NANO, attempts_of, cost_of
from .report import iso_time
from .route_records import AttemptRecord
from .tasks import task_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .base import Reader

HOURS = 24
"""Hours that rows are told of one by one."""

_HOUR_MS = 3_600_000
_DECISIONS = 1_000
_ALL = 100_000
_LEAST_PREDICTED = 3
_FACTORS = (0.5, 2.0)


class Decided(Struct, frozen=True, kw_only=True):
    """A task that came to a target: with its first call, or with one that was sent elsewhere than the one before it."""

    call: str
    session: str
    at_ms: int
    task: str
    target: str
    policy: str | None
    reason: str | None
    kinds: tuple[str, ...]


def list_decisions(reader: Reader, session_id: str | None = None, *, limit: int = 50) -> list[Decided]:
    """The newest decisions first; calls that only went on where their task was are none. Raises `StoreError`."""
    found: list[Decided] = []
    last: dict[str, str] = {}
    for attempt in reversed(reader.attempts(session_id)):
        task, route = task_id_of(attempt), attempt.route
        if task is None or route is None or last.get(task) == attempt.target:
            continue
        last[task] = attempt.target
        found.append(
            Decided(
                call=attempt.id,
                session=attempt.session,
                at_ms=attempt.created_ms,
                task=task,
                target=attempt.target,
                policy=route.policy,
                reason=route.reason,
                kinds=attempt.kinds,
            )
        )
    return found[::-1][: max(limit, 0)]


def report_decided(decided: Decided) -> dict[str, Any]:
    """A decision as programs get it."""
    return {
        "call": decided.call,
        "at": iso_time(decided.at_ms),
        "session": decided.session,
        "task": decided.task,
        "target": decided.target,
        "policy": decided.policy,
        "reason": decided.reason,
        "kinds": list(decided.kinds),
    }


def report_routed(reader: Reader, session_id: str | None = None, *, since_ms: int, until_ms: int) -> dict[str, Any]:
    """The routed calls of a time as `ullage auto metrics --json` has them: all together, by provider, by target, by hour (UTC).

    `predicted` is of the calls that a target was chosen with, whose price was known: `usd` what they were taken to cost,
    `cost_usd` what they did, and `factor` the one by the other, from three calls on (section 25.3). Raises `StoreError`.
    """
    attempts = [
        one
        for call in reader.attempts(session_id, since_ms=since_ms, limit=_ALL)
        if call.routed and call.asked and call.created_ms <= until_ms
        for one in _each(call)
    ]
    predicted = _predictions(reader, session_id, since_ms)
    providers: defaultdict[str, list[AttemptRecord]] = defaultdict(list)
    targets: defaultdict[str, list[AttemptRecord]] = defaultdict(list)
    hours: defaultdict[int, list[AttemptRecord]] = defaultdict(list)
    for one in attempts:
        providers[one.provider].append(one)
        targets[one.target].append(one)
        hours[one.created_ms // _HOUR_MS].append(one)
    newest = sorted(hours)[-HOURS:]
    return {
        "since": iso_time(since_ms),
        "until": iso_time(until_ms),
        "total": _row(attempts, predicted),
        "providers": _rows("provider", providers, predicted),
        "targets": _rows("target", targets, predicted),
        "hourly": [{"hour": iso_time(hour * _HOUR_MS), **_row(hours[hour], predicted)} for hour in newest],
    }


def _predictions(reader: Reader, session_id: str | None, since_ms: int) -> dict[str, float]:
    """What the calls that a target was chosen with were taken to cost, by their ids."""
    found: dict[str, float] = {}
    for call in reader.decisions(session_id, limit=_DECISIONS):
        route = call.route or {}
        ranked = route.get("ranked") or ()
        cost = next((one.get("cost") or {} for one in ranked if one.get("target") == route.get("target")), {})
        if call.created_ms >= since_ms and isinstance(cost.get("request_usd"), float):
            found[call.id] = cost["request_usd"]
    return found


def _each(call: AttemptRecord) -> Iterator[AttemptRecord]:
    """Every target that was asked for a call, the one that it ended with as the call itself, in its own time."""
    made = attempts_of(call)
    for number, one in enumerate(made[:-1], 1):
        provider, _, model = one.target.partition("/")
        yield AttemptRecord(
            id=f"{call.id}:{number}",
            session=call.session,
            created_ms=call.created_ms,
            kind=call.kind,
            provider=provider,
            model=model or None,
            status=one.status,
            outcome="error",
        )
    first_ms, whole_ms = (made[-1].ttft_ms, made[-1].ms) if made else (None, None)
    yield replace(
        call,
        first_byte_ms=call.first_byte_ms if first_ms is None else first_ms,
        duration_ms=call.duration_ms if whole_ms is None else whole_ms,
    )


def _rows(name: str, groups: dict[str, list[AttemptRecord]], predicted: dict[str, float]) -> list[dict[str, Any]]:
    """The busiest first."""
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [{name: key, **_row(attempts, predicted)} for key, attempts in ordered]


def _row(attempts: Sequence[AttemptRecord], predicted: dict[str, float]) -> dict[str, Any]:
    judged = [said for one in attempts if (said := delivered(one.outcome, one.status)) is not None]
    good = [one for one in attempts if delivered(one.outcome, one.status)]
    times = [one.duration_ms for one in good if one.duration_ms is not None]
    costs = {one.id: _cost_usd(one) for one in attempts}
    known = [cost for cost in costs.values() if cost is not None]
    paid = [(predicted[id_], cost) for id_, cost in costs.items() if cost is not None and id_ in predicted]
    return {
        "attempts": len(attempts),
        "successes": sum(judged),
        "failures": len(judged) - sum(judged),
        "success_rate": sum(judged) / len(judged) if judged else None,
        "latency_ms": {"average": sum(times) / len(times) if times else None, **_percentiles(times)},
        "ttft_ms": _percentiles(one.first_byte_ms for one in good if one.streamed and one.first_byte_ms is not None),
        "cost_usd": sum(known) if known else None,
        "unpriced": sum(one.usage is not None and costs[one.id] is None for one in attempts),
        "predicted": _predicted(paid),
    }


def _predicted(paid: Sequence[tuple[float, float]]) -> dict[str, Any]:
    estimated, actual = sum(one for one, _ in paid), sum(cost for _, cost in paid)
    low, high = _FACTORS
    factor = min(high, max(low, actual / estimated)) if len(paid) >= _LEAST_PREDICTED and estimated > 0 else None
    return {
        "calls": len(paid),
        "usd": estimated if paid else None,
        "cost_usd": actual if paid else None,
        "factor": factor,
    }


def _cost_usd(attempt: AttemptRecord) -> float | None:
    nano = cost_of(attempt)
    return None if nano is None else nano / NANO


def _percentiles(values: Iterable[float]) -> dict[str, float | None]:
    """Nearest rank (section 25.2)."""
    ordered = sorted(values)
    return {
        name: ordered[math.ceil(share * len(ordered)) - 1] if ordered else None
        for name, share in (("p50", 0.5), ("p95", 0.95))
    }
