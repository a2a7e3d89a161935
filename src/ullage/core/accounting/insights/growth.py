"""Which call added what, and what it costs to keep it (accounting specification, section 20, item 4): measured from usage, split
only as far as usage proves it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ullage.core.accounting.breakdown import TotalKind
from ullage.core.accounting.measured import replayed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.accounting.measure import Entry, Measure

    from .timeline import CallAccount, Timeline, TimelineCall

KEEP_CALLS = 10
"""For so many further calls the cost of keeping something is stated: about a turn of an agent."""

Event = Literal["start", "compaction", "rewind", "switch", "shrank", "lossy"]
"""What a reader of a call's growth must know: it began a branch, something was compacted before it, the user went back, the model
changed, the prompt fell without a mark, a text is no longer in the file.
"""

PieceMethod = Literal["usage", "measured", "measured, shared by estimates", "estimate", "retention rule"]


class Piece(Struct, frozen=True, kw_only=True):
    """Something that one call's prompt had and the one's before it had not.

    `kind` is a kind of section, or "reply": the answer before, as it is sent back. `name` is the item in it: a tool, a kind of
    text. Reasoning that was dropped has negative `tokens`.
    """

    kind: str
    name: str
    tokens: int
    method: PieceMethod
    count: int = 1


class GrowthCall(Struct, frozen=True, kw_only=True):
    """One call of a session: what it sent by kind of section, and what of it was new.

    `sum(sections) + gap == total`. `call` counts from 1, `id` is that of a live call. `since` is the call whose prompt it is
    compared with; `growth` is the difference of the two as the provider counted them, and `sum(added) + unexplained == growth`.
    `later_calls` is how many trusted calls sent it all again, `in_window` whether the window that is shown still holds it.
    """

    call: int
    id: str | None = None
    turn: int = 0
    time_ms: int | None = None
    provider: str | None = None
    model: str | None = None
    sidechain: bool = False
    agent: str | None = None
    total: int | None = None
    total_kind: TotalKind = "estimate"
    sections: dict[str, int] = {}
    gap: int = 0
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    since: int | None = None
    growth: int | None = None
    added: tuple[Piece, ...] = ()
    unexplained: int | None = None
    events: tuple[Event, ...] = ()
    later_calls: int = 0
    in_window: bool = True

    @property
    def resent_tokens(self) -> int:
        """Tokens sent again so far because this call's growth was kept."""
        return max(0, self.growth or 0) * self.later_calls

    @property
    def keep_tokens(self) -> int:
        """Tokens that `KEEP_CALLS` further calls will send again for it."""
        return max(0, self.growth or 0) * KEEP_CALLS if self.in_window else 0


class GrowthTurn(Struct, frozen=True, kw_only=True):
    """From one user message to the next. `growth` sums what its calls measured, `sent` their prompts, `output` their answers."""

    turn: int
    first_call: int
    last_call: int
    calls: int
    growth: int
    sent: int
    output: int
    added: dict[str, int]
    unexplained: int


def find_growth(
    timeline: Timeline, accounts: Sequence[CallAccount], *, window_of: int | None
) -> tuple[GrowthCall, ...]:
    """The growth of every call. `window_of` is the index of the trusted call that the window shown goes on from."""
    later = _later_calls(timeline.calls)
    kept = _branch(timeline.calls, window_of)
    names = _tool_names(accounts)
    turns = _turns(timeline.calls, accounts)
    return tuple(
        _growth_call(timeline, account, names, turn=turn, later=later[account.index], in_window=account.index in kept)
        for account, turn in zip(accounts, turns, strict=True)
    )


def sum_turns(calls: Iterable[GrowthCall]) -> tuple[GrowthTurn, ...]:
    """The turns of the main chain, in order."""
    turns: dict[int, list[GrowthCall]] = defaultdict(list)
    for call in calls:
        if not call.sidechain:
            turns[call.turn].append(call)
    return tuple(_growth_turn(turn, members) for turn, members in sorted(turns.items()))


def _growth_turn(turn: int, calls: Sequence[GrowthCall]) -> GrowthTurn:
    added: dict[str, int] = defaultdict(int)
    for call in calls:
        for piece in call.added:
            added[piece.kind] += piece.tokens
    return GrowthTurn(
        turn=turn,
        first_call=calls[0].call,
        last_call=calls[-1].call,
        calls=len(calls),
        growth=sum(call.growth or 0 for call in calls),
        sent=sum(call.total or 0 for call in calls),
        output=sum(call.output or 0 for call in calls),
        added=dict(added),
        unexplained=sum(call.unexplained or 0 for call in calls),
    )


def _growth_call(
    timeline: Timeline, account: CallAccount, names: dict[str, str], *, turn: int, later: int, in_window: bool
) -> GrowthCall:
    call = timeline.calls[account.index]
    usage = call.facts.usage if call.facts is not None else None
    growth = _grown(call, account)
    pieces = _pieces(account, names, growth) if call.anchor is not None else ()
    return GrowthCall(
        call=call.number,
        turn=turn,
        time_ms=call.time_ms,
        provider=call.meter.provider,
        model=call.meter.model,
        sidechain=call.sidechain,
        agent=call.agent,
        total=account.total,
        total_kind=account.kind,
        sections=account.sections,
        gap=account.gap,
        output=usage.output if usage is not None else None,
        cache_read=usage.cache_read if usage is not None else None,
        cache_write=usage.cache_write if usage is not None else None,
        since=timeline.calls[call.anchor].number if call.anchor is not None else None,
        growth=growth,
        added=pieces,
        unexplained=growth - sum(piece.tokens for piece in pieces) if growth is not None else None,
        events=tuple(_events(call, account)),
        later_calls=later,
        in_window=in_window,
    )


def _grown(call: TimelineCall, account: CallAccount) -> int | None:
    """The measured growth; nothing across a switch, because two currencies never meet."""
    if call.facts is None or account.before is None or call.facts.identity != account.before.identity:
        return None
    return call.facts.prompt - account.before.prompt


def _events(call: TimelineCall, account: CallAccount) -> Iterable[Event]:
    if call.follows is None and not call.compaction:
        yield "start"
    if call.compaction:
        yield "compaction"
    if call.rewound:
        yield "rewind"
    if call.facts is not None and account.before is not None and call.facts.identity != account.before.identity:
        yield "switch"
    if call.shrank:
        yield "shrank"
    if call.lossy:
        yield "lossy"


def _pieces(account: CallAccount, names: dict[str, str], growth: int | None) -> tuple[Piece, ...]:
    """The answer before, then everything else by kind and name; measured where usage proves it, else estimated."""
    assert account.before is not None, "a call with an anchor has the facts of it"
    pieces = [_reply(account)] if account.reply or account.before.usage.output else []
    weights = weigh(account.fresh, names)
    if account.proven is not None:
        return (*pieces, *share_proven(weights, account.proven))
    pieces += estimated_pieces(weights)
    return (*pieces, *_lapsed(account.lapsed, growth, pieces))


def _lapsed(reasoning: int, growth: int | None, pieces: Iterable[Piece]) -> Iterable[Piece]:
    """Reasoning that went with its turn, if the prompt says that it did: models are not held to what is known of them."""
    if growth is None or not reasoning:
        return
    rest = growth - sum(piece.tokens for piece in pieces)
    if abs(rest + reasoning) < abs(rest):
        yield Piece(kind="reasoning", name="dropped with its turn", tokens=-reasoning, method="retention rule")


def _reply(account: CallAccount) -> Piece:
    before = account.before
    assert before is not None
    if before.usage.output is not None and not before.output_unsure:
        return Piece(kind="reply", name="answer", tokens=replayed(before), method="usage")
    counted = sum(measure.frame + sum(entry.tokens for entry in measure.entries) for measure in account.reply)
    return Piece(kind="reply", name="answer", tokens=max(before.usage.output or 0, counted), method="estimate")


class Weight(Struct):
    """Estimated tokens of one name, and of how many pieces."""

    tokens: int = 0
    count: int = 0


def weigh(measures: Iterable[Measure], names: dict[str, str]) -> dict[tuple[str, str], Weight]:
    weights: dict[tuple[str, str], Weight] = defaultdict(Weight)
    for measure in measures:
        for entry in measure.entries:
            weight = weights[entry.section, _name(entry, names)]
            weight.tokens += entry.tokens
            weight.count += 1
        if measure.frame:
            weights["framing", "around messages"].tokens += measure.frame
            weights["framing", "around messages"].count += 1
    return weights


def _name(entry: Entry, names: dict[str, str]) -> str:
    if entry.section != "tool_outputs":
        return entry.name
    return entry.tool or names.get(entry.call_id or "") or "unknown"


def estimated_pieces(weights: dict[tuple[str, str], Weight]) -> Iterable[Piece]:
    for (kind, name), weight in weights.items():
        if weight.tokens:
            yield Piece(kind=kind, name=name, tokens=weight.tokens, method="estimate", count=weight.count)


def share_proven(weights: dict[tuple[str, str], Weight], proven: int) -> Iterable[Piece]:
    """The proven tokens, each tool its share by its estimate; what stands around the results is in them."""
    tools = {name: weight for (kind, name), weight in weights.items() if kind == "tool_outputs"}
    method: PieceMethod = "measured" if len(tools) == 1 else "measured, shared by estimates"
    whole = sum(weight.tokens + weight.count for weight in tools.values())
    done = passed = 0
    for name, weight in tools.items():
        passed += weight.tokens + weight.count
        upto = proven * passed // whole
        yield Piece(kind="tool_outputs", name=name, tokens=upto - done, method=method, count=weight.count)
        done = upto


def _turns(calls: Sequence[TimelineCall], accounts: Sequence[CallAccount]) -> list[int]:
    """The turn of each call, counted from 1 in the order of the file; a sub-agent works in the turn of its parent."""
    turns = []
    turn = 0
    for call, account in zip(calls, accounts, strict=True):
        turn += account.opens_turn and not call.sidechain
        turns.append(max(1, turn))
    return turns


def _later_calls(calls: Sequence[TimelineCall]) -> list[int]:
    """For each call, how many trusted calls were made on top of it."""
    later = [0] * len(calls)
    for index in range(len(calls) - 1, -1, -1):
        call = calls[index]
        if call.anchor is not None:
            later[call.anchor] += later[index] + (call.facts is not None)
    return later


def _branch(calls: Sequence[TimelineCall], last: int | None) -> set[int]:
    """The trusted calls that lead to `last`."""
    kept = set()
    while last is not None:
        kept.add(last)
        last = calls[last].anchor
    return kept


def _tool_names(accounts: Iterable[CallAccount]) -> dict[str, str]:
    """The tool of each call id."""
    return {
        entry.call_id: entry.tool
        for account in accounts
        for measure in (*account.reply, *account.fresh)
        for entry in measure.entries
        if entry.section == "messages" and entry.call_id is not None and entry.tool is not None
    }
