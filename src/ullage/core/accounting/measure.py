"""Measures of single slices: numbers and names, never text, so that they can be kept by the slice's hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.content import Role

from .amounts import Amount, exactly, total
from .heuristics.calls import call_json
from .inline_tools import WIRE_TYPE, inline_tools
from .layouts import find_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.content import Message, Part, ToolSpec

    from .layouts import Block
    from .meter import Meter

_END_OF_THOUGHT = "</think>"
COMPACTED = "compacted"
"""Item of a conversation that was replaced by a sealed summary."""
DEFERRED = "deferred"
"""Method of a tool that waits to be loaded."""
_COMPACTION = "compaction"
_FRAMED_KINDS = ("tool_call", "tool_result", "thinking")
# Wire types of a user's own words in all dialects and records; a client's attachments have types of their own.
_PROMPT_TYPES = ("", "text", "input_text", "queued_command")
_INSTRUCTING_ROLES = ("system", "developer", "user")


# `gc=False`: tens of thousands of these are remembered, and a garbage collection that looked at them would stall every relay.
# They hold plain values and each other in one direction only, so nothing is lost by it.
class Entry(Struct, frozen=True, kw_only=True, gc=False):
    """What one piece adds to one section.

    `section` is the section's id without a path; `name` the item in it: a path, a skill, a tool, a kind of text. `chars` are code
    points. `call_id` ties a call to its result; `tool` is the tool's name where the piece knows it. `loaded_tokens` is what a
    deferred tool would cost. `count` is how many pieces were added up.
    """

    section: str
    name: str
    tokens: int
    low: int
    high: int
    chars: int
    method: str
    call_id: str | None = None
    tool: str | None = None
    loaded_tokens: int | None = None
    count: int = 1


class Measure(Struct, frozen=True, kw_only=True, gc=False):
    """One slice measured. `frame` are the tokens around its content.

    `sealed_tokens` are of hidden reasoning that is replayed, `sealed` counts parts where its size is unknown; `carries` is true
    if any part lets the provider replay reasoning. `calls` counts tool calls, `media` pictures and files. `opens_turn` is true
    for a message of the user that answers no tool call, `results_only` for one that holds nothing but tool results. `unknown`
    counts media and tools of unknown cost.
    """

    role: Role | None = None
    entries: tuple[Entry, ...] = ()
    frame: int = 0
    sealed: int = 0
    sealed_tokens: int = 0
    calls: int = 0
    media: int = 0
    carries: bool = False
    opens_turn: bool = False
    results_only: bool = False
    unknown: int = 0

    @property
    def weight(self) -> int:
        """All tokens of a slice, frames and sealed reasoning included: what limits and plans go by, and samples hold."""
        return self.frame + sum(entry.tokens for entry in self.entries) + self.sealed_tokens


def measure_system(text: str, meter: Meter) -> Measure:
    """One system block outside the message list."""
    if not text:
        return Measure(role="system")
    entries = tuple(_split_text(text, meter, "system", "prompt"))
    return Measure(role="system", entries=entries, frame=meter.rule.system_frame())


def measure_tool(spec: ToolSpec, meter: Meter) -> Measure:
    """One tool definition, net. Members of a namespace are tools of their own; deferred and inactive ones cost nothing yet."""
    if spec.tools:
        members = [measure_tool(member, meter) for member in spec.tools]
        entries = [_renamed(entry, f"{spec.name}.{entry.name}") for measure in members for entry in measure.entries]
        return Measure(entries=tuple(entries), unknown=sum(measure.unknown for measure in members))
    amount = meter.rule.tool(spec)
    chars = meter.tool_chars(spec)
    if spec.deferred or not spec.active:
        method = DEFERRED if spec.active else "inactive"
        entry = _entry("tools", spec.name, exactly(0, method), chars, loaded_tokens=amount.tokens)
        return Measure(entries=(entry,))
    return Measure(entries=(_entry("tools", spec.name, amount, chars),), unknown=int(spec.kind == "hosted"))


def measure_message(message: Message, meter: Meter) -> Measure:
    """One message of any role."""
    thinks = message.role == "assistant" and meter.rule.strips_thinking
    parts = _with_thoughts(message.parts) if thinks else message.parts
    entries = tuple(entry for part in parts for entry in _measure_part(part, message.role, meter))
    results = [part for part in message.parts if part.kind == "tool_result"]
    calls = [part for part in message.parts if part.kind == "tool_call"]
    frame = sum(meter.rule.call_frame(part.name) for part in calls)
    frame += sum(meter.rule.result_frame(part.name, max(1, len(part.parts))) for part in results)
    frame += meter.rule.inline_block() * sum(bool(inline_tools(part)) for part in message.parts)
    sealed = [meter.rule.sealed(part.sealed_chars) for part in message.parts if _is_sealed(part)]
    if _has_own_frame(message, meter):
        frame += meter.rule.message_frame(message.role, len(message.parts) - len(results))
        frame += meter.rule.name_frame(message.name, message.role) if message.name else 0
    return Measure(
        role=message.role,
        entries=entries,
        frame=frame,
        sealed=sealed.count(None),
        sealed_tokens=sum(filter(None, sealed)),
        calls=len(calls),
        media=sum(map(_media, message.parts)),
        carries=any(part.carries_reasoning for part in message.parts),
        opens_turn=message.role == "user" and not results and any(map(_is_prompt, message.parts)),
        results_only=bool(results) and len(results) == len(message.parts),
        unknown=sum(_unknown_media(part, meter) for part in message.parts),
    )


def _with_thoughts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Text up to the last end of a thought is thinking: templates cut there, whatever stands before it."""
    last = max(
        (index for index, part in enumerate(parts) if _END_OF_THOUGHT in part.text and part.kind == "text"), default=-1
    )
    return tuple(piece for index, part in enumerate(parts) for piece in _split_thought(part, index - last))


def _split_thought(part: Part, behind: int) -> Iterator[Part]:
    if part.kind != "text" or behind > 0:
        yield part
        return
    thought, end, text = part.text.rpartition(_END_OF_THOUGHT) if behind == 0 else (part.text, "", "")
    yield replace(part, kind="thinking", text=thought + end)
    if text.strip():
        yield replace(part, text=text.lstrip())


def _has_own_frame(message: Message, meter: Meter) -> bool:
    """Calls, results and thinking alone bring their own frame, unless the estimator frames every message."""
    if meter.frames_every_message:
        return message.role != "tool" or not all(part.kind == "tool_result" for part in message.parts)
    if any((part.text or part.media) and not _is_framed(part) for part in message.parts):
        return True
    return not any(map(_is_framed, message.parts))


def _is_framed(part: Part) -> bool:
    return part.kind in _FRAMED_KINDS or part.wire_type == WIRE_TYPE


def _measure_part(part: Part, role: Role, meter: Meter) -> Iterator[Entry]:
    match part.kind:
        case "text":
            yield from _measure_text(part, role, meter)
        case "thinking":
            if part.text:
                amount = exactly(0, "summary") if meter.rule.sealed_thinking else meter.rule.speech(part.text)
                yield _entry("thinking_summaries", "thinking", amount, len(part.text))
        case "tool_call":
            yield _measure_call(part, meter)
        case "tool_result":
            yield _measure_result(part, meter)
        case "image" | "document" | "audio" | "video":
            yield from _measure_media(part, meter)
        case "other" if tools := inline_tools(part):
            for spec in tools:
                yield from measure_tool(spec, meter).entries
        case "other" if part.wire_type == _COMPACTION:
            tokens = meter.rule.sealed(part.sealed_chars)
            yield _entry("messages", COMPACTED, exactly(tokens or 0, "length of the seal"), 0)
        case "other":
            yield _entry("messages", "other", meter.rule.dense(part.text), len(part.text))


def _measure_text(part: Part, role: Role, meter: Meter) -> Iterator[Entry]:
    text = part.text
    if not text:
        return
    section = "system" if role in ("system", "developer") else "messages"
    name = "prompt" if section == "system" else ("assistant text" if role == "assistant" else "user text")
    if role in _INSTRUCTING_ROLES:
        yield from _split_text(text, meter, section, name, part.wire_type)
    else:
        yield _entry(section, name, _count_text(text, meter, section), len(text))


def _count_text(text: str, meter: Meter, section: str) -> Amount:
    return meter.rule.prose(text) if section == "system" else meter.rule.speech(text)


def _measure_call(part: Part, meter: Meter) -> Entry:
    name = part.name or ""
    if meter.inspector_rule is not None:
        written = call_json(part)
        amount, chars = meter.rule.speech(written), len(written)
    else:
        amount, chars = meter.rule.call(name, part.text), len(part.text) + len(name)
    return _entry("messages", "tool calls", amount, chars, call_id=part.call_id, tool=part.name)


def _measure_result(part: Part, meter: Meter) -> Entry:
    amounts = []
    chars = 0
    for piece in part.parts or (part,):
        if piece.media is not None:
            amounts.append(meter.rule.media(piece.media))
        amounts.append(meter.rule.result(piece.text, part.name))
        chars += len(piece.text)
    pictured = any(piece.media is not None for piece in part.parts)
    amount = total(amounts, amounts[-1].method + (" and media" if pictured else ""))
    return _entry("tool_outputs", part.name or "", amount, chars, call_id=part.call_id, tool=part.name)


def _measure_media(part: Part, meter: Meter) -> Iterator[Entry]:
    if part.media is not None:
        yield _entry("messages", f"{part.kind}s", meter.rule.media(part.media), 0)
    if part.text:
        yield _entry("messages", f"{part.kind}s", meter.rule.speech(part.text), len(part.text))


def _split_text(text: str, meter: Meter, section: str, name: str, part: str = "") -> Iterator[Entry]:
    """The text's blocks as entries of their own, and what is left of it; together they are the count of the whole text."""
    whole = _count_text(text, meter, section)
    entries = [entry for block in find_blocks(text, meter.client, part) for entry in _measure_block(text, block, meter)]
    rest = _rest(whole, entries)
    chars = len(text) - sum(entry.chars for entry in entries)
    if rest.tokens or chars or not entries:
        yield _entry(section, name, rest, chars)
    yield from entries


def _measure_block(text: str, block: Block, meter: Meter) -> Iterator[Entry]:
    spans = [(entry.name, text[entry.start : entry.end]) for entry in block.entries]
    entries = [_entry(block.kind, name, meter.rule.prose(span), len(span)) for name, span in spans]
    yield from entries
    if block.kind == "skills":
        wrapper = _rest(meter.rule.prose(text[block.start : block.end]), entries)
        chars = block.end - block.start - sum(entry.chars for entry in entries)
        yield _entry("skills", "", wrapper, chars)


def _rest(whole: Amount, entries: Sequence[Entry]) -> Amount:
    """What is left of the whole; a few tokens below zero where words were cut at the edges of blocks."""
    tokens = whole.tokens - sum(entry.tokens for entry in entries)
    low = whole.low - sum(entry.low for entry in entries)
    high = whole.high - sum(entry.high for entry in entries)
    return Amount(tokens, min(low, tokens), max(high, tokens), whole.method)


def _is_prompt(part: Part) -> bool:
    """What a person says, told from what a client attaches on its own."""
    return part.media is not None or part.wire_type in _PROMPT_TYPES


def _is_sealed(part: Part) -> bool:
    return part.carries_reasoning and part.wire_type != _COMPACTION


def _media(part: Part) -> int:
    return int(part.media is not None) + sum(map(_media, part.parts))


def _unknown_media(part: Part, meter: Meter) -> int:
    own = part.media is not None and not meter.rule.knows(part.media)
    return int(own) + sum(_unknown_media(piece, meter) for piece in part.parts)


def _renamed(entry: Entry, name: str) -> Entry:
    return _entry(
        entry.section,
        name,
        Amount(entry.tokens, entry.low, entry.high, entry.method),
        entry.chars,
        loaded_tokens=entry.loaded_tokens,
    )


def _entry(
    section: str,
    name: str,
    amount: Amount,
    chars: int,
    *,
    call_id: str | None = None,
    tool: str | None = None,
    loaded_tokens: int | None = None,
) -> Entry:
    return Entry(
        section=section,
        name=name,
        tokens=amount.tokens,
        low=amount.low,
        high=amount.high,
        chars=chars,
        method=amount.method,
        call_id=call_id,
        tool=tool,
        loaded_tokens=loaded_tokens,
    )
