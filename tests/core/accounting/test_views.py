"""What the golden files do not show: odd numbers, long lists, reports without words."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.accounting import VIEWS, Breakdown, account, load_report, make_meter, render_view, report
from ullage.core.content import Context, Message, Part, ToolSpec, Usage

from .tools import PING

METER = make_meter(dialect="openai-chat", provider="openai", model="gpt-4o", client=None)
HELLO = Message(role="user", parts=(Part(kind="text", text="Hello world", wire_type="text"),))


def breakdown_of(**more: Any) -> Breakdown:
    context = Context(messages=(HELLO,), tools=more.pop("tools", ()))
    return account(context, METER, details=True, **more)


def test_a_number_of_the_provider_has_no_tilde_and_an_estimate_has_one() -> None:
    assert "  12.3k tokens" in render_view(
        breakdown_of(usage=Usage(input_fresh=12_345)), "summary", width=80, color=False
    )
    assert " ~0.0k tokens" in render_view(breakdown_of(), "summary", width=80, color=False)


def test_without_a_window_there_is_no_share_and_no_bar() -> None:
    screen = render_view(breakdown_of(), "summary", width=80, color=False)
    assert "ctx" not in screen
    assert "█" not in screen


def test_an_overfull_window_says_by_how_much() -> None:
    screen = render_view(
        breakdown_of(usage=Usage(input_fresh=120_000), window=100_000), "summary", width=80, color=False
    )
    assert "over by 20.0k" in screen
    assert "120.0% / 100k ctx" in screen
    assert "▒" not in screen


def test_a_small_prompt_fills_at_least_one_cell_of_the_bar() -> None:
    assert render_view(breakdown_of(window=1_000_000), "summary", width=80, color=False).count("█") == 1


def test_a_gap_below_zero_keeps_its_sign() -> None:
    screen = render_view(
        breakdown_of(tools=(PING,) * 200, usage=Usage(input_fresh=100)), "summary", width=80, color=False
    )
    assert "~-4" in next(line for line in screen.splitlines() if "Unattributed" in line)


def test_a_long_list_of_tools_ends_with_how_many_more_there_are() -> None:
    tools = tuple(ToolSpec(name=f"tool_{number:02}", parameters={}) for number in range(60))
    screen = render_view(breakdown_of(tools=tools), "compact", width=80, color=False)
    assert "21 more" in screen


def test_tools_stand_by_their_cost_and_then_by_their_name() -> None:
    tools = (ToolSpec(name="b", parameters={}), ToolSpec(name="a", parameters={}), PING)
    lines = render_view(breakdown_of(tools=tools), "compact", width=80, color=False).splitlines()
    names = [line.split()[0] for line in lines if line.startswith("    ")]
    assert names[:4] == ["ping", "tool", "a", "b"]


@pytest.mark.parametrize("view", VIEWS)
def test_a_report_that_was_kept_can_be_shown_without_its_words(view: Any) -> None:
    kept = load_report(report(breakdown_of(tools=(PING,))))
    screen = render_view(kept, view, width=80, color=False)
    assert "Send a ping" not in screen
    assert "Tools (1/1 active)" in screen


def test_an_empty_request_can_be_shown() -> None:
    meter = make_meter(dialect=None, provider=None, model=None, client=None, estimator="chars-v1")
    assert "Total request" in render_view(account(Context(), meter), "summary", width=80, color=False)
