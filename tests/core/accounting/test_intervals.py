"""Intervals of whole requests."""

from __future__ import annotations

import pytest

from tests.core.accounting.tools import PING
from ullage.core.accounting import account, make_meter
from ullage.core.accounting.intervals import bounds
from ullage.core.accounting.options import NO_OPTIONS, Options
from ullage.core.content import Context, Media, Message, Part
from ullage.core.profiles import Interval

KNOWN = Interval(-0.1, 0.2, samples=50, recordings=20, largest=1_000, measured=True)
HELLO = Message(role="user", parts=(Part(kind="text", text="Hello world"),))


def test_the_measured_error_bounds_a_total() -> None:
    assert bounds("tools", 1_000, 990, 1_010, KNOWN) == (900, 1_200, True)


def test_far_beyond_what_was_measured_the_wider_bounds_stand() -> None:
    assert bounds("tools", 10_000, 8_000, 11_000, KNOWN) == (8_000, 12_000, False)
    assert bounds("tools", 4_000, 0, 9_000, KNOWN) == (3_600, 4_800, True)


def test_what_is_guessed_has_the_bounds_of_its_parts() -> None:
    assert bounds("guessed", 1_000, 300, 5_000, KNOWN) == (300, 5_000, False)


@pytest.mark.parametrize(
    ("context", "options", "content"),
    [
        (Context(messages=(HELLO,)), NO_OPTIONS, "text"),
        (Context(messages=(HELLO,), tools=(PING,)), NO_OPTIONS, "tools"),
        (Context(messages=(HELLO,)), Options(schema={"type": "object"}), "schema"),
        (
            Context(messages=(HELLO, Message(role="assistant", parts=(Part(kind="tool_call", name="x", text="{}"),)))),
            NO_OPTIONS,
            "calls",
        ),
        (
            Context(
                messages=(
                    Message(role="user", parts=(Part(kind="image", media=Media(kind="image", width=9, height=9)),)),
                )
            ),
            NO_OPTIONS,
            "media",
        ),
        (
            Context(messages=(Message(role="user", parts=(Part(kind="image", media=Media(kind="image")),)),)),
            NO_OPTIONS,
            "guessed",
        ),
        (
            Context(
                messages=(
                    Message(
                        role="assistant",
                        parts=(
                            Part(kind="thinking", carries_reasoning=True, sealed_chars=4_000, wire_type="reasoning"),
                        ),
                    ),
                )
            ),
            NO_OPTIONS,
            "sealed",
        ),
    ],
    ids=["text", "tools", "schema", "calls", "media", "guessed", "sealed"],
)
def test_a_total_tells_what_made_it_hard(context: Context, options: Options, content: str) -> None:
    meter = make_meter(dialect="openai-responses", provider="openai", model="gpt-5.4", client=None)
    total = account(context, meter, options=options).total
    assert total.content == content
    assert total.low <= total.tokens <= total.high


def test_exact_text_has_no_interval_and_an_unknown_model_a_wide_one() -> None:
    exact = account(
        Context(messages=(HELLO,)), make_meter(dialect="openai-chat", provider="openai", model="gpt-4o", client=None)
    )
    guess = account(
        Context(messages=(HELLO,)), make_meter(dialect="openai-chat", provider=None, model="nobody", client=None)
    )
    assert (exact.total.low, exact.total.high, exact.total.measured) == (exact.total.tokens, exact.total.tokens, True)
    assert guess.total.low < guess.total.tokens < guess.total.high
    assert not guess.total.measured
