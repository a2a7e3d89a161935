"""`ullage demo`: the main job without keys or network."""

from __future__ import annotations

import itertools
import re

import pytest

from ullage.cli import main
from ullage.testing.story import load_story


def test_the_demo_shows_every_call_and_what_fills_the_window(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    screen = capsys.readouterr().out
    for words in ("cache read", "~/shop/AGENTS.md", "Skill frontmatter (2)", "Tools (4/4 active)", "Total request"):
        assert words in screen


def test_the_demo_plans_the_session_for_a_window_that_is_too_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    plan = capsys.readouterr().out.partition("in managed mode")[2]
    assert "messages are left out" in plan
    assert "The tail begins at message" in plan


def test_the_demo_shows_what_the_session_costs_and_where_it_would_be_routed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    calls, _, route = capsys.readouterr().out.partition("Where `ullage route`")
    costs = [float(cost) for cost in re.findall(r"\$(\d\.\d{4})  (?:tool_calls|end)", calls)]
    taken, uncached = re.findall(r"took \$(\d\.\d{4}); without the prompt cache \$(\d\.\d{4})", calls)[0]
    assert len(costs) == 6 and abs(sum(costs) - float(taken)) < 0.0006
    assert float(uncached) > 1.5 * float(taken)
    assert "Route: z-ai/glm-5.3-flash" in route and "cost of task" in route and "stand in" not in route


def test_the_demo_begins_with_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    """As `ullage context` does, and the README."""
    assert main(["demo"]) == 0
    assert "[Context] [summary] → compact → expanded" in capsys.readouterr().out


def test_the_shipped_session_sends_its_history_again_with_each_call() -> None:
    requests = list(load_story().requests())
    assert len(requests) == 6
    for earlier, later in itertools.pairwise(requests):
        assert len(later["messages"]) > len(earlier["messages"])
        assert later["system"] == earlier["system"]
