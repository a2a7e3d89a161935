"""What a manifest says of a plan: every choice and its reason, in numbers and names (planner specification, section 25).

It is bounded: of long lists the first and the last items stay, beside an inventory of all. Nothing in it is text of a message.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from .bound import THINKING_UNBOUND

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from .parts import PartKind
    from .records import Plan
    from .request import PlanInput
    from .rows import Row

ENDS = 128
"""Items that stay from each end of a list (planner specification, section 25.3)."""

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


def report_plan(
    plan: Plan,
    given: PlanInput,
    *,
    cache: Mapping[str, Any] | None = None,
    timings_ms: Mapping[str, float] = _NOTHING,
    classes: Mapping[int, str] = _NOTHING,
    unbound: int = 0,
    cut: Collection[int] = (),
) -> dict[str, Any]:
    """A plan and what it was made from as plain JSON.

    `included` and `excluded` are the client's messages with the group that each was chosen in; `supplements` and `left_out` are
    what was offered beside them. `reasons` counts the messages that are left out. `cache` says what the plan means for the
    provider's prompt cache, `classes` which messages are more than normal to privacy. `unbound` blocks of thinking are left out
    since something before them has changed. Of the messages `cut` the user's own words are left out.
    """
    messages = _Messages(plan, given, classes, cut)
    included, excluded = plan.kept, [drop.index for drop in plan.dropped]
    report = {
        "status": plan.status,
        "error": plan.error,
        "tokens": plan.tokens,
        "fixed_tokens": plan.fixed_tokens,
        "limit": plan.limit,
        "target_tokens": plan.target,
        "ullage": plan.ullage,
        "messages": {"total": len(given.facts), "included": len(included), "excluded": len(excluded)},
        "recent_tail_limit": given.caps.recent_tail,
        "tail": given.tail,
        "placement": given.placement,
        "rescued": plan.rescued,
        "oversized": plan.oversized,
        "included": messages.tell(included),
        "excluded": messages.tell(excluded),
        "excluded_groups": [asdict(one) for one in plan.excluded],
        "excluded_group_count": plan.excluded_groups,
        "replaced": [asdict(one) for one in plan.replaced],
        "supplements": list(_supplements(plan, given)),
        "left_out": list(_left_out(plan, given)),
        "reasons": count_reasons(plan),
        "thinking_left_out": unbound,
        "warnings": [*plan.warnings, THINKING_UNBOUND] if unbound else list(plan.warnings),
        "cache": dict(cache) if cache is not None else None,
        "timings_ms": dict(timings_ms),
    }
    if len(included) > 2 * ENDS or len(excluded) > 2 * ENDS:
        report["inventory"] = {
            "completeness": "rollup",
            "included": messages.take_inventory(included),
            "excluded": messages.take_inventory(excluded),
        }
    return report


def count_reasons(plan: Plan) -> dict[str, int]:
    """How many messages are left out for each reason, the most frequent first."""
    counts = Counter(drop.reason for drop in plan.dropped)
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


class _Messages:
    """The messages of a request as a plan's report tells them, those that are asked for."""

    def __init__(self, plan: Plan, given: PlanInput, classes: Mapping[int, str], cut: Collection[int]) -> None:
        self._given = given
        self._classes = classes
        self._older = plan.older
        self._dropped = {drop.index: drop.reason for drop in plan.dropped}
        self._changes = [("replaced", {one.index for one in plan.replaced}), ("cut", frozenset(cut))]
        self._rows = self._find_rows(plan)

    def _find_rows(self, plan: Plan) -> dict[int, Row]:
        """The row that each message was chosen in, but for those of old turns that were left out together: of those that reach
        over it and share its fate, the narrowest."""
        messages = len(self._given.facts)
        found: dict[int, Row] = {}
        for first, last, row in sorted(map(_span, plan.parts), key=_width, reverse=True):
            for index in range(first, min(last + 1, messages)):
                if (index not in self._dropped) == row.selected:
                    found[index] = row
        return found

    def tell(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        """The messages of these numbers, from both ends if there are many."""
        return [self._item(index) for index in _keep_ends(indices)]

    def _item(self, index: int) -> dict[str, Any]:
        row = self._rows.get(index)
        if row is None and self._older is not None and index in self._dropped:
            row = self._older.row_of(index)
        item = {
            "index": index,
            "kind": self._kind(index),
            "role": self._given.facts[index].role,
            "group": row.id if row is not None else None,
            "tokens": self._given.tokens[index],
            "score": row.score if row is not None else None,
            "reason": self._dropped.get(index, row.reason if row is not None else None),
            "classification": self._class_of(index),
        }
        return item | {name: True for name, indices in self._changes if index in indices}

    def _kind(self, index: int) -> PartKind:
        row = self._rows.get(index)
        return row.kind if row is not None else "system" if self._given.facts[index].system else "recent"

    def _class_of(self, index: int) -> str:
        return self._classes.get(index, "normal")

    def take_inventory(self, indices: Sequence[int]) -> dict[str, Any]:
        """What there was and what is told of it."""
        kept = _keep_ends(indices)
        tokens = self._given.tokens.__getitem__
        return {
            "counts": {"items": len(indices), "kept": len(kept)},
            "tokens": {"items": sum(map(tokens, indices)), "kept": sum(map(tokens, kept))},
            "kinds": dict(Counter(map(self._kind, indices))),
            "classifications": dict(Counter(map(self._class_of, indices))),
        }


def _span(row: Row) -> tuple[int, int, Row]:
    first, _, last = row.id.rpartition(":")[2].partition("-")
    return int(first), int(last), row


def _width(span: tuple[int, int, Row]) -> int:
    return span[1] - span[0]


def _supplements(plan: Plan, given: PlanInput) -> Iterator[dict[str, Any]]:
    offered = {one.id: one for one in given.supplements}
    for placed in plan.supplements:
        supplement = offered[placed.supplement_id]
        yield {
            "id": placed.supplement_id,
            "kind": placed.kind,
            "before": placed.before,
            "tokens": placed.tokens,
            "score": placed.score,
            "reason": supplement.reason,
            "source_ids": list(supplement.source_ids),
            "classification": supplement.classification,
            "held": supplement.held,
        }


def _left_out(plan: Plan, given: PlanInput) -> Iterator[dict[str, Any]]:
    offered = {one.id: one for one in given.supplements}
    for one in plan.left_out:
        yield asdict(one) | {"classification": offered[one.id].classification}


def _keep_ends(indices: Sequence[int]) -> Sequence[int]:
    return indices if len(indices) <= 2 * ENDS else [*indices[:ENDS], *indices[-ENDS:]]
