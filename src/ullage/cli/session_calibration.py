"""What the calls of a recorded session would have taught: each one's raw estimate beside its usage (planner specification, 7)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ullage.core.accounting import measure_message, measure_system, measure_tool
from ullage.core.calibration import Refused, Sample, draw_course, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.accounting import Meter
    from ullage.core.calibration import Course
    from ullage.core.content import Context
    from ullage.core.planning import Policy
    from ullage.sources import Call, Session

_OUTCOMES = {"error": "error", "aborted": "left"}
"""Stop reasons of calls that failed, as the outcomes of live ones."""


def recorded_course(
    session: Session, like: Call, policy: Policy, *, meter: Meter, last: int | None = None
) -> Course | None:
    """The course of the calls to the provider and model that `like` was made to, weighed by `meter`, up to the one with index
    `last`.

    `None` where the figures of the file measure nothing.
    """
    if session.handmade:
        return None
    calls = session.calls if last is None else session.calls[: last + 1]
    samples: list[Sample] = []
    refused: list[Refused] = []
    newest_ms = 0
    for call, estimated in zip(calls, _raw_estimates(session, calls, meter), strict=True):
        if (call.provider, call.model) != (like.provider, like.model):
            continue
        # A call without a time of its own stands right behind the one before it.
        newest_ms = max(newest_ms, call.time_ms or 0)
        reason = _refuse(call, estimated)
        if reason is not None:
            refused.append(Refused(id=_id(call), created_ms=call.time_ms or 0, reason=reason))
        else:
            samples.append(_sample(call, newest_ms, estimated))
    return draw_course(
        samples,
        policy.bounds,
        target="/".join(part for part in (like.provider, like.model) if part),
        estimator=meter.estimator,
        refused=refused,
        enabled=policy.enabled,
        complete=session.prelude(like.index).complete,
    )


def _raw_estimates(session: Session, calls: tuple[Call, ...], meter: Meter) -> Iterator[int]:
    """Every slice that a call sent, as far as the file holds it. Linear in the file: a call adds to the one it goes on from, and
    system prompt and tools are measured again only when they change."""
    sums: list[int] = []
    prelude: Context | None = None
    fixed = 0
    for call in calls:
        start = 0 if call.previous is None else calls[call.previous].messages
        before = 0 if call.previous is None else sums[call.previous]
        added = session.messages(call.index, start, call.messages)
        sums.append(before + sum(measure_message(message, meter).weight for message in added))
        newest = session.prelude(call.index)
        if newest is not prelude:
            prelude, fixed = newest, _prelude_tokens(newest, meter)
        yield sums[-1] + fixed


def _prelude_tokens(prelude: Context, meter: Meter) -> int:
    system = (measure_system(text, meter) for text in prelude.system)
    tools = (measure_tool(spec, meter) for spec in prelude.tools)
    return sum(measure.weight for measure in itertools.chain(system, tools))


def _refuse(call: Call, estimated: int) -> str | None:
    reason = refuse(
        outcome=_OUTCOMES.get(call.stop_reason or "", "ok"),
        stop_reason=call.stop_reason,
        usage=call.usage,
        # What is no longer in the file cannot be estimated.
        estimated=None if call.lossy else estimated,
    )
    return reason if reason is not None or call.trusted else "error"


def _sample(call: Call, created_ms: int, estimated: int) -> Sample:
    assert call.usage is not None, "a call without usage was refused"
    return Sample(
        id=_id(call),
        created_ms=created_ms,
        estimated=estimated,
        input_fresh=call.usage.input_fresh or 0,
        cache_read=call.usage.cache_read or 0,
        cache_write=call.usage.cache_write or 0,
    )


def _id(call: Call) -> str:
    """Its number, counted from 1, so that ids and calls have one order."""
    return f"{call.index + 1:09}"
