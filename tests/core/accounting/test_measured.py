"""Worked numbers of the accounting specification, sections 9.1, 9.2 and 10."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ullage.core.accounting import CallFacts, measured_growth, measured_harness, retained_reasoning
from ullage.core.content import Usage
from ullage.core.profiles import reasoning_retention


def make_call(
    prompt: int, *, cached: int = 0, output: int = 0, reasoning: int | None = None, **facts: Any
) -> CallFacts:
    usage = Usage(input_fresh=prompt - cached, cache_read=cached, output=output, reasoning=reasoning)
    return CallFacts(usage=usage, **{"provider": "p", "api": "a", "model": "m", **facts})


BEFORE = make_call(10_000, output=40)
AFTER = make_call(16_040, cached=9_984)


def test_growth_beyond_the_replayed_answer_belongs_to_the_tool_results() -> None:
    assert measured_growth(BEFORE, AFTER) == 6_000


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(BEFORE, make_call(16_040, cached=0), id="nothing read from cache"),
        pytest.param(BEFORE, make_call(16_040, cached=5_000), id="too little read from cache"),
        pytest.param(BEFORE, make_call(16_040, cached=9_984, model="other"), id="another model"),
        pytest.param(BEFORE, make_call(10_030, cached=9_984), id="grew less than the replay"),
        pytest.param(replace(BEFORE, output_unsure=True), AFTER, id="output logged too small"),
    ],
)
def test_growth_proves_nothing_when(before: CallFacts, after: CallFacts) -> None:
    assert measured_growth(before, after) is None


def test_reasoning_that_is_not_carried_is_not_replayed() -> None:
    thoughtful = make_call(10_000, output=40, reasoning=30)
    assert measured_growth(thoughtful, AFTER) == 6_030
    assert measured_growth(replace(thoughtful, carrier=True), AFTER) == 6_000


def test_the_harness_is_the_first_prompt_less_what_was_said() -> None:
    assert measured_harness([make_call(10_000)], prelude_tokens=1) == 9_999


def test_the_harness_is_not_proven_behind_a_long_beginning_or_a_broken_cache() -> None:
    assert measured_harness([], 0) is None
    assert measured_harness([make_call(10_000)], prelude_tokens=4_097) is None
    assert measured_harness([BEFORE, make_call(16_040, cached=5_000)], 1) is None
    assert measured_harness([BEFORE, AFTER], 1) == 9_999


def retained(calls: list[CallFacts], model: str, provider: str = "anthropic") -> int:
    named = [replace(call, model=call.model if call.model != "m" else model) for call in calls]
    found = retained_reasoning(named, reasoning_retention(provider, model), with_anchor=True)
    assert found is not None
    return found.tokens


def thought(reasoning: int, *, turn: int = 0, prompt: int = 10_000, **facts: Any) -> CallFacts:
    return make_call(prompt, output=reasoning, reasoning=reasoning, turn=turn, **{"carrier": True, **facts})


def test_a_model_that_keeps_all_turns_sums_them() -> None:
    assert retained([thought(800), thought(25)], "claude-fable-5") == 825


def test_a_model_that_keeps_the_turn_drops_what_came_before_it() -> None:
    assert retained([thought(100), thought(20, turn=1), thought(30, turn=1)], "claude-opus-4-4") == 50
    assert retained([thought(600), thought(50, turn=1), thought(40, turn=1)], "gpt-5.5", "openai") == 90


def test_reasoning_of_another_model_is_not_counted() -> None:
    assert retained([thought(800, model="claude-fable-5"), thought(25)], "claude-opus-4-8") == 25


def test_encrypted_reasoning_is_kept_over_turns_from_gpt_5_6_on() -> None:
    assert retained([thought(900), thought(100, turn=1)], "gpt-5.6", "openai") == 1_000
    assert retained([thought(900, carrier=False), thought(100)], "gpt-5.6", "openai") == 100


def test_a_history_larger_than_the_prompt_is_not_there() -> None:
    assert retained([thought(900), thought(100, prompt=100)], "gpt-5.6", "openai") == 100


def test_nothing_reported_is_unknown_and_a_reported_zero_is_zero() -> None:
    assert retained_reasoning([make_call(10)], "all", with_anchor=True) is None
    assert retained_reasoning([], "all", with_anchor=True) is None
    assert retained([thought(0)], "gpt-5.6", "openai") == 0


def test_the_anchors_own_reasoning_is_no_part_of_its_prompt() -> None:
    calls = [thought(800), thought(25)]
    found = retained_reasoning(calls, "all", with_anchor=False)
    assert found is not None
    assert (found.tokens, found.calls) == (800, (0,))
