"""Which counts can be true: between a token for 20 characters and one for each, and what vendors add unseen."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ullage.core.accounting import SHAPES, read_payload
from ullage.core.accounting.plausibility import plausible_bounds
from ullage.core.content import Context, Media, Message, Part, ToolSpec
from ullage.testing import make_tools


def text(words: str, kind: str = "text") -> Context:
    return Context(messages=(Message(role="user", parts=(Part(kind=kind, text=words),)),))  # type: ignore[arg-type]


def test_a_proxy_that_answers_one_for_each_tool_is_refused() -> None:
    """Section 19, item 28."""
    bounds = plausible_bounds(Context(tools=make_tools(1)), "anthropic")
    assert bounds.refusal(1) is not None


@pytest.mark.parametrize(
    ("tokens", "can_be_true"), [(0, False), (49, False), (50, True), (250, True), (1_000, True), (5_000, False)]
)
def test_a_thousand_characters_are_between_fifty_and_a_thousand_tokens(tokens: int, can_be_true: bool) -> None:
    assert (plausible_bounds(text("x" * 1_000), "anthropic").refusal(tokens) is None) == can_be_true


def test_the_hidden_block_of_a_small_tool_is_no_fault() -> None:
    """Section 7: Claude Opus 4.7 adds 804 tokens with the first tool that must be called."""
    assert plausible_bounds(Context(tools=make_tools(1)), "anthropic").refusal(8 + 804 + 60) is None


def test_the_smallest_request_may_count_its_frame() -> None:
    """Section 23: 679 tokens beside a short message are the most recorded."""
    assert plausible_bounds(text("hi"), "openai-chat").refusal(687) is None
    assert plausible_bounds(text("hi"), "openai-chat").refusal(0) is not None


def test_characters_beyond_ascii_may_cost_several_tokens() -> None:
    assert plausible_bounds(text("字" * 1_000), "gemini").refusal(2_500) is None


def test_thinking_may_be_stripped_and_deferred_tools_are_not_loaded() -> None:
    assert plausible_bounds(text("x" * 10_000, "thinking"), "anthropic").refusal(12) is None
    deferred = ToolSpec(name="later", description="x" * 10_000, deferred=True)
    assert plausible_bounds(Context(tools=(deferred,)), "anthropic").refusal(12) is None


@pytest.mark.parametrize(
    "part",
    [
        Part(kind="image", media=Media(kind="image")),
        Part(kind="thinking", sealed_chars=800),
        Part(kind="tool_result", parts=(Part(kind="image", media=Media(kind="image")),)),
    ],
    ids=["picture", "hidden reasoning", "picture in a result"],
)
def test_parts_of_unknown_cost_have_no_upper_bound(part: Part) -> None:
    assert plausible_bounds(Context(messages=(Message(role="user", parts=(part,)),)), "anthropic").most is None


@pytest.mark.shared
def test_what_providers_really_counted_is_believed(shared_data: Path) -> None:
    """The one exception answered in several passes (reasoning mode `pro`) and counted each."""
    refused, seen = [], 0
    for line in (shared_data / "token_ground_truth.jsonl").read_bytes().splitlines():
        row = msgspec.json.decode(line)
        if row["kind"] == "request" and row["api"] in SHAPES:
            seen += 1
            context = read_payload(msgspec.json.encode(row["payload"]), row["api"]).context
            if plausible_bounds(context, row["api"]).refusal(row["tokens"]) is not None:
                refused.append(row["source"].rpartition("/")[2])
    assert seen > 1_500
    assert refused == ["test_openai_responses_reasoning_mode_pro.yaml"]


def test_a_refusal_says_what_was_to_be_expected() -> None:
    refusal = plausible_bounds(text("x" * 1_000), "anthropic").refusal(1)
    assert refusal == "a count of 1 is too low for 1,000 characters: 50 tokens are the least"
