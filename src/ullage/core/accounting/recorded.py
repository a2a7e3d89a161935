"""A recorded conversation: anchored on the last usage that can be trusted, its rows measured where usage proves them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .assemble import (
    compose,
    find_notices,
    fixed_entry,
    framing_entry,
    message_entries,
    once_entries,
    total_from_usage,
)
from .breakdown import Breakdown, Notice, Total
from .growth import next_prompt
from .measure import Entry, Measure
from .measured import CallFacts, measured_growth, measured_harness, retained_reasoning
from .options import NO_OPTIONS
from .sections import HARNESS, SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .breakdown import Details
    from .measured import Reasoning
    from .meter import Meter


class Record(Struct, frozen=True, kw_only=True):
    """What a session tells of the calls behind a conversation.

    `calls` are the trusted calls of its branch since the last compaction, oldest first; the last one is the anchor. `complete` is
    false where the file leaves out the system prompt or the tools. `from_start` says that the first of the calls begins the
    conversation. `compacted` says that a compaction stands before what is there, with `tokens_after` as the client wrote it.
    """

    calls: tuple[CallFacts, ...] = ()
    complete: bool = True
    from_start: bool = True
    compacted: bool = False
    tokens_after: int | None = None


def account_recorded(
    meter: Meter,
    *,
    system: Sequence[Measure],
    tools: Sequence[Measure],
    messages: Sequence[Measure],
    record: Record,
    window: int | None = None,
    details: Details | None = None,
) -> Breakdown:
    """The breakdown of what the messages say, as the anchor sent it or as the next call will.

    Nothing behind the anchor's own prompt: the total is its usage. More: the total is the anchored estimate of the next prompt.
    No anchor: the sum of the sections. After a switch of the model the old usage stays, said to be the old model's, and proves
    nothing about the rows.
    """
    calls = placed(record.calls, messages)
    anchor = calls[-1] if calls else None
    switched = anchor is not None and anchor.model != meter.model
    onward = anchor is not None and any(True for _ in _behind(anchor, messages))
    proven = () if switched else calls
    reasoning = retained_reasoning(proven, meter.retention, with_anchor=onward)
    parts, covered_chars = _session_parts(meter, messages, proven, reasoning)
    harness = [entry for measure in (*system, *tools) for entry in measure.entries]
    entries = [*harness, *(entry for part in parts for entry in part.entries)]
    entries += [*once_entries(meter, tools, NO_OPTIONS), *_reasoning_entry(reasoning)]
    framing = framing_entry(meter, [*system, *(part.measure for part in parts)], NO_OPTIONS)
    entries += [framing, *_unrecorded(meter, harness, messages, proven, record)]
    total = _total(meter, messages, anchor, record, onward=onward)
    breakdown = compose(meter, entries, total=total, window=None if switched else window, details=details)
    notices = (
        *find_notices(breakdown, [*tools, *messages], complete=record.complete),
        *_notices(record, anchor, switched),
    )
    output = anchor.usage.output if anchor is not None else None
    return replace(_with_share(breakdown, covered_chars), warnings=notices, output=output)


class _Part(Struct, frozen=True):
    """One message's entries, and the measure that still frames it."""

    measure: Measure
    entries: tuple[Entry, ...]


def placed(calls: Sequence[CallFacts], messages: Sequence[Measure]) -> tuple[CallFacts, ...]:
    """The calls with what the messages tell: the turn of each, and whether its answer carries reasoning."""
    turns = list(itertools.accumulate((measure.opens_turn for measure in messages), initial=0))
    return tuple(
        replace(
            call,
            turn=turns[min(call.start, len(messages))],
            carrier=call.carrier or any(messages[index].carries for index in call.reply if index < len(messages)),
        )
        for call in calls
    )


def measured_ratios(calls: Sequence[CallFacts], messages: Sequence[Measure]) -> list[float]:
    """For each message, its tokens in a breakdown divided by its estimate: 1 but for tool results that usage measured."""
    ratios = [1.0] * len(messages)
    for before, after in itertools.pairwise(placed(calls, messages)):
        between, growth = proven_results(before, after, messages)
        estimate = sum(entry.tokens for index in between for entry in messages[index].entries)
        if growth is not None and estimate > 0:
            for index in between:
                ratios[index] = growth / estimate
    return ratios


def _behind(anchor: CallFacts, messages: Sequence[Measure]) -> Iterator[Measure]:
    """What was added after the anchor's call, its own answer left out."""
    reply = set(anchor.reply)
    return (measure for index, measure in enumerate(messages) if index >= anchor.start and index not in reply)


def _total(
    meter: Meter, messages: Sequence[Measure], anchor: CallFacts | None, record: Record, *, onward: bool
) -> Total | None:
    if anchor is None:
        return _total_after_compaction(record)
    if not onward:
        return total_from_usage(anchor.prompt)
    new = [entry for measure in _behind(anchor, messages) for entry in measure.entries]
    return next_prompt(
        meter.growth,
        prompt=anchor.prompt,
        output=_replayed_output(anchor, messages),
        new_tokens=sum(entry.tokens for entry in new),
        new_low=sum(entry.low for entry in new),
        new_high=sum(entry.high for entry in new),
    )


def _replayed_output(anchor: CallFacts, messages: Sequence[Measure]) -> int:
    """What the answer adds to the next prompt; where its output was logged too small, at least what its text counts."""
    logged = anchor.usage.output or 0
    if not anchor.output_unsure:
        return logged
    reply = [messages[index] for index in anchor.reply if index < len(messages)]
    counted = sum(measure.frame + sum(entry.tokens for entry in measure.entries) for measure in reply)
    return max(logged, counted)


def _total_after_compaction(record: Record) -> Total | None:
    if not record.compacted or not record.tokens_after:
        return None
    tokens = record.tokens_after
    return Total(tokens=tokens, low=tokens, high=tokens, kind="estimate", method="the client's compaction record")


def _session_parts(
    meter: Meter, messages: Sequence[Measure], calls: Sequence[CallFacts], reasoning: Reasoning | None
) -> tuple[list[_Part], int]:
    """Every message with its entries: tool results at their measured growth, thinking dropped where exact reasoning stands
    for it. The number is the characters of results that were measured."""
    covered = {index for number in (reasoning.calls if reasoning else ()) for index in calls[number].reply}
    parts = [
        _Part(measure, tuple(_without_thinking(entries) if index in covered else entries))
        for index, (measure, entries) in enumerate(zip(messages, message_entries(meter, messages), strict=True))
    ]
    chars = 0
    for before, after in itertools.pairwise(calls):
        between, growth = proven_results(before, after, messages)
        if growth is not None:
            _spread(parts, between, growth)
            chars += sum(entry.chars for index in between for entry in parts[index].entries)
    return parts, chars


def proven_results(
    before: CallFacts, after: CallFacts, messages: Sequence[Measure], *, first: int = 0
) -> tuple[list[int], int | None]:
    """Indexes of what came between two calls beside the answer, and the tokens that usage proves for it: `None` unless it is
    tool results alone and the prompt grew soundly. `messages` begin with the message of index `first`.
    """
    between = [index for index in range(before.start, after.start) if index not in before.reply]
    if not between or not all(messages[index - first].results_only for index in between):
        return between, None
    return between, measured_growth(before, after)


def _without_thinking(entries: Sequence[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if entry.section == "thinking_summaries":
            yield replace(entry, tokens=0, low=0, high=0, method="covered by reported reasoning")
        else:
            yield entry


def _spread(parts: list[_Part], between: Sequence[int], growth: int) -> None:
    """Gives each result between two calls its share of the growth, by its estimate; the shares sum to the growth."""
    weights = [entry.tokens + 1 for index in between for entry in parts[index].entries]
    whole = sum(weights)
    done = passed = 0
    for index in between:
        entries = []
        for entry in parts[index].entries:
            passed += entry.tokens + 1
            upto = growth * passed // whole
            entries.append(
                replace(entry, tokens=upto - done, low=upto - done, high=upto - done, method="measured growth")
            )
            done = upto
        # The growth holds what stands around the results too.
        parts[index] = _Part(replace(parts[index].measure, frame=0), tuple(entries))


def _reasoning_entry(reasoning: Reasoning | None) -> Iterator[Entry]:
    if reasoning is not None:
        yield fixed_entry("reasoning", "reported", reasoning.tokens, "usage")


def _unrecorded(
    meter: Meter, harness: Sequence[Entry], messages: Sequence[Measure], calls: Sequence[CallFacts], record: Record
) -> Iterator[Entry]:
    """System prompt and tools that the file does not hold, where the first prompt proves their size.

    `harness` are the entries of the system prompt and the tools that it does hold.
    """
    if record.complete or record.compacted or not record.from_start or not calls:
        return
    prelude = messages[: calls[0].start]
    entries = [entry for measure in prelude for entry in measure.entries]
    said = sum(entry.tokens for entry in entries if entry.section in SESSION)
    said += sum(measure.frame for measure in prelude) + meter.rule.opening() + meter.rule.hidden(NO_OPTIONS)
    measured = measured_harness(calls, said)
    recorded = sum(entry.tokens for entry in (*harness, *entries) if entry.section in HARNESS)
    if measured is not None and measured > recorded:
        yield fixed_entry("unrecorded", "system prompt and tools", measured - recorded, "measured")


def _with_share(breakdown: Breakdown, covered_chars: int) -> Breakdown:
    if not covered_chars:
        return breakdown
    sections = tuple(
        replace(section, measured_share=covered_chars / section.chars if section.chars else None)
        if section.id == "tool_outputs"
        else section
        for section in breakdown.sections
    )
    return replace(breakdown, sections=sections)


def _notices(record: Record, anchor: CallFacts | None, switched: bool) -> Iterator[Notice]:
    if switched and anchor is not None:
        yield Notice(
            code="pre_switch",
            message=f"The total is usage of {anchor.model or 'another model'}, before the switch of the model.",
        )
    if anchor is None:
        reason = "The last compaction came after every usage" if record.compacted else "No usage can be trusted"
        yield Notice(code="heuristic_fallback", message=f"{reason}: the total is the sum of the estimates.")
