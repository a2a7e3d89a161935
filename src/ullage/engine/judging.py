"""What a user says of targets and of tasks, and what is made of it (routing specification, sections 23.1 and 27)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.errors import CallError, InputError
from ullage.core.routing.learning import MOST, Quality
from ullage.core.routing.suggesting import suggest
from ullage.stores import FeedbackRecord, OutcomeRecord
from ullage.stores.judging import make_judgement, make_vote, quality_of, write_judgement
from ullage.stores.report import iso_time
from ullage.stores.tasks import TaskSummary, list_tasks, report_task

if TYPE_CHECKING:
    from collections.abc import Collection

    from ullage.stores import CallRecord, Reader, Store
    from ullage.stores.route_records import Judgement

_TASKS = 1_000
"""Tasks that are looked at, the newest."""
_SHORTEST_TASK = 4
_CALLS = 20


class Voted(Struct, frozen=True, kw_only=True):
    """A vote that was kept, and what all that is known makes of its target at tasks of these kinds."""

    record: FeedbackRecord
    quality: Quality


class Assessed(Struct, frozen=True, kw_only=True):
    """What a user said of a task, and what its target is worth by it."""

    record: OutcomeRecord
    task: TaskSummary
    quality: Quality


def vote(
    store: Store,
    *,
    good: bool,
    target: str | None,
    known: Collection[str],
    session: str | None,
    reason: str | None,
    now_ms: int,
) -> Voted:
    """Keeps a vote for or against a target: the one that the newest task went to, where none is named.

    A named target must be among the `known` ones or have taken calls. Raises `CallError` for one that is not, `InputError` where
    nothing was routed yet, `StoreError` if it cannot be kept.
    """
    if target is not None:
        _check_known(target, {*known, *(one.target for one in store.attempts())})
    record = make_vote(store, good, now_ms, target=target, session=session, reason=reason)
    write_judgement(store, record)
    return Voted(record=record, quality=quality_of(store, record.target, record.kinds, now_ms))


def assess(store: Store, judgement: Judgement, *, task: str | None, session: str | None, now_ms: int) -> Assessed:
    """Keeps what a user says of a task: of the one whose id begins so, else of the newest that is over.

    Raises `InputError` where no task is over yet or none has that id; nothing is kept then.
    """
    found = settled_task(store, task, session)
    # What is said last holds, also where the clock stands still.
    before = max((one.created_ms for one in store.outcomes() if one.task == found.task_id), default=0)
    record = make_judgement(store, judgement, max(now_ms, before + 1), task_id=found.task_id)
    write_judgement(store, record)
    quality = quality_of(store, record.target, record.kinds, now_ms)
    said = replace(found, assessment=None if judgement == "unknown" else judgement)
    return Assessed(record=record, task=said, quality=quality)


def settled_task(reader: Reader, task: str | None = None, session: str | None = None) -> TaskSummary:
    """The task whose id begins so, else the newest one that is over. Raises `InputError` before there is any."""
    over = [one for one in list_tasks(reader, session, limit=_TASKS) if one.settled]
    if task is None:
        if not over:
            raise InputError(
                "No task is over yet, so nothing can be said of one.",
                hint="A task is over when a routed model has answered without asking for a tool.",
                code="no_task",
            )
        return over[0]
    fits = [one for one in over if one.task_id.startswith(task)] if len(task) >= _SHORTEST_TASK else []
    if len(fits) != 1:
        several = (
            f"Several tasks begin with {task[:40]!r}." if fits else f"No task that is over has the id {task[:40]!r}."
        )
        raise InputError(several, hint="`ullage history` lists tasks with their ids.", code="not_found")
    return fits[0]


def newest_decision(reader: Reader, session: str | None = None) -> CallRecord | None:
    """The newest routed call that was no errand of its client and went to somebody."""
    return next(
        (
            call
            for call in reader.decisions(session)
            if (call.route or {}).get("reason") != "helper" and (call.route or {}).get("target")
        ),
        None,
    )


def newest_routed(reader: Reader, session: str | None = None) -> CallRecord | None:
    """The newest call for a virtual model that was no errand of its client, also one that nobody was let take."""
    calls = reader.calls(session, limit=_CALLS)
    return next((one for one in calls if one.route is not None and one.route.get("reason") != "helper"), None)


def report_vote(record: FeedbackRecord) -> dict[str, Any]:
    """A vote as programs get it."""
    return {
        "id": record.id,
        "at": iso_time(record.created_ms),
        "target": record.target,
        "vote": "good" if record.good else "bad",
        "kinds": list(record.kinds),
        "session": record.session,
        "task": record.task,
        "reason": record.reason,
    }


def report_outcome(record: OutcomeRecord) -> dict[str, Any]:
    """A judgement as programs get it."""
    return {
        "id": record.id,
        "at": iso_time(record.created_ms),
        "task": record.task,
        "outcome": record.judgement,
        "target": record.target,
        "kinds": list(record.kinds),
        "session": record.session,
    }


def report_voted(voted: Voted) -> dict[str, Any]:
    """A vote with what it came to, in utility."""
    return {**report_vote(voted.record), "preference": round(voted.quality.voted, 6), "cap": MOST}


def report_assessed(assessed: Assessed) -> dict[str, Any]:
    """A judgement with its task and what it came to, in utility."""
    return {
        **report_outcome(assessed.record),
        "summary": report_task(assessed.task),
        "assessed": round(assessed.quality.assessed, 6),
        "cap": MOST,
    }


def _check_known(target: str, known: Collection[str]) -> None:
    if target in known:
        return
    meant = suggest(target, known) or next((one for one in sorted(known) if one.partition("/")[2] == target), None)
    hint = f"Did you mean {meant!r}?" if meant else "`ullage auto models` lists targets."
    raise CallError(f"There is no target {target!r}.", hint=hint, code="unknown_target")
