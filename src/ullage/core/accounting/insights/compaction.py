"""What a compaction kept and dropped, by section, and where a prompt fell without one (accounting specification, section 20,
item 6).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ullage.core.accounting.measure import Measure

    from .growth import GrowthCall
    from .timeline import CallAccount

# What usage says of a call is off by this much where nothing was dropped but what is named.
_CLEARING_SLACK_TOKENS = 64
_CLEARING_SLACK_SHARE = 0.1


class Sent(NamedTuple):
    """A message of a prompt: a key that equal messages share, its measure, and the ratio of what usage measured to it."""

    key: int
    measure: Measure
    ratio: float = 1.0

    @property
    def tokens(self) -> int:
        return self.measure.frame + round(self.ratio * sum(entry.tokens for entry in self.measure.entries))


class Moment(Struct, frozen=True, kw_only=True):
    """A compaction and the prompts around it. `before` and `after` are indexes of calls, `None` where the file has none.

    `tokens_before` and `tokens_after` are what the client wrote. `lossy` says that texts of the prompt before are lost.
    """

    before: int | None
    after: int | None
    sent_before: tuple[Sent, ...] = ()
    sent_after: tuple[Sent, ...] = ()
    tokens_before: int | None = None
    tokens_after: int | None = None
    trigger: str | None = None
    lossy: bool = False


class Dropped(Struct, frozen=True, kw_only=True):
    """Pieces of one kind and name that are no longer sent."""

    kind: str
    name: str
    count: int
    tokens: int


class Compacted(Struct, frozen=True, kw_only=True):
    """One compaction. `sections` hold tokens by kind, before and after; `total_before` and `total_after` are the prompts.

    `call` is the first call behind it and `before_call` the last one before it, both counted from 1. `kept_messages` were sent
    before and after; `new_tokens` is what is new after it: the summary, and what was said since. Where the source holds no
    content, that and `dropped` are not known.
    """

    call: int | None
    before_call: int | None
    total_before: int | None
    total_after: int | None
    tokens_before: int | None
    tokens_after: int | None
    trigger: str | None
    before: dict[str, int]
    after: dict[str, int]
    messages_before: int
    messages_after: int
    kept_messages: int
    new_tokens: int | None
    dropped: tuple[Dropped, ...]
    lossy: bool = False


class Clearing(Struct, frozen=True, kw_only=True):
    """A prompt that fell although no compaction is marked. `dropped` tokens went while `added` came.

    `reasoning` of them is reported reasoning that the model does not keep beyond its turn; the rest has no mark in the file.
    """

    call: int
    kind: Literal["reasoning", "unmarked"]
    total_before: int
    total_after: int
    added: int
    dropped: int
    reasoning: int


def find_compactions(moments: Iterable[Moment], accounts: Sequence[CallAccount]) -> tuple[Compacted, ...]:
    """Every compaction with its two sides."""
    return tuple(_compacted(moment, accounts) for moment in moments)


def find_clearings(calls: Iterable[GrowthCall]) -> tuple[Clearing, ...]:
    """The calls whose prompt fell without a mark."""
    return tuple(
        _clearing(call, call.total, call.growth)
        for call in calls
        if "shrank" in call.events and call.total is not None and call.growth is not None
    )


def _compacted(moment: Moment, accounts: Sequence[CallAccount]) -> Compacted:
    before = accounts[moment.before] if moment.before is not None else None
    after = accounts[moment.after] if moment.after is not None else None
    known = Counter(sent.key for sent in moment.sent_before)
    stays = Counter(sent.key for sent in moment.sent_after)
    new = [sent for sent in moment.sent_after if sent.key not in known]
    return Compacted(
        call=moment.after + 1 if moment.after is not None else None,
        before_call=moment.before + 1 if moment.before is not None else None,
        total_before=before.total if before is not None else None,
        total_after=after.total if after is not None else None,
        tokens_before=moment.tokens_before,
        tokens_after=moment.tokens_after,
        trigger=moment.trigger,
        before=before.sections if before is not None else {},
        after=after.sections if after is not None else _summed(moment.sent_after),
        messages_before=len(moment.sent_before),
        messages_after=len(moment.sent_after),
        kept_messages=(known & stays).total(),
        new_tokens=sum(sent.tokens for sent in new),
        dropped=tuple(_dropped(moment.sent_before, stays)),
        lossy=moment.lossy,
    )


def _summed(sent: Iterable[Sent]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for one in sent:
        for entry in one.measure.entries:
            sums[entry.section] += round(one.ratio * entry.tokens)
    return dict(sums)


def _dropped(sent: Sequence[Sent], stays: Mapping[int, int]) -> Iterable[Dropped]:
    """What is no longer there, the largest first."""
    names = {
        entry.call_id: entry.tool
        for one in sent
        for entry in one.measure.entries
        if entry.section == "messages" and entry.call_id is not None
    }
    counts: dict[tuple[str, str], int] = defaultdict(int)
    tokens: dict[tuple[str, str], int] = defaultdict(int)
    for one in sent:
        if stays.get(one.key):
            continue
        for entry in one.measure.entries:
            result = entry.section == "tool_outputs"
            name = (entry.tool or names.get(entry.call_id or "") or "unknown") if result else entry.name
            counts[entry.section, name] += 1
            tokens[entry.section, name] += round(one.ratio * entry.tokens)
    for kind, name in sorted(counts, key=lambda key: (-tokens[key], key)):
        yield Dropped(kind=kind, name=name, count=counts[kind, name], tokens=tokens[kind, name])


def _clearing(call: GrowthCall, total: int, growth: int) -> Clearing:
    added = sum(piece.tokens for piece in call.added if piece.tokens > 0)
    reasoning = -sum(piece.tokens for piece in call.added if piece.tokens < 0)
    dropped = added - growth
    slack = max(_CLEARING_SLACK_TOKENS, _CLEARING_SLACK_SHARE * dropped)
    return Clearing(
        call=call.call,
        kind="reasoning" if dropped - reasoning <= slack else "unmarked",
        total_before=total - growth,
        total_after=total,
        added=added,
        dropped=dropped,
        reasoning=reasoning,
    )
