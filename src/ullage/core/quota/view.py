"""How much of a provider's quota is used, as far as counters of ours and the provider's own headers tell.

Routing specification, section 16: local hints, no billing calls. UVI is the part of a quota that is used or will be at this rate:
1 is all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field

Status = Literal["unknown", "healthy", "warning", "blocked", "cooldown"]
Source = Literal["rate-limit", "adapter", "configured"]

WINDOW_MS = 86_400_000
STALE_AFTER_MS = 3_600_000
LEAST_WINDOW_MS = 60_000
WARNING_UVI = 0.8
BLOCK_UVI = 1.0

_MOST_WARNING = 10.0
_LEAST_ELAPSED = 0.01
_TELLING_ELAPSED = 0.05
"""Before this part of a window is over a rate says nothing: a first request would look like a burn (ours)."""
_HOUR_MS = 3_600_000
_LEAST_BURN_HOURS = 1 / 60


class QuotaLimits(Struct, frozen=True, kw_only=True):
    """What a provider may be used for in one window. `max_usd` is money, `max_requests` counts calls; without either, only the
    provider's own headers tell."""

    window_ms: int | None = None
    max_usd: float | None = None
    max_requests: float | None = None
    warning_uvi: float | None = None
    block_uvi: float | None = None


class QuotaRules(Struct, frozen=True, kw_only=True):
    """Limits of all providers. What a provider said of itself counts for `stale_after_ms`, at least a minute."""

    enabled: bool = True
    window_ms: int = WINDOW_MS
    stale_after_ms: int = STALE_AFTER_MS
    providers: Mapping[str, QuotaLimits] = field(default_factory=dict)

    def limits(self, provider: str) -> QuotaLimits:
        return self.providers.get(provider, _NO_LIMITS)

    def window_of(self, provider: str) -> int:
        """Milliseconds, at least a minute."""
        return max(LEAST_WINDOW_MS, self.limits(provider).window_ms or self.window_ms)


_NO_LIMITS = QuotaLimits()
NO_RULES = QuotaRules(providers=MappingProxyType({}))


class Tally(Struct, frozen=True, kw_only=True):
    """What was used since a window began; `usd` leaves out calls whose price is not known."""

    window_start_ms: int
    requests: int = 0
    usd: float = 0.0


class Observed(Struct, frozen=True, kw_only=True):
    """What a provider said of its limits: the part that is used, when it said so, and when that limit begins anew, if it told."""

    uvi: float
    at_ms: int
    until_ms: int | None = None


class QuotaView(Struct, frozen=True, kw_only=True):
    """What is known of one provider's quota at one moment. `None` is not known.

    `usage` is the part of the configured limits that is used, `velocity` that part at the end of the window if it goes on like
    this, `observed` what the provider says. `retry_at_ms` is when the provider wants to be asked again.
    """

    provider: str
    status: Status
    source: Source | None
    uvi: float | None
    usage: float | None
    velocity: float | None
    observed: float | None
    burn_usd_per_hour: float
    retry_at_ms: int | None
    requests: int
    usd: float
    window_start_ms: int
    window_ms: int
    limits: QuotaLimits


def start_window(now_ms: int, window_ms: int) -> int:
    """When the window began that this moment is in: windows are aligned with the epoch."""
    return now_ms // window_ms * window_ms


def count_call(tally: Tally | None, *, now_ms: int, window_ms: int, usd: float | None) -> Tally:
    """The tally with one more call; it begins anew with each window."""
    start = start_window(now_ms, window_ms)
    if tally is None or tally.window_start_ms != start:
        tally = Tally(window_start_ms=start)
    return Tally(window_start_ms=start, requests=tally.requests + 1, usd=tally.usd + (usd or 0.0))


def view_quota(
    provider: str,
    rules: QuotaRules,
    *,
    now_ms: int,
    tally: Tally | None = None,
    observed: Observed | None = None,
    retry_at_ms: int | None = None,
) -> QuotaView:
    """What all this says of a provider now. A tally of an older window is none."""
    limits, window = rules.limits(provider), rules.window_of(provider)
    if tally is None or now_ms - tally.window_start_ms > window:
        tally = Tally(window_start_ms=start_window(now_ms, window))
    elapsed = min(max((now_ms - tally.window_start_ms) / window, _LEAST_ELAPSED), 1.0)
    usage = _usage(tally, limits)
    velocity = None if usage is None else usage / elapsed
    said = _still_true(observed, rules, now_ms)
    telling = velocity if elapsed >= _TELLING_ELAPSED else None
    uvi = max((value for value in (usage, telling, said) if value is not None), default=None)
    waiting = retry_at_ms is not None and retry_at_ms > now_ms
    status = _status(rules, limits, uvi=uvi, usage=usage, observed=said, waiting=waiting)
    hours = max((now_ms - tally.window_start_ms) / _HOUR_MS, _LEAST_BURN_HOURS)
    return QuotaView(
        provider=provider,
        status=status,
        source=_source(status, usage, said),
        uvi=uvi,
        usage=usage,
        velocity=velocity,
        observed=said,
        burn_usd_per_hour=tally.usd / hours,
        retry_at_ms=retry_at_ms if waiting else None,
        requests=tally.requests,
        usd=tally.usd,
        window_start_ms=tally.window_start_ms,
        window_ms=window,
        limits=limits,
    )


def _usage(tally: Tally, limits: QuotaLimits) -> float | None:
    parts = ((tally.usd, limits.max_usd), (tally.requests, limits.max_requests))
    return max((used / most for used, most in parts if most is not None and most > 0), default=None)


def _still_true(observed: Observed | None, rules: QuotaRules, now_ms: int) -> float | None:
    """What a provider said, unless that is too old, or its limit has begun anew since then (ours)."""
    if observed is None or now_ms - observed.at_ms > max(LEAST_WINDOW_MS, rules.stale_after_ms):
        return None
    return None if observed.until_ms is not None and observed.until_ms <= now_ms else observed.uvi


def _status(
    rules: QuotaRules,
    limits: QuotaLimits,
    *,
    uvi: float | None,
    usage: float | None,
    observed: float | None,
    waiting: bool,
) -> Status:
    """A fast burn alone never blocks. A provider that wants to be left alone is, even if nothing else is known of it (C13)."""
    if not rules.enabled:
        return "unknown"
    if waiting:
        return "cooldown"
    if uvi is None:
        return "unknown"
    warning = min(max(WARNING_UVI if limits.warning_uvi is None else limits.warning_uvi, 0.0), _MOST_WARNING)
    block = max(warning, BLOCK_UVI if limits.block_uvi is None else limits.block_uvi)
    if (usage is not None and usage >= block) or (observed is not None and observed >= 1):
        return "blocked"
    return "warning" if uvi >= warning else "healthy"


def _source(status: Status, usage: float | None, observed: float | None) -> Source | None:
    if status == "unknown":
        return None
    if status == "cooldown":
        return "rate-limit"
    return "adapter" if observed is not None and (usage is None or observed >= usage) else "configured"
