"""A recorded session for `ullage context`: the breakdown of one of its calls, and the insights into all of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ullage.core.accounting import (
    Record,
    account_recorded,
    measure_message,
    measure_system,
    measure_tool,
    measured_ratios,
)
from ullage.core.accounting.details import describe
from ullage.core.accounting.insights import (
    CachedCall,
    Insights,
    Moment,
    Sent,
    account_calls,
    find_caching,
    find_clearings,
    find_compactions,
    find_growth,
    measured_harness_rows,
    sum_turns,
)
from ullage.core.errors import CallError
from ullage.sources import read_session

from .inspection import Inspection, with_repeats
from .session_calibration import recorded_course
from .session_expectation import expect_next
from .session_timeline import call_facts, is_compacted, is_whole, make_timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ullage.core.accounting import Breakdown, Measure, Meter
    from ullage.core.accounting.insights import Caching, Repeats
    from ullage.core.calibration import Course
    from ullage.core.content import Context
    from ullage.sources import Call, Compaction, Session

    from .context_input import Wishes


class _Shown(NamedTuple):
    """What is shown of a session: the context of call `call` (`None`: what the next one would send), measured from `anchor`."""

    session: Session
    wishes: Wishes
    call: int | None
    anchor: int | None
    context: Context
    meter: Meter
    system: list[Measure]
    tools: list[Measure]
    messages: list[Measure]


def inspect_session(path: Path, wishes: Wishes, progress: Callable[[int, int], None] | None) -> Inspection:
    """Raises `SessionError` for what is no session, `CallError` for a call that it has not."""
    session = read_session(path, progress=progress)
    call, anchor = _choose_call(session, wishes)
    context = session.context(call)
    meter = _meter(session, wishes, _call_that_names(session, call))
    system = [measure_system(text, meter) for text in context.system]
    tools = [measure_tool(spec, meter) for spec in context.tools]
    messages = [measure_message(message, meter) for message in context.messages]
    shown = _Shown(session, wishes, call, anchor, context, meter, system, tools, messages)
    record = _record(session, anchor, complete=context.complete)
    breakdown = account_recorded(
        meter,
        system=system,
        tools=tools,
        messages=messages,
        record=record,
        window=wishes.window or session.window,
        details=describe(context, meter),
    )
    breakdown = msgspec.structs.replace(breakdown, client=session.client, session=session.id)
    breakdown = _with_learned_total(breakdown, shown)
    ratios = measured_ratios(record.calls, messages)
    breakdown, repeats = with_repeats(breakdown, context, meter, ratios=ratios, folder=session.cwd)
    return Inspection(breakdown, partial(_find_insights, shown, repeats), partial(_find_course, shown), name_call=int)


def _with_learned_total(breakdown: Breakdown, shown: _Shown) -> Breakdown:
    """An estimate of the next prompt is the better for what the session's own calls teach; the rows stay, the gap moves."""
    if breakdown.total.kind == "usage" or shown.anchor is None:
        return breakdown
    total = expect_next(shown.meter, list(_chain(shown.session, shown.anchor)), shown.messages)
    if total is None:
        return breakdown
    return msgspec.structs.replace(breakdown, total=total, gap=breakdown.gap + total.tokens - breakdown.total.tokens)


def _meter(session: Session, wishes: Wishes, call: Call | None) -> Meter:
    return wishes.preferences.meter(
        dialect=call.dialect if call else None,
        provider=wishes.provider or (call.provider if call else None),
        model=wishes.model or (call.model if call else None),
        client=session.client,
    )


def _choose_call(session: Session, wishes: Wishes) -> tuple[int | None, int | None]:
    """Which call's context to show (`None`: what the next one would send) and the call whose usage it is measured by."""
    if wishes.call is not None:
        if not 1 <= wishes.call <= len(session.calls):
            raise CallError(
                f"There is no call {wishes.call}: the session has {len(session.calls)}.",
                hint=f"Give --call 1 to {len(session.calls)}." if session.calls else "Leave --call out.",
                code="no_such_call",
            )
        index = wishes.call - 1
        return index, index if session.calls[index].trusted else session.anchor(index)
    anchor = session.anchor()
    if anchor is None:
        return None, None
    call = session.calls[anchor]
    reply = set(call.reply)
    sent = len(session.messages(None, call.messages))
    pending = any(index not in reply for index in range(call.messages, call.messages + sent))
    return (None if pending else anchor), anchor


def _call_that_names(session: Session, call: int | None) -> Call | None:
    """The call that says which model is spoken to: the one asked for, else the last one of the main chain."""
    if call is not None:
        return session.calls[call]
    named = (one for one in reversed(session.calls) if not one.sidechain and one.model is not None)
    return next(named, None)


def _record(session: Session, anchor: int | None, *, complete: bool) -> Record:
    chain = list(_chain(session, anchor))
    first = chain[0] if chain else None
    behind = is_compacted(session, first)
    return Record(
        calls=tuple(call_facts(call) for call in chain),
        complete=complete,
        from_start=first is not None and is_whole(session, first),
        compacted=behind,
        tokens_after=session.compactions[-1].tokens_after if behind else None,
    )


def _chain(session: Session, anchor: int | None) -> Iterator[Call]:
    """The trusted calls that lead to the anchor, oldest first."""
    found = []
    while anchor is not None:
        found.append(session.calls[anchor])
        anchor = session.anchor(anchor)
    return reversed(found)


def _find_insights(shown: _Shown, repeats: Repeats) -> Insights:
    session = shown.session
    last = shown.wishes.call - 1 if shown.wishes.call is not None else None
    # A model that the caller names is how the window is to be counted, not who was called then.
    recorded = shown.wishes._replace(model=None)
    timeline = make_timeline(session, lambda call: _meter(session, recorded, call), last=last)
    accounts = account_calls(timeline)
    calls = find_growth(timeline, accounts, window_of=shown.anchor)
    return Insights(
        calls=calls,
        turns=sum_turns(calls),
        repeats=repeats,
        caching=_caching(shown),
        compactions=find_compactions(_moments(shown, last), accounts),
        clearings=find_clearings(calls),
    )


def _find_course(shown: _Shown) -> Course | None:
    """What the calls to the model that is shown taught, up to the call that is shown."""
    like = _call_that_names(shown.session, shown.call)
    if like is None:
        return None
    preferences = shown.wishes.preferences
    planner = preferences._replace(estimator=preferences.planner_estimator(like.provider or "", like.model or ""))
    meter = _meter(shown.session, shown.wishes._replace(preferences=planner, provider=None, model=None), like)
    return recorded_course(shown.session, like, preferences.policy, meter=meter, last=shown.call)


def _caching(shown: _Shown) -> Caching | None:
    calls = [
        CachedCall(
            call=call.index + 1,
            usage=call.usage,
            start=call.messages,
            target="/".join(part for part in (call.provider, call.model) if part),
            time_ms=call.time_ms,
        )
        for call in _chain(shown.session, shown.anchor)
        if call.usage is not None
    ]
    # Where the file leaves tools or the system prompt out, what the first prompt had beyond the messages is one row.
    whole = shown.context.complete
    harness = measured_harness_rows(shown.meter, shown.system, shown.tools) if whole else []
    return find_caching(calls, shown.messages, harness)


def _moments(shown: _Shown, last: int | None) -> Iterator[Moment]:
    """Each place where the session was compacted, once; before call `last` where one was asked for."""
    session = shown.session
    places: dict[int, list[Compaction]] = {}
    for compaction in session.compactions:
        if last is None or compaction.before_call <= last:
            places.setdefault(compaction.before_call, []).append(compaction)
    for place, compactions in places.items():
        before = _first_trusted(reversed(session.calls[:place]))
        after = _first_trusted(session.calls[place:])
        yield Moment(
            before=before,
            after=after,
            sent_before=_sent(shown, before) if before is not None else (),
            sent_after=_sent(shown, after),
            tokens_before=next((one.tokens_before for one in compactions if one.tokens_before), None),
            tokens_after=compactions[-1].tokens_after,
            trigger=compactions[-1].trigger,
            lossy=before is not None and session.calls[before].lossy,
        )


def _first_trusted(calls: Iterable[Call]) -> int | None:
    """The first call of the main chain whose usage can be trusted."""
    return next((call.index for call in calls if call.trusted and not call.sidechain), None)


def _sent(shown: _Shown, call: int | None) -> tuple[Sent, ...]:
    session = shown.session
    messages = session.messages(call)
    measures = [measure_message(message, shown.meter) for message in messages]
    ratios = measured_ratios([call_facts(one) for one in _chain(session, call)], measures)
    return tuple(
        Sent(hash(message), measure, ratio) for message, measure, ratio in zip(messages, measures, ratios, strict=True)
    )
