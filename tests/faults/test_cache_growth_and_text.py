"""Prompt caches that were lost, requests that grew, text that was cut in the wrong place (faults, section 2)."""

from __future__ import annotations

import json
import unicodedata
from itertools import pairwise
from typing import Any

import pytest
import regex

from ullage.core.planning.shortening import excerpt
from ullage.core.wire import DIALECTS, Dialect, parse_request

from .conftest import Managed
from .rig import LISTS, Gate, Planner, Reply, Story, words

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


async def converse(gate: Gate, story: Story, turns: int, *, length: int = 30) -> list[Reply]:
    """So many turns of a session, each sent with all that came before."""
    replies = []
    for number in range(turns):
        story.user(f"{number} {words(length)}")
        replies.append(await gate.send(story, x_ullage_session="s"))
        assert replies[-1].status == 200
        story.assistant(f"answer {number} {words(length)}")
    return replies


def starts(story: Story, replies: list[Reply]) -> list[int]:
    """The place of the first message that each request held."""
    return [story.messages.index(reply.messages[0]) for reply in replies]


@every_dialect
async def test_the_beginning_of_what_is_sent_moves_rarely_and_only_forward(dialect: Dialect, managed: Managed) -> None:
    """yvgude/lean-ctx#448, ranxianglei/opencode-acp#26: every 16 messages the boundary moved, and what was cached was written
    anew."""
    story = Story(dialect)
    async with managed(1_500) as gate:
        replies = await converse(gate, story, 60)
    begun = starts(story, replies)
    assert begun == sorted(begun)
    moves = sum(before != after for before, after in pairwise(begun))
    assert 1 <= moves <= 60 / 5
    assert begun[-1] > 0


@every_dialect
async def test_a_prefix_that_was_sent_is_sent_again_byte_for_byte(dialect: Dialect, managed: Managed) -> None:
    """anomalyco/opencode#32515: an old output was pruned, and the smaller request was seven times dearer."""
    story = Story(dialect)
    async with managed(1_500, artifacts={"inline_chars": 1_000, "excerpt_chars": 200}) as gate:
        replies = []
        for number in range(40):
            story.user(f"{number} {words(20)}")
            for _ in range(2):
                story.exchange(f"{number} " + words(80))
                replies.append(await gate.send(story, x_ullage_session="s"))
            story.assistant(words(20))
    sent = [[piece.raw for piece in parse_request(reply.raw, dialect).messages] for reply in replies]
    whole = sum(after[: len(before)] == before for before, after in pairwise(sent))
    assert whole >= len(sent) * 0.75
    assert {reply.plan for reply in replies} == {"managed", "unchanged"}


@pytest.mark.parametrize("marked", [1, 2, 4])
async def test_the_clients_cache_marks_stay_where_they_are(marked: int, managed: Managed) -> None:
    """looplj/axonhub#2342: marks were planned anew, and sat on another block each time."""
    mark = {"cache_control": {"type": "ephemeral"}}
    story = Story("anthropic", system=[{"type": "text", "text": "Be brief.", **(mark if marked == 4 else {})}])
    for number in range(40):
        story.turn(f"{number} {words(30)}", words(30))
    newest = [story.user("one"), story.user("two"), story.user("And now?")][-min(marked, 3) :]
    for index in newest:
        story.messages[index]["content"] = [{"type": "text", "text": "Look.", **mark}]
    async with managed(900) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")
    assert reply.raw.count(b"cache_control") == marked
    assert reply.sent["system"] == story.extra["system"]
    assert reply.messages[-len(newest) :] == [story.messages[index] for index in newest]


@every_dialect
async def test_the_system_prompt_is_there_once_however_long_the_session(dialect: Dialect, managed: Managed) -> None:
    """NousResearch/hermes-agent#68257: the history that was kept doubled with each turn, and took the system prompt in."""
    rules = "You maintain a small service."
    extra: dict[Dialect, dict[str, Any]] = {
        "openai-chat": {},
        "openai-responses": {"instructions": rules},
        "anthropic": {"system": rules},
        "gemini": {"systemInstruction": {"parts": [{"text": rules}]}},
    }
    story = Story(dialect, **extra[dialect])
    if dialect.startswith("openai"):
        story.add({"role": "system", "content": "Mind the tests."})
    async with managed(900) as gate:
        for reply in await converse(gate, story, 25):
            assert reply.raw.count(rules.encode()) == (dialect != "openai-chat")
            assert reply.raw.count(b"Mind the tests.") == dialect.startswith("openai")
            assert len(reply.messages) == len({json.dumps(message) for message in reply.messages})
        assert "managed" in reply.plan


@every_dialect
@pytest.mark.parametrize("placement", ["latest-user", "stable-prefix", "hybrid"])
async def test_what_is_kept_is_added_once_in_every_turn(dialect: Dialect, placement: str, managed: Managed) -> None:
    """NorthlandPositronics/Cogtrix#180: a constraint was appended to the system prompt in every turn."""
    story = Story(dialect)
    async with managed(1_200, planning={"placement": placement}) as gate:
        pin = await gate.keep("pins", text="Amounts are cents.", session="s")
        fact = await gate.keep("memory", text="The port is 8484.", session="s")
        for reply in await converse(gate, story, 10):
            for item in (pin, fact):
                assert reply.raw.count(item["id"].encode()) == 1


CLUSTERS = ["\U0001f469‍\U0001f4bb", "é", "\U0001f1e9\U0001f1ea", "漢", "\U0001f98a", "a", "ผู้"]


@every_dialect
async def test_a_text_that_is_cut_is_valid_and_no_character_is_torn(dialect: Dialect, managed: Managed) -> None:
    """esengine/DeepSeek-Reasonix#1970, oguzbilgic/kern-ai#313: a cut inside an emoji made the body invalid, for ever."""
    text = "".join(CLUSTERS[number % len(CLUSTERS)] for number in range(6_000))
    story = Story(dialect)
    story.user("What did it return?")
    story.exchange(text)
    planner = Planner(story, excerpts=True)
    for limit in range(60, 400, 7):
        made = planner.within(limit)
        json.dumps(made.sent, ensure_ascii=False).encode()
        if made.plan.replaced:
            assert " characters of this result are " in str(made.messages)
            assert "output\\" not in json.dumps(made.messages), "the text of a result, not its JSON"
    async with managed(800) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "emergency")
        json.loads(reply.raw.decode("utf-8", "strict"))[LISTS[dialect]][-1]


@pytest.mark.parametrize("chars", range(60))
def test_an_excerpt_begins_and_ends_between_characters_as_people_see_them(chars: int) -> None:
    """The same, at every length."""
    text = "".join(CLUSTERS * 12)
    shown = excerpt(text, chars)
    first, _, rest = shown.partition("\n[… ")
    last = rest.partition(" …]\n")[2]
    whole = regex.findall(r"\X", text)
    assert regex.findall(r"\X", first) == whole[: len(regex.findall(r"\X", first))]
    assert regex.findall(r"\X", last) == whole[len(whole) - len(regex.findall(r"\X", last)) :]
    missing = len(text) - len(first) - len(last)
    assert f"[… {missing} characters of this result are " in shown
    assert not any(unicodedata.category(sign) == "Cs" for sign in shown)


async def test_counters_of_old_turns_do_not_pile_up(managed: Managed) -> None:
    """A kind of our own, found with Claude Code: it says behind each message of the user how many tokens are left, in a system
    message. Such messages are kept, but of these each contradicts the one before."""
    story = Story("anthropic")
    async with managed(900) as gate:
        for number in range(30):
            story.user(f"{number} {words(30)}")
            story.add({"role": "system", "content": f"<total_tokens>{15_000_000 - number} tokens left</total_tokens>"})
            for _ in range(2):
                reply = await gate.send(story, x_ullage_session="s")
                assert reply.status == 200
                assert reply.raw.count(b"tokens left") <= len(reply.messages) / 2
                story.exchange(words(30))
                story.add({"role": "system", "content": "<total_tokens>14000000 tokens left</total_tokens>"})
            story.assistant(words(30))
    assert reply.plan == "managed"
    assert reply.raw.count(b"tokens left") < 20
