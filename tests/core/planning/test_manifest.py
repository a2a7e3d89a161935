"""What a manifest says of a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from ullage.core.planning import Caps, Plan, PlanInput, SliceFacts, Supplement, plan
from ullage.core.planning.assembling import limit_budget
from ullage.core.planning.manifest import ENDS, count_reasons, report_plan

CAPS = Caps(recent_tail=500, pinned=1_000, memory=100, history=100, project=100, summary=100)
ASKS, SAYS, RULES = (
    SliceFacts(role="user", opens_turn=True),
    SliceFacts(role="assistant"),
    SliceFacts(role="system"),
)


def planned(facts: list[SliceFacts], tokens: int, limit: int, **changes: Any) -> tuple[Plan, PlanInput]:
    given = PlanInput(
        facts=tuple(facts),
        tokens=(tokens,) * len(facts),
        fixed_tokens=20,
        budget=limit_budget(limit),
        caps=CAPS,
        **changes,
    )
    return plan(given), given


def report(*made: Any, **more: Any) -> dict[str, Any]:
    return report_plan(*made, **more)


def test_every_message_is_told_with_the_group_it_was_chosen_in() -> None:
    told = report(*planned([RULES, ASKS, SAYS, ASKS, SAYS, ASKS], 100, 450))
    assert [(item["index"], item["kind"], item["role"], item["reason"]) for item in told["included"]] == [
        (0, "system", "system", "fixed"),
        (3, "recent", "user", "recent-tail"),
        (4, "recent", "assistant", "recent-tail"),
        (5, "current", "user", "current"),
    ]
    assert [(item["index"], item["group"], item["reason"]) for item in told["excluded"]] == [
        (1, "group:1-2", "input-budget"),
        (2, "group:1-2", "input-budget"),
    ]
    assert told["messages"] == {"total": 6, "included": 4, "excluded": 2}
    assert told["reasons"] == {"input-budget": 2}
    assert (told["status"], told["tokens"], told["fixed_tokens"], told["limit"], told["ullage"]) == (
        "managed",
        420,
        20,
        450,
        30,
    )
    assert told["included"][1]["score"] == 100.714286
    assert "inventory" not in told


def test_what_was_offered_beside_the_messages_is_told_without_its_text() -> None:
    pin = Supplement(id="pin:1", kind="pin", text="SECRET", tokens=9, score=950.0, source_ids=("s",), reason="pinned")
    memory = structs.replace(pin, id="mem:1", kind="memory", tokens=101, score=90.0, classification="internal")
    told = report(*planned([ASKS], 10, 400, supplements=(pin, memory)), classes={0: "sensitive"})
    assert told["supplements"] == [
        {
            "id": "pin:1",
            "kind": "pin",
            "before": 0,
            "tokens": 9,
            "score": 950.0,
            "reason": "pinned",
            "source_ids": ["s"],
            "classification": "normal",
            "held": False,
        }
    ]
    assert told["left_out"] == [
        {"id": "mem:1", "kind": "memory", "tokens": 101, "reason": "category-budget", "classification": "internal"}
    ]
    assert told["included"][0]["classification"] == "sensitive"
    assert "SECRET" not in json.dumps(told)


def test_a_long_list_keeps_its_ends_and_an_inventory_of_all() -> None:
    """Planner specification, section 25.3, and regression R16: a reader is told that it is a rollup."""
    told = report(*planned([ASKS] * 600, 1, 320))
    assert told["messages"] == {"total": 600, "included": 300, "excluded": 300}
    assert len(told["included"]) == len(told["excluded"]) == 2 * ENDS
    assert [item["index"] for item in told["excluded"]] == [*range(128), *range(172, 300)]
    assert told["inventory"] == {
        "completeness": "rollup",
        "included": {
            "counts": {"items": 300, "kept": 256},
            "tokens": {"items": 300, "kept": 256},
            "kinds": {"recent": 299, "current": 1},
            "classifications": {"normal": 300},
        },
        "excluded": {
            "counts": {"items": 300, "kept": 256},
            "tokens": {"items": 300, "kept": 256},
            "kinds": {"recent": 300},
            "classifications": {"normal": 300},
        },
    }
    assert len(json.dumps(told)) < 256 * 1024


@pytest.mark.parametrize("limit", [0, 15, 25, 1_000])
def test_whatever_came_of_a_request_has_a_report(limit: int) -> None:
    made, given = planned([ASKS, SAYS, ASKS], 10, limit)
    told = report(made, given, cache={"warm_prefix": 5}, timings_ms={"plan": 0.5})
    assert told["status"] == made.status
    assert told["error"] == made.error
    assert len(told["included"]) + len(told["excluded"]) == 3
    assert (told["cache"], told["timings_ms"]) == ({"warm_prefix": 5}, {"plan": 0.5})
    json.dumps(told)


def test_reasons_are_counted_the_most_frequent_first() -> None:
    made, _ = planned([ASKS, SAYS, ASKS, SAYS, ASKS, ASKS], 100, 350)
    assert count_reasons(made) == {"recent-tail-closed": 2, "input-budget": 2} or sum(
        count_reasons(made).values()
    ) == len(made.dropped)
    assert list(count_reasons(made).values()) == sorted(count_reasons(made).values(), reverse=True)
