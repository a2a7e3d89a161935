"""From a request to what a plan is made from, and from a plan to bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from ullage.core.accounting import account, make_meter, read_options
from ullage.core.errors import CallError
from ullage.core.planning import Caps, Placed, PlanInput, Replacement, Supplement, Trim, plan
from ullage.core.planning.assembling import (
    Reference,
    count_within,
    find_pinned,
    limit_budget,
    make_input,
    read_facts,
    render_plan,
    resolve_caps,
    weigh_text,
)
from ullage.core.planning.categories import Adaptive, Category
from ullage.core.wire import DIALECTS, Conversation, Dialect, parse_request, read_context
from ullage.testing import make_request, make_tools
from ullage.testing.builders import Exchange

CAPS = Caps(recent_tail=10_000, pinned=1_000, memory=100, history=100, project=100, summary=100)
METER = make_meter(dialect="openai-chat", provider="openai", model="gpt-4.1", client=None)


def conversation(dialect: Dialect, *turns: str | Exchange, system: str | None = "Be brief.") -> Conversation:
    request = make_request(dialect, turns=turns, tools=make_tools(2), system=system)
    return parse_request(request.body, dialect)


def chat(*messages: dict[str, Any]) -> Conversation:
    return parse_request(json.dumps({"model": "m", "messages": messages}).encode(), "openai-chat")


def given(request: Conversation, limit: int = 10_000, **changes: Any) -> PlanInput:
    return make_input(read_facts(request, METER), budget=limit_budget(limit), caps=CAPS, **changes)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("estimator", ["wire-v1", "o200k-base-v1", "chars-v1"])
def test_facts_weigh_a_request_as_accounting_does(dialect: Dialect, estimator: str) -> None:
    request = conversation(dialect, "Look.", "Where?", Exchange(), "There.", "Thanks.")
    meter = make_meter(dialect=dialect, provider=None, model="m", client=None, estimator=estimator)
    facts = read_facts(request, meter)
    total = account(read_context(request), meter, options=read_options(request)).total.tokens
    assert sum(facts.tokens) + facts.fixed_tokens == total
    assert len(facts.facts) == len(facts.tokens) == len(request.messages)


def test_a_limit_on_messages_counts_neither_prompt_nor_tools() -> None:
    inside = chat({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"})
    facts = read_facts(inside, METER)
    counted = count_within(facts, "messages")
    assert (counted.fixed_tokens, counted.tokens) == (0, (0, facts.tokens[1]))
    assert count_within(facts, "request") is facts
    outside = count_within(read_facts(conversation("anthropic", "Hello"), METER), "messages")
    assert outside.fixed_tokens == 0


def test_a_limit_that_is_named_may_be_filled_to_the_last_token() -> None:
    budget = limit_budget(420)
    assert (budget.hard, budget.active, budget.context_window, budget.ratio, budget.output_reserve) == (
        420,
        420,
        420,
        1,
        0,
    )
    assert limit_budget(0).hard == 0


def test_caps_of_a_target_are_those_of_its_window_where_that_is_known() -> None:
    category = Category(nominal=9, resolved=7, explicit=False)
    adaptive = Adaptive(recent_tail=category, history=structs.replace(category, resolved=6), project=category)
    assert resolve_caps(CAPS, None) is CAPS
    assert resolve_caps(CAPS, adaptive) == structs.replace(CAPS, recent_tail=7, history=6, project=7)


def test_evidence_is_shared_out_by_what_it_is() -> None:
    pin = supplement("pin:1")
    trim = Trim(index=2, ordinal=0, call_id="c", tokens_before=9, tokens_after=1, artifact="a")
    made = given(chat({"role": "user", "content": "Hello"}), evidence=[Reference(trim=trim, text="short"), pin], tail=0)
    assert (made.supplements, made.trims, made.tail) == ((pin,), (trim,), 0)


@pytest.mark.parametrize(
    ("dialect", "pointer", "index"),
    [
        ("openai-chat", "/messages/1", 1),
        ("openai-chat", "/messages/1/content/0/text", 1),
        ("anthropic", "/messages/0", 0),
        ("openai-responses", "/input/2", 2),
        ("gemini", "/contents/1", 1),
        ("gemini", "/generateContentRequest/contents/1", 1),
    ],
)
def test_a_pointer_names_the_message_that_it_points_into(dialect: Dialect, pointer: str, index: int) -> None:
    request = conversation(dialect, "One.", "Two.", "Three.", system=None)
    assert find_pinned(request, [pointer]) == {index}


def test_the_one_text_of_a_responses_request_is_its_message() -> None:
    bare = parse_request(b'{"model":"m","input":"Hello"}', "openai-responses")
    assert find_pinned(bare, ["/input"]) == {0}


@pytest.mark.parametrize(
    "pointer",
    [
        "",
        "/",
        "/messages",
        "/messages/",
        "/messages/x",
        "/messages/01",
        "/messages/-1",
        "/tools/0",
        "messages/0",
        "/messages/3",
    ],
)
def test_a_pointer_to_no_message_is_told(pointer: str) -> None:
    with pytest.raises(CallError, match="points"):
        find_pinned(conversation("anthropic", "One.", "Two.", "Three."), [pointer])


def test_a_plan_that_keeps_all_is_the_very_body() -> None:
    request = conversation("anthropic", "One.", "Two.", "Three.")
    assert render_plan(request, plan(given(request))) == request.body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_supplement_stands_before_the_newest_request(dialect: Dialect) -> None:
    request = conversation(dialect, "One.", "Two.", "Three.", system=None)
    made = plan(given(request, evidence=[supplement("pin:1", "Remember the milk.")]))
    assert made.supplements[0].before == 2
    sent = parse_request(render_plan(request, made, evidence=[supplement("pin:1", "Remember the milk.")]), dialect)
    assert [piece.raw for piece in sent.messages if b"milk" not in piece.raw] == [
        piece.raw for piece in request.messages
    ]
    assert b"Remember the milk." in sent.messages[2].raw


def test_references_stand_for_results_several_of_one_message_too() -> None:
    blocks = [{"type": "tool_result", "tool_use_id": name, "content": name * 50} for name in "ab"]
    calls = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in "ab"]
    body = {
        "messages": [
            {"role": "user", "content": "Read both."},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": blocks},
        ]
    }
    request = parse_request(json.dumps(body).encode(), "anthropic")
    references = [
        Reference(
            trim=Trim(index=2, ordinal=ordinal, call_id=name, tokens_before=50, tokens_after=2, artifact=f"x{name}"),
            text=f"see {name}",
        )
        for ordinal, name in enumerate("ab")
    ]
    made = structs.replace(
        plan(given(request)),
        replaced=tuple(
            Replacement(
                index=2, ordinal=one.trim.ordinal, call_id=one.trim.call_id, artifact=one.trim.artifact, tokens=2
            )
            for one in references
        ),
    )
    sent = json.loads(render_plan(request, made, evidence=references))
    assert [block["content"] for block in sent["messages"][2]["content"]] == ["see a", "see b"]
    assert sent["messages"][:2] == body["messages"][:2]


def test_a_plan_may_not_take_what_is_not_at_hand() -> None:
    request = chat({"role": "user", "content": "Hello"})
    placed = Placed(supplement_id="pin:1", kind="pin", before=0, tokens=3, score=950.0)
    made = structs.replace(plan(given(request)), supplements=(placed,))
    with pytest.raises(CallError, match="whose text is not given"):
        render_plan(request, made)


def test_a_text_weighs_what_its_message_does() -> None:
    request = chat({"role": "user", "content": "Remember the milk."})
    assert weigh_text("Remember the milk.", METER) == read_facts(request, METER).tokens[0]


def supplement(name: str, text: str = "") -> Supplement:
    return Supplement(id=name, kind="pin", text=text, tokens=8, score=950.0, source_ids=("me",), reason="test")
