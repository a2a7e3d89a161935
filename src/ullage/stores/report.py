"""Records as plain data for other programs (interface, section 3): snake_case, times ISO 8601 UTC, never content."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .rollup import completeness

if TYPE_CHECKING:
    from .base import CallRecord, EventRecord, SessionRecord


def iso_time(time_ms: int) -> str:
    """Epoch milliseconds as `2026-05-28T20:26:40.000Z`. Raises `ValueError` or `OverflowError` beyond the year 9999."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def report_session(record: SessionRecord) -> dict[str, Any]:
    """A session as `ullage sessions --json` has it."""
    return {
        "id": record.id,
        "client": record.client,
        "client_version": record.client_version,
        "identity": record.identity,
        "agent": record.agent,
        "parent": record.parent,
        "started_at": iso_time(record.started_ms),
        "last_at": iso_time(record.last_ms),
        "calls": record.calls,
        "provider": record.provider,
        "model": record.model,
        "project": record.project,
        "targets": list(record.targets),
    }


def report_call(record: CallRecord) -> dict[str, Any]:
    """The manifest of a call. `status` is the plan's, `unchanged` where nothing was planned; `http_status` is the answer's.

    `context` is the report of what filled the window, `completeness` says whether all of it was stored (planner.md 25.3).
    `estimate` is its sum, `expected` what the prompt was taken to be from the session's last usage before the answer came,
    `awareness` what limits were drawn from, `usage` what the provider then reported, `sample` what was learned from it, `cache`
    what was expected to be warm and what was. `plan` says what was sent of the request and why, `route` why it went
    to this target, `spend` what it cost.
    """
    planned = (record.plan or {}).get("status")
    return {
        "id": record.id,
        "session": record.session,
        "created_at": iso_time(record.created_ms),
        "status": planned or "unchanged",
        "mode": "managed" if planned is not None else "observe",
        "kind": record.kind,
        "target": target_of(record),
        "dialect": record.dialect,
        "provider": record.provider,
        "model": record.model,
        "project": record.project,
        "answered_by": record.answered_by,
        "path": record.path,
        "outcome": record.outcome,
        "http_status": record.status,
        "streamed": record.streamed,
        "request_bytes": record.request_bytes,
        "answer_bytes": record.answer_bytes,
        "stop_reason": record.stop_reason,
        "tool_calls": list(record.tool_calls),
        "estimate": {"input_tokens": record.estimated_input_tokens, "estimator": record.estimator},
        "expected": record.expected,
        "awareness": record.awareness,
        "usage": record.usage,
        "sample": record.sample,
        "cache": record.cache,
        "plan": record.plan,
        "route": record.route,
        "spend": record.spend,
        "prefix_messages": record.prefix_messages,
        "context": record.breakdown,
        "completeness": completeness(record),
        "warnings": list(record.warnings),
        "timings_ms": {
            "first_byte": record.first_byte_ms,
            "first_output": record.first_output_ms,
            "duration": record.duration_ms,
        },
    }


def report_event(record: EventRecord) -> dict[str, Any]:
    """Something that happened to a session or to the store."""
    return {
        "created_at": iso_time(record.created_ms),
        "kind": record.kind,
        "session": record.session,
        "call": record.call,
        "project": record.project,
        "details": record.details,
    }


def prompt_tokens(record: CallRecord) -> tuple[int | None, bool]:
    """The prompt of a call in tokens, and whether that is an estimate: usage where the provider reported any."""
    reported = [
        number
        for part in ("input_fresh", "cache_read", "cache_write")
        if (number := (record.usage or {}).get(part)) is not None
    ]
    if reported:
        return sum(reported), False
    return record.estimated_input_tokens, True


def target_of(record: CallRecord) -> str:
    """`provider/model`, of what was asked for."""
    return f"{record.provider}/{record.model}" if record.model else record.provider
