from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.core.accounting import Breakdown, Item, Options, account, make_meter
from ullage.core.content import Context, Media, Message, Part, ToolSpec, Usage

from .tools import FIND_FILES, MODE, PING

MODELS = [
    ("openai-chat", "openai", "gpt-4o"),
    ("openai-responses", "openai", "gpt-5.6"),
    ("anthropic", "anthropic", "claude-opus-4-8"),
    ("anthropic", "anthropic", "claude-sonnet-4-5"),
    ("openai-chat", "deepseek", "deepseek-chat"),
    ("gemini", "google-vertex", "gemini-2.0-flash"),
    ("openai-chat", None, "nobody knows"),
]

texts = st.text(max_size=40)
media = st.builds(
    Media,
    kind=st.sampled_from(["image", "document", "audio", "video"]),
    width=st.none() | st.integers(0, 4000),
    height=st.none() | st.integers(0, 4000),
    size_bytes=st.none() | st.integers(0, 10**7),
    pages=st.none() | st.integers(1, 50),
    seconds=st.none() | st.floats(0, 600),
)
leaf = st.one_of(
    st.builds(Part, kind=st.just("text"), text=texts, wire_type=st.just("text")),
    st.builds(
        Part, kind=st.just("thinking"), text=texts, carries_reasoning=st.booleans(), wire_type=st.just("thinking")
    ),
    st.builds(Part, kind=st.just("tool_call"), name=texts, text=texts, call_id=st.none() | st.sampled_from("ab")),
    st.builds(Part, kind=st.just("other"), text=texts, wire_type=st.just("x")),
    media.map(lambda one: Part(kind=one.kind, media=one)),
)
results = st.builds(
    Part,
    kind=st.just("tool_result"),
    name=st.none() | texts,
    text=texts,
    parts=st.lists(leaf, max_size=2).map(tuple),
    call_id=st.none() | st.sampled_from("ab"),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
    parts=st.lists(leaf | results, max_size=3).map(tuple),
    name=st.none() | texts,
)
specs = st.builds(
    ToolSpec,
    name=texts,
    description=texts,
    parameters=st.sampled_from([None, {}, PING.parameters, FIND_FILES.parameters]),
    kind=st.sampled_from(["function", "custom", "hosted"]),
    deferred=st.booleans(),
    strict=st.sampled_from([None, True, False]),
)
contexts = st.builds(
    Context,
    system=st.lists(texts, max_size=2).map(tuple),
    tools=st.lists(specs, max_size=3).map(tuple),
    messages=st.lists(messages, max_size=4).map(tuple),
    complete=st.booleans(),
)
usages = st.none() | st.builds(
    Usage, input_fresh=st.none() | st.integers(0, 10**6), cache_read=st.none() | st.integers(0, 10**6)
)


@settings(max_examples=150, deadline=None)
@given(contexts, usages, st.sampled_from(MODELS), st.sampled_from(["wire-v1", "o200k-base-v1", "chars-v1"]))
def test_rows_and_gap_are_the_total(
    context: Context, usage: Usage | None, target: tuple[str, str | None, str], estimator: str
) -> None:
    dialect, provider, model = target
    meter = make_meter(dialect=dialect, provider=provider, model=model, client=None, estimator=estimator)
    breakdown = account(context, meter, usage=usage)
    assert sum(section.tokens for section in breakdown.sections) + breakdown.gap == breakdown.total.tokens
    assert breakdown.total.low <= breakdown.total.tokens <= breakdown.total.high
    for section in breakdown.sections:
        assert section.low <= section.tokens <= section.high
        if section.items:
            assert sum(item.tokens for item in section.items) == section.tokens


def meter_for(model: str, dialect: str = "anthropic", provider: str = "anthropic") -> object:
    return make_meter(dialect=dialect, provider=provider, model=model, client=None)


def say(role: str, *parts: Part) -> Message:
    return Message(role=role, parts=parts)  # type: ignore[arg-type]


def text(words: str) -> Part:
    return Part(kind="text", text=words, wire_type="text")


def rows(breakdown: object) -> dict[str, int]:
    return {section.id: section.tokens for section in breakdown.sections}  # type: ignore[attr-defined]


def test_the_total_is_the_prompt_that_was_reported_and_the_gap_is_signed() -> None:
    context = Context(messages=(say("user", text("Hello world")),))
    meter = make_meter(dialect="openai-chat", provider="openai", model="gpt-4o", client=None)
    more = account(context, meter, usage=Usage(input_fresh=4, cache_read=10, output=3), window=100)
    assert (more.total.tokens, more.total.kind, more.gap, more.output) == (14, "usage", 14 - 9, 3)
    assert more.ullage == 86
    assert account(context, meter, usage=Usage(input_fresh=5)).gap == -4


def test_text_for_an_openai_model_is_exact_to_the_token() -> None:
    """One user message: +7 on the gpt-4 line, +6 on the gpt-5 line; system and user: +11 or +10; with an answer: +15 or +16."""
    user, answer, system = say("user", text("a")), say("assistant", text("a")), say("system", text("a"))
    for model, dialect, expected in (
        ("gpt-4o", "openai-chat", (8, 13, 18)),
        ("gpt-5", "openai-responses", (7, 12, 19)),
    ):
        meter = make_meter(dialect=dialect, provider="openai", model=model, client=None)
        totals = tuple(
            account(Context(messages=messages), meter).total.tokens
            for messages in ((user,), (system, user), (user, answer, user))
        )
        assert totals == expected


def test_instructions_count_as_one_system_message() -> None:
    meter = make_meter(dialect="openai-responses", provider="openai", model="gpt-5", client=None)
    apart = account(Context(system=("a",), messages=(say("user", text("a")),)), meter)
    inside = account(Context(messages=(say("system", text("a")), say("user", text("a")))), meter)
    assert apart.total.tokens == inside.total.tokens == 12


def test_the_tool_block_is_one_row_and_every_tool_is_net() -> None:
    meter = make_meter(dialect="openai-chat", provider="openai-codex", model="gpt-4o", client=None)
    breakdown = account(Context(tools=(PING, MODE, FIND_FILES)), meter)
    tools = next(section for section in breakdown.sections if section.id == "tools")
    assert {item.name: item.tokens for item in tools.items} == {
        "ping": 21,
        "mode": 23,
        "find_files": 60,
        "tool block": 16,
    }
    assert tools.title == "Tools (3/3 active)"


def test_a_demanded_tool_makes_the_block_of_claude_larger() -> None:
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client=None)
    context = Context(tools=(PING,))
    free = account(context, meter).total.tokens
    forced = account(context, meter, options=Options(choice="any")).total.tokens
    assert forced - free == 410 - 290


def test_without_active_tools_there_is_no_block() -> None:
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client=None)
    deferred = ToolSpec(name="t", parameters={}, deferred=True)
    breakdown = account(Context(tools=(deferred,)), meter)
    assert rows(breakdown)["tools"] == 0
    assert next(section for section in breakdown.sections if section.id == "tools").title == "Tools (0/1 active)"


def test_a_deferred_tool_that_was_called_has_been_loaded() -> None:
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-sonnet-4-5", client=None)
    tools = (PING, ToolSpec(name="t", description="Does.", parameters={}, deferred=True))
    call = Part(kind="tool_call", name="t", text="{}", call_id="1")
    before = account(Context(tools=tools), meter)
    after = account(Context(tools=tools, messages=(say("assistant", call),)), meter)
    listed, loaded = ({item.name: item for item in _tools(one)}["t"] for one in (before, after))
    assert (listed.tokens, listed.state, loaded.state) == (0, "deferred", None)
    assert loaded.tokens == listed.loaded_tokens


def test_a_choice_of_none_keeps_tools_from_open_weights_alone() -> None:
    context = Context(tools=(PING,))
    for model, offered in (("llama-4-scout", False), ("gpt-5-mini", True)):
        meter = make_meter(dialect="openai-chat", provider="groq", model=model, client=None)
        breakdown = account(context, meter, options=Options(choice="none"))
        assert (rows(breakdown)["tools"] > 0) is offered


def test_calls_made_at_once_cost_more_than_one_after_the_other() -> None:
    meter = make_meter(dialect="openai-responses", provider="openai", model="gpt-5.4", client=None)
    calls = [say("assistant", Part(kind="tool_call", name="x", text="{}", call_id=str(n))) for n in range(3)]
    results = [say("tool", Part(kind="tool_result", text="y", call_id=str(n))) for n in range(3)]
    at_once = account(Context(messages=(*calls, *results)), meter)
    in_turn = account(Context(messages=tuple(one for pair in zip(calls, results, strict=True) for one in pair)), meter)
    assert at_once.total.tokens - in_turn.total.tokens == 2 * meter.rule.parallel_frame()


def test_a_system_message_takes_the_tools_in_on_the_gpt_4o_line() -> None:
    meter = make_meter(dialect="openai-chat", provider="openai", model="gpt-4o", client=None)
    alone = account(Context(tools=(PING,)), meter)
    beside = account(Context(tools=(PING,), messages=(say("system", text("Be kind.")),)), meter)
    assert rows(beside)["tools"] - rows(alone)["tools"] == -4


def test_tools_that_come_inside_the_conversation_bring_a_block_of_their_own() -> None:
    meter = make_meter(dialect="openai-responses", provider="openai", model="gpt-5.4", client=None)
    definition = '[{"type":"function","name":"ping","parameters":{"type":"object","properties":{}}}]'
    inline = Part(kind="other", text=definition, wire_type="additional_tools")
    breakdown = account(Context(messages=(say("developer", inline),)), meter)
    assert [item.name for item in _tools(breakdown)] == ["ping"]
    assert rows(breakdown)["framing"] == meter.rule.opening() + meter.rule.inline_block()


def test_sealed_reasoning_is_a_row_where_nothing_was_reported() -> None:
    meter = make_meter(dialect="openai-responses", provider="openai", model="gpt-5.4", client=None)
    sealed = Part(kind="thinking", carries_reasoning=True, sealed_chars=6_000, wire_type="reasoning")
    call = Part(kind="tool_call", name="x", text="{}", call_id="1")
    turn = (say("user", text("a")), say("assistant", sealed), say("assistant", call))
    assert rows(account(Context(messages=turn), meter))["reasoning"] > 500
    later = Context(messages=(*turn, say("user", text("b"))))
    assert "reasoning" not in rows(account(later, meter))
    assert "reasoning" not in rows(account(Context(messages=turn), meter, usage=Usage(input_fresh=900)))


def test_seals_of_every_turn_count_where_the_model_reads_them_again() -> None:
    meter = make_meter(dialect="gemini", provider="google", model="gemini-3-flash-preview", client=None)
    sealed = Part(kind="tool_call", name="x", text="{}", carries_reasoning=True, sealed_chars=2_000)
    context = Context(messages=(say("user", text("a")), say("assistant", sealed), say("user", text("b"))))
    assert rows(account(context, meter))["reasoning"] > 300


def test_thinking_inside_an_earlier_answer_is_cut_out_where_templates_do_so() -> None:
    answer = "<think>" + "Let me see. " * 50 + "</think>\n\n42"
    context = Context(messages=(say("user", text("a")), say("assistant", text(answer)), say("user", text("b"))))
    for model, kept in (("glm-4.7", False), ("gpt-4o", True)):
        meter = make_meter(dialect="openai-chat", provider="p", model=model, client=None)
        assert (account(context, meter).total.tokens > 100) is kept


def test_results_are_named_by_the_calls_they_answer() -> None:
    call = Part(kind="tool_call", name="bash", text="{}", call_id="1")
    context = Context(
        messages=(
            say("assistant", call),
            say("tool", Part(kind="tool_result", text="out", call_id="1")),
            say("tool", Part(kind="tool_result", text="orphan", call_id="9")),
        )
    )
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client=None)
    outputs = next(section for section in account(context, meter).sections if section.id == "tool_outputs")
    assert [item.name for item in outputs.items] == ["bash", "unknown"]


@pytest.mark.parametrize(("model", "kept"), [("claude-sonnet-4-5", False), ("claude-opus-4-8", True)])
def test_thinking_of_earlier_turns_counts_where_the_model_keeps_it(model: str, kept: bool) -> None:
    thinking = Part(kind="thinking", text="let me think about it", carries_reasoning=True, wire_type="thinking")
    context = Context(messages=(say("user", text("a")), say("assistant", thinking, text("b")), say("user", text("c"))))
    meter = make_meter(dialect="anthropic", provider="anthropic", model=model, client=None)
    assert (rows(account(context, meter))["thinking_summaries"] > 0) is kept


def test_thinking_of_the_current_turn_counts_for_every_model() -> None:
    thinking = Part(kind="thinking", text="let me think about it", carries_reasoning=True, wire_type="thinking")
    call = Part(kind="tool_call", name="x", text="{}", call_id="1")
    result = Part(kind="tool_result", text="y", call_id="1")
    context = Context(messages=(say("user", text("a")), say("assistant", thinking, call), say("tool", result)))
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-sonnet-4-5", client=None)
    assert rows(account(context, meter))["thinking_summaries"] > 0


def test_an_output_schema_is_a_row_of_its_own() -> None:
    meter = make_meter(dialect="openai-responses", provider="openai", model="gpt-5", client=None)
    schema = {"type": "object", "additionalProperties": False}
    breakdown = account(Context(), meter, options=Options(schema=schema, schema_name="answer"))
    assert rows(breakdown)["schema"] == 5


def _tools(breakdown: Breakdown) -> tuple[Item, ...]:
    return next(section.items for section in breakdown.sections if section.id == "tools")


def codes(breakdown: object) -> list[str]:
    return [notice.code for notice in breakdown.warnings]  # type: ignore[attr-defined]


def test_what_makes_numbers_weak_is_said() -> None:
    meter = make_meter(dialect="openai-chat", provider=None, model="nobody knows", client=None)
    sealed = Part(kind="thinking", carries_reasoning=True, wire_type="reasoning")
    picture = Part(kind="image", media=Media(kind="image"))
    context = Context(messages=(say("assistant", sealed), say("user", picture)), complete=False)
    assert codes(account(context, meter)) == ["unknown_model", "incomplete_record", "hidden_reasoning", "unknown_cost"]


def test_a_large_gap_raises_a_question() -> None:
    meter = make_meter(dialect="openai-chat", provider="openai", model="gpt-4o", client=None)
    context = Context(messages=(say("user", text("hi")),))
    assert codes(account(context, meter, usage=Usage(input_fresh=5_000))) == ["large_gap"]
    assert codes(account(context, meter, usage=Usage(input_fresh=20))) == []
