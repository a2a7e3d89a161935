"""Plans that are made again and again, or gain nothing (faults, section 2)."""

from __future__ import annotations

import json

import pytest

from ullage.core.planning.shortening import excerpt
from ullage.core.wire import DIALECTS, Dialect

from .conftest import Managed
from .rig import Planner, Story, words

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def readings(dialect: Dialect, files: int = 3) -> Story:
    """A request and readings of files, each larger than the limits of these tests."""
    story = Story(dialect)
    story.user("Compare them.")
    for number in range(files):
        story.exchange("\n".join(f"file {number} line {line}: {words(8)}" for line in range(300)))
    return story


@every_dialect
async def test_readings_larger_than_the_window_are_shortened_and_not_forgotten(
    dialect: Dialect, managed: Managed
) -> None:
    """openai/codex#13279: reading a few files overflowed a small window at once, and the work began anew each time."""
    story = readings(dialect)
    planner = Planner(story, excerpts=True)
    for limit in (600, 1_500, 3_000):
        made = planner.within(limit)
        assert made.kept == set(range(len(story.messages)))
        assert len(made.plan.replaced) == 3
        assert all(f"file {number} line" in str(made.messages) for number in range(3))
        assert made.plan.tokens <= limit
    async with managed(6_500, artifacts={"inline_chars": 2_400, "excerpt_chars": 300}) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")
        assert len(reply.messages) == len(story.messages)
        assert all(f"file {number} line" in str(reply.messages) for number in range(3))


@every_dialect
async def test_what_is_still_free_after_planning_is_told(dialect: Dialect, managed: Managed) -> None:
    """openai/codex#35032: compaction left a thread four fifths full, and nobody was told that it would run again soon."""
    story = Story(dialect)
    story.turn(words(300), words(300))
    story.user(words(500))
    planner = Planner(story)
    made = planner.within(700)
    assert made.plan.ullage == 700 - made.plan.tokens
    async with managed(700) as gate:
        told = (await gate.record(await gate.send(story))).plan
    assert told is not None
    assert told["ullage"] == told["limit"] - told["tokens"] > 0
    assert told["tokens"] > 500


@every_dialect
async def test_a_fixed_part_that_does_not_fit_is_told_once_and_sent_once(dialect: Dialect, managed: Managed) -> None:
    """anomalyco/opencode#27924, #48828: instructions and tools alone were above the limit; compaction ran in a circle."""
    system = {
        "openai-chat": {},
        "openai-responses": {"instructions": words(500)},
        "anthropic": {"system": words(500)},
        "gemini": {"systemInstruction": {"parts": [{"text": words(500)}]}},
    }[dialect]
    story = Story(dialect, **system)
    if dialect == "openai-chat":
        story.add({"role": "system", "content": words(500)})
    story.turn(words(50), words(50))
    story.user("And now?")
    planned = [Planner(story).within(300) for _ in range(2)]
    error = "fixed_over_limit" if system else "mandatory_over_limit"
    assert [made.plan.error for made in planned] == [error, error]
    assert planned[0] == planned[1]
    async with managed(300) as gate:
        for attempt in range(1, 3):
            reply = await gate.send(story, x_ullage_trace="1")
            assert (reply.status, reply.plan) == (200, "fallback")
            assert f"error={error}" in reply.headers["x-ullage-why"]
            assert reply.raw == story.request().body
            assert len(gate.fake.requests) == attempt


@every_dialect
def test_planning_what_was_planned_changes_nothing_more(dialect: Dialect) -> None:
    """NousResearch/hermes-agent#53008: each pass saved under half a percent, and another followed."""
    story = Story(dialect)
    for number in range(12):
        story.user(f"{number} {words(20)}")
        story.exchange(words(30), thinks=True)
        story.assistant(words(20))
    story.user("And now?")
    planner = Planner(story)
    for limit in planner.limits:
        once = planner.within(limit)
        again = Story(dialect)
        again.messages = once.messages
        twice = Planner(again).within(limit)
        assert twice.sent == once.sent
        assert twice.plan.status in ("unchanged", "fallback") or once.plan.status == "emergency"


@every_dialect
def test_what_is_sent_is_never_more_than_what_came(dialect: Dialect) -> None:
    """google-gemini/gemini-cli#4557: a conversation was "compressed" from 746,551 to 747,012 tokens."""
    story = readings(dialect, files=2)
    story.exchange("short")
    story.exchange(words(130))
    planner = Planner(story, excerpts=True)
    for limit in planner.limits:
        made = planner.within(limit)
        assert made.plan.tokens <= planner.tokens
        assert len(json.dumps(made.sent)) <= len(json.dumps(story.body))


@pytest.mark.parametrize("length", [1, 50, 799, 800, 801, 900, 5_000])
@pytest.mark.parametrize("share", [0, 1, 10, 500, 10_000])
def test_an_excerpt_that_would_be_longer_is_not_made(length: int, share: int) -> None:
    """The same: a wrapper round a short text is larger than the text."""
    story = Story("openai-chat")
    story.user("Look.")
    story.exchange("x" * length)
    story.user("And now?")
    planner = Planner(story, excerpts=True)
    assert planner.within(share).plan.tokens <= planner.tokens
    assert excerpt("x" * length, length) == "x" * length


@every_dialect
def test_the_limit_and_the_choice_count_the_same_things(dialect: Dialect) -> None:
    """openclaw/openclaw#78300: the trigger counted everything, the cut messages only; an empty summary replaced the history."""
    tools = {
        "openai-chat": [
            {"type": "function", "function": {"name": "read", "description": words(400), "parameters": {}}}
        ],
        "openai-responses": [{"type": "function", "name": "read", "description": words(400), "parameters": {}}],
        "anthropic": [{"name": "read", "description": words(400), "input_schema": {"type": "object"}}],
        "gemini": [{"functionDeclarations": [{"name": "read", "description": words(400)}]}],
    }[dialect]
    story = Story(dialect, tools=tools)
    story.turn("Hello.", "Hello.")
    newest = story.user("And now?")
    planner = Planner(story)
    assert planner.facts.fixed_tokens > 400
    assert planner.within(planner.tokens).plan.status == "unchanged"
    less = planner.within(planner.tokens - 1)
    assert (less.plan.status, less.kept) == ("managed", {newest})
    assert less.plan.tokens == planner.size(newest)
    assert less.plan.fixed_tokens == planner.facts.fixed_tokens


@every_dialect
async def test_a_conversation_that_grows_is_sent_at_a_size_that_does_not(dialect: Dialect, managed: Managed) -> None:
    """openclaw/openclaw#71357: each pass made what was kept a little larger, and the setting for it had no effect."""
    story = Story(dialect)
    sizes = []
    async with managed(900) as gate:
        for number in range(24):
            story.user(f"{number} {words(40)}")
            reply = await gate.send(story, x_ullage_session="s")
            assert reply.status == 200
            told = (await gate.record(reply)).plan
            assert told is not None and told["tokens"] <= told["limit"]
            sizes.append(len(reply.raw))
            story.assistant(words(40))
    assert max(sizes[12:]) <= max(sizes[:12]) * 1.05
