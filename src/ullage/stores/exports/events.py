"""What happened, as one stream of events (routing specification, section 26).

Nothing is written for it: calls, votes, judged tasks and what the gateway noticed are what it is told from, so it cannot
disagree with them, and lasts as long as they do.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, TypeVar

from ullage.core.routing.learning import delivered
from ullage.stores.metrics import attempts_of
from ullage.stores.report import iso_time
from ullage.stores.tasks import task_id_of

from .rows import EventRow
from .tables import split_target, summarize_tasks, walk_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ullage.stores.base import EventRecord, Reader
    from ullage.stores.route_records import AttemptMade, AttemptRecord, FeedbackRecord, OutcomeRecord
    from ullage.stores.tasks import TaskSummary

    from .selecting import Selection

KINDS = {
    "request": "a request of a client came",
    "route_decision": "a target was chosen for a task, or for an errand",
    "rule_applied": "a rule or a scenario applied to that choice",
    "switch_decision": "staying was weighed against switching",
    "provider_response": "a target answered, or failed to",
    "usage_actual": "what it reported, and what that cost; `metadata.attempt` is the attempt's own id",
    "budget_usage": "what was reserved for it under a limit, what became of that, and what was exceeded",
    "failover": "the next target was asked after one had failed",
    "user_feedback": "a vote on a target",
    "task_summary": "a task ended: its targets, time and cost",
    "task_outcome": "what its user said of it",
    "quota_observation": "a provider is nearer to its limits than before, past them, or no more",
}
"""The kinds of the specification. What the gateway noticed beside keeps its own: `compaction`, `cache_miss`, …"""

Told = TypeVar("Told", "AttemptRecord", "EventRecord", "FeedbackRecord", "OutcomeRecord")
Judged = TypeVar("Judged", "FeedbackRecord", "OutcomeRecord")
_Timed = tuple[int, EventRow]
_MOST_CHARS = 200


def export_events(reader: Reader, selection: Selection) -> Iterator[EventRow]:
    """All events of a time, in the order of the requests that they are of; `at` says when each was."""
    noticed = reader.walk_events(selection.session, since_ms=selection.since_ms, until_ms=selection.until_ms)
    streams = [
        _timed(walk_calls(reader, selection), _of_call),
        _timed(noticed, _noticed),
        _timed(_judged(reader.feedback(), selection), _voted),
        _timed(_judged(reader.outcomes(), selection), _assessed),
        _tasks(reader, selection),
    ]
    for _, row in heapq.merge(*streams, key=lambda one: one[0]):
        if row.target_id is None or selection.has(row.target_id):
            yield row


def _timed(records: Iterable[Told], tell: Callable[[Told], Iterator[EventRow]]) -> Iterator[_Timed]:
    for record in records:
        for row in tell(record):
            yield record.created_ms, row


def _tasks(reader: Reader, selection: Selection) -> Iterator[_Timed]:
    for task in summarize_tasks(reader, walk_calls(reader, selection)):
        yield round(task.started_ms + task.duration_ms), _summary(task)


def _judged(records: Iterable[Judged], selection: Selection) -> list[Judged]:
    return sorted(
        (one for one in records if selection.is_in_time(one.created_ms) and selection.session in (None, one.session)),
        key=lambda one: one.created_ms,
    )


def _of_call(call: AttemptRecord) -> Iterator[EventRow]:
    yield _row(
        call,
        "request",
        {
            "kind": call.kind,
            "dialect": call.dialect,
            "streamed": call.streamed,
            "request_bytes": call.request_bytes,
            "estimated_input_tokens": call.estimated_input_tokens,
        },
    )
    yield from _of_route(call)
    made = attempts_of(call)
    for number, one in enumerate(made, 1):
        yield from _of_attempt(call, made, one, number)
    if call.spend is not None and "reserved_usd" in call.spend:
        exceeded = " ".join(map(str, call.spend.get("exceeded") or ()))
        usd = call.spend.get("usd")
        yield _row(
            call,
            "budget_usage",
            {**call.spend, "exceeded": exceeded, **({"attempt": f"{call.id}:{len(made)}"} if made else {})},
            cost_usd=usd if isinstance(usd, float | int) else None,
        )


def _of_route(call: AttemptRecord) -> Iterator[EventRow]:
    route = call.route
    if route is None or route.kept:
        return
    yield _row(
        call,
        "route_decision",
        {
            "task": task_id_of(call),
            "policy": route.policy,
            "reason": route.reason,
            "thinking": route.thinking,
            "confidence": route.confidence,
            "complexity": route.task.complexity,
            "escalated": route.escalated,
        },
    )
    if route.rule is not None:
        yield _row(call, "rule_applied", {"rule": route.rule})
    if route.switch:
        yield _row(call, "switch_decision", route.switch)


def _of_attempt(
    call: AttemptRecord, made: tuple[AttemptMade, ...], one: AttemptMade, number: int
) -> Iterator[EventRow]:
    attempt, last = f"{call.id}:{number}", number == len(made)
    if number > 1:
        yield _row(
            call, "failover", {"from": made[number - 2].target, "failure": made[number - 2].failure}, number, one.target
        )
    done = delivered(call.outcome, call.status) if last else False
    at_ms = call.created_ms + round((call.duration_ms or 0.0) if last else 0.0)
    if one.at_ms is not None and one.ms is not None:
        at_ms = one.at_ms + round(one.ms)
    told = {"attempt": attempt, "failure": one.failure, "ttft_ms": one.ttft_ms, "committed": one.committed}
    yield _row(
        call,
        "provider_response",
        told,
        number,
        one.target,
        at_ms=at_ms,
        status=one.status,
        latency_ms=call.duration_ms if one.ms is None and last else one.ms,
        success=done,
        source="provider",
    )
    if one.reserved_usd is not None and not (last and call.spend is not None):
        reserved = {"attempt": attempt, "reserved_usd": one.reserved_usd}
        yield _row(call, "budget_usage", reserved, number, one.target, at_ms=at_ms, cost_usd=one.usd)
    if last and call.usage is not None:
        usage = {"attempt": attempt, **call.usage}
        yield _row(call, "usage_actual", usage, number, one.target, at_ms=at_ms, cost_usd=one.usd, source="provider")


def _row(
    call: AttemptRecord,
    kind: str,
    metadata: dict[str, Any],
    number: int | None = None,
    target: str | None = None,
    *,
    at_ms: int | None = None,
    status: int | None = None,
    latency_ms: float | None = None,
    cost_usd: float | None = None,
    success: bool | None = None,
    source: str = "gateway",
) -> EventRow:
    target = target or call.target
    provider, model = split_target(target)
    return EventRow(
        id=f"{call.id}:{kind}" if number is None else f"{call.id}:{number}:{kind}",
        kind=kind,
        at=iso_time(call.created_ms if at_ms is None else at_ms),
        request_id=call.id,
        session_id=call.session or None,
        target_id=target,
        provider=provider,
        model_id=model,
        task_kinds=call.kinds,
        status=status,
        latency_ms=latency_ms,
        cost_usd=cost_usd,
        success=success,
        source=source,
        metadata=_flat(metadata),
    )


def _noticed(event: EventRecord) -> Iterator[EventRow]:
    target = event.details.get("target") or event.details.get("to")
    target = target if isinstance(target, str) and "/" in target else None
    provider, model = split_target(target) if target is not None else (_name(event.details.get("provider")), None)
    yield EventRow(
        id=f"{event.call or event.session or 'gateway'}:{event.created_ms}:{event.kind}",
        kind=event.kind,
        at=iso_time(event.created_ms),
        request_id=event.call,
        session_id=event.session,
        target_id=target,
        provider=provider,
        model_id=model,
        task_kinds=(),
        status=None,
        latency_ms=None,
        cost_usd=None,
        success=None,
        source="gateway",
        metadata=_flat(event.details),
    )


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _voted(vote: FeedbackRecord) -> Iterator[EventRow]:
    metadata = {"vote": "good" if vote.good else "bad", "task": vote.task, "has_reason": vote.reason is not None}
    yield _said(vote, "user_feedback", vote.good, metadata)


def _assessed(said: OutcomeRecord) -> Iterator[EventRow]:
    success = None if said.judgement == "unknown" else said.judgement == "success"
    yield _said(said, "task_outcome", success, {"task": said.task, "outcome": said.judgement})


def _said(
    record: FeedbackRecord | OutcomeRecord, kind: str, success: bool | None, metadata: dict[str, Any]
) -> EventRow:
    provider, model = split_target(record.target)
    return EventRow(
        id=f"{record.id}:{kind}",
        kind=kind,
        at=iso_time(record.created_ms),
        request_id=None,
        session_id=record.session,
        target_id=record.target,
        provider=provider,
        model_id=model,
        task_kinds=record.kinds,
        status=None,
        latency_ms=None,
        cost_usd=None,
        success=success,
        source="user",
        metadata=_flat(metadata),
    )


def _summary(task: TaskSummary) -> EventRow:
    provider, model = split_target(task.last_target)
    return EventRow(
        id=f"{task.task_id}:task_summary",
        kind="task_summary",
        at=iso_time(round(task.started_ms + task.duration_ms)),
        request_id=None,
        session_id=task.session,
        target_id=task.last_target,
        provider=provider,
        model_id=model,
        task_kinds=task.kinds,
        status=None,
        latency_ms=task.duration_ms,
        cost_usd=task.cost_usd,
        success=False if task.delivery_outcome == "failure" else None,
        source="gateway",
        metadata=_flat(
            {
                "task": task.task_id,
                "calls": task.calls,
                "targets": " ".join(task.targets),
                "switches": task.switches,
                "escalated": task.escalated,
                "delivery_outcome": task.delivery_outcome,
                "assessment": task.assessment,
                "cost_kind": task.cost_kind,
                "input_tokens": task.input_tokens,
                "cache_read_tokens": task.cache_read_tokens,
                "output_tokens": task.output_tokens,
            }
        ),
    )


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """Names and plain values alone: what is nested, unknown or long says too little for its place."""
    return {
        name: value[:_MOST_CHARS] if isinstance(value, str) else value
        for name, value in values.items()
        if isinstance(value, str | int | float | bool)
    }
