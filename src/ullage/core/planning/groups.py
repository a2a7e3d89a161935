"""What a plan keeps or leaves whole: turns joined by their tool exchanges, and the exchanges of the current turn (planner
specification, section 12, with design, section 11).

Two rules go beyond the reference. A message with a tool result opens no turn, in any dialect. System and developer messages
inside the list belong to no turn: they are fixed parts of the request, like a prompt outside of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from .facts import SYSTEM_ROLES, SliceFacts
from .pairing import Pairing, pair

GroupKind = Literal["turn", "prefix", "summary", "system"]


class Group(Struct, frozen=True, kw_only=True, gc=False):
    """Messages that are kept or left together, by their numbers in the request's list.

    `indices` rise from `first` to `last`; others may lie between them. A `prefix` has no message of the user before it.
    `tokens` is the sum of its messages. `open`: a call in it waits for its result, as it may; `broken`: something in it lacks
    its other half.
    """

    id: str
    first: int
    last: int
    indices: tuple[int, ...]
    kind: GroupKind
    tokens: int
    open: bool = False
    broken: bool = False


class Exchange(Struct, frozen=True, kw_only=True, gc=False):
    """A part of the current turn that is kept or left whole: a run of assistant messages with all results of its calls, or a
    message of the user alone (`said`).

    `says`: the user spoke beside its results. `thinking`, `open`, `broken`: of any message in it.
    """

    id: str
    first: int
    last: int
    indices: tuple[int, ...]
    tokens: int
    said: bool = False
    says: bool = False
    thinking: bool = False
    open: bool = False
    broken: bool = False


class Outline(Struct, frozen=True, kw_only=True):
    """A list of messages taken apart, or `indices` of it. `groups` stand in the order of their first messages; `request` is the
    last message with which the user opens a turn, `None` where there is none; `broken` are messages that lack their other half.
    """

    facts: Sequence[SliceFacts]
    tokens: Sequence[int]
    indices: Sequence[int]
    groups: tuple[Group, ...]
    request: int | None
    pairing: Pairing
    broken: frozenset[int]


def group_messages(facts: Sequence[SliceFacts], tokens: Sequence[int]) -> tuple[Group, ...]:
    """The groups of a list of messages. `tokens` are those of each message, by one estimator."""
    return outline(facts, tokens).groups


def outline(facts: Sequence[SliceFacts], tokens: Sequence[int], indices: Sequence[int] | None = None) -> Outline:
    """Takes a list of messages apart, in time proportional to its length; with `indices`, rising numbers, those messages as if
    there were no others."""
    indices = range(len(facts)) if indices is None else indices
    pairing = pair(facts, indices)
    drafts, owners = _draft(facts, indices)
    _join(owners, pairing.calls.items())
    broken = frozenset(fault.index for fault in pairing.faults)
    groups = [_group(draft, tokens, pairing, broken) for draft in drafts if draft.indices]
    return Outline(
        facts=facts,
        tokens=tokens,
        indices=indices,
        groups=tuple(sorted(groups, key=_first)),
        request=next((index for index in reversed(indices) if facts[index].opens_turn), None),
        pairing=pairing,
        broken=broken,
    )


def current_groups(made: Outline) -> tuple[Group, ...]:
    """The groups with the current request or anything behind it; without a request, the last group that is no system
    message."""
    native = [group for group in made.groups if group.kind != "system"]
    edge = made.request if made.request is not None else max((group.last for group in native), default=0)
    return tuple(group for group in native if group.last >= edge)


def split_exchanges(made: Outline, groups: Iterable[Group]) -> tuple[Exchange, ...]:
    """The exchanges of these groups, in the order of their last messages."""
    facts, runs = made.facts, made.pairing.runs
    drafts: list[_Draft] = []
    owners: dict[int, _Draft] = {}
    run, led = _NO_RUN, False
    for index in sorted(index for group in groups for index in group.indices):
        fact = facts[index]
        alone = fact.opens_turn or fact.summary
        speaks = fact.role == "assistant" and runs[index] != run
        if alone or run == _NO_RUN or (speaks and not led):
            drafts.append(_Draft("turn"))
        run, led = (_NO_RUN if alone else runs[index]), fact.leads
        drafts[-1].indices.append(index)
        owners[index] = drafts[-1]
    calls = made.pairing.calls
    _join(owners, ((index, calls[index]) for index in owners if index in calls))
    return tuple(sorted((_exchange(draft, made) for draft in drafts if draft.indices), key=_last))


_NO_RUN = -1


class _Draft:
    """A group that may still be merged into another one."""

    __slots__ = ("heir", "indices", "kind")

    def __init__(self, kind: GroupKind) -> None:
        self.kind = kind
        self.indices: list[int] = []
        self.heir: _Draft | None = None

    def root(self) -> _Draft:
        draft = self
        while draft.heir is not None:
            draft = draft.heir
        return draft


def _draft(facts: Sequence[SliceFacts], indices: Iterable[int]) -> tuple[list[_Draft], dict[int, _Draft]]:
    """Draft groups by roles (section 12.1), and the draft of each message."""
    drafts: list[_Draft] = []
    owners: dict[int, _Draft] = {}
    turn: _Draft | None = None
    for index in indices:
        fact = facts[index]
        if fact.role in SYSTEM_ROLES:
            draft = _Draft("system")
            drafts.append(draft)
        elif fact.opens_turn or fact.summary or turn is None:
            draft = _Draft("summary" if fact.summary else "turn" if fact.opens_turn else "prefix")
            drafts.append(draft)
            turn = None if fact.summary else draft
        else:
            draft = turn
        draft.indices.append(index)
        owners[index] = draft
    return drafts, owners


def _join(owners: Mapping[int, _Draft], calls: Iterable[tuple[int, Iterable[int]]]) -> None:
    """Merges the drafts of calls and their results (section 12.2). The smaller joins the larger, so that paths stay short."""
    for answer, called in calls:
        left = owners[answer]
        for call in called:
            right = owners[call]
            if left is not right:
                _unite(left.root(), right.root())


def _unite(left: _Draft, right: _Draft) -> None:
    if left is right:
        return
    if len(left.indices) < len(right.indices):
        left, right = right, left
    if left.kind != right.kind:
        left.kind = "turn" if "turn" in (left.kind, right.kind) else "prefix"
    left.indices += right.indices
    right.heir, right.indices = left, []


def _group(draft: _Draft, tokens: Sequence[int], pairing: Pairing, broken: frozenset[int]) -> Group:
    indices = sorted(draft.indices)
    first, last = indices[0], indices[-1]
    return Group(
        id=f"group:{first}-{last}",
        first=first,
        last=last,
        indices=tuple(indices),
        kind=draft.kind,
        tokens=sum(tokens[index] for index in indices),
        open=not pairing.open.isdisjoint(indices),
        broken=not broken.isdisjoint(indices),
    )


def _exchange(draft: _Draft, made: Outline) -> Exchange:
    indices = sorted(draft.indices)
    first, last = indices[0], indices[-1]
    tokens = 0
    says = thinking = False
    for index in indices:
        fact = made.facts[index]
        tokens += made.tokens[index]
        says = says or fact.says
        thinking = thinking or fact.thinking
    opening = made.facts[first]
    return Exchange(
        id=f"exchange:{first}-{last}",
        first=first,
        last=last,
        indices=tuple(indices),
        tokens=tokens,
        said=opening.opens_turn or opening.summary,
        says=says,
        thinking=thinking,
        open=not made.pairing.open.isdisjoint(indices),
        broken=not made.broken.isdisjoint(indices),
    )


def _first(group: Group) -> int:
    return group.first


def _last(part: Group | Exchange) -> int:
    return part.last
