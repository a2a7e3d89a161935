"""Rows of an inspector: accounting specification, sections 3, 7 and 9, and conservation."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.accounting.tools import FIND_FILES, MODE, PING
from ullage.core.accounting import Breakdown, Meter, Section, account, make_meter, report
from ullage.core.accounting.heuristics import call_json
from ullage.core.accounting.tool_shapes import tools_payload
from ullage.core.content import Context, Media, Message, Part, ToolSpec

PICTURE = Part(kind="image", media=Media(kind="image", width=32, height=32))


def inspector(estimator: str = "inspector-v2", model: str = "claude-opus-4-8", dialect: str = "anthropic") -> Meter:
    return make_meter(dialect=dialect, provider=None, model=model, client=None, estimator=estimator)


def said(text: str, role: str = "user") -> Message:
    return Message(role=role, parts=(Part(kind="text", text=text, wire_type="text"),))  # type: ignore[arg-type]


def result(*parts: Part, text: str = "") -> Message:
    return Message(role="tool", parts=(Part(kind="tool_result", call_id="c", text=text, parts=parts),))


def section(breakdown: Breakdown, name: str) -> Section:
    return next(section for section in breakdown.sections if section.id == name)


def test_the_worked_session_split_comes_out() -> None:
    thought = Message(role="assistant", parts=(Part(kind="thinking", text="x" * 1_200),))
    messages = (result(text="x" * 5_200), said("x" * 1_300), thought)
    rows = {row.id: row.tokens for row in account(Context(messages=messages), inspector()).sections}
    assert rows == {"tool_outputs": 2_000, "messages": 500, "thinking_summaries": 462}


def test_a_row_is_rounded_up_once_however_many_messages_it_holds() -> None:
    breakdown = account(Context(messages=(said("ab"), said("cd", "assistant")) * 500), inspector())
    messages = section(breakdown, "messages")
    assert messages.tokens == math.ceil(2_000 / 2.6)
    assert sum(item.tokens for item in messages.items) == messages.tokens


def test_text_and_session_have_denominators_of_their_own() -> None:
    context = Context(system=("x" * 380,), messages=(said("x" * 350),))
    breakdown = account(context, inspector(model="claude-sonnet-4-5"))
    assert [(row.id, row.tokens, row.method) for row in breakdown.sections] == [
        ("system", 100, "ch ÷ 3.8"),
        ("messages", 100, "ch ÷ 3.5"),
    ]


def test_an_instruction_file_in_a_user_message_is_text_of_the_prompt() -> None:
    body = "y" * 380
    text = f"z\n# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\n{body}\n</INSTRUCTIONS>"
    meter = make_meter(
        dialect="anthropic", provider=None, model="claude-sonnet-4-5", client="codex", estimator="inspector-v2"
    )
    breakdown = account(Context(messages=(said(text),)), meter)
    context = next((row for row in breakdown.sections if row.id.startswith("context:")), None)
    if context is not None:
        assert context.tokens == math.ceil(context.chars / 3.8)
    rest = section(breakdown, "messages")
    assert rest.tokens == math.ceil(rest.chars / 3.5)


def test_tools_are_counted_as_the_list_and_each_as_itself() -> None:
    tools = (PING, MODE, FIND_FILES)
    row = section(account(Context(tools=tools), inspector()), "tools")
    size = len(tools_payload(tools, "anthropic"))
    assert (row.chars, row.tokens) == (size, math.ceil(size / 2.6))
    assert {item.name: item.tokens for item in row.items if item.name == "ping"} == {"ping": math.ceil(165 / 2.6)}
    assert sum(item.tokens for item in row.items) == row.tokens


def test_the_seed_s_formula_and_the_newer_declaration_count_openai_s_tools() -> None:
    tools = Context(tools=(PING, MODE, FIND_FILES))
    for estimator, tokens in (("inspector-v1", 105), ("inspector-v2", 122)):
        meter = make_meter(
            dialect="openai-responses", provider="openai-codex", model="gpt-5.5", client=None, estimator=estimator
        )
        assert section(account(tools, meter), "tools").tokens == tokens


def test_a_tool_that_is_not_loaded_costs_nothing_and_says_what_it_would() -> None:
    tools = (PING, replace(MODE, deferred=True), replace(FIND_FILES, active=False))
    row = section(account(Context(tools=tools), inspector()), "tools")
    assert (row.title, row.chars, row.tokens) == ("Tools (1/3 active)", 167, math.ceil(167 / 2.6))
    states = {item.name: (item.state, item.tokens, item.loaded_tokens) for item in row.items if item.state}
    chars = {"mode": 152, "find_files": 414}
    assert states == {
        "mode": ("deferred", 0, math.ceil(chars["mode"] / 2.6)),
        "find_files": ("inactive", 0, math.ceil(chars["find_files"] / 2.6)),
    }


def test_a_tool_that_the_provider_runs_has_no_known_cost() -> None:
    hosted = ToolSpec(name="web_search", kind="hosted")
    row = section(account(Context(tools=(hosted, PING)), inspector()), "tools")
    assert row.tokens == math.ceil(167 / 2.6)


def test_a_picture_stands_for_a_fixed_number_of_characters() -> None:
    alone = account(Context(messages=(Message(role="user", parts=(PICTURE,)),)), inspector())
    assert alone.total.tokens == 1_847
    shown = account(Context(messages=(result(PICTURE, Part(kind="text", text="x" * 26)),)), inspector())
    assert section(shown, "tool_outputs").tokens == 1_847 + 10


def test_a_call_is_counted_as_json_of_id_name_and_arguments() -> None:
    call = Part(kind="tool_call", call_id="c1", name="ping", text='{"host": "a"}')
    written = '{"id":"c1","name":"ping","arguments":{"host":"a"}}'
    assert call_json(call) == written
    row = section(account(Context(messages=(Message(role="assistant", parts=(call,)),)), inspector()), "messages")
    assert (row.chars, row.tokens) == (len(written), math.ceil(len(written) / 2.6))


def test_arguments_that_are_no_json_are_a_text() -> None:
    call = Part(kind="tool_call", call_id="c1", name="patch", text="*** Begin")
    assert call_json(call) == '{"id":"c1","name":"patch","arguments":"*** Begin"}'
    assert call_json(Part(kind="tool_call", name="x")) == '{"id":null,"name":"x","arguments":{}}'


def test_a_model_that_nobody_knows_is_said_to_be_unknown() -> None:
    breakdown = account(Context(messages=(said("hello"),)), inspector(model="mystery", dialect="openai-chat"))
    assert breakdown.family == "unknown"
    assert [notice.code for notice in breakdown.warnings] == ["unknown_model"]


def test_a_report_names_the_ratios_and_who_set_them() -> None:
    breakdown = account(Context(messages=(said("hello"),)), inspector())
    assert report(breakdown)["heuristic"] == {
        "label": "Claude 4.7+ heuristic",
        "source": "Claude 4.7+ heuristic",
        "text_denominator": 2.6,
        "session_denominator": 2.6,
        "tool_denominator": 2.6,
        "tool_numerator": "anthropic",
        "tools": "Anthropic payload ÷ 2.6",
    }


texts = st.text(max_size=60)
pieces = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), texts), max_size=12)


@settings(max_examples=60, deadline=None)
@given(system=st.lists(texts, max_size=3), pieces=pieces, tools=st.integers(0, 3))
def test_rows_and_gap_make_the_total_and_every_row_is_its_characters(
    system: list[str], pieces: list[tuple[str, str]], tools: int
) -> None:
    messages = tuple(result(text=text) if role == "tool" else said(text, role) for role, text in pieces)
    context = Context(system=tuple(system), messages=messages, tools=(PING, MODE, FIND_FILES)[:tools])
    for estimator in ("inspector-v1", "inspector-v2"):
        breakdown = account(context, inspector(estimator, "claude-sonnet-4-5"))
        assert sum(row.tokens for row in breakdown.sections) + breakdown.gap == breakdown.total.tokens
        denominators = {"system": 3.8, "messages": 3.5, "tool_outputs": 3.5, "tools": 3.3}
        for row in breakdown.sections:
            assert row.tokens == math.ceil(row.chars / denominators[row.id])
            assert row.low <= row.tokens <= row.high
