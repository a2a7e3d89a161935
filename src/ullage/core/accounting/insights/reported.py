"""Insights from context reports that were kept without content: the calls of a live session, as a store has them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from ullage.core.accounting.measured import CallFacts, measured_growth, replayed
from ullage.core.accounting.sections import HARNESS, section_kind
from ullage.core.content import Usage
from ullage.core.profiles import reasoning_retention

from .caching import CachedCall, Caching, cache_without_messages, harness_rows
from .compaction import Compacted
from .growth import Event, GrowthCall, Piece, Weight, estimated_pieces, share_proven
from .timeline import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Items of messages that a model wrote: they come with the reply.
_REPLIED = frozenset({("messages", "assistant text"), ("messages", "tool calls")})
_PROMPTED = "user text"


class ReportedCall(Struct, frozen=True, kw_only=True):
    """One call of a live session: its id and context report. `usage` is `None` where the provider reported none.

    `cut` says that it does not go on from the call before: the history was rewritten (a compaction, or messages taken out), or
    the user went back. `messages_before` and `messages_after` are the lengths of the two histories then, `messages_kept` how many
    of them both begin with.
    """

    id: str
    report: dict[str, Any]
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    time_ms: int | None = None
    cut: Literal["rewrite", "branch"] | None = None
    messages_before: int = 0
    messages_after: int = 0
    messages_kept: int = 0

    @property
    def target(self) -> str:
        return "/".join(part for part in (self.provider, self.model) if part)

    @property
    def facts(self) -> CallFacts | None:
        if self.usage is None or not self.usage.prompt:
            return None
        carrier = reasoning_retention(self.provider, self.model) != "none_known"
        return CallFacts(usage=self.usage, provider=self.provider, model=self.model, carrier=carrier)

    @property
    def sections(self) -> dict[str, int]:
        """Tokens by kind of section."""
        sums: dict[str, int] = {}
        for section in self.report.get("sections", ()):
            kind = section_kind(section["id"])
            sums[kind] = sums.get(kind, 0) + section["tokens"]
        return {kind: sums[kind] for kind in (*SECTIONS, *sums) if sums.get(kind)}

    @property
    def items(self) -> dict[tuple[str, str], Weight]:
        """What each item of each kind of section weighs; a section without items is its own."""
        weights: dict[tuple[str, str], Weight] = {}
        for section in self.report.get("sections", ()):
            kind = section_kind(section["id"])
            for item in section.get("items") or [{"name": section["title"], "tokens": section["tokens"]}]:
                weight = weights.setdefault((kind, item["name"]), Weight())
                weight.tokens += item["tokens"]
                weight.count += item.get("count", 1)
        return weights


def find_reported_growth(calls: Sequence[ReportedCall]) -> tuple[GrowthCall, ...]:
    """The growth of each call, oldest first."""
    start = _branch_start(calls)
    later = _later_calls(calls)
    growth = []
    turn = 1
    before: ReportedCall | None = None
    for index, call in enumerate(calls):
        turn += before is not None and _opens_turn(before, call)
        onward = before if call.cut is None else None
        growth.append(
            _growth_call(call, onward, number=index + 1, turn=turn, later=later[index], in_window=index >= start)
        )
        before = call
    return tuple(growth)


def find_reported_compactions(calls: Sequence[ReportedCall]) -> tuple[Compacted, ...]:
    """Every rewrite of the history, with the reports before and after it. Which messages went is not known."""
    return tuple(
        _compacted(before, call, number)
        for number, (before, call) in enumerate(itertools.pairwise(calls), 2)
        if call.cut == "rewrite"
    )


def find_reported_caching(calls: Sequence[ReportedCall]) -> Caching | None:
    """The cache after the last call. Only the harness has a place in the prompt that is known; the conversation is one row."""
    branch = list(calls)[_branch_start(calls) :]
    first = len(calls) - len(branch) + 1
    cached = [
        CachedCall(call=number, usage=call.usage, target=call.target, time_ms=call.time_ms)
        for number, call in enumerate(branch, first)
        if call.usage is not None and call.facts is not None
    ]
    if not cached:
        return None
    sections = branch[-1].sections
    tools = sections.get("tools", 0)
    system = sum(sections.get(kind, 0) for kind in HARNESS) - tools
    return cache_without_messages(cached, harness_rows(branch[-1].report.get("dialect"), tools=tools, system=system))


def _branch_start(calls: Sequence[ReportedCall]) -> int:
    """Index of the first call that the last one goes on from."""
    return max((index for index, call in enumerate(calls) if call.cut is not None), default=0)


def _later_calls(calls: Sequence[ReportedCall]) -> list[int]:
    """For each call, how many calls behind it went on from it."""
    later = [0] * len(calls)
    for index in range(len(calls) - 2, -1, -1):
        behind = calls[index + 1]
        later[index] = later[index + 1] + (behind.facts is not None) if behind.cut is None else 0
    return later


def _opens_turn(before: ReportedCall, call: ReportedCall) -> bool:
    return _count(call, "messages", _PROMPTED) > _count(before, "messages", _PROMPTED)


def _count(call: ReportedCall, kind: str, name: str) -> int:
    weight = call.items.get((kind, name))
    return weight.count if weight is not None else 0


def _growth_call(
    call: ReportedCall, before: ReportedCall | None, *, number: int, turn: int, later: int, in_window: bool
) -> GrowthCall:
    usage, facts = call.usage, call.facts
    earlier = before.facts if before is not None else None
    switched = before is not None and before.target != call.target
    measured = facts is not None and earlier is not None and not switched
    growth = facts.prompt - earlier.prompt if facts is not None and earlier is not None and measured else None
    pieces = tuple(_pieces(before, call)) if before is not None else ()
    return GrowthCall(
        call=number,
        id=call.id,
        turn=turn,
        time_ms=call.time_ms,
        provider=call.provider,
        model=call.model,
        total=call.report.get("total"),
        total_kind=call.report.get("total_kind", "estimate"),
        sections=call.sections,
        gap=call.report.get("gap", 0),
        output=usage.output if usage is not None else None,
        cache_read=usage.cache_read if usage is not None else None,
        cache_write=usage.cache_write if usage is not None else None,
        since=number - 1 if before is not None else None,
        growth=growth,
        added=pieces,
        unexplained=growth - sum(piece.tokens for piece in pieces) if growth is not None else None,
        events=tuple(_events(call, number, switched=switched, growth=growth)),
        later_calls=later,
        in_window=in_window,
    )


def _events(call: ReportedCall, number: int, *, switched: bool, growth: int | None) -> Iterable[Event]:
    if call.cut is not None:
        yield "compaction" if call.cut == "rewrite" else "rewind"
    elif number == 1:
        yield "start"
    if switched:
        yield "switch"
    if growth is not None and growth < 0:
        yield "shrank"


def _pieces(before: ReportedCall, call: ReportedCall) -> Iterable[Piece]:
    """The answer before, then what the items of the report grew by; what a model wrote came with the answer."""
    reply = _reply(before)
    if reply is not None:
        yield reply
    old, new = before.items, call.items
    grown: dict[tuple[str, str], Weight] = {}
    for key, weight in new.items():
        known = old.get(key, Weight())
        if weight.tokens > known.tokens and not _is_reply(key, reply):
            grown[key] = Weight(weight.tokens - known.tokens, max(1, weight.count - known.count))
    yield from _split(before, call, grown)


def _reply(before: ReportedCall) -> Piece | None:
    facts = before.facts
    if facts is None or facts.usage.output is None:
        return None
    return Piece(kind="reply", name="answer", tokens=replayed(facts), method="usage")


def _is_reply(key: tuple[str, str], reply: Piece | None) -> bool:
    kind, name = key
    return reply is not None and (kind in ("thinking_summaries", "reasoning") or (kind, name) in _REPLIED)


def _split(before: ReportedCall, call: ReportedCall, grown: dict[tuple[str, str], Weight]) -> Iterable[Piece]:
    earlier, facts = before.facts, call.facts
    results = {key: weight for key, weight in grown.items() if key[0] == "tool_outputs"}
    alone = bool(results) and all(kind in ("tool_outputs", "framing") for kind, _ in grown)
    if alone and earlier is not None and facts is not None:
        proven = measured_growth(earlier, facts)
        if proven is not None:
            return share_proven(results, proven)
    return estimated_pieces(grown)


def _compacted(before: ReportedCall, call: ReportedCall, number: int) -> Compacted:
    return Compacted(
        call=number,
        before_call=number - 1,
        total_before=before.report.get("total"),
        total_after=call.report.get("total"),
        tokens_before=None,
        tokens_after=None,
        trigger=None,
        before=before.sections,
        after=call.sections,
        messages_before=call.messages_before,
        messages_after=call.messages_after,
        kept_messages=call.messages_kept,
        new_tokens=None,
        dropped=(),
    )
