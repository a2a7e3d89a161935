"""Rows of calls, attempts, hours and tasks, made while records go by: what is held at once does not grow with them."""

from __future__ import annotations

import functools
from collections import defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING

from ullage.core.routing.learning import delivered
from ullage.stores.metrics import NANO, NO_ATTEMPTS, Tally, attempts_of, cost_of
from ullage.stores.report import iso_time
from ullage.stores.tasks import judgements, meanwhile, summarize_task, task_id_of

from .rows import AttemptRow, CallRow, MetricRow, TaskRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.stores.base import Reader
    from ullage.stores.route_records import AttemptMade, AttemptRecord
    from ullage.stores.tasks import TaskSummary

    from .selecting import Selection

IDLE_MS = 6 * 3_600_000
"""A task is told once no call of it came for so long."""

_HOUR_MS = 3_600_000
_CLIENTS = 1_024
_RATE_LIMIT = "429"


def walk_calls(reader: Reader, selection: Selection) -> Iterator[AttemptRecord]:
    """The calls that are asked for, the oldest first."""
    found = reader.walk_calls(selection.session, since_ms=selection.since_ms, until_ms=selection.until_ms)
    return (call for call in found if selection.has(call.target, *(one.target for one in attempts_of(call))))


def export_calls(reader: Reader, selection: Selection) -> Iterator[CallRow]:
    """A row for each call."""

    @functools.lru_cache(_CLIENTS)
    def client_of(session: str) -> str | None:
        known = reader.find_session(session) if session else None
        return known.client if known is not None else None

    for call in walk_calls(reader, selection):
        yield _call_row(call, call.client or client_of(call.session))


def export_attempts(reader: Reader, selection: Selection) -> Iterator[AttemptRow]:
    """A row for each target that was asked for each call."""
    for call in walk_calls(reader, selection):
        made = attempts_of(call)
        for number, one in enumerate(made, 1):
            if selection.has(one.target):
                yield _attempt_row(call, one, number, last=number == len(made))


def export_metrics(reader: Reader, selection: Selection) -> Iterator[MetricRow]:
    """A row for each hour and target, hour by hour."""
    hour = _Hour(0)
    for call in walk_calls(reader, selection):
        started = call.created_ms // _HOUR_MS
        if started != hour.number:
            yield from hour.rows(selection)
            hour = _Hour(started)
        hour.add(call)
    yield from hour.rows(selection)


def export_tasks(reader: Reader, selection: Selection) -> Iterator[TaskRow]:
    """A row for each task that a call of this time belongs to, in the order in which they ended."""
    return (
        _task_row(task)
        for task in summarize_tasks(reader, walk_calls(reader, selection))
        if selection.has(*task.targets)
    )


def summarize_tasks(reader: Reader, calls: Iterable[AttemptRecord]) -> Iterator[TaskSummary]:
    """The tasks of calls that come the oldest first; those told last were still going on."""
    judged = judgements(reader.outcomes())
    going: dict[str, list[AttemptRecord]] = {}
    errands: defaultdict[str, list[AttemptRecord]] = defaultdict(list)

    def end(task: str) -> TaskSummary:
        made = going.pop(task)
        return summarize_task(made, meanwhile(made, errands.get(made[0].session, ())), judged.get(task))

    for call in calls:
        if idle := _idle(going, call.created_ms):
            yield from map(end, idle)
            _forget_old(errands, call.created_ms - 2 * IDLE_MS)
        task = task_id_of(call)
        if task is not None:
            going[task] = [*going.pop(task, []), call]
        elif call.kind not in NO_ATTEMPTS:
            errands[call.session].append(call)
    yield from map(end, list(going))


def _idle(going: dict[str, list[AttemptRecord]], now_ms: int) -> list[str]:
    """The tasks that no call came of for long: those whose last call is the oldest come first."""
    return list(takewhile(lambda task: now_ms - going[task][-1].created_ms > IDLE_MS, going))


def _forget_old(errands: dict[str, list[AttemptRecord]], before_ms: int) -> None:
    for session, made in list(errands.items()):
        if made[-1].created_ms < before_ms:
            del errands[session]
        elif made[0].created_ms < before_ms:
            errands[session] = [call for call in made if call.created_ms >= before_ms]


class _Hour:
    """The calls of one hour, added up by target."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._tallies: defaultdict[str, Tally] = defaultdict(Tally)

    def add(self, call: AttemptRecord) -> None:
        made = attempts_of(call)
        if not made:
            return
        for one in made[:-1]:
            self._tallies[one.target].add_failed(one)
        self._tallies[call.target].add(call)

    def rows(self, selection: Selection) -> Iterator[MetricRow]:
        """In the order of their names."""
        for target, tally in sorted(self._tallies.items()):
            if not selection.has(target):
                continue
            told = tally.report()
            cache = told["cache"]
            provider, model = split_target(target)
            yield MetricRow(
                hour=iso_time(self.number * _HOUR_MS),
                provider=provider,
                model=model,
                target=target,
                attempts=told["attempts"],
                successes=told["successes"],
                failures=told["failures"],
                rate_limits=told["statuses"].get(_RATE_LIMIT, 0),
                failovers=told["failovers"],
                latency_p50_ms=told["latency_ms"]["p50"],
                latency_p95_ms=told["latency_ms"]["p95"],
                ttft_p50_ms=told["ttft_ms"]["p50"],
                ttft_p95_ms=told["ttft_ms"]["p95"],
                input_fresh=cache["input_fresh"],
                cache_read=cache["cache_read"],
                cache_write=cache["cache_write"],
                output=told["output"],
                cost_usd=told["cost_usd"],
                unpriced=told["unpriced"],
            )


def split_target(target: str) -> tuple[str, str | None]:
    """Provider and model."""
    provider, _, model = target.partition("/")
    return provider, model or None


def _call_row(call: AttemptRecord, client: str | None) -> CallRow:
    cost, usage, route = cost_of(call), call.usage or {}, call.route
    provider, model = split_target(call.target)
    return CallRow(
        id=call.id,
        at=iso_time(call.created_ms),
        session=call.session,
        client=client,
        project=call.project,
        kind=call.kind,
        dialect=call.dialect,
        provider=provider,
        model=model,
        target=call.target,
        answered_by=call.answered_by,
        status=call.status,
        outcome=call.outcome,
        success=delivered(call.outcome, call.status),
        streamed=call.streamed,
        stop_reason=call.stop_reason,
        first_byte_ms=call.first_byte_ms,
        first_output_ms=call.first_output_ms,
        latency_ms=call.duration_ms,
        request_bytes=call.request_bytes,
        answer_bytes=call.answer_bytes,
        estimated_input_tokens=call.estimated_input_tokens,
        input_fresh=usage.get("input_fresh"),
        cache_read=usage.get("cache_read"),
        cache_write=usage.get("cache_write"),
        output=usage.get("output"),
        reasoning=usage.get("reasoning"),
        cost_usd=None if cost is None else cost / NANO,
        task=task_id_of(call),
        task_kinds=call.kinds,
        policy=route.policy if route is not None else None,
        reason=route.reason if route is not None else None,
        attempts=len(attempts_of(call)),
    )


def _attempt_row(call: AttemptRecord, made: AttemptMade, number: int, *, last: bool) -> AttemptRow:
    usage = (call.usage or {}) if last else {}
    provider, model = split_target(made.target)
    return AttemptRow(
        id=f"{call.id}:{number}",
        request=call.id,
        at=iso_time(call.created_ms),
        session=call.session,
        number=number,
        provider=provider,
        model=model,
        target=made.target,
        status=made.status,
        failure=made.failure,
        success=delivered(call.outcome, call.status) if last else False,
        committed=made.committed,
        first_byte_ms=made.ms_to_first,
        first_output_ms=made.ms_to_output,
        latency_ms=made.ms,
        input_fresh=usage.get("input_fresh"),
        cache_read=usage.get("cache_read"),
        cache_write=usage.get("cache_write"),
        output=usage.get("output"),
        cost_usd=made.usd,
    )


def _task_row(task: TaskSummary) -> TaskRow:
    return TaskRow(
        id=task.task_id,
        session=task.session,
        started_at=iso_time(task.started_ms),
        duration_ms=task.duration_ms,
        settled=task.settled,
        targets=tuple(task.targets),
        calls=task.calls,
        switches=task.switches,
        escalated=task.escalated,
        task_kinds=task.kinds,
        complexity=task.complexity,
        policy=task.policy,
        delivery_outcome=task.delivery_outcome,
        assessment=task.assessment,
        input_tokens=task.input_tokens,
        cache_read_tokens=task.cache_read_tokens,
        output_tokens=task.output_tokens,
        cost_usd=task.cost_usd,
        cost_kind=task.cost_kind,
    )
