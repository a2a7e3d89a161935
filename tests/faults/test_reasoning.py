"""Reasoning, thinking and empty messages: what providers refuse once it was altered or parted (faults, section 2)."""

from __future__ import annotations

import json

import pytest
from msgspec import structs

from ullage.core.planning import plan_live
from ullage.core.planning.assembling import limit_budget, make_input
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.testing.dialects.events import seal
from ullage.testing.strict import find_refusal

from .conftest import Managed
from .rig import ROOMY, Planner, Story, words

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
THINKING = {"max_tokens": 2048, "thinking": {"type": "enabled", "budget_tokens": 1024}}


def reasoned() -> Story:
    """Two turns of a loop with reasoning, and a question."""
    story = Story("openai-responses")
    for number in range(2):
        story.user(f"question {number} {words(20)}")
        story.exchange(words(20), thinks=True)
        story.exchange(words(20), words(20), thinks=True)
        story.add({"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": seal("Hm.")})
        story.assistant("Done.")
    story.user("And now?")
    return story


async def test_reasoning_is_sent_with_what_it_led_to_or_not_at_all(managed: Managed) -> None:
    """openai/openai-agents-js#929, #1280: a reasoning item without the item that has to follow it; a stale call was dropped, and
    its reasoning stayed."""
    story = reasoned()
    planner = Planner(story)
    for limit in range(0, planner.tokens + 10, 3):
        for live in (True, False):
            made = planner.within(limit, live=live)
            kinds = [one.get("type", one.get("role")) for one in made.messages]
            followed = [after for before, after in zip(kinds, [*kinds[1:], None], strict=True) if before == "reasoning"]
            assert set(followed) <= {"function_call", "message"}
    async with managed(planner.tokens // 2) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")


def long_loop(*, thinking_at: set[int], **extra: object) -> tuple[Story, int, list[list[int]]]:
    """A request and its tool loop; the exchanges with these numbers begin with thinking."""
    story = Story("anthropic", **extra)
    story.turn(words(40), words(40))
    asked = story.user("Find it.")
    loop = [story.exchange(words(40), thinks=number in thinking_at) for number in range(5)]
    return story, asked, loop


@pytest.mark.parametrize("thinking_at", [{0, 1, 2, 3, 4}, {0}, {0, 2}, {0, 4}], ids=str)
async def test_an_open_loop_begins_with_thinking_however_much_of_it_is_left_out(
    thinking_at: set[int], managed: Managed
) -> None:
    """anthropics/claude-code#63404: refused at several places of long sessions, as thinking was missing before a call."""
    story, asked, loop = long_loop(thinking_at=thinking_at, **THINKING)
    planner = Planner(story)
    newest = max(thinking_at)
    least = planner.size(asked, *loop[newest], *loop[-1]) if newest != 4 else planner.size(asked, *loop[-1])
    for limit in range(least, planner.tokens + 1, 3):
        made = planner.within(limit, live=False)
        assert made.plan.status in ("managed", "unchanged")
        assert find_refusal("anthropic", made.sent) is None
        assert made.kept >= {asked, *loop[-1]}
    async with managed(planner.size(asked, *loop[0], *loop[3], *loop[4]) + 30) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")


def test_what_stands_between_the_thinking_and_the_newest_exchange_may_stay() -> None:
    """The same: only the first answer of a loop thinks where thinking is not interleaved. The newest exchanges come with it."""
    story, asked, loop = long_loop(thinking_at={0}, **THINKING)
    planner = Planner(story)
    made = planner.within(planner.size(asked, *loop[0], *loop[3], *loop[4]))
    assert made.kept == {asked, *loop[0], *loop[3], *loop[4]}
    assert {drop.reason for drop in made.plan.dropped} == {"input-budget", "recent-tail-closed"}


def test_without_room_for_it_an_emergency_leaves_words_beside_results_rather_than_thinking() -> None:
    """The same, where even what must be sent is too much: the loop still begins with thinking."""
    story = Story("anthropic", **THINKING)
    story.user("Find it.")
    for thinks in (True, False):
        story.exchange(words(40), thinks=thinks)
        story.messages[-1]["content"].append({"type": "text", "text": "Mind the dots."})
    story.exchange(words(10))
    planner = Planner(story)
    for limit in planner.limits:
        assert find_refusal("anthropic", planner.within(limit).sent) is None


@pytest.mark.parametrize("text", ["I look.", ""], ids=["text", "no text"])
def test_thinking_is_kept_as_it_came_or_leaves_with_its_message(text: str) -> None:
    """router-for-me/CLIProxyAPI#3663: the text of thinking was emptied and the signature kept."""
    story = Story("anthropic")
    for number in range(6):
        story.user(f"question {number}")
        story.call(f"call-{number}", thinks=True)
        story.messages[-1]["content"][0]["thinking"] = text
        story.answer({f"call-{number}": words(30)})
        story.assistant("Done.")
    story.user("And now?")
    planner = Planner(story)
    for limit in planner.limits:
        assert all(message in story.messages for message in planner.within(limit).messages)


@every_dialect
async def test_what_is_kept_has_the_bytes_that_came(dialect: Dialect, managed: Managed) -> None:
    """bastani-inc/atomic#1318: blocks differed from the original after they were written anew."""
    story = Story(dialect)
    for number in range(8):
        story.user(f"question {number} {words(40)}")
        story.exchange(words(30), thinks=True)
        story.assistant("a \u2028 tab\t, a slash / and \U0001f98a")
    story.user("And now?")
    odd = json.dumps(story.body, indent=3, separators=(" ,", " :  "), ensure_ascii=True).replace("/", "\\/")
    before = parse_request(odd.encode(), dialect).messages
    async with managed(300) as gate:
        request = structs.replace(story.request(), body=odd.encode())
        story.request = lambda: request  # type: ignore[method-assign]
        reply = await gate.send(story)
    after = parse_request(reply.raw, dialect).messages
    assert reply.plan == "managed"
    assert 0 < len(after) < len(before)
    assert [piece.raw for piece in after] == [piece.raw for piece in before[-len(after) :]]


def test_no_message_is_left_with_reasoning_alone() -> None:
    """vercel/ai#13430: the calls of a message were pruned, and a message with reasoning only was sent."""
    for dialect in DIALECTS:
        story = Story(dialect)
        for number in range(4):
            story.user(f"question {number}")
            story.exchange(words(30), words(30), thinks=True)
        planner = Planner(story)
        for limit in planner.limits:
            made = planner.within(limit)
            assert find_refusal(dialect, made.sent) is None
            assert all(message in story.messages for message in made.messages)


@pytest.mark.parametrize("pinned", [1, 2])
@pytest.mark.parametrize("dialect", ["anthropic", "gemini"])
def test_a_pinned_answer_comes_with_the_question(dialect: Dialect, pinned: int) -> None:
    """A kind of our own: kept alone it would be the first message, which these providers refuse of the assistant."""
    story = Story(dialect)
    asked = story.user("Which port?")
    answered = [*story.exchange("8484")]
    for _ in range(4):
        story.turn(words(40), words(40))
    newest = story.user("And now?")
    planner = Planner(story, pins=[pinned])
    made = planner.within(planner.size(asked, *answered, newest))
    assert made.kept == {asked, *answered, newest}
    for limit in planner.limits:
        assert find_refusal(dialect, planner.within(limit).sent) is None


def test_results_that_the_provider_wrote_itself_are_never_shortened() -> None:
    """A kind of our own: what a search of the provider found stands in the message of the model, sealed."""
    found = [
        {
            "type": "web_search_result",
            "url": f"https://example.org/{n}",
            "title": "T",
            "encrypted_content": "c2VhbGVk" * 9,
        }
        for n in range(40)
    ]
    story = Story("anthropic")
    story.user("Search.")
    story.add(
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}},
                {"type": "web_search_tool_result", "tool_use_id": "srv", "content": found},
                {"type": "text", "text": "There."},
            ],
        }
    )
    story.user("Look.")
    story.exchange(words(1_000))
    planner = Planner(story, excerpts=True)
    for limit in planner.limits:
        made = planner.within(limit)
        assert {one.index for one in made.plan.replaced} <= {len(story.messages) - 1}


def test_a_tail_inside_an_open_loop_begins_with_thinking() -> None:
    """The same kind, where the tail was chosen by its cost."""
    story, asked, loop = long_loop(thinking_at={0, 2}, **THINKING)
    planner = Planner(story)
    for start in range(len(story.messages)):
        given = make_input(planner.facts, budget=limit_budget(planner.tokens), caps=ROOMY, tail=start)
        kept = set(plan_live(given).kept)
        sent = {**story.body, "messages": [story.messages[index] for index in sorted(kept)]}
        assert find_refusal("anthropic", sent) is None
        assert kept >= {asked, *loop[-1]}


CLAUDE_CODE = {"role": "system", "content": "# Environment\nYou are on Linux."}


@pytest.mark.parametrize("directive", [False, True])
async def test_a_system_message_never_ends_up_where_its_provider_refuses_it(directive: bool, managed: Managed) -> None:
    """A kind of our own, found with Claude Code: its environment stands behind the first message of the user. Once that has left,
    it would be the first message, or stand right before another of the user's; both are refused."""
    story = Story("anthropic")
    for number in range(12):
        story.user(f"{number} {words(30)}")
        if number in (0, 5):
            story.add(CLAUDE_CODE)
        if directive:
            story.add({"role": "system", "content": [], "output_config": {"effort": "low"}})
        story.exchange(words(30))
        story.assistant(words(30))
    story.user("And now?")
    planner = Planner(story)
    for limit in planner.limits:
        made = planner.within(limit)
        assert find_refusal("anthropic", made.sent) is None
        assert made.messages.count(CLAUDE_CODE) == 2
        others = [message for message in made.messages if message != CLAUDE_CODE]
        assert others == [story.messages[index] for index in made.plan.kept if story.messages[index] != CLAUDE_CODE]
    async with managed(400) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")
        assert reply.messages.count(CLAUDE_CODE) == 2


def test_a_system_message_in_its_place_stays_there() -> None:
    """The same: what is well placed is not moved."""
    story = Story("anthropic")
    story.turn(words(30), words(30))
    for _ in range(2):
        story.user(words(10))
        story.add(CLAUDE_CODE)
        story.assistant(words(10))
    story.user("And now?")
    story.add(CLAUDE_CODE)
    made = Planner(story).within(Planner(story).tokens - 1)
    assert made.messages == story.messages[2:]
