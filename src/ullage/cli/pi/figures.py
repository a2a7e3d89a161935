"""Figures of a stored plan that several screens show."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

Report = dict[str, Any]


def tokens_of(plan: Report, which: str) -> int:
    """Tokens of the messages that are `included` or `excluded`, as they came from the client."""
    inventory = plan.get("inventory")
    if inventory is not None:
        return int(inventory[which]["tokens"]["items"])
    return sum(one["tokens"] for one in plan[which])


def original_tokens(plan: Report) -> int:
    """Tokens of the whole request as the client made it, by the plan's estimator."""
    return int(plan["fixed_tokens"]) + tokens_of(plan, "included") + tokens_of(plan, "excluded")


def supplement_count(plan: Report, kind: str) -> int:
    """How many pins, say, the plan has added."""
    return sum(one["kind"] == kind for one in plan["supplements"])


def composition(plan: Report) -> dict[str, tuple[int, int]]:
    """Number and tokens of what is sent by its kind: of messages, and of what was added. Of a plan whose items are not all in the
    record, those that are."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for one in (*plan["included"], *plan["supplements"]):
        number, tokens = found[one["kind"]]
        found[one["kind"]] = (number + 1, tokens + one["tokens"])
    return dict(found)


def is_rolled_up(plan: Report) -> bool:
    """Whether the record holds the first and the last items alone (planner specification, section 25.3)."""
    return "inventory" in plan
