"""What the recorded calls of a time add up to: attempts, times, cost, and how caches served (interface, section 3).

Every target that was asked counts, also one after which another was (routing specification, section 25). Calls are gone through
one after the other, so that no more than a page of them is held at once.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec.structs import replace

from ullage.core.calibration import round_ratio
from ullage.core.errors import CallError
from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.profiles.pricing import fill_prices, prices_at
from ullage.core.routing.learning import delivered

from .report import iso_time
from .route_records import AttemptMade

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.profiles.cache_rules import CacheRule
    from ullage.core.profiles.facts import Prices

    from .base import Reader
    from .route_records import AttemptRecord

Group = Literal["target", "provider", "client", "session"]
GROUPS: tuple[Group, ...] = get_args(Group)

DEFAULT_SINCE = "24h"
NANO = 1_000_000_000

_SESSIONS = 1_024
_UNITS_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_SPAN = re.compile(r"(\d{1,6})\s*([mhdw])")
_HOUR_MS = 3_600_000

# Nobody waits for these, and no tokens are spent: they are no attempts at an answer.
NO_ATTEMPTS = frozenset({"count_tokens", "models", "hello", "other"})
_SUCCESSES = frozenset({"ok", "unparsed"})
_FAILURES = frozenset({"error", "cut"})

_INPUTS = ("input_fresh", "cache_read", "cache_write")
# USD per million tokens times tokens are millionths of a dollar; a thousand nano-USD each.
_NANO_PER_MICRO = 1_000


def report_metrics(store: Reader, *, since_ms: int, until_ms: int, by: Group = "target") -> dict[str, Any]:
    """The metrics of the calls made from `since_ms` up to `until_ms`, epoch milliseconds, as `ullage metrics --json` has them.

    Always per target, per provider and per hour (UTC), and by client or session too if that is asked for. Raises `StoreError`.
    """
    tallies: dict[str, defaultdict[str, Tally]] = {group: defaultdict(Tally) for group in ("target", "provider", by)}
    hourly: defaultdict[int, Tally] = defaultdict(Tally)
    client_of = _client_finder(store)
    for call in store.walk_calls(since_ms=since_ms, until_ms=until_ms):
        made = attempts_of(call)
        if not made:
            continue
        names = {"client": call.client or client_of(call.session), "session": call.session}
        hour = hourly[call.created_ms // _HOUR_MS]
        for one in made[:-1]:
            _add_failed(one, tallies, names, hour)
        names |= {"target": call.target, "provider": call.provider}
        for group, rows in tallies.items():
            rows[names[group]].add(call)
        hour.add(call)
    return {
        "since": iso_time(since_ms),
        "until": iso_time(until_ms),
        "by": by,
        **{f"{group}s": _rows(group, rows) for group, rows in tallies.items()},
        "hourly": [{"hour": iso_time(hour * _HOUR_MS), **tally.report()} for hour, tally in sorted(hourly.items())],
    }


def parse_since(text: str, now_ms: int) -> int:
    """`30m`, `24h`, `7d`, `2w` before now, or a date or time in ISO 8601 (UTC if it names no zone), as epoch milliseconds.

    Raises `CallError`.
    """
    span = _SPAN.fullmatch(text.strip().lower())
    if span is not None:
        return max(0, now_ms - int(span[1]) * _UNITS_MS[span[2]])
    try:
        moment = datetime.fromisoformat(text.strip())
        return max(0, int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise CallError(
            f"{text[:40]!r} is no time.",
            hint="Give a span (30m, 24h, 7d, 2w) or a date (2026-05-28).",
            code="bad_since",
        ) from error


def attempts_of(call: AttemptRecord) -> tuple[AttemptMade, ...]:
    """The targets that were asked, the last one last; none where we answered, the client left before, or it was only counted."""
    if not call.asked or call.outcome == "answered" or call.kind in NO_ATTEMPTS:
        return ()
    cost = cost_of(call)
    usd = None if cost is None else cost / NANO
    if call.route is not None and call.route.attempts:
        *before, last = call.route.attempts
        return *before, replace(last, usd=usd) if last.usd is None else last
    failed = delivered(call.outcome, call.status) is False
    return (
        AttemptMade(
            target=call.target,
            status=call.status,
            failure=call.outcome if failed else None,
            ms_to_first=call.first_byte_ms,
            ms_to_output=call.first_output_ms,
            usd=usd,
            committed=call.status is not None,
            at_ms=call.created_ms,
            ms=call.duration_ms,
        ),
    )


class Tally:
    """Calls added up, one after the other."""

    def __init__(self) -> None:
        self.attempts = 0
        self._failovers = 0
        self._outcomes: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._latencies_ms: list[float] = []
        self._first_ms: list[float] = []
        self._cost_nano_usd = 0
        self._priced = 0
        self._unpriced = 0
        self._tokens: Counter[str] = Counter()
        self._expected_warm = 0
        self._unexpected: Counter[str] = Counter()
        self._misses: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, call: AttemptRecord) -> None:
        """Adds a call."""
        self.attempts += 1
        self._outcomes[call.outcome] += 1
        if call.status is not None:
            self._statuses[str(call.status)] += 1
        if call.outcome in _SUCCESSES:
            last = attempts_of(call)[-1]
            whole_ms = call.duration_ms if last.ms is None else last.ms
            if whole_ms is not None:
                self._latencies_ms.append(whole_ms)
            if call.streamed and last.ttft_ms is not None:
                self._first_ms.append(last.ttft_ms)
        if call.usage is not None:
            self._add_usage(call, call.usage)
        if call.cache is not None:
            self._add_cache(call.cache)

    def add_failed(self, one: AttemptMade) -> None:
        """Adds an attempt after which another target was asked."""
        self.attempts += 1
        self._outcomes["error"] += 1
        self._failovers += 1
        if one.status is not None:
            self._statuses[str(one.status)] += 1

    def report(self) -> dict[str, Any]:
        """The sums as plain data. `failovers` are attempts after which another target was asked. `cost_usd` is of the calls whose
        prices are known, `None` if none are; `unpriced` counts the others. `latency_ms` and `ttft_ms` are from when the target
        was asked, the latter of streamed answers until they said something, thinking aside. `misses` are all of them by cause,
        also those that were to be expected."""
        return {
            "attempts": self.attempts,
            "successes": sum(self._outcomes[outcome] for outcome in _SUCCESSES),
            "failures": sum(self._outcomes[outcome] for outcome in _FAILURES),
            "failovers": self._failovers,
            "statuses": dict(sorted(self._statuses.items())),
            "latency_ms": _percentiles(self._latencies_ms),
            "ttft_ms": _percentiles(self._first_ms),
            "cost_usd": self._cost_nano_usd / NANO if self._priced else None,
            "unpriced": self._unpriced,
            "output": self._tokens["output"],
            "cache": self._report_cache(),
        }

    def _report_cache(self) -> dict[str, Any]:
        parts = {part: self._tokens[part] for part in _INPUTS}
        total = sum(parts.values())
        return {
            **parts,
            "read_share": round_ratio(parts["cache_read"] / total) if total else 0.0,
            "write_share": round_ratio(parts["cache_write"] / total) if total else 0.0,
            "expected_warm": self._expected_warm,
            "unexpected_misses": self._unexpected["calls"],
            "missed_tokens": self._unexpected["tokens"],
            "misses": {cause: dict(sums) for cause, sums in sorted(self._misses.items())},
        }

    def _add_usage(self, call: AttemptRecord, usage: dict[str, Any]) -> None:
        for part in (*_INPUTS, "output"):
            self._tokens[part] += usage.get(part) or 0
        cost = cost_of(call)
        if cost is None:
            self._unpriced += 1
        else:
            self._priced += 1
            self._cost_nano_usd += cost

    def _add_cache(self, cache: dict[str, Any]) -> None:
        self._expected_warm += cache.get("expected") or 0
        miss = cache.get("miss")
        if miss is None:
            return
        for sums in (self._misses[miss["cause"]], *([self._unexpected] if miss.get("unexpected", True) else [])):
            sums["calls"] += 1
            sums["tokens"] += miss["missed_tokens"]


def cost_nano_usd(usage: dict[str, Any], prices: Prices | None, rule: CacheRule) -> int | None:
    """What a call cost by its usage, in billionths of a dollar; `None` where a price is not known that it needs.

    Tokens read from or written to a cache cost what `fill_prices` makes of a list that has no price of their own; `rule` is how
    the provider caches. A tier's prices hold for the whole request.
    """
    if prices is None:
        return None
    prices = fill_prices(prices_at(prices, sum(usage.get(part) or 0 for part in _INPUTS)), rule)
    long = usage.get("cache_write_1h") or 0
    charged = (
        (usage.get("input_fresh") or 0, prices.input),
        (usage.get("cache_read") or 0, prices.cache_read),
        (max(0, (usage.get("cache_write") or 0) - long), prices.cache_write),
        (long, prices.cache_write_1h),
        (usage.get("output") or 0, prices.output),
    )
    micro_usd = 0.0
    for tokens, price in charged:
        if tokens and price is None:
            return None
        micro_usd += tokens * (price or 0.0)
    return round(micro_usd * _NANO_PER_MICRO)


def cost_of(call: AttemptRecord) -> int | None:
    """What a call cost, in billionths of a dollar, as it was counted when it was over; `None` where no usage was reported, or a
    price is not known. It is the one that its last target asks for."""
    usd = (call.spend or {}).get("usd")
    if isinstance(usd, float | int):
        return round(usd * NANO)
    if call.usage is None:
        return None
    return cost_nano_usd(call.usage, call.prices, find_cache_rule(call.provider, call.model))


def _client_finder(store: Reader) -> Callable[[str], str]:
    """Finds the client of a session, for calls that do not say it themselves."""

    @functools.lru_cache(_SESSIONS)
    def find(session: str) -> str:
        known = store.find_session(session) if session else None
        return known.client if known is not None else "unknown"

    return find


def _add_failed(
    one: AttemptMade, tallies: dict[str, defaultdict[str, Tally]], names: dict[str, str], hour: Tally
) -> None:
    named = {**names, "target": one.target, "provider": one.target.partition("/")[0]}
    for group, rows in tallies.items():
        rows[named[group]].add_failed(one)
    hour.add_failed(one)


def _rows(group: str, rows: dict[str, Tally]) -> list[dict[str, Any]]:
    """The busiest first."""
    ordered = sorted(rows.items(), key=lambda row: (-row[1].attempts, row[0]))
    return [{group: name, **tally.report()} for name, tally in ordered]


def _percentiles(values: list[float]) -> dict[str, float | None]:
    """Nearest rank: always a value that was seen."""
    ordered = sorted(values)
    return {
        name: ordered[math.ceil(share * len(ordered)) - 1] if ordered else None
        for name, share in (("p50", 0.5), ("p95", 0.95))
    }
