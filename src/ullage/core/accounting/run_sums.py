"""Messages added up by runs of 64. A run that was added up before costs one look-up, so a warm turn costs what is new in it."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .measure import Entry, Measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RUN = 64
"""Messages in a run; what is left at the end is added up each time."""

# 16,384 messages: eight conversations of two megabytes.
_REMEMBERED = 256
_UNKNOWN_TOOL = "unknown"


class RunSum(Struct, frozen=True, kw_only=True):
    """What messages in a row add up to.

    `measure` stands for all of them: its entries are added up by section, item and method, in order of first appearance.
    `since_turn` are the entries where thinking before the last turn that opens here is not sent again, `past` where none is;
    `sealed_since_turn` are tokens likewise. `names` are the tools of the calls by call id; a result whose call is not among them
    keeps its call id. `further_calls` were made at once with another; `begins_calling` and `ends_calling` tell of the edges.
    """

    measure: Measure
    since_turn: tuple[Entry, ...]
    past: tuple[Entry, ...]
    sealed_since_turn: int
    names: dict[str, str | None]
    further_calls: int
    begins_calling: bool
    ends_calling: bool


def sum_messages(messages: Sequence[Measure]) -> list[RunSum]:
    """The sums of all messages, in order."""
    whole = len(messages) - len(messages) % RUN
    sums = [_remembered(_Run(messages[start : start + RUN])) for start in range(0, whole, RUN)]
    sums.append(sum_run(messages[whole:]))
    # An id that comes again in another run may name another tool there: then only all messages together tell.
    return sums if len(_names(sums)) == sum(len(each.names) for each in sums) else [sum_run(messages)]


def summed_entries(sums: Sequence[RunSum], *, keeps_thinking: bool) -> list[Entry]:
    """The entries of all messages: results named by the calls they answer, thinking only where it is sent again."""
    names = _names(sums)
    turn = _turn(sums)
    entries: list[Entry] = []
    for index, each in enumerate(sums):
        if keeps_thinking or index > turn:
            entries += each.measure.entries
        else:
            entries += each.since_turn if index == turn else each.past
    return [_answered(entry, names) if entry.call_id is not None else entry for entry in entries]


def summed_seals(sums: Sequence[RunSum], *, keeps_all: bool) -> int:
    """Tokens of hidden reasoning that is replayed: all, or that of the current turn."""
    if keeps_all:
        return sum(each.measure.sealed_tokens for each in sums)
    turn = max(0, _turn(sums))
    return sums[turn].sealed_since_turn + sum(each.measure.sealed_tokens for each in sums[turn + 1 :])


def further_calls(sums: Sequence[RunSum]) -> int:
    """Tool calls made at once with another: all but the first of each series without an answer in between."""
    across = sum(before.ends_calling and after.begins_calling for before, after in pairwise(sums))
    return across + sum(each.further_calls for each in sums)


def sum_run(messages: Sequence[Measure]) -> RunSum:
    """Adds up a run."""
    names = tool_names(messages)
    turn = current_turn(messages)
    entries = [(index, _settled(entry, names)) for index, measure in enumerate(messages) for entry in measure.entries]
    whole = since_turn = past = _added(entry for _, entry in entries)
    if any(entry.section == "thinking_summaries" for entry in whole):
        since_turn = _added(unthought(entry) if index < turn else entry for index, entry in entries)
        past = _added(unthought(entry) for _, entry in entries)
    return RunSum(
        measure=_whole(messages, whole),
        since_turn=since_turn,
        past=past,
        sealed_since_turn=sum(measure.sealed_tokens for measure in messages[turn:]),
        names=names,
        further_calls=_further_calls(messages),
        begins_calling=bool(messages and messages[0].calls),
        ends_calling=bool(messages and messages[-1].calls),
    )


def tool_names(messages: Iterable[Measure]) -> dict[str, str | None]:
    """The tools that were called, by call id."""
    return {
        entry.call_id: entry.tool
        for measure in messages
        for entry in measure.entries
        if entry.section == "messages" and entry.call_id is not None
    }


def named(entry: Entry, names: Mapping[str, str | None]) -> Entry:
    """A tool's result under the name of the tool; other entries as they are."""
    if entry.section != "tool_outputs":
        return entry
    return replace(entry, name=entry.tool or names.get(entry.call_id or "") or _UNKNOWN_TOOL)


def unthought(entry: Entry) -> Entry:
    """Thinking that is not sent again; other entries as they are."""
    if entry.section != "thinking_summaries":
        return entry
    return replace(entry, tokens=0, low=0, high=0, method="not sent again")


def is_shown(entry: Entry) -> bool:
    """Whether an entry makes a row: it has text or costs something, or is a tool."""
    return bool(entry.tokens or entry.chars or entry.loaded_tokens is not None or entry.section == "tools")


def current_turn(messages: Sequence[Measure]) -> int:
    """Index of the message that opened the current turn; 0 without one."""
    return max((index for index, measure in enumerate(messages) if measure.opens_turn), default=0)


class _Run:
    """Measures in a row, found again by which objects they are: to compare what they hold costs what is to be saved."""

    __slots__ = ("measures",)

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = tuple(measures)

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.measures)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Run) and self.measures == other.measures


@lru_cache(maxsize=_REMEMBERED)
def _remembered(run: _Run) -> RunSum:
    return sum_run(run.measures)


def _names(sums: Iterable[RunSum]) -> dict[str, str | None]:
    names: dict[str, str | None] = {}
    for each in sums:
        names.update(each.names)
    return names


def _turn(sums: Sequence[RunSum]) -> int:
    """Index of the run in which the current turn opened; -1 if none did."""
    return max((index for index, each in enumerate(sums) if each.measure.opens_turn), default=-1)


def _settled(entry: Entry, names: Mapping[str, str | None]) -> Entry:
    """An entry that can be added to others; a result stays apart, with its call id, as long as its call was not seen."""
    if entry.section == "tool_outputs":
        name = entry.tool or names.get(entry.call_id or "")
        if name:
            return replace(entry, name=name, call_id=None, tool=None)
        return replace(entry, call_id=entry.call_id or "")
    return entry if entry.call_id is None else replace(entry, call_id=None, tool=None)


def _answered(entry: Entry, names: Mapping[str, str | None]) -> Entry:
    return replace(named(entry, names), call_id=None)


def _added(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """One entry for those of a kind, in order of first appearance. What is below zero or makes no row is a kind of its own."""
    kinds: dict[tuple[object, ...], list[Entry]] = defaultdict(list)
    for entry in entries:
        sign = (entry.tokens < 0, is_shown(entry))
        kinds[entry.section, entry.name, entry.method, entry.call_id, entry.loaded_tokens, sign].append(entry)
    return tuple(_sum(members) if len(members) > 1 else members[0] for members in kinds.values())


def _sum(entries: Sequence[Entry]) -> Entry:
    return replace(
        entries[0],
        tokens=sum(entry.tokens for entry in entries),
        low=sum(entry.low for entry in entries),
        high=sum(entry.high for entry in entries),
        chars=sum(entry.chars for entry in entries),
        count=sum(entry.count for entry in entries),
    )


def _whole(messages: Sequence[Measure], entries: tuple[Entry, ...]) -> Measure:
    """One measure that says of a run what was asked of each message."""
    instructs = any(measure.role in ("system", "developer") and measure.entries for measure in messages)
    return Measure(
        role="system" if instructs else None,
        entries=entries,
        frame=sum(measure.frame for measure in messages),
        sealed=sum(measure.sealed for measure in messages),
        sealed_tokens=sum(measure.sealed_tokens for measure in messages),
        calls=sum(measure.calls for measure in messages),
        media=sum(measure.media for measure in messages),
        carries=any(measure.carries for measure in messages),
        opens_turn=any(measure.opens_turn for measure in messages),
        unknown=sum(measure.unknown for measure in messages),
    )


def _further_calls(messages: Iterable[Measure]) -> int:
    further = run = 0
    for measure in messages:
        run = run + measure.calls if measure.calls else 0
        further += min(measure.calls, max(0, run - 1))
    return further
