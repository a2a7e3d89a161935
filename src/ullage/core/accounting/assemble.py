"""From measures to a breakdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.profiles import find_interval
from ullage.core.tokens import compact_json

from .breakdown import Breakdown, Notice, Total
from .details import describe
from .heuristics import settle
from .intervals import bounds, content_kind
from .measure import DEFERRED, Entry, measure_message, measure_system, measure_tool
from .options import NO_OPTIONS, Options
from .run_sums import (
    current_turn,
    further_calls,
    is_shown,
    named,
    sum_messages,
    summed_entries,
    summed_seals,
    tool_names,
    unthought,
)
from .sections import TOOL_BLOCK, make_sections

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.content import Context, Usage

    from .breakdown import Details
    from .measure import Measure
    from .meter import Meter
    from .run_sums import RunSum

# A gap of this share of the total raises the question what is not seen (accounting specification, section 20, item 11).
_LARGE_GAP = 0.15
_LARGE_GAP_TOKENS = 500


def assemble(
    meter: Meter,
    *,
    system: Sequence[Measure],
    tools: Sequence[Measure],
    messages: Sequence[Measure],
    usage: Usage | None = None,
    window: int | None = None,
    options: Options = NO_OPTIONS,
    complete: bool = True,
    details: Details | None = None,
) -> Breakdown:
    """The breakdown of one request. The total is the prompt that `usage` reports, else the sum of the sections.

    `complete` is false where the record leaves out the system prompt or the tools. `details` are words for the views.
    """
    reported = usage.prompt if usage is not None else None
    offered = hidden_tools(tools) if meter.rule.hides_tools(options) else loaded_tools(tools, messages)
    entries = [entry for measure in (*system, *offered) for entry in measure.entries]
    sums = sum_messages(messages)
    summed = [each.measure for each in sums]
    if meter.inspector_rule is None:
        entries += summed_entries(sums, keeps_thinking=meter.retention == "all")
    else:
        entries += [entry for members in message_entries(meter, messages) for entry in members]
    prompted = has_system([*system, *summed]) or not complete
    entries += once_entries(meter, offered, options, system=prompted)
    framing = framing_entry(meter, [*system, *summed], options, system=prompted)
    entries.append(_plus(framing, meter.rule.parallel_frame() * further_calls(sums)))
    if not reported:
        entries += sealed_entries(meter, sums)
    total = total_from_usage(reported) if reported else estimated_total(meter, entries, [*system, *tools, *summed])
    breakdown = compose(meter, entries, total=total, window=window, details=details)
    notices = find_notices(breakdown, [*tools, *summed], complete=complete)
    return replace(breakdown, warnings=notices, output=usage.output if usage is not None else None)


def account(
    context: Context,
    meter: Meter,
    *,
    usage: Usage | None = None,
    window: int | None = None,
    options: Options = NO_OPTIONS,
    details: bool = False,
) -> Breakdown:
    """Measures a whole context and assembles it; `details` adds the words that the views show."""
    return assemble(
        meter,
        system=[measure_system(text, meter) for text in context.system],
        tools=[measure_tool(spec, meter) for spec in context.tools],
        messages=[measure_message(message, meter) for message in context.messages],
        usage=usage,
        window=window,
        options=options,
        complete=context.complete,
        details=describe(context, meter) if details else None,
    )


def compose(
    meter: Meter,
    entries: Sequence[Entry],
    *,
    total: Total | None,
    window: int | None = None,
    details: Details | None = None,
) -> Breakdown:
    """Sections from entries, the total, and the gap between them. Without a total, the sum of the sections is it."""
    if meter.inspector_rule is not None:
        entries = settle(entries, meter.inspector_rule)
    sections = make_sections(entry for entry in entries if is_shown(entry))
    tokens = sum(section.tokens for section in sections)
    if total is None:
        low = sum(section.low for section in sections)
        high = sum(section.high for section in sections)
        total = Total(tokens=tokens, low=low, high=high, kind="estimate", method=meter.estimator)
    return Breakdown(
        estimator=meter.estimator,
        family=meter.family,
        total=total,
        sections=tuple(sections),
        gap=total.tokens - tokens,
        window=window,
        client=meter.client,
        dialect=meter.dialect,
        provider=meter.provider,
        model=meter.model,
        heuristic=meter.inspector_rule.described() if meter.inspector_rule is not None else None,
        details=details,
    )


def estimated_total(meter: Meter, entries: Sequence[Entry], measures: Sequence[Measure]) -> Total | None:
    """The sum of what was counted, within the measured error of the rules behind it; `None` if those were not measured."""
    if not meter.counts_the_wire:
        return None
    tokens, low, high = (sum(getattr(entry, name) for entry in entries) for name in ("tokens", "low", "high"))
    content = content_kind(measures, entries)
    low, high, measured = bounds(
        content, tokens, low, high, find_interval(meter.fitted, meter.provider, content, tokens)
    )
    return Total(
        tokens=tokens, low=low, high=high, kind="estimate", method=meter.estimator, content=content, measured=measured
    )


def total_from_usage(tokens: int) -> Total:
    """A total that the provider reported."""
    return Total(tokens=tokens, low=tokens, high=tokens, kind="usage", method="usage")


def has_system(measures: Sequence[Measure]) -> bool:
    """Whether a request holds a system prompt, be it a block or a message."""
    return any(measure.role in ("system", "developer") and measure.entries for measure in measures)


def hidden_tools(tools: Sequence[Measure]) -> list[Measure]:
    """Tools that the choice of none keeps from the model: they cost nothing."""
    return [replace(measure, entries=tuple(map(_unsent, measure.entries))) for measure in tools]


def loaded_tools(tools: Sequence[Measure], messages: Sequence[Measure]) -> Sequence[Measure]:
    """Deferred tools that were called have been loaded, and cost what they cost."""
    if not any(entry.method == DEFERRED for measure in tools for entry in measure.entries):
        return tools
    called = {entry.tool for measure in messages for entry in measure.entries if entry.call_id is not None}
    return [
        replace(measure, entries=tuple(_loaded(entry) if entry.name in called else entry for entry in measure.entries))
        for measure in tools
    ]


def _loaded(entry: Entry) -> Entry:
    if entry.method != DEFERRED or entry.loaded_tokens is None:
        return entry
    tokens = entry.loaded_tokens
    return replace(entry, tokens=tokens, low=tokens, high=tokens, method="deferred, then called", loaded_tokens=None)


def _unsent(entry: Entry) -> Entry:
    loaded = entry.tokens if entry.loaded_tokens is None else entry.loaded_tokens
    return replace(entry, tokens=0, low=0, high=0, method="not offered", loaded_tokens=loaded)


def sealed_entries(meter: Meter, sums: Sequence[RunSum]) -> Iterator[Entry]:
    """Hidden reasoning that the provider replays, by the length of its seals."""
    tokens = summed_seals(sums, keeps_all=meter.retention == "all" or meter.rule.seals_last)
    if tokens:
        yield fixed_entry("reasoning", "replayed, sealed", tokens, "length of the seal")


def once_entries(meter: Meter, tools: Sequence[Measure], options: Options, *, system: bool = True) -> Iterator[Entry]:
    """What comes once: the block that the first of the tool list brings, and the output schema."""
    if any(entry.loaded_tokens is None for measure in tools for entry in measure.entries):
        block = meter.rule.tool_block(options, system=system)
        waiting = any(entry.method == DEFERRED for measure in tools for entry in measure.entries)
        block += meter.rule.deferred_block() * waiting
        yield fixed_entry("tools", TOOL_BLOCK, block, meter.rule.tools_method)
    if options.schema:
        amount = meter.rule.schema(options)
        yield Entry(
            section="schema",
            name=options.schema_name,
            tokens=amount.tokens,
            low=amount.low,
            high=amount.high,
            chars=len(compact_json(options.schema)),
            method=amount.method,
        )


def message_entries(meter: Meter, messages: Sequence[Measure]) -> Iterator[list[Entry]]:
    """The entries of each message: results named by the calls they answer, thinking only where it is sent again."""
    names = tool_names(messages)
    turn = current_turn(messages)
    for index, measure in enumerate(messages):
        keeps_thinking = meter.retention == "all" or index >= turn
        yield [named(entry if keeps_thinking else unthought(entry), names) for entry in measure.entries]


def framing_entry(meter: Meter, measures: Sequence[Measure], options: Options, *, system: bool = True) -> Entry:
    """What stands around the content: the opening, hidden text of the vendor, and a few tokens a message."""
    frames = sum(measure.frame for measure in measures)
    tokens = frames + meter.rule.opening() + meter.rule.hidden(options, system=system)
    return fixed_entry("framing", "around messages", tokens, "framing constants")


def _plus(entry: Entry, tokens: int) -> Entry:
    return replace(entry, tokens=entry.tokens + tokens, low=entry.low + tokens, high=entry.high + tokens)


def fixed_entry(section: str, name: str, tokens: int, method: str) -> Entry:
    """An entry of a fixed number of tokens without text."""
    return Entry(section=section, name=name, tokens=tokens, low=tokens, high=tokens, chars=0, method=method)


def find_notices(breakdown: Breakdown, measures: Sequence[Measure], *, complete: bool) -> tuple[Notice, ...]:
    """What a reader of the numbers must know."""
    warnings = []
    if breakdown.family == "unknown":
        name = breakdown.model or "no model"
        warnings.append(Notice(code="unknown_model", message=f"{name}: no tokenizer family is known for it."))
    if not complete and not any(section.id == "unrecorded" for section in breakdown.sections):
        warnings.append(
            Notice(
                code="incomplete_record",
                message="The record leaves out the system prompt or the tools: they are in the gap.",
            )
        )
    reported = any(section.id == "reasoning" for section in breakdown.sections)
    sealed = 0 if reported else sum(measure.sealed for measure in measures)
    if sealed:
        warnings.append(
            Notice(code="hidden_reasoning", message=f"Parts with hidden reasoning of unknown size: {sealed}.")
        )
    unknown = sum(measure.unknown for measure in measures)
    if unknown:
        warnings.append(
            Notice(code="unknown_cost", message=f"Pictures, files and tools whose cost is only guessed: {unknown}.")
        )
    if complete and not sealed and breakdown.total.kind == "usage" and _is_large(breakdown):
        warnings.append(
            Notice(
                code="large_gap",
                message=f"{breakdown.gap:+,} tokens are not explained by any section: what does the provider add or leave out?",
            )
        )
    return tuple(warnings)


def _is_large(breakdown: Breakdown) -> bool:
    return abs(breakdown.gap) > max(_LARGE_GAP_TOKENS, _LARGE_GAP * breakdown.total.tokens)
