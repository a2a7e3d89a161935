"""From measures to a breakdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.tokens import compact_json

from .breakdown import Breakdown, Notice, Total
from .details import describe
from .heuristics import settle
from .measure import Entry, measure_message, measure_system, measure_tool
from .options import NO_OPTIONS, Options
from .sections import TOOL_BLOCK, make_sections

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ullage.core.content import Context, Usage

    from .breakdown import Details
    from .measure import Measure
    from .meter import Meter

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
    entries = [entry for measure in (*system, *tools) for entry in measure.entries]
    entries += [entry for members in message_entries(meter, messages) for entry in members]
    entries += once_entries(meter, entries, options)
    entries.append(framing_entry(meter, [*system, *messages], options))
    reported = usage.prompt if usage is not None else None
    total = total_from_usage(reported) if reported else None
    breakdown = compose(meter, entries, total=total, window=window, details=details)
    notices = find_notices(breakdown, [*tools, *messages], complete=complete)
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
    sections = make_sections(entry for entry in entries if _is_shown(entry))
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


def total_from_usage(tokens: int) -> Total:
    """A total that the provider reported."""
    return Total(tokens=tokens, low=tokens, high=tokens, kind="usage", method="usage")


def once_entries(meter: Meter, entries: Sequence[Entry], options: Options) -> Iterator[Entry]:
    """What comes once: the block that the first tool brings, and the output schema."""
    if any(entry.section == "tools" and entry.loaded_tokens is None for entry in entries):
        yield fixed_entry("tools", TOOL_BLOCK, meter.rule.tool_block(options), meter.rule.tools_method)
    if options.schema:
        amount = meter.rule.schema(options.schema, options.schema_name)
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
    names = {
        entry.call_id: entry.tool
        for measure in messages
        for entry in measure.entries
        if entry.section == "messages" and entry.call_id is not None
    }
    turn = current_turn(messages)
    for index, measure in enumerate(messages):
        keeps_thinking = meter.retention == "all" or index >= turn
        yield [_named(entry, names) if keeps_thinking else _unthought(entry, names) for entry in measure.entries]


def _named(entry: Entry, names: Mapping[str, str | None]) -> Entry:
    if entry.section != "tool_outputs":
        return entry
    return replace(entry, name=entry.tool or names.get(entry.call_id or "") or "unknown")


def _unthought(entry: Entry, names: Mapping[str, str | None]) -> Entry:
    if entry.section != "thinking_summaries":
        return _named(entry, names)
    return replace(entry, tokens=0, low=0, high=0, method="not sent again")


def current_turn(messages: Sequence[Measure]) -> int:
    """Index of the message that opened the current turn; 0 without one."""
    return max((index for index, measure in enumerate(messages) if measure.opens_turn), default=0)


def framing_entry(meter: Meter, measures: Sequence[Measure], options: Options) -> Entry:
    """What stands around the content: the opening, hidden text of the vendor, and a few tokens a message."""
    frames = sum(measure.frame for measure in measures)
    tokens = frames + meter.rule.opening() + meter.rule.hidden(options)
    return fixed_entry("framing", "around messages", tokens, "framing constants")


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
            Notice(code="unknown_cost", message=f"Pictures and tools whose cost is only guessed: {unknown}.")
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


def _is_shown(entry: Entry) -> bool:
    return bool(entry.tokens or entry.chars or entry.loaded_tokens is not None or entry.section == "tools")
