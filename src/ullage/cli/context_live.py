"""The newest live call for `ullage context`: its stored report, and the insights that earlier reports of its session allow."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.accounting import load_report
from ullage.core.content import Usage
from ullage.core.errors import InputError

from .inspection import Inspection
from .records import open_records

if TYPE_CHECKING:
    from ullage.core.accounting.insights import Insights, ReportedCall
    from ullage.core.calibration import Course
    from ullage.stores import CallRecord, Reader

    from .context_input import Wishes

_KIND = "conversation"
_NEWEST_CALLS = 50
_SESSION_CALLS = 1_000
"""So many calls of a session are looked back upon: a day of work, a few megabytes of reports."""


def inspect_live(wishes: Wishes) -> Inspection:
    """The newest conversation call of the store. Raises `InputError` if none was accounted for, `StoreError` without a store."""
    records = open_records()
    for call in records.calls(kind=_KIND, limit=_NEWEST_CALLS):
        if call.breakdown is not None:
            breakdown = load_report(call.breakdown)
            breakdown = msgspec.structs.replace(
                breakdown,
                source=breakdown.source or f"call:{call.id}",
                window=wishes.window or breakdown.window,
            )
            return Inspection(
                breakdown, partial(_find_insights, records, call), partial(_find_course, records, call, wishes)
            )
    raise InputError(
        "No accounted call is recorded yet.",
        hint="Send one prompt through `ullage serve`, or give a session file or a request body.",
        code="not_found",
    )


def _find_insights(records: Reader, newest: CallRecord) -> Insights:
    """What the session's reports tell. The store holds no content, so nothing is said of repeated texts."""
    from ullage.core.accounting.insights import (
        Insights,
        find_clearings,
        find_reported_caching,
        find_reported_compactions,
        find_reported_growth,
        sum_turns,
    )

    reported = _reported(records, newest)
    calls = find_reported_growth(reported)
    return Insights(
        calls=calls,
        turns=sum_turns(calls),
        caching=find_reported_caching(reported),
        compactions=find_reported_compactions(reported),
        clearings=find_clearings(calls),
    )


def _find_course(records: Reader, newest: CallRecord, wishes: Wishes) -> Course | None:
    """What was learned of the model that the newest call asked for, by whichever session, and which calls of this one were no
    samples."""
    from ullage.core.calibration import Refused, draw_course
    from ullage.stores import to_sample
    from ullage.stores.report import target_of

    if newest.model is None:
        return None
    learned = (newest.awareness or {}).get("calibration") or {}
    estimator = learned.get("estimator") or wishes.preferences.planner_estimator(newest.provider, newest.model)
    calls = records.calls(newest.session, limit=_SESSION_CALLS) if newest.session else [newest]
    refused = [
        Refused(id=call.id, created_ms=call.created_ms, reason=str(call.sample["refused"]))
        for call in reversed(calls)
        if target_of(call) == target_of(newest) and call.sample is not None and "refused" in call.sample
    ]
    policy = wishes.preferences.policy
    return draw_course(
        [to_sample(record) for record in records.samples(newest.provider, newest.model, estimator)],
        policy.bounds,
        target=target_of(newest),
        estimator=estimator,
        refused=refused,
        enabled=policy.enabled,
    )


def _reported(records: Reader, newest: CallRecord) -> list[ReportedCall]:
    """The accounted calls of the session up to the newest one, oldest first."""
    if not newest.session:
        return [_reported_call(newest, {})]
    cuts = {
        event.call: {"cut": event.kind, **event.details}
        for event in records.events(newest.session, limit=_SESSION_CALLS)
        if event.kind in ("rewrite", "branch") and event.call is not None
    }
    calls = records.calls(newest.session, kind=_KIND, limit=_SESSION_CALLS)
    # A call that failed was not added to by the next one: its prompt may never have been read.
    return [_reported_call(call, cuts.get(call.id, {})) for call in reversed(calls) if call.breakdown is not None]


def _reported_call(call: CallRecord, cut: dict[str, Any]) -> ReportedCall:
    from ullage.core.accounting.insights import ReportedCall

    return ReportedCall(
        id=call.id,
        report=call.breakdown or {},
        provider=call.provider,
        model=call.model,
        usage=msgspec.convert(call.usage, Usage) if call.usage is not None else None,
        time_ms=call.created_ms,
        cut=cut.get("cut"),
        messages_before=cut.get("before", 0),
        messages_after=cut.get("after", 0),
        messages_kept=cut.get("shared_messages", 0),
    )
