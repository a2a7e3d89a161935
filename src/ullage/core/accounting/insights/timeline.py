"""Every call of a session accounted for, each from the call it goes on from: the sections that `account_recorded` gives for that
call, in one pass, so that a whole session costs what its texts cost once.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.accounting.breakdown import TotalKind
from ullage.core.accounting.measure import Measure
from ullage.core.accounting.measured import CallFacts, goes_on, measured_harness
from ullage.core.accounting.meter import Meter
from ullage.core.accounting.options import NO_OPTIONS
from ullage.core.accounting.recorded import proven_results
from ullage.core.accounting.sections import HARNESS, SESSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.accounting.measure import Entry

SECTIONS = (*HARNESS, *SESSION)
"""Kinds of sections in the order of a report; the files of `context` are one kind."""

Identity = tuple[str | None, str | None, str | None]


class Prelude(Struct, frozen=True, kw_only=True):
    """System prompt and tools of a call, measured. `complete` is false where the file leaves them out."""

    system: tuple[Measure, ...] = ()
    tools: tuple[Measure, ...] = ()
    complete: bool = True


class TimelineCall(Struct, frozen=True, kw_only=True):
    """One call of a session.

    `number` counts from 1. `facts` are those of a trusted call, else `None`. `follows` is the index of the nearest earlier call
    that it goes on from, `anchor` of the trusted one that it is measured from. `start` is how many messages it sent.
    `whole` says that the first call behind it began the conversation with nothing lost, `compacted` that a compaction stands
    before what it sent; `compaction` that one stands right before this call. `shrank` says that the prompt fell although nothing
    was removed in the file, `lossy` that a text it sent is no longer there. Times are epoch milliseconds.
    """

    number: int
    meter: Meter
    prelude: Prelude
    start: int
    facts: CallFacts | None = None
    follows: int | None = None
    anchor: int | None = None
    whole: bool = True
    compacted: bool = False
    compaction: bool = False
    rewound: bool = False
    shrank: bool = False
    lossy: bool = False
    sidechain: bool = False
    agent: str | None = None
    time_ms: int | None = None


class Timeline(Struct, frozen=True, kw_only=True):
    """The calls of a session in the order of the file. `added` holds, by the key of each meter in use, for each call the
    messages that it sent beyond those of its anchor: the anchor's answer among them, everything if it has none.
    """

    calls: tuple[TimelineCall, ...]
    added: dict[str, list[tuple[Measure, ...]]]


class CallAccount(Struct, frozen=True, kw_only=True):
    """What one call sent: `sum(sections) + gap == total`.

    `total` is `None` for a call without usage that another one could anchor: it would only be guessed twice. `opens_turn` says
    that it has words of the user that the call it follows had not. `before` are the facts of the anchor as far as this call
    completes them, `proven` the tokens that usage proves for the tool results in between. `reply` and `fresh` are what was added:
    the anchor's answer, and all else. `lapsed` is reported reasoning of the turn before that is not sent again because a new turn
    began.
    """

    index: int
    total: int | None
    kind: TotalKind
    sections: dict[str, int]
    gap: int
    opens_turn: bool
    before: CallFacts | None = None
    proven: int | None = None
    reply: tuple[Measure, ...] = ()
    fresh: tuple[Measure, ...] = ()
    lapsed: int = 0


class _Reasoning(Struct, frozen=True):
    """Reported reasoning of one model that can be replayed, and the readable thinking it stands for: in all, and in `turn`."""

    turn: int = 0
    tokens: int = 0
    tokens_in_turn: int = 0
    thinking: int = 0
    thinking_in_turn: int = 0

    def plus(self, call: CallFacts, thinking: int) -> _Reasoning:
        if not call.carrier:
            return self
        tokens = call.usage.reasoning or 0
        same = call.turn == self.turn
        return _Reasoning(
            turn=call.turn,
            tokens=self.tokens + tokens,
            tokens_in_turn=tokens + (self.tokens_in_turn if same else 0),
            thinking=self.thinking + thinking,
            thinking_in_turn=thinking + (self.thinking_in_turn if same else 0),
        )


class _First(Struct, frozen=True):
    """The first call of a branch: what its messages say, and how much of the harness stands among them."""

    facts: CallFacts
    said: int
    harness: int


class _State(Struct, frozen=True, kw_only=True):
    """All messages of a call summed up under one meter. `sums` leave out thinking, which may not be sent again."""

    sums: dict[str, int] = {}
    frames: int = 0
    turn: int = 0
    thinking: int = 0
    thinking_in_turn: int = 0
    has_tools: bool = False
    reasoning: dict[Identity, _Reasoning] = {}
    first: _First | None = None
    sound: bool = True


class _Step(Struct, frozen=True, kw_only=True):
    """What one call added to the one before it."""

    state: _State
    before: CallFacts | None
    proven: int | None
    reply: tuple[Measure, ...]
    fresh: tuple[Measure, ...]
    lapsed: int


def account_calls(timeline: Timeline) -> list[CallAccount]:
    """One account a call. Linear in the messages, times the tokenizer families that the session spoke to."""
    steps: dict[tuple[str, int], _Step] = {}
    return [_account(timeline, index, _step_to(timeline, index, steps)) for index in range(len(timeline.calls))]


def _step_to(timeline: Timeline, index: int, steps: dict[tuple[str, int], _Step]) -> _Step:
    """The step that leads to a call, counted with its meter; the steps before it are made where they are missing."""
    key = timeline.calls[index].meter.key
    missing: list[int] = []
    at: int | None = index
    while at is not None and (key, at) not in steps:
        missing.append(at)
        at = timeline.calls[at].anchor
    for number in reversed(missing):
        call = timeline.calls[number]
        anchor = timeline.calls[call.anchor].facts if call.anchor is not None else None
        state = steps[key, call.anchor].state if call.anchor is not None else _State()
        steps[key, number] = _step(state, anchor, call, timeline.added[key][number])
    return steps[key, index]


def _step(state: _State, anchor: CallFacts | None, call: TimelineCall, added: tuple[Measure, ...]) -> _Step:
    first = anchor.start if anchor is not None else 0
    reply = {index - first for index in anchor.reply} if anchor is not None else set()
    replies = tuple(measure for index, measure in enumerate(added) if index in reply)
    before = _completed(anchor, state, replies)
    proven = None
    if before is not None and call.facts is not None:
        _, proven = proven_results(before, call.facts, added, first=first)
    measured = frozenset(range(len(added))) - reply if proven is not None else frozenset()
    grown = _grow(state, added, measured, proven or 0)
    if before is not None:
        grown = replace(grown, reasoning=_with_reasoning(state, before, replies))
    return _Step(
        state=_with_first(grown, before, call, added),
        lapsed=_lapsed(grown, before, call),
        before=before,
        proven=proven,
        reply=replies,
        fresh=tuple(measure for index, measure in enumerate(added) if index not in reply),
    )


def _completed(anchor: CallFacts | None, state: _State, replies: Sequence[Measure]) -> CallFacts | None:
    """The facts of a call with what only the messages behind it tell."""
    if anchor is None:
        return None
    carrier = anchor.carrier or any(measure.carries for measure in replies)
    return replace(anchor, turn=state.turn, carrier=carrier)


def _grow(state: _State, added: Sequence[Measure], measured: frozenset[int], proven: int) -> _State:
    """The state with more messages; those `measured` weigh `proven` tokens together, with what stands around them."""
    sums = defaultdict(int, state.sums)
    turn, frames, has_tools = state.turn, state.frames, state.has_tools
    thinking, thinking_in_turn = state.thinking, state.thinking_in_turn
    for index, measure in enumerate(added):
        if measure.opens_turn:
            turn += 1
            thinking_in_turn = 0
        if index in measured:
            continue
        frames += measure.frame
        for entry in measure.entries:
            if entry.section == "thinking_summaries":
                thinking += entry.tokens
                thinking_in_turn += entry.tokens
            else:
                sums[entry.section] += entry.tokens
                has_tools = has_tools or _is_loaded_tool(entry)
    if proven:
        sums["tool_outputs"] += proven
    return replace(
        state,
        sums=dict(sums),
        frames=frames,
        turn=turn,
        thinking=thinking,
        thinking_in_turn=thinking_in_turn,
        has_tools=has_tools,
    )


def _lapsed(state: _State, before: CallFacts | None, call: TimelineCall) -> int:
    """Reasoning of the turn that ended between two calls, where the model keeps it no longer than that."""
    if before is None or call.meter.retention != "turn" or before.turn == state.turn:
        return 0
    known = state.reasoning.get(before.identity, _Reasoning())
    return known.tokens_in_turn if known.turn == before.turn else 0


def _with_reasoning(state: _State, before: CallFacts, replies: Sequence[Measure]) -> dict[Identity, _Reasoning]:
    if before.usage.reasoning is None:
        return state.reasoning
    known = state.reasoning.get(before.identity, _Reasoning())
    return {**state.reasoning, before.identity: known.plus(before, _thinking_in(replies))}


def _thinking_in(measures: Iterable[Measure]) -> int:
    return sum(
        entry.tokens for measure in measures for entry in measure.entries if entry.section == "thinking_summaries"
    )


def _with_first(state: _State, before: CallFacts | None, call: TimelineCall, added: Sequence[Measure]) -> _State:
    facts = call.facts
    if before is not None:
        return replace(state, sound=state.sound and facts is not None and goes_on(before, facts))
    if facts is None:
        return state
    entries = [entry for measure in added for entry in measure.entries]
    said = _sum(entries, SESSION) + sum(measure.frame for measure in added)
    return replace(state, first=_First(facts, said, _sum(entries, HARNESS)))


def _account(timeline: Timeline, index: int, step: _Step) -> CallAccount:
    call, state = timeline.calls[index], step.state
    sections = _sections(call, state)
    usage = call.facts.prompt if call.facts is not None else None
    estimate = sum(sections.values()) if call.anchor is None else None
    total = usage if usage is not None else estimate
    return CallAccount(
        index=index,
        total=total,
        kind="usage" if usage is not None else "estimate",
        sections=sections if total is not None else {},
        gap=total - sum(sections.values()) if total is not None else 0,
        opens_turn=_opens_turn(timeline, call, timeline.added[call.meter.key][index]),
        before=step.before,
        proven=step.proven,
        reply=step.reply,
        fresh=step.fresh,
        lapsed=step.lapsed,
    )


def _opens_turn(timeline: Timeline, call: TimelineCall, added: Sequence[Measure]) -> bool:
    """Behind a compaction the summary comes first: a turn goes on unless something was said after it."""
    if call.compaction:
        return len(added) > 1 and added[-1].opens_turn
    known = timeline.calls[call.follows].start if call.follows is not None else 0
    first = timeline.calls[call.anchor].start if call.anchor is not None else 0
    return any(measure.opens_turn for measure in added[max(0, known - first) :])


def _sections(call: TimelineCall, state: _State) -> dict[str, int]:
    rule = call.meter.rule
    harness = [entry for measure in (*call.prelude.system, *call.prelude.tools) for entry in measure.entries]
    sums = defaultdict(int, state.sums)
    for entry in harness:
        sums[entry.section] += entry.tokens
    if state.has_tools or any(map(_is_loaded_tool, harness)):
        sums["tools"] += rule.tool_block(NO_OPTIONS)
    sums["framing"] = rule.opening() + rule.hidden(NO_OPTIONS) + state.frames
    sums["framing"] += sum(measure.frame for measure in call.prelude.system)
    sums["unrecorded"] = _unrecorded(call, state, _sum(harness, HARNESS))
    reasoning, thinking = _thought(call, state)
    sums["reasoning"] += reasoning
    sums["thinking_summaries"] += thinking
    return {section: sums[section] for section in SECTIONS if sums[section]}


def _unrecorded(call: TimelineCall, state: _State, harness: int) -> int:
    """System prompt and tools that the file does not hold, where the first prompt proves their size."""
    if call.prelude.complete or call.compacted or not call.whole or state.first is None or not state.sound:
        return 0
    first, rule = state.first, call.meter.rule
    measured = measured_harness([first.facts], first.said + rule.opening() + rule.hidden(NO_OPTIONS))
    return max(0, (measured or 0) - harness - first.harness)


def _thought(call: TimelineCall, state: _State) -> tuple[int, int]:
    """Tokens of reported reasoning that are sent again, and of readable thinking that it does not stand for."""
    retention = call.meter.retention
    thinking = state.thinking if retention == "all" else state.thinking_in_turn
    known = state.reasoning.get(call.facts.identity) if call.facts is not None else None
    if known is None or retention == "none_known":
        return 0, thinking
    in_turn = known.turn == state.turn
    tokens = known.tokens if retention == "all" else known.tokens_in_turn * in_turn
    covered = known.thinking if retention == "all" else known.thinking_in_turn * in_turn
    if call.facts is not None and tokens > call.facts.prompt:
        return 0, thinking
    return tokens, thinking - covered


def _sum(entries: Iterable[Entry], sections: Sequence[str]) -> int:
    return sum(entry.tokens for entry in entries if entry.section in sections)


def _is_loaded_tool(entry: Entry) -> bool:
    return entry.section == "tools" and entry.loaded_tokens is None
