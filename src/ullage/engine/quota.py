"""What is known of each provider's quota, from the answers that pass and from what the settings allow (routing, section 16).

Processes on one store share it: a provider is a row, which is read before every choice and every answer. In it each process has
its own tally, and it is their sum that counts. Where two write at once, the tally that is lost is written again a few seconds
later at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import StoreError
from ullage.core.quota import (
    Observed,
    QuotaLimits,
    QuotaRules,
    QuotaView,
    Tally,
    count_call,
    read_headers,
    read_refusal,
    view_quota,
)
from ullage.core.routing.scoring import NO_SIGNALS, Signals
from ullage.stores import EventRecord, RouteOverride

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.core.content import Answer
    from ullage.core.quota.view import Status
    from ullage.settings.routing import QuotaSettings
    from ullage.stores import Reader, Store

    from .exchange import Exchange

KEPT_UNDER = "ullage:quotas"
"""Session of the rows, whose keys are the providers. No session of a client has that name."""
_SAVE_EVERY_MS = 5_000
_PROVIDERS = 200
_FIRST_ERROR = 400
_LASTING = ("out-of-credit", "usage-limit")


class Answered(Struct, frozen=True, kw_only=True):
    """What one answer of a provider says of its quota. `asked_ms` is when it was asked, `at_ms` when it had answered; `usd` is
    what that cost, `None` where no price is known."""

    provider: str
    status: int
    asked_ms: int
    at_ms: int
    headers: tuple[tuple[str, str], ...] = ()
    usd: float | None = None
    error_type: str | None = None
    error_message: str | None = None


class Known(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Of one provider, last changed at `at_ms`. At `refused_ms` it said that it wants to be asked no sooner than at
    `retry_at_ms`, for this `reason`; neither is there where it has answered since. `tallies` are those of processes, by names
    that they have given themselves."""

    at_ms: int = 0
    tallies: dict[str, Tally] = {}
    observed: Observed | None = None
    retry_at_ms: int | None = None
    refused_ms: int = 0
    reason: str | None = None

    @property
    def tally(self) -> Tally | None:
        """What all of them have counted in the newest window."""
        start = max((one.window_start_ms for one in self.tallies.values()), default=None)
        if start is None:
            return None
        counted = [one for one in self.tallies.values() if one.window_start_ms == start]
        return Tally(
            window_start_ms=start,
            requests=sum(one.requests for one in counted),
            usd=sum(one.usd for one in counted),
        )


_NOTHING = Known()


def merge_known(one: Known, other: Known) -> Known:
    """What both say together: of each process the tally that has counted more, and else what was said last."""
    tallies = dict(one.tallies)
    for process, tally in other.tallies.items():
        tallies[process] = max(tallies.get(process, tally), tally, key=_count)
    newest = max((tally.window_start_ms for tally in tallies.values()), default=0)
    # Of two that tell of one refusal, one may know that it is over.
    refusal = max(one, other, key=lambda known: (known.refused_ms, known.retry_at_ms is None, known.retry_at_ms or 0))
    observed = max((known for known in (one.observed, other.observed) if known is not None), key=_seen_ms, default=None)
    return Known(
        at_ms=max(one.at_ms, other.at_ms),
        tallies={process: tally for process, tally in tallies.items() if tally.window_start_ms == newest},
        observed=observed,
        retry_at_ms=refusal.retry_at_ms,
        refused_ms=refusal.refused_ms,
        reason=refusal.reason,
    )


def _count(tally: Tally) -> tuple[int, int, float]:
    return tally.window_start_ms, tally.requests, tally.usd


def _seen_ms(observed: Observed) -> int:
    return observed.at_ms


class Quotas:
    """Counters, headers and cooldowns of all providers. Any thread may note and ask. What others know is read from `reader`, what
    is noted here is written to `writer`."""

    def __init__(self, rules: QuotaRules, reader: Reader | None = None, writer: Store | None = None) -> None:
        self._rules = rules
        self._reader = reader
        self._writer = writer
        self._process = uuid.uuid4().hex[:12]
        self._lock = threading.Lock()
        self._known: dict[str, Known] = {}
        self._told: dict[str, Status] = {}
        self._saved_ms = 0
        self._unsaved: set[str] = set()

    def _look(self) -> None:
        """Takes up what other processes have kept. What cannot be read is not there: the next answers make up for it."""
        if self._reader is None:
            return
        kept: dict[str, Any] = {}
        with contextlib.suppress(StoreError):  # the store says itself what is wrong with it
            kept = self._reader.route_overrides(KEPT_UNDER)
        for provider, plain in kept.items():
            with contextlib.suppress(msgspec.ValidationError):
                told = msgspec.convert(plain, Known)
                with self._lock:
                    self._take(provider, told)

    def _take(self, provider: str, told: Known) -> None:
        own = self._known.get(provider, _NOTHING)
        merged = self._known[provider] = merge_known(own, told)
        if merged.tallies.get(self._process) != told.tallies.get(self._process):
            self._unsaved.add(provider)  # it is not written yet, or was written over

    def note(self, answered: Answered) -> None:
        """Takes in an answer. What its headers say replaces what was known. A refusal holds until its time is over, or until a
        request is answered that was sent after it."""
        if not self._rules.enabled:
            return
        observed = _observe(answered)
        refusal = read_refusal(
            answered.provider,
            answered.status,
            answered.headers,
            now_ms=answered.at_ms,
            error_type=answered.error_type,
            error_message=answered.error_message,
        )
        window_ms = self._rules.window_of(answered.provider)
        self._look()
        with self._lock:
            known = self._known.pop(answered.provider, _NOTHING)
            own = count_call(
                known.tallies.get(self._process), now_ms=answered.at_ms, window_ms=window_ms, usd=answered.usd
            )
            after = replace(
                known,
                at_ms=max(known.at_ms, answered.at_ms),
                tallies={**known.tallies, self._process: own},
                observed=observed or known.observed,
            )
            if refusal is not None:
                if refusal.retry_at_ms is not None:
                    after = replace(
                        after, retry_at_ms=refusal.retry_at_ms, refused_ms=answered.at_ms, reason=refusal.kind
                    )
            elif answered.status < _FIRST_ERROR and answered.asked_ms > known.refused_ms:
                after = replace(after, retry_at_ms=None, reason=None)
            self._known[answered.provider] = after
            gone = next(iter(self._known)) if len(self._known) > _PROVIDERS else None
            forgotten = self._known.pop(gone) if gone is not None else _NOTHING
            limits = self._rules.limits(answered.provider)
            # What is held to a limit is shared at once.
            due = (
                after.retry_at_ms != known.retry_at_ms or limits.max_requests is not None or limits.max_usd is not None
            )
            due = due or answered.at_ms - self._saved_ms >= _SAVE_EVERY_MS
            self._saved_ms = answered.at_ms if due else self._saved_ms
            self._unsaved.add(answered.provider)
        if gone is not None and self._writer is not None:
            self._writer.drop_route_override(KEPT_UNDER, gone, forgotten.at_ms)
        if due:
            self.save()
        self._tell_change(answered.provider, answered.at_ms)

    def _tell_change(self, provider: str, now_ms: int) -> None:
        """Puts down that a provider is in another state than before: an event of its own, once."""
        view = self._view(provider, now_ms)
        before, self._told[provider] = self._told.get(provider, "healthy"), view.status
        if len(self._told) > _PROVIDERS:
            del self._told[next(iter(self._told))]
        if self._writer is None or view.status in (before, "unknown"):
            return
        told = {"provider": provider, "status": view.status, "before": before, "source": view.source}
        details = {**told, "uvi": _short(view.uvi), "retry_at_ms": view.retry_at_ms}
        self._writer.put_event(EventRecord(created_ms=now_ms, kind="quota_observation", details=details))

    def save(self) -> None:
        """Keeps what came since the last time, for other processes and the next run."""
        with self._lock:
            rows = [(provider, self._known[provider]) for provider in sorted(self._unsaved) if provider in self._known]
            self._unsaved.clear()
        if self._writer is None:
            return
        for provider, known in rows:
            value = msgspec.to_builtins(known)
            self._writer.put_route_override(
                RouteOverride(session=KEPT_UNDER, key=provider, value=value, at_ms=known.at_ms)
            )

    def keep(self) -> None:
        """The same, with what another process has written over."""
        self._look()
        self.save()

    def view(self, provider: str, now_ms: int) -> QuotaView:
        """What is known of a provider now."""
        self._look()
        return self._view(provider, now_ms)

    def _view(self, provider: str, now_ms: int) -> QuotaView:
        with self._lock:
            known = self._known.get(provider, _NOTHING)
        return view_quota(
            provider,
            self._rules,
            now_ms=now_ms,
            tally=known.tally,
            observed=known.observed,
            retry_at_ms=known.retry_at_ms,
        )

    def refuses(self, provider: str, now_ms: int) -> bool:
        """Whether a provider has no credit or allowance left, so that no task can go on there. One that merely had too many
        requests may serve the next one: whoever it turned away knows that by himself."""
        self._look()
        with self._lock:
            reason = self._known.get(provider, _NOTHING).reason
        return reason in _LASTING and self._view(provider, now_ms).status == "cooldown"

    def signals(self, now_ms: int) -> dict[str, tuple[Status, float | None]]:
        """Status and UVI of each provider of which anything is known."""
        if not self._rules.enabled:
            return {}
        self._look()
        views = [self._view(provider, now_ms) for provider in self._providers()]
        return {view.provider: (view.status, view.uvi) for view in views if view.status != "unknown"}

    def report(self, now_ms: int) -> list[dict[str, Any]]:
        """What programs and people are told, by provider: also of those that have limits and were not called yet."""
        self._look()
        names = sorted({*self._providers(), *self._rules.providers})
        with self._lock:
            reasons = {name: known.reason for name, known in self._known.items()}
        return [_report(self._view(name, now_ms), reasons.get(name)) for name in names]

    def _providers(self) -> list[str]:
        with self._lock:
            return list(self._known)


async def keep_saved(quotas: Quotas, *, every_s: float = _SAVE_EVERY_MS / 1_000) -> None:
    """Keeps what the newest answers have said after a few seconds, though no other one follows; until it is cancelled."""
    while True:
        await asyncio.sleep(every_s)
        quotas.keep()


def make_quota_rules(settings: QuotaSettings) -> QuotaRules:
    """The rules of the settings."""
    return QuotaRules(
        enabled=settings.enabled,
        window_ms=settings.window_ms,
        stale_after_ms=settings.stale_after_ms,
        providers={
            name: QuotaLimits(
                window_ms=one.window_ms,
                max_usd=one.max_usd,
                max_requests=one.max_requests,
                warning_uvi=one.warning_uvi,
                block_uvi=one.block_uvi,
            )
            for name, one in settings.providers.items()
        },
    )


def read_answered(exchange: Exchange, answer: Answer | None, usd: float | None) -> Answered | None:
    """What an exchange that is over and cost `usd` says of its provider's quota; `None` for one that asked for no answer of a
    model, and for one that we have answered."""
    if exchange.endpoint.purpose != "generate" or exchange.status is None or exchange.outcome == "answered":
        return None
    return Answered(
        provider=exchange.provider,
        status=exchange.status,
        asked_ms=exchange.asked_ms,
        at_ms=exchange.created_ms + round(exchange.last_ms),
        headers=quota_headers(exchange.answer_headers),
        usd=usd,
        error_type=answer.error_type if answer is not None else None,
        error_message=answer.error_message if answer is not None else None,
    )


def quota_headers(headers: Mapping[bytes, bytes]) -> tuple[tuple[str, str], ...]:
    """Those of an answer's headers that may say anything of limits."""
    return tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in headers.items()
        if b"rate" in (lowered := name.lower()) or lowered == b"retry-after" or lowered.startswith(b"x-codex-")
    )


def add_quota(
    signals: Mapping[str, Signals], targets: Iterable[str], quotas: Mapping[str, tuple[Status, float | None]]
) -> dict[str, Signals]:
    """Signals of targets with what is known of their providers' quotas."""
    found = dict(signals)
    for target in targets if quotas else ():
        known = quotas.get(target.partition("/")[0])
        if known is not None:
            found[target] = replace(found.get(target, NO_SIGNALS), quota=known[0], uvi=known[1])
    return found


def _observe(answered: Answered) -> Observed | None:
    reading = read_headers(answered.provider, answered.headers, answered.at_ms)
    if reading.uvi is None:
        return None
    return Observed(uvi=reading.uvi, at_ms=answered.at_ms, until_ms=reading.until_ms)


def _report(view: QuotaView, reason: str | None) -> dict[str, Any]:
    limits = view.limits
    return {
        "provider": view.provider,
        "status": view.status,
        "source": view.source,
        "uvi": _short(view.uvi),
        "usage": _short(view.usage),
        "velocity": _short(view.velocity),
        "observed": _short(view.observed),
        "requests": view.requests,
        "max_requests": limits.max_requests,
        "usd": _short(view.usd),
        "max_usd": limits.max_usd,
        "burn_usd_per_hour": _short(view.burn_usd_per_hour),
        "window_ms": view.window_ms,
        "window_start_ms": view.window_start_ms,
        "retry_at_ms": view.retry_at_ms,
        "reason": reason if view.retry_at_ms is not None else None,
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
