"""What the golden files do not show: odd numbers, long lists, reports without words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ullage.core.accounting import VIEWS, Breakdown, account, load_report, make_meter, render_view, report
from ullage.core.content import Context, Message, Part, ToolSpec, Usage
from ullage.core.profiles.heuristics import Defaults, Heuristics, Rule, ToolShape

from .tools import FIND_FILES, PING

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


def test_the_compact_view_has_a_line_for_every_tool_however_many() -> None:
    """Accounting specification, section 13."""
    tools = tuple(ToolSpec(name=f"tool_{number:03}", parameters={}) for number in range(300))
    screen = render_view(breakdown_of(tools=tools), "compact", width=80, color=False)
    assert all(f"    {tool.name} " in screen for tool in tools)


def test_the_chosen_view_is_marked_with_and_without_colour() -> None:
    for view in VIEWS:
        plain = render_view(breakdown_of(), view, width=80, color=False).splitlines()[0]
        assert plain == "[Context] " + " → ".join(f"[{name}]" if name == view else name for name in VIEWS)
        assert f"\x1b[1m[{view}]\x1b[0m" in render_view(breakdown_of(), view, width=80, color=True).splitlines()[0]


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


def inspected(model: str, provider: str, dialect: str, estimator: str = "inspector-v2", **more: Any) -> Breakdown:
    meter = make_meter(
        dialect=dialect, provider=provider, model=model, client=None, estimator=estimator, heuristics=Heuristics(**more)
    )
    return account(Context(messages=(HELLO,), tools=(PING,)), meter, details=True)


@pytest.mark.parametrize(
    ("breakdown", "hint"),
    [
        (
            inspected("claude-opus-4-8", "anthropic", "anthropic"),
            "model anthropic/claude-opus-4-8 · counts ch ÷ 2.6 (Claude 4.7+ heuristic)",
        ),
        (
            inspected("claude-sonnet-4-5", "anthropic", "anthropic"),
            "counts ch ÷ 3.8 · session ÷ 3.5 · tools ÷ 3.3 (Claude 4.5/4.6 heuristic)",
        ),
        (
            inspected("gpt-5.5", "openai-codex", "openai-responses"),
            "counts ch ÷ 4.4 · session ÷ 4 · tools: OpenAI render (OpenAI-Codex heuristic)",
        ),
        (
            inspected("gpt-5.5", "openai-codex", "openai-responses", "inspector-v1"),
            "counts ch ÷ 4 · tools: OpenAI formula, schema text ÷ 6.6 (OpenAI-Codex heuristic)",
        ),
        (
            inspected("m", "ollama", "openai-chat", defaults=Defaults(text_denominator=9)),
            "counts ch ÷ 9 · session ÷ 4 · tools ÷ 4 (fallback chars/4)",
        ),
        (
            inspected("claude-opus-4-8", "anthropic", "anthropic", rules=(Rule(profile="x"), Rule(text_denominator=3))),
            "counts ch ÷ 3 · session ÷ 2.6 · tools ÷ 2.6 (Claude 4.7+ heuristic, by custom rule)",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_the_ratios_are_said_once_in_the_head(breakdown: Breakdown, hint: str) -> None:
    assert hint in "\n".join(render_view(breakdown, "summary", width=120, color=False).splitlines()[:3])


def test_a_head_that_is_too_long_gets_a_line_more() -> None:
    screen = render_view(inspected("claude-sonnet-4-5", "anthropic", "anthropic"), "summary", width=80, color=False)
    assert screen.splitlines()[1:3] == [
        "  model anthropic/claude-sonnet-4-5",
        "  counts ch ÷ 3.8 · session ÷ 3.5 · tools ÷ 3.3 (Claude 4.5/4.6 heuristic)",
    ]


def test_brackets_around_all_tools_are_no_row_but_a_block_that_is_added_once_is() -> None:
    divided = render_view(inspected("claude-opus-4-8", "anthropic", "anthropic"), "compact", width=100, color=False)
    assert "tool block" not in divided
    rendered = render_view(inspected("gpt-5.5", "openai", "openai-responses"), "compact", width=100, color=False)
    assert "tool block" in rendered


@pytest.mark.parametrize("view", ["compact", "expanded"])
def test_a_tool_that_is_not_loaded_shows_what_it_would_cost(view: Any) -> None:
    tools = (PING, replace(FIND_FILES, name="later", deferred=True), replace(FIND_FILES, name="off", active=False))
    screen = render_view(breakdown_of(tools=tools), view, width=100, color=False)
    assert "Tools (1/3 active)" in screen
    assert "(deferred, ~0.1k if loaded)" in next(line for line in screen.splitlines() if "later" in line)
    assert "(inactive, ~0.1k if loaded)" in next(line for line in screen.splitlines() if " off" in line)


def test_a_tool_says_where_the_host_has_it_from() -> None:
    told = replace(PING, source="user · auto · top-level · /home/ann/.pi/agent/extensions/network/ping.ts")
    lines = render_view(breakdown_of(tools=(told,)), "expanded", width=100, color=False).splitlines()
    assert "    ping · user · auto · top-level · ~/.pi/agent/extensions/network/ping.ts" in [
        line.partition("  ~")[0].rstrip() for line in lines
    ]
    narrow = render_view(breakdown_of(tools=(told,)), "expanded", width=70, color=False)
    assert "ping · user · auto · top-level · ~/.pi/agent/exten…/ping.ts" in narrow


def test_coarse_numbers_lose_their_decimals_and_stand_by_their_units() -> None:
    usage = Usage(input_fresh=12_345, output=640)
    screen = render_view(breakdown_of(usage=usage, window=200_000), "summary", width=80, color=False, style="coarse")
    lines = {line.strip().split("  ")[0]: line for line in screen.splitlines() if "tokens" in line}
    assert "12k tokens" in lines["Total request"]
    assert " 0.6k tokens" in lines["Last answer"]
    assert lines["Total request"].index("2k tokens") == lines["Last answer"].index("0.6k tokens")
    assert lines["Total request"].index("(") == lines["Last answer"].index("(")
    assert "free 188k" in screen


def test_a_label_of_a_project_does_not_drive_a_terminal() -> None:
    shapes = {"mine": ToolShape(label="\x1b[31mred", template="$name")}
    rule = Rule(label="\x1b[2J", tool_numerator="mine")
    breakdown = inspected("claude-opus-4-8", "anthropic", "anthropic", tool_shapes=shapes, rules=(rule,))
    for view in VIEWS:
        assert "\x1b" not in render_view(breakdown, view, width=100, color=False)
