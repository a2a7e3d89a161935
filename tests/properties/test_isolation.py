"""Accounting specification, section 15.2: whatever a client sends, its sections reach a count byte for byte and alone."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import dialects, requests
from ullage.core.accounting.isolation import Case, full_case, isolate, plan_isolation
from ullage.core.accounting.plausibility import plausible_bounds
from ullage.core.wire import Conversation, Dialect, parse_request, read_context
from ullage.engine.exact import case_bounds, plan_counts
from ullage.upstream.counting import ENDPOINTS, make_countable
from ullage.upstream.tiny import tiny_request

relaxed = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
counted = st.sampled_from([row for row in ENDPOINTS if not row.not_sent])


def parsed(data: st.DataObject, dialect: Dialect) -> Conversation:
    return parse_request(data.draw(requests(dialect)), dialect)


def check(body: bytes, conversation: Conversation, case: Case) -> None:
    """The body is JSON and holds the case's slices. Of a member that came in two spellings only one can be sent."""
    parse_request(body, conversation.dialect)
    if {"system_instruction", "systemInstruction"} <= {member.key for member in conversation.members}:
        return
    kept: list[Any] = [(conversation.tools, case.tools), (conversation.system, case.system)]
    for slices, indexes in [*kept, (conversation.messages, case.messages)]:
        assert all(slices[index].raw in body for index in indexes)


@given(data=st.data(), dialect=dialects)
@relaxed
def test_a_tiny_generation_holds_the_very_slices_of_its_case(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data, dialect)
    plan = plan_isolation(conversation)
    assert len({case.id for case in plan.cases}) == len(plan.cases)
    for case in plan.cases:
        check(tiny_request(conversation, case, "m").body, conversation, case)


@given(data=st.data(), row=counted)
@relaxed
def test_a_count_holds_the_very_slices_of_its_case(data: st.DataObject, row: Any) -> None:
    conversation = parsed(data, row.shape)
    agenda = plan_counts(conversation, row, "m", apart=True)
    assert agenda.plan is not None
    countable = make_countable(conversation, row).conversation
    for ask, case in zip(agenda.asks, agenda.plan.cases, strict=False):
        check(ask.request.body, countable, case)


@given(data=st.data(), dialect=dialects)
@relaxed
def test_bounds_never_exclude_everything(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data, dialect)
    bounds = case_bounds(conversation, full_case(conversation))
    assert bounds == plausible_bounds(read_context(conversation), dialect)
    assert bounds.refusal(bounds.least) is None


@given(data=st.data(), dialect=dialects, counts=st.lists(st.integers(0, 10**6), min_size=12, max_size=12))
@relaxed
def test_costs_and_rest_are_always_the_full_count(data: st.DataObject, dialect: Dialect, counts: list[int]) -> None:
    plan = plan_isolation(parsed(data, dialect))
    found = isolate(plan, dict(zip((case.id for case in plan.cases), counts, strict=False)))
    if found.full is not None and found.rest is not None:
        assert (found.system or 0) + (found.tools or 0) + found.rest == found.full
    assert found.block is None or found.block >= 0
