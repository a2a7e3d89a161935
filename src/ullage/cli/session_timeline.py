"""The calls of a recorded session as the core's insights want them: measured, each with what it added to the one before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.accounting import CallFacts, measure_message, measure_system, measure_tool
from ullage.core.accounting.insights import Prelude, Timeline, TimelineCall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.core.accounting import Measure, Meter
    from ullage.core.content import Context
    from ullage.sources import Call, Session


def make_timeline(session: Session, meter_of: Callable[[Call], Meter], *, last: int | None = None) -> Timeline:
    """The session's calls up to the one with index `last`. Reads every message once, and measures it once for each tokenizer
    family that the session spoke to."""
    calls = session.calls if last is None else session.calls[: last + 1]
    meters = [meter_of(call) for call in calls]
    return Timeline(calls=tuple(_calls(session, calls, meters)), added=_added(session, calls, meters))


def call_facts(call: Call) -> CallFacts:
    """The facts of a trusted call."""
    assert call.usage is not None, "a trusted call has usage"
    return CallFacts(
        usage=call.usage,
        provider=call.provider,
        api=call.api,
        model=call.model,
        start=call.messages,
        reply=call.reply,
        output_unsure=call.output_unsure,
    )


def is_compacted(session: Session, first: Call | None) -> bool:
    """Whether a compaction stands before the first call of a branch; without one, whether there is any at all."""
    return any(first is None or compaction.before_call <= first.index for compaction in session.compactions)


def is_whole(session: Session, first: Call) -> bool:
    """Whether the first call of a branch began the conversation, with nothing of it lost."""
    return first.previous is None and not session.problems.headless and not first.lossy


def _calls(session: Session, calls: Sequence[Call], meters: Sequence[Meter]) -> list[TimelineCall]:
    shrunk = {step.after for step in session.steps() if step.shrank}
    compactions = {compaction.before_call for compaction in session.compactions}
    preludes = _Preludes(session)
    firsts: list[Call | None] = []
    made = []
    for call, meter in zip(calls, meters, strict=True):
        anchor = session.anchor(call.index)
        first = firsts[anchor] if anchor is not None else (call if call.trusted else None)
        firsts.append(first)
        made.append(
            TimelineCall(
                number=call.index + 1,
                meter=meter,
                prelude=preludes.measured(call.index, meter),
                start=call.messages,
                facts=call_facts(call) if call.trusted else None,
                follows=call.previous,
                anchor=anchor,
                whole=first is not None and is_whole(session, first),
                compacted=is_compacted(session, first),
                compaction=call.index in compactions,
                rewound=_is_rewound(calls, call),
                shrank=call.index in shrunk,
                lossy=call.lossy,
                sidechain=call.sidechain,
                agent=call.agent,
                time_ms=call.time_ms,
            )
        )
    return made


def _is_rewound(calls: Sequence[Call], call: Call) -> bool:
    """Whether trusted calls were left behind: the call goes on from one that was not the latest of its chain."""
    if call.sidechain or call.previous is None:
        return False
    passed = calls[call.previous + 1 : call.index]
    return any(one.trusted and not one.sidechain for one in passed)


def _added(session: Session, calls: Sequence[Call], meters: Sequence[Meter]) -> dict[str, list[tuple[Measure, ...]]]:
    by_key = {meter.key: meter for meter in meters}
    added: dict[str, list[tuple[Measure, ...]]] = {key: [] for key in by_key}
    for call in calls:
        anchor = session.anchor(call.index)
        start = session.calls[anchor].messages if anchor is not None else 0
        messages = session.messages(call.index, start, call.messages)
        for key, meter in by_key.items():
            added[key].append(tuple(measure_message(message, meter) for message in messages))
    return added


class _Preludes:
    """System prompts and tools, measured again only when they change."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last: tuple[Context, str, Prelude] | None = None

    def measured(self, call: int, meter: Meter) -> Prelude:
        context = self._session.prelude(call)
        if self._last is None or self._last[0] is not context or self._last[1] != meter.key:
            prelude = Prelude(
                system=tuple(measure_system(text, meter) for text in context.system),
                tools=tuple(measure_tool(spec, meter) for spec in context.tools),
                complete=context.complete,
            )
            self._last = context, meter.key, prelude
        return self._last[2]
