"""What an answer and the messages behind it add to the next prompt (accounting specification, sections 8 to 10, and 24)."""

from __future__ import annotations

import pytest

from ullage.core.accounting import Measure, make_meter, measure_message
from ullage.core.calibration import Addition, addition_after, dropped_reasoning
from ullage.core.content import Message, Part, Usage

METER = make_meter(dialect="openai-responses", provider="openai", model="gpt-5.5", client="codex")


def weighed(role: str, *parts: Part) -> Measure:
    return measure_message(Message(role=role, parts=parts), METER)  # type: ignore[arg-type]


ANSWER = weighed("assistant", Part(kind="text", text="I will look at it."))
SEALED = weighed("assistant", Part(kind="thinking", carries_reasoning=True, sealed_chars=900, wire_type="reasoning"))
CALLED = weighed("assistant", Part(kind="tool_call", name="read", text='{"path":"a.ts"}'))
RESULT = weighed("tool", Part(kind="tool_result", text="one two three"))
PROMPT = weighed("user", Part(kind="text", text="And now?"))
USAGE = Usage(input_fresh=100, cache_read=900, output=60, reasoning=40)


def test_the_prompt_is_the_whole_input() -> None:
    assert addition_after(USAGE, reply=[SEALED, ANSWER], new=[PROMPT]).prompt == 1_000


def test_new_texts_count_by_the_meter_and_every_result_and_message_is_an_item() -> None:
    two = weighed("tool", Part(kind="tool_result", text="one"), Part(kind="tool_result", text="two three"))
    added = addition_after(USAGE, reply=[SEALED, CALLED], new=[two, PROMPT])
    assert (added.new_tokens, added.items) == (1 + 2 + 3, 3)


def test_reported_reasoning_stays_part_of_an_output_that_carries_it() -> None:
    added = addition_after(USAGE, reply=[SEALED, ANSWER], new=[PROMPT])
    assert (added.output, added.reasoning, added.turn_reasoning) == (60, 40, 40)


def test_reported_reasoning_that_no_part_carries_cannot_come_back() -> None:
    added = addition_after(USAGE, reply=[ANSWER], new=[PROMPT])
    assert (added.output, added.reasoning) == (20, 0)


def test_reasoning_that_is_not_reported_is_what_the_visible_answer_leaves() -> None:
    visible = sum(entry.tokens for entry in ANSWER.entries) + ANSWER.frame
    usage = Usage(input_fresh=10, output=visible + 25)
    assert addition_after(usage, reply=[SEALED, ANSWER], new=[PROMPT]).reasoning == 25


def test_an_output_logged_short_is_counted_and_proves_nothing() -> None:
    usage = Usage(input_fresh=10, output=1)
    added = addition_after(usage, reply=[ANSWER], new=[PROMPT], short_output=True)
    assert added.output == sum(entry.tokens for entry in ANSWER.entries) + ANSWER.frame
    assert added.trap == "short_output"


def test_a_larger_logged_output_is_kept_though_it_may_be_short() -> None:
    usage = Usage(input_fresh=10, output=500)
    assert addition_after(usage, reply=[ANSWER], new=[PROMPT], short_output=True).output == 500


@pytest.mark.parametrize(
    ("new", "ends"),
    [([PROMPT], True), ([RESULT], False), ([RESULT, PROMPT], False), ([], False)],
    ids=["prompt", "result", "interrupted", "nothing"],
)
def test_a_turn_ends_when_the_user_speaks_without_results(new: list[Measure], ends: bool) -> None:
    assert addition_after(USAGE, reply=[SEALED, ANSWER], new=new).ends_turn is ends


@pytest.mark.parametrize(
    ("replay", "in_turn", "at_its_end"), [("all", 0, 0), ("turn", 0, 800), ("never", 50, 50)], ids=str
)
def test_dropped_reasoning_follows_the_rule(replay: str, in_turn: int, at_its_end: int) -> None:
    """Section 10: 750 earlier in the turn, then 50."""
    for ends, expected in ((False, in_turn), (True, at_its_end)):
        added = Addition(prompt=9_000, output=60, new_tokens=5, reasoning=50, turn_reasoning=800, ends_turn=ends)
        assert dropped_reasoning(added, replay) == expected  # type: ignore[arg-type]
