"""Thinking that holds for one conversation alone."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from ullage.testing.binding import sign
from ullage.testing.dialects.events import seal
from ullage.testing.strict import find_refusal

BOUND = "claude-fable-5-1"


def ask(count: int, model: str = BOUND) -> dict[str, Any]:
    """A conversation with so many answers, each signed for what stood before it, and a last question."""
    payload: dict[str, Any] = {"model": model, "system": "Be brief.", "tools": [{"name": "b"}, {"name": "a"}]}
    payload["messages"] = [{"role": "user", "content": "Question 0."}]
    for number in range(count):
        thought = f"Thought {number}."
        signed = {"type": "thinking", "thinking": thought, "signature": sign(thought, payload)}
        answer = {"role": "assistant", "content": [signed, {"type": "text", "text": f"Answer {number}."}]}
        payload["messages"] += [answer, {"role": "user", "content": f"Question {number + 1}."}]
    return payload


def strip(payload: dict[str, Any], *numbers: int) -> dict[str, Any]:
    """The conversation without the thinking of these answers."""
    payload = deepcopy(payload)
    for number in numbers:
        del payload["messages"][2 * number + 1]["content"][0]
    return payload


def mark(payload: dict[str, Any]) -> None:
    payload["messages"][0]["content"] = [
        {"type": "text", "text": "Question 0.", "cache_control": {"type": "ephemeral"}}
    ]


def turn_tools(payload: dict[str, Any]) -> None:
    payload["tools"].reverse()


def change_system(payload: dict[str, Any]) -> None:
    payload["system"] = "Be long."


def drop_turn(payload: dict[str, Any]) -> None:
    del payload["messages"][:2]


def edit_question(payload: dict[str, Any]) -> None:
    payload["messages"][2]["content"] = "Another question."


def drop_tool(payload: dict[str, Any]) -> None:
    del payload["tools"][0]


@pytest.mark.parametrize("change", [mark, turn_tools])
def test_marks_and_the_order_of_tools_do_not_count(change: Callable[[dict[str, Any]], None]) -> None:
    payload = ask(3)
    change(payload)
    assert find_refusal("anthropic", payload) is None


@pytest.mark.parametrize("change", [change_system, drop_turn, edit_question, drop_tool])
def test_what_changes_before_thinking_makes_it_useless(change: Callable[[dict[str, Any]], None]) -> None:
    payload = ask(3)
    assert find_refusal("anthropic", payload) is None
    change(payload)
    refusal = find_refusal("anthropic", payload)
    assert refusal is not None and "bound to a different conversation" in refusal
    payload["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
    assert find_refusal("anthropic", payload) == refusal
    payload["thinking"]["block_binding"]["prefix_mismatch_behavior"] = "drop_block"
    assert find_refusal("anthropic", payload) is None


@pytest.mark.parametrize(
    ("left_out", "taken"), [((0,), True), ((0, 1), True), ((0, 1, 2), True), ((1,), False), ((2,), True)]
)
def test_the_oldest_thinking_may_leave_but_none_between_others(left_out: tuple[int, ...], taken: bool) -> None:
    assert (find_refusal("anthropic", strip(ask(3), *left_out)) is None) == taken


@pytest.mark.parametrize(
    "model",
    [
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-mythos-5-2",
        "claude-opus-5-5-20260922",
        "us.anthropic.claude-sonnet-5-5-v1:0",
        "anthropic/claude-haiku-5.5",
    ],
)
def test_models_that_bind(model: str) -> None:
    payload = ask(2, model)
    drop_turn(payload)
    assert find_refusal("anthropic", payload)


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-sonnet-5", "claude-mythos-5-1", "claude-haiku-4-5"])
def test_models_that_do_not(model: str) -> None:
    payload = ask(2, model)
    assert payload["messages"][1]["content"][0]["signature"] == seal("Thought 0.")
    drop_turn(payload)
    assert find_refusal("anthropic", payload) is None


def test_thinking_of_a_model_that_does_not_bind_is_taken_by_one_that_does() -> None:
    payload = ask(2, "claude-opus-5")
    drop_turn(payload)
    assert find_refusal("anthropic", {**payload, "model": BOUND}) is None
