"""One thing that is too big, and a conversation that goes on with another model (faults, section 2)."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.planning.shortening import excerpt
from ullage.core.wire import DIALECTS, Dialect

from .conftest import Managed
from .rig import Planner, Story, words

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def output(lines: int, name: str = "build") -> str:
    """What a tool prints."""
    return "\n".join(f"{name} line {line}: {words(8)}" for line in range(lines))


@every_dialect
async def test_the_newest_output_is_shortened_where_it_alone_is_too_much(dialect: Dialect, managed: Managed) -> None:
    """agent0ai/agent-zero#833: the output of a build overflowed before the history could be compressed."""
    story = Story(dialect)
    story.turn("Hello.", "Hello.")
    asked = story.user("Build it.")
    build = story.exchange(output(600))
    planner = Planner(story, excerpts=True)
    made = planner.within(1_500)
    assert (made.plan.status, made.plan.error) == ("emergency", "mandatory_over_limit")
    assert made.kept >= {asked, *build}
    assert made.plan.tokens <= 1_500
    assert "build line 0:" in str(made.messages) and "build line 599:" in str(made.messages)
    async with managed(1_500) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "emergency")
        assert story.messages[asked] in reply.messages
        assert "build line 0:" in str(reply.messages) and "build line 599:" in str(reply.messages)
        told = (await gate.record(reply)).plan
        assert told is not None and told["tokens"] <= told["limit"]


@every_dialect
async def test_every_request_of_a_loop_is_planned(dialect: Dialect, managed: Managed) -> None:
    """open-webui/open-webui#27599: nothing was planned inside a turn; three huge results made each attempt fail alike."""
    story = Story(dialect)
    asked = story.user("Read them.")
    async with managed(2_500) as gate:
        for number in range(6):
            story.exchange(output(120, f"file {number}"))
            reply = await gate.send(story, x_ullage_session="s")
            assert reply.status == 200
            assert reply.messages[0] == story.messages[asked]
            assert f"file {number} line 0:" in str(reply.messages)
            told = (await gate.record(reply)).plan
            assert told is not None and told["tokens"] <= told["limit"]


@every_dialect
async def test_a_long_paste_is_sent_whole_and_the_history_makes_room(dialect: Dialect, managed: Managed) -> None:
    """earendil-works/pi#128: compaction came too late, after a history of 180k tokens and a paste of 50k."""
    story = Story(dialect)
    for number in range(60):
        story.turn(f"{number} {words(30)}", words(30))
    paste = story.user(output(100, "paste"))
    planner = Planner(story)
    made = planner.within(planner.size(paste) + 200)
    assert made.messages[-1] == story.messages[paste]
    assert len(made.kept) in (3, 5, 7)
    async with managed(planner.size(paste) + 200) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")
        assert reply.messages[-1] == story.messages[paste]


@every_dialect
@pytest.mark.parametrize("limit", [400, 4_000, 40_000])
def test_what_stands_for_a_long_text_is_as_long_as_there_is_room(dialect: Dialect, limit: int) -> None:
    """earendil-works/pi#8845: a summary was capped at 2,048 tokens whatever it stood for."""
    story = Story(dialect)
    story.user("Build it.")
    story.exchange(output(6_000))
    made = Planner(story, excerpts=True).within(limit)
    assert limit * 0.85 <= made.plan.tokens <= limit
    assert excerpt("abc", 2) != "abc"


def switched(dialect: Dialect, model: str, turns: int) -> Story:
    story = Story(dialect)
    if dialect != "gemini":
        story.extra["model"] = model
    for number in range(turns):
        story.user(f"{number} {words(40)}")
        story.exchange(words(40))
        story.assistant(words(40))
    story.user("And now?")
    return story


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
async def test_a_large_session_goes_on_with_a_small_window(dialect: Dialect, managed: Managed) -> None:
    """anthropics/claude-code#52709: a session of 700k tokens was switched to a small window and locked up.

    cortexkit/magic-context#188: the change of the model set the counters to zero, so that nothing was left out."""
    async with managed(1_000, windows={"large": 1_000_000}) as gate:
        large = await gate.send(switched(dialect, "large", 60), x_ullage_session="s")
        first = await gate.record(large)
        assert (large.plan, len(large.messages)) == ("unchanged", len(switched(dialect, "large", 60).messages))
        small = await gate.send(switched(dialect, "small", 61), x_ullage_session="s")
        second = await gate.record(small)
        assert first.session == second.session
        assert (small.status, small.plan) == (200, "managed")
        assert second.plan is not None and second.plan["tokens"] <= second.plan["limit"] < 2_000
        back = await gate.send(switched(dialect, "large", 62), x_ullage_session="s")
        assert (back.status, back.plan) == (200, "unchanged")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_pictures_in_results_are_left_out_with_their_turn_and_never_alone(
    dialect: Dialect, managed: Managed
) -> None:
    """google-gemini/gemini-cli#19853: what one model had recorded with pictures in it was refused by another."""
    story = Story(dialect)
    pictures = []
    for number in range(8):
        story.user(f"Show {number}. {words(30)}")
        pictures.append(story.exchange("there")[-1])
        picture: dict[Dialect, Any] = {
            "openai-chat": {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            "anthropic": {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        }
        blocks = [{"type": "text", "text": "there"}, picture[dialect]]
        if dialect == "anthropic":
            story.messages[-1]["content"][0]["content"] = blocks
        else:
            story.messages[-1]["content"] = blocks
        story.assistant(words(30))
    story.user("And now?")
    async with managed(3_000) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")
        assert all(message in story.messages for message in reply.messages)
        assert 0 < sum(story.messages[index] in reply.messages for index in pictures) < 8
