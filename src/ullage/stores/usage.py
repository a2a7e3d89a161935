"""Tokens that recorded calls used, as their providers reported them, by session, day or target."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Literal, get_args

from ullage.core.errors import CallError

from .metrics import cost_of
from .report import iso_time

if TYPE_CHECKING:
    from .base import Reader
    from .route_records import AttemptRecord

UsageGroup = Literal["target", "session", "day"]
USAGE_GROUPS: tuple[UsageGroup, ...] = get_args(UsageGroup)

DEFAULT_SINCE = "7d"

_PARTS = ("input_fresh", "cache_read", "cache_write", "output", "reasoning")
_MOST = 100_000
_NANO = 1_000_000_000


def report_usage(
    reader: Reader, session_id: str | None = None, *, since_ms: int, until_ms: int, by: str = "target"
) -> dict[str, Any]:
    """The usage of the calls of a time. Parts are disjoint, but `reasoning`, which is a part of `output`; a day is one in UTC.

    `cost_usd` is of the calls whose prices are known, `None` if none are; `unpriced` counts those with a usage and no price, and
    `unreported` those without a usage. The rows with the most tokens come first, days in their order. Raises `CallError` for
    nothing to group by, `StoreError`.
    """
    group = next((one for one in USAGE_GROUPS if one == by), None)
    if group is None:
        raise CallError(
            f"{by[:40]!r} is nothing to group by.", hint=f"Known: {', '.join(USAGE_GROUPS)}.", code="bad_by"
        )
    total, rows = _Sum(), defaultdict[str, _Sum](_Sum)
    for call in reader.attempts(session_id, since_ms=since_ms, limit=_MOST):
        if call.created_ms <= until_ms and call.outcome != "answered":
            total.add(call)
            rows[_name(call, group)].add(call)
    ordered = sorted(rows.items()) if group == "day" else sorted(rows.items(), key=lambda row: (-row[1].tokens, row[0]))
    return {
        "since": iso_time(since_ms),
        "until": iso_time(until_ms),
        "by": group,
        "total": total.report(),
        "rows": [{group: name, **one.report()} for name, one in ordered],
    }


class _Sum:
    """Calls added up."""

    def __init__(self) -> None:
        self._calls = self._priced = self._unpriced = self._unreported = self._nano_usd = 0
        self._parts: Counter[str] = Counter()

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self._parts.total() - self._parts["reasoning"]

    def add(self, call: AttemptRecord) -> None:
        self._calls += 1
        if call.usage is None:
            self._unreported += 1
            return
        for part in _PARTS:
            self._parts[part] += call.usage.get(part) or 0
        nano = cost_of(call)
        self._priced += nano is not None
        self._unpriced += nano is None
        self._nano_usd += nano or 0

    def report(self) -> dict[str, Any]:
        return {
            "calls": self._calls,
            **{part: self._parts[part] for part in _PARTS},
            "tokens": self.tokens,
            "cost_usd": self._nano_usd / _NANO if self._priced else None,
            "unpriced": self._unpriced,
            "unreported": self._unreported,
        }


def _name(call: AttemptRecord, group: UsageGroup) -> str:
    match group:
        case "target":
            return call.target
        case "session":
            return call.session
        case "day":
            return iso_time(call.created_ms)[:10]
