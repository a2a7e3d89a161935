"""What users say of routes, as records: votes on targets, and their word on tasks (routing specification, 23.1 and 27)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from ullage.core.errors import InputError, StoreError
from ullage.core.routing.learning import learn

from .learned import to_judged, to_prior, to_vote
from .route_records import FeedbackRecord, OutcomeRecord
from .tasks import find_task, latest_task, task_id_of

if TYPE_CHECKING:
    from ullage.core.routing.learning import Quality

    from .base import Reader, Store
    from .route_records import AttemptRecord, Judgement

LONGEST_REASON = 500
"""Characters of a vote's reason that are kept."""

_ID_BYTES = 8


def make_vote(
    reader: Reader,
    good: bool,
    now_ms: int,
    *,
    target: str | None = None,
    session: str | None = None,
    reason: str | None = None,
) -> FeedbackRecord:
    """A vote on a target: the one named, else that of the newest decision, of one session or of all. Its kinds are those of that
    decision, and none where there was no decision yet.

    Raises `InputError` (`no_decision`, `unknown_target`) and `StoreError`.
    """
    newest = _newest_decision(reader, session)
    if target is None and newest is None:
        raise InputError("Nothing was routed yet.", hint="Name a target: provider/model.", code="no_decision")
    if target is not None and not all(target.partition("/")[::2]):
        raise InputError(f"{target[:100]!r} names no target.", hint="Name it as provider/model.", code="unknown_target")
    return FeedbackRecord(
        id=_new_id("vote"),
        created_ms=now_ms,
        target=target or (newest.target if newest is not None else ""),
        good=good,
        kinds=newest.kinds if newest is not None else (),
        session=newest.session if newest is not None else session,
        task=task_id_of(newest) if newest is not None else None,
        reason=reason[:LONGEST_REASON] if reason else None,
    )


def make_judgement(
    reader: Reader, judgement: Judgement, now_ms: int, *, task_id: str | None = None, session: str | None = None
) -> OutcomeRecord:
    """What a user says of a task: the one named, else the newest that is over, of one session or of all.

    Raises `InputError` (`no_task`) where there is none, and `StoreError`.
    """
    task = latest_task(reader, session) if task_id is None else find_task(reader, task_id)
    if task is None:
        what = "No task is over yet." if task_id is None else f"There is no task {task_id[:100]!r}."
        raise InputError(what, hint="`ullage metrics` shows what was asked for.", code="no_task")
    return OutcomeRecord(
        id=_new_id("outcome"),
        created_ms=now_ms,
        task=task.task_id,
        judgement=judgement,
        target=task.last_target,
        kinds=task.kinds,
        session=task.session,
    )


def write_judgement(store: Store, record: FeedbackRecord | OutcomeRecord) -> None:
    """Writes it and waits until it is durable. Raises `StoreError` if it cannot be written now."""
    if isinstance(record, FeedbackRecord):
        store.put_feedback(record)
    else:
        store.put_outcome(record)
    if not store.flush():
        raise StoreError(
            f"It is not known whether {record.id} was written.",
            hint=" ".join(store.problems()) or "Look at the list before you try again.",
            code="indeterminate",
        )


def quality_of(reader: Reader, target: str, kinds: tuple[str, ...], now_ms: int) -> Quality:
    """What all votes and judged tasks come to for a target at tasks of these kinds. Raises `StoreError`."""
    learned = learn(
        (),
        map(to_vote, reader.feedback()),
        map(to_judged, reader.outcomes()),
        map(to_prior, reader.tallies()),
    )
    return learned.quality(target, kinds, now_ms)


def _newest_decision(reader: Reader, session: str | None) -> AttemptRecord | None:
    return next((call for call in reader.attempts(session) if task_id_of(call) is not None), None)


def _new_id(kind: str) -> str:
    return f"{kind}_{secrets.token_hex(_ID_BYTES)}"
