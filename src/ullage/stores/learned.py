"""What the store keeps of learning, as the core's calibration and routing take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.core.calibration import Pair, Sample
from ullage.core.routing.learning import Delivery, Judged, Prior, Vote, delivered
from ullage.core.routing.pace import Timing, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .base import SampleRecord
    from .route_records import AttemptRecord, FeedbackRecord, OutcomeRecord, TallyRecord

# Nobody's answer is waited for: these say nothing of how a model serves.
_NO_ANSWERS = frozenset({"count_tokens"})
_FAULTS = frozenset({"rate-limit", "server", "connection", "timeout"})
"""Failures of an attempt that are its target's own."""
_READ = ("input_fresh", "cache_write")
_INPUTS = (*_READ, "cache_read")


def to_sample(record: SampleRecord) -> Sample:
    """What `ratio-v1` needs of a record."""
    return Sample(
        id=record.id,
        created_ms=record.created_ms,
        estimated=record.estimated,
        input_fresh=record.input_fresh,
        cache_read=record.cache_read,
        cache_write=record.cache_write,
    )


def to_pairs(records: Iterable[SampleRecord]) -> list[Pair]:
    """What `growth-v1` learns from: the pairs of calls among them that can be read.

    Another version may have kept more of a pair, which is passed over, or other things, which are no pair: learning is never a
    reason to fail.
    """
    found = (_to_pair(record.pair) for record in records if record.pair is not None)
    return [pair for pair in found if pair is not None]


def to_deliveries(record: AttemptRecord) -> Iterator[Delivery]:
    """What a call says of how reliably targets deliver: of the one that it ended with, and of those that failed before."""
    made = record.route.attempts if record.route is not None else ()
    for attempt in made[:-1]:
        if attempt.failure in _FAULTS:
            yield Delivery(at_ms=record.created_ms, target=attempt.target, delivered=False, kinds=record.kinds)
    is_delivered = delivered(record.outcome, record.status) if record.kind not in _NO_ANSWERS else None
    if is_delivered is not None:
        yield Delivery(at_ms=record.created_ms, target=record.target, delivered=is_delivered, kinds=record.kinds)


def to_timing(record: AttemptRecord) -> Timing | None:
    """The times of a streamed answer that came whole."""
    usage = record.usage or {}
    if record.outcome != "ok" or not record.streamed or record.first_byte_ms is None or record.duration_ms is None:
        return None
    made = record.route.attempts if record.route is not None else ()
    own_ms = made[-1].ms_to_first if made else None
    # What the targets took that failed before is not its time.
    before_ms = max(0.0, record.first_byte_ms - own_ms) if own_ms is not None else 0.0
    return Timing(
        first_ms=record.first_byte_ms - before_ms,
        whole_ms=record.duration_ms - before_ms,
        output=usage.get("output") or 0,
        read=sum(usage.get(part) or 0 for part in _READ),
    )


def to_usage(record: AttemptRecord) -> Usage | None:
    """The tokens of a call that was answered."""
    usage = record.usage or {}
    if record.kind in _NO_ANSWERS or usage.get("output") is None:
        return None
    return Usage(
        estimated=record.estimated_input_tokens,
        prompt=sum(usage.get(part) or 0 for part in _INPUTS),
        cached=usage.get("cache_read") or 0,
        output=usage["output"],
    )


def to_vote(record: FeedbackRecord) -> Vote:
    """A user's word on a target."""
    return Vote(id=record.id, at_ms=record.created_ms, target=record.target, good=record.good, kinds=record.kinds)


def to_judged(record: OutcomeRecord) -> Judged:
    """A user's word on a task."""
    return Judged(
        id=record.id,
        at_ms=record.created_ms,
        task=record.task,
        target=record.target,
        success=None if record.judgement == "unknown" else record.judgement == "success",
        kinds=record.kinds,
    )


def to_prior(record: TallyRecord) -> Prior:
    """What another program had counted."""
    return Prior(
        id=record.id,
        at_ms=record.created_ms,
        source=record.source,
        provider=record.provider,
        target=record.target,
        kind=record.kind,
        attempts=record.attempts,
        successes=record.successes,
        offset=record.offset,
    )


def _to_pair(plain: dict[str, Any]) -> Pair | None:
    known = {name: plain[name] for name in Pair.__struct_fields__ if name in plain}
    try:
        return msgspec.convert(msgspec.to_builtins(Pair(**known)), Pair)
    except (TypeError, msgspec.ValidationError):
        return None
