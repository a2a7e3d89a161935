"""Requests that take a captured one apart, and what their counts mean: the specification's worked numbers and the odd cases."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.accounting.isolation import (
    IsolationPlan,
    ToolSize,
    isolate,
    plan_isolation,
    tool_block,
)
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.testing import make_request, make_tools


def plan_of(dialect: Dialect, body: dict[str, Any]) -> IsolationPlan:
    return plan_isolation(parse_request(msgspec.json.encode(body), dialect))


def ids(plan: IsolationPlan) -> list[str]:
    return [case.id for case in plan.cases]


THREE = IsolationPlan(
    cases=(),
    tools=tuple(ToolSize(name=name, case=f"tool:{name}", chars=100) for name in ("a", "b", "c")),
    system_chars=0,
    tools_chars=300,
)


def test_the_worked_example_of_the_specification() -> None:
    """Section 15.2: baseline 10, F 115, tools 85, 95 and 105."""
    counts = {"baseline": 10, "tool:a": 210, "tool:b": 220, "tool:c": 230, "tools": 410}
    found = isolate(THREE, counts)
    assert found.block == 115
    assert [cost.net for cost in found.tool_costs] == [85, 95, 105]
    assert found.tools_net == 285
    assert found.tools_denominator == round(300 / 285, 2) == 1.05


@pytest.mark.parametrize(
    ("marginals", "together", "block"),
    [
        ([100, 100], 200, 0),
        ([100, 100], 250, 0),
        ([100], 100, None),
        ([100, None], 150, None),
        ([100, 120], None, None),
        ([], 0, None),
    ],
    ids=["additive", "never negative", "one tool", "one uncounted", "all uncounted", "none"],
)
def test_the_block_is_known_from_every_tool_and_all_together(
    marginals: list[int | None], together: int | None, block: int | None
) -> None:
    assert tool_block(marginals, together) == block


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_section_has_a_request_before_the_minimal_message(dialect: Dialect) -> None:
    request = make_request(dialect, turns=("One.", "Two.", "Three."), tools=make_tools(3), system="Be brief.")
    plan = plan_isolation(parse_request(request.body, dialect))
    assert ids(plan) == ["baseline", "system", "tools", "tool:bash", "tool:tool_1", "tool:tool_2", "full"]
    assert [case.minimal for case in plan.cases] == [True] * 6 + [False]
    assert plan.system_chars == len("Be brief.")
    around = '{"functionDeclarations":[,,]}' if dialect == "gemini" else "[,,]"
    assert plan.tools_chars == sum(tool.chars for tool in plan.tools) + len(around)


def test_a_bare_request_has_no_section_to_count() -> None:
    plan = plan_of("anthropic", {"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    assert ids(plan) == ["baseline", "full"]
    found = isolate(plan, {"baseline": 8, "full": 8})
    assert (found.system, found.tools, found.block, found.rest) == (None, None, None, 8)
    assert (found.text_denominator, found.tools_denominator) == (None, None)


def test_system_messages_at_the_head_of_the_list_are_the_system_prompt() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "And kind."},
        {"role": "user", "content": "Hello."},
        {"role": "system", "content": "A reminder."},
    ]
    plan = plan_of("openai-chat", {"model": "m", "messages": messages})
    assert ids(plan) == ["baseline", "system", "full"]
    assert plan.cases[1].messages == (0, 1)
    assert plan.system_chars == len("Be brief.And kind.")


def test_tools_that_are_an_item_of_the_conversation_are_tools() -> None:
    tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in ("a", "b")]
    items = [
        {"type": "message", "role": "developer", "content": "Rules."},
        {"type": "additional_tools", "tools": tools},
        {"type": "message", "role": "user", "content": "Hello."},
    ]
    plan = plan_of("openai-responses", {"model": "m", "input": items})
    assert ids(plan) == ["baseline", "system", "tools", "full"]
    assert (plan.cases[1].messages, plan.cases[2].messages) == ((0,), (1,))


def test_a_single_tool_is_counted_once_and_its_block_stays_unknown() -> None:
    request = make_request("anthropic", tools=make_tools(1))
    plan = plan_isolation(parse_request(request.body, "anthropic"))
    assert ids(plan) == ["baseline", "tools", "full"]
    found = isolate(plan, {"baseline": 10, "tools": 400, "full": 430})
    assert (found.tools, found.block, found.tools_net, found.rest) == (390, None, None, 40)
    assert [(cost.marginal, cost.net) for cost in found.tool_costs] == [(390, None)]


def test_deferred_tools_cost_nothing_and_are_not_counted_alone() -> None:
    """Section 19, item 6: deferred, unloaded tools were charged."""
    tools = [
        {"name": "a", "input_schema": {"type": "object"}},
        {"name": "b", "input_schema": {"type": "object"}},
        {"name": "later", "input_schema": {"type": "object"}, "defer_loading": True},
    ]
    plan = plan_of("anthropic", {"model": "m", "messages": [], "tools": tools})
    assert ids(plan) == ["baseline", "tools", "tool:a", "tool:b", "full"]
    assert plan.cases[1].tools == (0, 1, 2)
    found = isolate(plan, {"baseline": 10, "tools": 340, "tool:a": 315, "tool:b": 315, "full": 340})
    assert found.block == 280
    assert [(cost.name, cost.net, cost.deferred) for cost in found.tool_costs] == [
        ("a", 25, False),
        ("b", 25, False),
        ("later", 0, True),
    ]


def test_two_tools_of_one_name_have_requests_of_their_own() -> None:
    tools = [{"name": "same", "input_schema": {}}, {"name": "same", "input_schema": {}}]
    plan = plan_of("anthropic", {"model": "m", "messages": [], "tools": tools})
    assert ids(plan)[2:4] == ["tool:same", "tool:same#2"]


def test_the_rows_and_the_rest_are_the_full_request() -> None:
    request = make_request("anthropic", tools=make_tools(2), system="Be brief.")
    plan = plan_isolation(parse_request(request.body, "anthropic"))
    counts = {"baseline": 10, "system": 60, "tools": 400, "tool:bash": 345, "tool:tool_1": 355, "full": 500}
    found = isolate(plan, counts)
    assert (found.system, found.tools, found.rest) == (50, 390, 60)
    assert found.system is not None and found.tools is not None and found.rest is not None
    assert found.system + found.tools + found.rest == found.full == 500
    assert found.text_denominator == round(9 / 50, 2)


def test_what_hangs_on_a_missing_count_is_unknown() -> None:
    request = make_request("anthropic", tools=make_tools(2), system="Be brief.")
    plan = plan_isolation(parse_request(request.body, "anthropic"))
    found = isolate(plan, {"baseline": 10, "tools": 400, "tool:bash": 345, "full": 500})
    assert (found.system, found.block, found.tools_net, found.rest) == (None, None, None, None)
    assert isolate(plan, {"tools": 400, "full": 500}).tools is None
