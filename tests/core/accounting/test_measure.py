from __future__ import annotations

import pytest

from ullage.core.accounting import make_meter, measure_message, measure_system, measure_tool
from ullage.core.content import Media, Message, Part, ToolSpec
from ullage.core.tokens import load_vocabulary

from .tools import PING

O200K = load_vocabulary("o200k_base")
GPT = make_meter(dialect="openai-chat", provider="openai", model="gpt-4o", client=None)
GPT_5 = make_meter(dialect="openai-responses", provider="openai", model="gpt-5.6", client=None)
CLAUDE = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client="pi")
CHARS = make_meter(
    dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client=None, estimator="chars-v1"
)


def say(text: str, role: str = "user") -> Message:
    return Message(role=role, parts=(Part(kind="text", text=text, wire_type="text"),))  # type: ignore[arg-type]


def test_a_message_counts_its_text_and_four_around_it() -> None:
    measure = measure_message(say("Hello world"), GPT)
    assert [(entry.section, entry.tokens, entry.chars) for entry in measure.entries] == [("messages", 2, 11)]
    assert measure.frame == 4


def test_an_exact_family_has_no_interval_and_an_estimated_one_has() -> None:
    exact = measure_message(say("Hello world " * 50), GPT).entries[0]
    estimated = measure_message(say("Hello world " * 50), CLAUDE).entries[0]
    assert exact.low == exact.tokens == exact.high
    assert estimated.low < estimated.tokens < estimated.high
    assert estimated.tokens == round(exact.tokens * 1.6)


def test_files_skills_and_the_rest_of_a_prompt_add_up_to_the_whole() -> None:
    skill = "<skill><name>s</name><description>d</description><location>l</location></skill>"
    text = (
        "You are Pi.\n<project_context>\n"
        '<project_instructions path="/p/AGENTS.md">\nUse tabs.\n</project_instructions>\n'
        f"</project_context>\n<skills>\nSome\n<available_skills>\n{skill}\n</available_skills>\n</skills>\nBye."
    )
    for role in ("system", "user"):
        measure = measure_system(text, GPT) if role == "system" else measure_message(say(text), GPT)
        sections = [(entry.section, entry.name) for entry in measure.entries]
        rest = ("system", "prompt") if role == "system" else ("messages", "user text")
        assert sections == [rest, ("context", "/p/AGENTS.md"), ("skills", "s"), ("skills", "")]
        assert sum(entry.tokens for entry in measure.entries) == O200K.count(text)
        assert sum(entry.chars for entry in measure.entries) == len(text)


def test_what_a_model_says_is_not_searched_for_instruction_files() -> None:
    text = '<project_context>\n<project_instructions path="/p">\nx\n</project_instructions>\n</project_context>'
    assert [entry.section for entry in measure_message(say(text, "assistant"), GPT).entries] == ["messages"]


def test_calls_and_results_bring_their_own_frame() -> None:
    call = Message(role="assistant", parts=(Part(kind="tool_call", name="ping", text='{"host":"x"}', call_id="1"),))
    result = Message(role="tool", parts=(Part(kind="tool_result", text="pong", call_id="1"),))
    measured_call, measured_result = measure_message(call, GPT_5), measure_message(result, GPT_5)
    assert (measured_call.frame, measured_result.frame) == (10 + O200K.count("ping"), 10)
    assert measured_call.entries[0].tokens == O200K.count("ping") + O200K.count('{"host":"x"}')
    assert (measured_result.entries[0].section, measured_result.results_only) == ("tool_outputs", True)


def test_sealed_reasoning_is_sized_by_its_seal_where_that_is_known() -> None:
    sealed = Part(kind="thinking", text="", carries_reasoning=True, sealed_chars=6_000, wire_type="reasoning")
    message = Message(role="assistant", parts=(sealed,))
    measure = measure_message(message, GPT_5)
    assert (measure.entries, measure.sealed, measure.carries, measure.frame) == ((), 0, True, 0)
    assert 600 < measure.sealed_tokens < 1_100
    chars = make_meter(dialect=None, provider=None, model=None, client=None, estimator="chars-v1")
    assert (measure_message(message, chars).sealed, measure_message(message, chars).sealed_tokens) == (1, 0)


def test_signatures_of_claude_cost_nothing() -> None:
    signed = Part(kind="thinking", text="Hm.", carries_reasoning=True, sealed_chars=6_000, wire_type="thinking")
    measure = measure_message(Message(role="assistant", parts=(signed,)), CLAUDE)
    assert (measure.sealed, measure.sealed_tokens, measure.carries) == (0, 0, True)


def test_a_summary_of_sealed_thinking_is_no_part_of_the_prompt() -> None:
    part = Part(kind="thinking", text="I thought", carries_reasoning=True, wire_type="reasoning")
    entry = measure_message(Message(role="assistant", parts=(part,)), GPT_5).entries[0]
    assert (entry.section, entry.tokens, entry.chars) == ("thinking_summaries", 0, 9)


def test_a_picture_counts_by_its_size_and_shows_a_range_when_it_is_unknown() -> None:
    known = Part(kind="image", media=Media(kind="image", width=128, height=128))
    unknown = Part(kind="image", media=Media(kind="image", size_bytes=90_000))
    sized = measure_message(Message(role="user", parts=(known,)), CLAUDE)
    ranged = measure_message(Message(role="user", parts=(unknown,)), CLAUDE)
    assert (sized.entries[0].tokens, sized.unknown) == (28, 0)
    assert ranged.entries[0].low < ranged.entries[0].tokens < ranged.entries[0].high
    assert ranged.unknown == 1


def test_a_picture_inside_a_result_belongs_to_the_tool() -> None:
    picture = Part(kind="image", media=Media(kind="image", width=128, height=128))
    result = Part(kind="tool_result", parts=(Part(kind="text", text="here"), picture), call_id="1")
    entry = measure_message(Message(role="tool", parts=(result,)), CLAUDE).entries[0]
    assert (entry.section, entry.chars) == ("tool_outputs", 4)
    assert entry.tokens == 28 + round(1.6 * O200K.count("here"))


@pytest.mark.parametrize(("pages", "tokens"), [(1, 2_500), (4, 10_000)])
def test_a_document_counts_by_its_pages(pages: int, tokens: int) -> None:
    part = Part(kind="document", media=Media(kind="document", pages=pages))
    assert measure_message(Message(role="user", parts=(part,)), CLAUDE).entries[0].tokens == tokens


def test_a_deferred_tool_costs_nothing_and_says_what_it_would_cost() -> None:
    tool = ToolSpec(name="t", description="d", parameters={"type": "object"}, deferred=True)
    entry = measure_tool(tool, CLAUDE).entries[0]
    assert (entry.tokens, entry.method) == (0, "deferred")
    assert entry.loaded_tokens is not None
    assert entry.loaded_tokens > 0


def test_an_inactive_tool_costs_nothing() -> None:
    entry = measure_tool(ToolSpec(name="t", active=False), CLAUDE).entries[0]
    assert (entry.tokens, entry.method) == (0, "inactive")


def test_members_of_a_namespace_are_tools_of_their_own() -> None:
    space = ToolSpec(name="functions", kind="namespace", tools=(PING, PING))
    alone = measure_tool(PING, GPT_5).entries[0]
    entries = measure_tool(space, GPT_5).entries
    assert [(entry.name, entry.tokens) for entry in entries] == [("functions.ping", alone.tokens)] * 2


def test_tools_sent_as_an_item_are_tools() -> None:
    text = (
        '[{"type":"namespace","name":"ns","tools":[{"type":"function","name":"ping","parameters":{"type":"object"}}]}]'
    )
    part = Part(kind="other", text=text, wire_type="additional_tools")
    entries = measure_message(Message(role="developer", parts=(part,)), GPT_5).entries
    assert [(entry.section, entry.name) for entry in entries] == [("tools", "ns.ping")]


def test_an_item_of_tools_that_cannot_be_read_counts_as_it_stands() -> None:
    part = Part(kind="other", text="[{", wire_type="additional_tools")
    assert measure_message(Message(role="developer", parts=(part,)), GPT_5).entries[0].section == "messages"


def test_a_tool_of_the_provider_has_a_cost_that_is_not_known() -> None:
    measure = measure_tool(ToolSpec(name="web_search", kind="hosted"), GPT_5)
    assert (measure.entries[0].tokens, measure.unknown) == (0, 1)


def test_chars_v1_wraps_a_message_as_the_planner_does() -> None:
    """`user`, one text block `Hello world`: 8 + 1 + (3 + 4)."""
    measure = measure_message(say("Hello world"), CHARS)
    assert measure.frame + measure.entries[0].tokens == 8 + 1 + 3 + 4


def test_chars_v1_counts_a_result_as_the_planner_does() -> None:
    """Tool result `read` with one text `ok`: 17."""
    part = Part(kind="tool_result", name="read", text="ok")
    measure = measure_message(Message(role="tool", parts=(part,)), CHARS)
    assert measure.frame + measure.entries[0].tokens == 17


def test_chars_v1_counts_one_call_as_the_planner_does() -> None:
    part = Part(kind="tool_call", name="read", text='{"path":"a.ts"}')
    measure = measure_message(Message(role="assistant", parts=(part,)), CHARS)
    assert measure.frame + measure.entries[0].tokens == 20


def test_the_key_of_a_meter_changes_with_all_that_changes_a_measure() -> None:
    base = {"dialect": "anthropic", "provider": "anthropic", "model": "claude-opus-4-8", "client": "pi"}
    others = [
        {**base, "dialect": "openai-chat"},
        {**base, "model": "claude-opus-4-5"},
        {**base, "client": "codex"},
        {**base, "estimator": "o200k-base-v1"},
    ]
    keys = {make_meter(**facts).key for facts in (base, *others)}  # type: ignore[arg-type]
    assert len(keys) == 5
    assert make_meter(**{**base, "model": "claude-fable-5"}).key == make_meter(**base).key  # type: ignore[arg-type]


def test_an_attachment_of_the_client_opens_no_turn() -> None:
    attachment = Message(role="user", parts=(Part(kind="text", text="x", wire_type="skill_listing"),))
    assert not measure_message(attachment, CLAUDE).opens_turn
    assert measure_message(say("x"), CLAUDE).opens_turn
