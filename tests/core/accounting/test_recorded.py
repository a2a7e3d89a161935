"""Recorded conversations: accounting specification, sections 8, 9, 11 and 24."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.core.accounting import (
    Breakdown,
    CallFacts,
    Measure,
    Record,
    account_recorded,
    make_meter,
    measure_message,
    measure_system,
)
from ullage.core.content import Message, Part, Usage

CLAUDE = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client="pi")


def say(role: str, words: str) -> Message:
    return Message(role=role, parts=(Part(kind="text", text=words, wire_type="text"),))  # type: ignore[arg-type]


def call(name: str = "bash") -> Message:
    return Message(role="assistant", parts=(Part(kind="tool_call", name=name, text="{}", call_id="1"),))


def result(words: str) -> Message:
    return Message(role="tool", parts=(Part(kind="tool_result", text=words, call_id="1"),))


def made(prompt: int, start: int, *, cached: int = 0, output: int = 40, **facts: Any) -> CallFacts:
    reasoning = facts.pop("reasoning", None)
    usage = Usage(input_fresh=prompt - cached, cache_read=cached, output=output, reasoning=reasoning)
    return CallFacts(
        usage=usage, **{"provider": "anthropic", "api": "x", "model": "claude-opus-4-8", "start": start, **facts}
    )


def measured(messages: list[Message]) -> list[Measure]:
    return [measure_message(message, CLAUDE) for message in messages]


def breakdown_of(messages: list[Message], record: Record, **more: Any) -> Breakdown:
    found = account_recorded(CLAUDE, **{"system": [], "tools": [], **more}, messages=measured(messages), record=record)
    assert sum(section.tokens for section in found.sections) + found.gap == found.total.tokens
    return found


def rows(breakdown: Breakdown) -> dict[str, int]:
    return {section.id: section.tokens for section in breakdown.sections}


def codes(breakdown: Breakdown) -> list[str]:
    return [notice.code for notice in breakdown.warnings]


CONVERSATION = [say("user", "hi"), call(), result("x" * 1_000)]
STEPS = (made(10_000, 1, reply=(1,)), made(16_040, 3, cached=9_984, reply=(3,)))


def test_nothing_behind_the_last_call_leaves_its_usage_as_the_total() -> None:
    breakdown = breakdown_of(CONVERSATION, Record(calls=STEPS, complete=False))
    assert (breakdown.total.kind, breakdown.total.tokens, breakdown.output) == ("usage", 16_040, 40)


def test_its_own_answer_is_nothing_behind_it() -> None:
    breakdown = breakdown_of([*CONVERSATION, say("assistant", "done")], Record(calls=STEPS, complete=False))
    assert (breakdown.total.kind, breakdown.total.tokens) == ("usage", 16_040)


def test_what_was_added_since_is_estimated_upon_the_last_usage() -> None:
    behind = [say("assistant", "done"), say("user", "and now?")]
    breakdown = breakdown_of([*CONVERSATION, *behind], Record(calls=STEPS, complete=False))
    new = measure_message(behind[1], CLAUDE).entries[0].tokens
    assert breakdown.total.kind == "estimate"
    assert breakdown.total.tokens == 16_040 + 4 + 40 + new


def test_an_output_that_was_logged_too_small_is_counted_from_its_text() -> None:
    answer = say("assistant", "a long answer " * 200)
    calls = (made(1_000, 1, output=1, reply=(1,), output_unsure=True),)
    breakdown = breakdown_of([say("user", "hi"), answer, say("user", "go on")], Record(calls=calls, complete=False))
    assert breakdown.total.tokens > 1_000 + measure_message(answer, CLAUDE).entries[0].tokens


def test_tool_outputs_are_measured_where_the_prompts_prove_them() -> None:
    breakdown = breakdown_of(CONVERSATION, Record(calls=STEPS, complete=False))
    outputs = next(section for section in breakdown.sections if section.id == "tool_outputs")
    assert (outputs.tokens, outputs.method, outputs.measured_share) == (6_000, "measured growth", 1.0)


def test_tool_outputs_are_estimated_where_a_user_message_joined() -> None:
    joined = [say("user", "hi"), call(), result("x" * 1_000), say("user", "stop")]
    calls = (STEPS[0], made(16_040, 4, cached=9_984, reply=(4,)))
    outputs = next(
        section
        for section in breakdown_of(joined, Record(calls=calls, complete=False)).sections
        if section.id == "tool_outputs"
    )
    assert outputs.measured_share is None
    assert outputs.tokens < 1_000


def test_several_results_between_two_calls_share_the_growth_exactly() -> None:
    messages = [say("user", "hi"), call(), result("x" * 10), result("y" * 1_000), result("")]
    calls = (STEPS[0], made(16_041, 5, cached=9_984, reply=(5,)))
    assert rows(breakdown_of(messages, Record(calls=calls, complete=False)))["tool_outputs"] == 6_001


def test_what_the_file_leaves_out_is_measured_from_the_first_prompt() -> None:
    breakdown = breakdown_of(CONVERSATION, Record(calls=STEPS, complete=False))
    first = measure_message(CONVERSATION[0], CLAUDE)
    said = first.frame + first.entries[0].tokens + CLAUDE.rule.opening()
    assert rows(breakdown)["unrecorded"] == 10_000 - said
    assert "incomplete_record" not in codes(breakdown)
    assert abs(breakdown.gap) < 100


def test_a_prompt_that_the_file_holds_is_not_measured_twice() -> None:
    system = [measure_system("You are an agent. " * 100, CLAUDE)]
    breakdown = breakdown_of(CONVERSATION, Record(calls=STEPS, complete=False), system=system)
    assert rows(breakdown)["unrecorded"] + rows(breakdown)["system"] == pytest.approx(10_000, abs=30)


def test_a_file_without_its_beginning_proves_no_harness() -> None:
    breakdown = breakdown_of(CONVERSATION, Record(calls=STEPS, complete=False, from_start=False))
    assert "unrecorded" not in rows(breakdown)
    assert "incomplete_record" in codes(breakdown)


def test_after_a_compaction_without_usage_the_sum_is_the_total() -> None:
    breakdown = breakdown_of([say("user", "summary")], Record(compacted=True))
    assert (breakdown.total.kind, breakdown.gap) == ("estimate", 0)
    assert codes(breakdown) == ["heuristic_fallback"]


def test_a_compaction_record_of_the_client_is_used_with_its_source() -> None:
    breakdown = breakdown_of([say("user", "summary")], Record(compacted=True, tokens_after=5_000))
    assert (breakdown.total.tokens, breakdown.total.method) == (5_000, "the client's compaction record")


def test_after_a_switch_the_old_number_stays_and_says_whose_it_is() -> None:
    calls = tuple(
        made(call.prompt, call.start, cached=call.usage.cache_read or 0, reply=call.reply, model="claude-fable-5")
        for call in STEPS
    )
    breakdown = breakdown_of(CONVERSATION, Record(calls=calls, complete=False), window=200_000)
    assert (breakdown.total.tokens, breakdown.window) == (16_040, None)
    assert codes(breakdown)[-1] == "pre_switch"
    outputs = next(section for section in breakdown.sections if section.id == "tool_outputs")
    assert outputs.measured_share is None


def test_reported_reasoning_that_is_kept_is_a_row_and_takes_the_place_of_thinking() -> None:
    thinking = Part(kind="thinking", text="hm " * 50, carries_reasoning=True, wire_type="thinking")
    answer = Message(role="assistant", parts=(thinking, Part(kind="tool_call", name="x", text="{}", call_id="1")))
    messages = [say("user", "hi"), answer, result("ok")]
    calls = (
        made(1_000, 1, reply=(1,), output=900, reasoning=800),
        made(1_950, 3, cached=990, reply=(3,), output=60, reasoning=25),
    )
    breakdown = breakdown_of(messages, Record(calls=calls, complete=False))
    assert rows(breakdown)["reasoning"] == 800
    assert rows(breakdown)["thinking_summaries"] == 0
    assert "hidden_reasoning" not in codes(breakdown)
    onward = breakdown_of([*messages, say("assistant", "a"), say("user", "b")], Record(calls=calls, complete=False))
    assert rows(onward)["reasoning"] == 825


numbers = st.integers(0, 30_000)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(numbers, numbers, numbers, st.booleans()), max_size=5), st.booleans(), st.booleans())
def test_rows_and_gap_are_the_total_whatever_usage_says(
    steps: list[tuple[int, int, int, bool]], complete: bool, more: bool
) -> None:
    messages = [say("user", "hi")]
    calls = []
    for prompt, cached, output, is_result in steps:
        calls.append(
            made(
                prompt,
                len(messages),
                cached=min(cached, prompt),
                output=output,
                reply=(len(messages),),
                reasoning=output // 2,
            )
        )
        messages += [call(), result("out " * 20) if is_result else say("user", "more")]
    if not more and calls:
        messages = messages[: calls[-1].start]
    breakdown_of(messages, Record(calls=tuple(calls), complete=complete))
