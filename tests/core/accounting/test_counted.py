"""Counts in the place of estimates: rows and gap still sum to the total, and a narrow count is no total."""

from __future__ import annotations

import msgspec
import pytest

from ullage.core.accounting import Breakdown, account, make_meter
from ullage.core.accounting.counted import with_counts
from ullage.core.accounting.isolation import Isolation, IsolationPlan, isolate, plan_isolation
from ullage.core.accounting.sections import TOOL_BLOCK
from ullage.core.content import Usage
from ullage.core.wire import parse_request, read_context
from ullage.testing import make_prose, make_request, make_tools

COUNTS = {"baseline": 10, "system": 230, "tools": 700, "tool:bash": 400, "tool:tool_1": 600, "full": 1_050}


def case(tools: int = 2, usage: Usage | None = None) -> tuple[Breakdown, IsolationPlan]:
    body = make_request("anthropic", turns=(make_prose(400),), tools=make_tools(tools), system=make_prose(800, 1)).body
    conversation = parse_request(body, "anthropic")
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client=None)
    return account(read_context(conversation), meter, usage=usage), plan_isolation(conversation)


def counted(breakdown: Breakdown, plan: IsolationPlan, full: int | None, **counts: int) -> Breakdown:
    isolation = isolate(plan, {**COUNTS, **counts})
    found = with_counts(breakdown, full=full, isolation=isolation, system_chars=plan.system_chars)
    assert sum(section.tokens for section in found.sections) + found.gap == found.total.tokens
    return found


def tokens(breakdown: Breakdown, section: str) -> int:
    return next(row.tokens for row in breakdown.sections if row.id == section)


def test_total_tools_and_system_prompt_are_the_counts() -> None:
    found = counted(*case(), full=1_050)
    assert (found.total.tokens, found.total.low, found.total.high) == (1_050, 1_050, 1_050)
    assert (found.total.kind, found.total.method) == ("usage", "preflight")
    assert (tokens(found, "system"), tokens(found, "tools")) == (220, 690)
    rows = {row.id: row for row in found.sections}
    assert {rows[name].method for name in ("system", "tools")} == {"measured"}
    assert rows["messages"].method != "measured"


def test_tools_have_their_net_cost_and_the_block_a_row_of_its_own() -> None:
    """Accounting specification, section 22, item 2."""
    found = counted(*case(), full=1_050)
    items = {item.name: item for row in found.sections if row.id == "tools" for item in row.items}
    assert (items[TOOL_BLOCK].tokens, items["bash"].tokens, items["tool_1"].tokens) == (290, 100, 300)
    assert all(item.low == item.tokens == item.high for item in items.values())


def test_without_a_known_block_single_tools_stay_estimates() -> None:
    breakdown, plan = case()
    isolation = isolate(plan, {key: value for key, value in COUNTS.items() if not key.startswith("tool:")})
    found = with_counts(breakdown, full=1_050, isolation=isolation, system_chars=plan.system_chars)
    before = next(row.items for row in breakdown.sections if row.id == "tools")
    after = next(row for row in found.sections if row.id == "tools")
    assert (after.tokens, after.items) == (690, before)


def test_a_narrow_count_is_no_total() -> None:
    breakdown, plan = case()
    found = counted(breakdown, plan, full=None)
    assert (found.total.kind, found.total.method) == ("estimate", breakdown.total.method)
    assert found.total.tokens == sum(row.tokens for row in found.sections)
    assert found.total.low <= found.total.tokens <= found.total.high


def test_usage_after_an_answer_stays_the_total() -> None:
    found = counted(*case(usage=Usage(input_fresh=1_060, output=5)), full=1_050)
    assert (found.total.tokens, found.total.method) == (1_060, "usage")


def test_a_system_prompt_of_several_rows_keeps_its_estimates() -> None:
    breakdown, plan = case()
    isolation = isolate(plan, COUNTS)
    found = with_counts(breakdown, full=1_050, isolation=isolation, system_chars=plan.system_chars + 1)
    assert tokens(found, "system") == tokens(breakdown, "system")
    assert sum(section.tokens for section in found.sections) + found.gap == 1_050


@pytest.mark.parametrize(
    "isolation", [None, isolate(IsolationPlan(cases=(), tools=(), system_chars=0, tools_chars=0), {})]
)
def test_nothing_counted_changes_nothing(isolation: Isolation | None) -> None:
    breakdown, _ = case()
    found = with_counts(breakdown, full=None, isolation=isolation, system_chars=0)
    assert msgspec.structs.replace(found) == breakdown
