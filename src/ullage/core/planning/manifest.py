"""What a manifest says of a plan: every choice and its reason, in numbers and names (planner specification, section 25).

It is bounded: of long lists the first and the last items stay, beside an inventory of all. Nothing in it is text of a message.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .records import Plan
    from .request import PlanInput
    from .rows import Row

ENDS = 128
"""Items that stay from each end of a list (planner specification, section 25.3)."""

_NOTHING: Mapping[Any, Any] = MappingProxyType({})

Items = list[dict[str, Any]]


def report_plan(
    plan: Plan,
    given: PlanInput,
    *,
    cache: Mapping[str, Any] | None = None,
    timings_ms: Mapping[str, float] = _NOTHING,
    classes: Mapping[int, str] = _NOTHING,
) -> dict[str, Any]:
    """A plan and what it was made from as plain JSON.

    `included` and `excluded` are the client's messages with the group that each was chosen in; `supplements` and `left_out` are
    what was offered beside them. `reasons` counts the messages that are left out. `cache` says what the plan means for the
    provider's prompt cache, `classes` which messages are more than normal to privacy.
    """
    rows = _rows_of_messages(plan, len(given.facts))
    messages = list(_messages(plan, given, rows, classes))
    included = [item for item, kept in messages if kept]
    excluded = [item for item, kept in messages if not kept]
    report = {
        "status": plan.status,
        "error": plan.error,
        "tokens": plan.tokens,
        "fixed_tokens": plan.fixed_tokens,
        "limit": plan.limit,
        "target_tokens": plan.target,
        "ullage": plan.ullage,
        "messages": {"total": len(messages), "included": len(included), "excluded": len(excluded)},
        "recent_tail_limit": given.caps.recent_tail,
        "tail": given.tail,
        "placement": given.placement,
        "rescued": plan.rescued,
        "oversized": plan.oversized,
        "included": _keep_ends(included),
        "excluded": _keep_ends(excluded),
        "excluded_groups": [asdict(one) for one in plan.excluded],
        "excluded_group_count": plan.excluded_groups,
        "replaced": [asdict(one) for one in plan.replaced],
        "supplements": list(_supplements(plan, given)),
        "left_out": list(_left_out(plan, given)),
        "reasons": count_reasons(plan),
        "warnings": list(plan.warnings),
        "cache": dict(cache) if cache is not None else None,
        "timings_ms": dict(timings_ms),
    }
    if len(included) > 2 * ENDS or len(excluded) > 2 * ENDS:
        report["inventory"] = {
            "completeness": "rollup",
            "included": _take_inventory(included),
            "excluded": _take_inventory(excluded),
        }
    return report


def count_reasons(plan: Plan) -> dict[str, int]:
    """How many messages are left out for each reason, the most frequent first."""
    counts = Counter(drop.reason for drop in plan.dropped)
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _messages(
    plan: Plan, given: PlanInput, rows: Sequence[Row | None], classes: Mapping[int, str]
) -> Iterator[tuple[dict[str, Any], bool]]:
    dropped = {drop.index: drop.reason for drop in plan.dropped}
    replaced = {one.index for one in plan.replaced}
    for index, (fact, tokens, row) in enumerate(zip(given.facts, given.tokens, rows, strict=True)):
        kept = index not in dropped
        item = {
            "index": index,
            "kind": row.kind if row is not None else "system" if fact.system else "recent",
            "role": fact.role,
            "group": row.id if row is not None else None,
            "tokens": tokens,
            "score": row.score if row is not None else None,
            "reason": row.reason if row is not None and kept else dropped.get(index),
            "classification": classes.get(index, "normal"),
        }
        yield (item | {"replaced": True} if index in replaced else item), kept


def _rows_of_messages(plan: Plan, messages: int) -> list[Row | None]:
    """The row that each message was chosen in: of those that reach over it and share its fate, the narrowest."""
    dropped = {drop.index for drop in plan.dropped}
    found: list[Row | None] = [None] * messages
    for first, last, row in sorted(map(_span, plan.groups), key=_width, reverse=True):
        for index in range(first, min(last + 1, messages)):
            if (index not in dropped) == row.selected:
                found[index] = row
    return found


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


def _keep_ends(items: Items) -> Items:
    return items if len(items) <= 2 * ENDS else [*items[:ENDS], *items[-ENDS:]]


def _take_inventory(items: Items) -> dict[str, Any]:
    """What there was and what was kept."""
    kept = _keep_ends(items)
    return {
        "counts": {"items": len(items), "kept": len(kept)},
        "tokens": {"items": _tokens(items), "kept": _tokens(kept)},
        "kinds": dict(Counter(item["kind"] for item in items)),
        "classifications": dict(Counter(item["classification"] for item in items)),
    }


def _tokens(items: Items) -> int:
    return sum(item["tokens"] for item in items)
