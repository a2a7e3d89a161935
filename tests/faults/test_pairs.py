"""Calls and results: what reports tell of requests in which one was sent without the other (faults, section 2)."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.planning import plan
from ullage.core.planning.assembling import limit_budget, make_input
from ullage.core.planning.records import BROKEN_HISTORY
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing.strict import find_refusal

from .conftest import Managed
from .rig import ROOMY, Planner, Story, words

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def loops(dialect: Dialect, turns: int = 6, *, length: int = 40, **extra: Any) -> Story:
    """Turns of a question, two parallel calls with their results, and an answer; then a question."""
    story = Story(dialect, **extra)
    for number in range(turns):
        story.user(f"question {number} {words(length)}")
        story.exchange(f"first {number} {words(length)}", f"second {number} {words(length)}")
        story.assistant(f"answer {number} {words(length)}")
    story.user("And now?")
    return story


def one_message(story: Story, index: int) -> Story:
    alone = Story(story.dialect)
    alone.add(story.messages[index])
    return alone


@every_dialect
async def test_the_newest_messages_never_begin_with_a_result_whose_call_was_cut(
    dialect: Dialect, managed: Managed
) -> None:
    """langchain-ai/langchain#33245: trimming to the newest tokens returned a list that begins with a tool message."""
    story = Story(dialect)
    story.user(words(30))
    story.exchange("the result")
    story.user("And now?")
    planner = Planner(story)
    for limit in range(planner.tokens + 10):
        assert find_refusal(dialect, planner.within(limit).sent) is None
    result_and_question = planner.size(len(story.messages) - 2, len(story.messages) - 1)
    assert len(planner.within(result_and_question).kept) == 1
    async with managed(700) as gate:
        reply = await gate.send(loops(dialect, length=60))
        assert (reply.status, reply.plan) == (200, "managed")


@every_dialect
async def test_messages_are_counted_one_by_one_and_tools_once(dialect: Dialect, managed: Managed) -> None:
    """langchain-ai/langchain#29637: a remote counter was asked about half-built lists, which it refused; tools were left out."""
    story = loops(dialect)
    planner = Planner(story)
    alone = [Planner(one_message(story, index)).facts.tokens[0] for index in range(len(story.messages))]
    assert planner.facts.tokens == tuple(alone)
    tool = {"name": "read", "description": words(200), "parameters": {"type": "object", "properties": {}}}
    tools: dict[Dialect, Any] = {
        "openai-chat": {"type": "function", "function": tool},
        "openai-responses": {"type": "function", **tool},
        "anthropic": {"name": "read", "description": tool["description"], "input_schema": tool["parameters"]},
        "gemini": {"functionDeclarations": [tool]},
    }
    equipped = Planner(loops(dialect, tools=[tools[dialect]]))
    assert equipped.facts.tokens == planner.facts.tokens
    assert equipped.facts.fixed_tokens >= planner.facts.fixed_tokens + 200
    async with managed(700) as gate:
        await gate.send(loops(dialect, tools=[tools[dialect]]))
        assert len(gate.fake.requests) == 1


@every_dialect
async def test_far_below_the_limit_a_result_at_the_end_stays(dialect: Dialect, managed: Managed) -> None:
    """BerriAI/litellm#6505: trailing tool results vanished from a list that fitted."""
    story = Story(dialect)
    story.turn("Which branch is this?", "I look.")
    story.user("Do.")
    story.exchange("main")
    made = Planner(story).within(100_000)
    assert (made.plan.status, made.sent) == ("unchanged", story.body)
    async with managed(50_000) as gate:
        reply = await gate.send(story)
        assert reply.plan == "unchanged"
        assert reply.raw == story.request().body


@every_dialect
@pytest.mark.parametrize("spare", [0, 1])
def test_what_just_fits_comes_back_whole(dialect: Dialect, spare: int) -> None:
    """BerriAI/litellm#8261: the same again, as the early return did not add the tool messages that were taken off before."""
    story = Story(dialect)
    story.user("Do both.")
    story.exchange("one", "two")
    planner = Planner(story)
    made = planner.within(planner.tokens + spare)
    assert (made.plan.status, made.sent) == ("unchanged", story.body)


def test_a_limit_between_the_items_of_a_call_and_its_output_sends_neither_alone() -> None:
    """openai/openai-agents-python#4322: a limit of items fell between a call and its output, and the output alone was sent."""
    story = Story("openai-responses")
    asked = story.user("Look.")
    call, output = story.exchange(words(20))
    newest = story.user("And now?")
    planner = Planner(story)
    for limit in range(planner.size(newest), planner.tokens + 1):
        kept = planner.within(limit).kept
        assert newest in kept
        assert (call in kept) == (output in kept) == (asked in kept)


def test_the_first_message_that_is_kept_holds_no_result_of_a_dropped_call() -> None:
    """cline/cline#7225: the first user message behind a gap held results for calls that were no longer there."""
    story = loops("anthropic")
    planner = Planner(story)
    for limit in planner.limits:
        first = planner.within(limit).messages[0]
        assert first["role"] == "user"
        assert "tool_result" not in str(first["content"])


@every_dialect
def test_a_list_begins_where_the_user_speaks(dialect: Dialect) -> None:
    """google-gemini/gemini-cli#4105: responses of functions count as messages of the user, so that the cut fell on one."""
    story = loops(dialect)
    spoken = [index for index, one in enumerate(story.messages) if "question" in str(one) or "And now?" in str(one)]
    planner = Planner(story)
    for limit in planner.limits:
        assert min(planner.within(limit).kept) in spoken


@every_dialect
async def test_two_calls_with_one_result_are_left_whole(dialect: Dialect, managed: Managed) -> None:
    """google-gemini/gemini-cli#4568: numbers of calls and of responses differed, and every later prompt failed."""
    story = Story(dialect)
    story.user(f"Do both. {words(60)}")
    calls = story.call("a", "b")
    results = story.answer({"a": words(60)})
    story.assistant("Done.")
    story.turn(words(60), words(60))
    newest = story.user("And now?")
    planner = Planner(story)
    for limit in range(planner.size(newest), planner.tokens, 3):
        made = planner.within(limit)
        assert BROKEN_HISTORY in made.plan.warnings
        assert not made.kept & {*calls, *results}
        assert find_refusal(dialect, made.sent) is None
    async with managed(planner.tokens // 2) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")


@every_dialect
@pytest.mark.parametrize("ids", [("a", "b"), ("", "b")], ids=["ids", "an empty id"])
def test_a_tail_that_is_told_to_begin_inside_a_batch_begins_at_its_edge(dialect: Dialect, ids: tuple[str, str]) -> None:
    """MoonshotAI/kimi-code#1053: a stored place of the cut lay between parallel calls and their results; even ids were empty."""
    story = Story(dialect)
    story.turn("Hello.", "Hello.")
    first = story.user("Do both.")
    batch = story.exchange("one", "two", ids=ids)
    story.assistant("Done.")
    story.user("And now?")
    planner = Planner(story)
    for start in range(first, len(story.messages)):
        given = make_input(planner.facts, budget=limit_budget(planner.tokens), caps=ROOMY, tail=start)
        kept = set(plan(given).kept)
        assert len(kept & set(batch)) in (0, len(batch))


@pytest.mark.parametrize(
    ("dialect", "held"),
    [
        ("openai-responses", {"previous_response_id": "resp_1"}),
        ("openai-responses", {"conversation": "conv_1"}),
        ("gemini", {"cachedContent": "cachedContents/1"}),
    ],
)
async def test_what_goes_on_from_something_stored_is_not_planned(
    dialect: Dialect, held: dict[str, str], managed: Managed
) -> None:
    """github/copilot-cli#4572: a batch lost one result when the request went on from a stored response and was compacted too."""
    story = Story(dialect, **held)
    story.answer({"a": words(500), "b": words(500)})
    async with managed(100, strict=False) as gate:
        reply = await gate.send(story, x_ullage_trace="1")
        assert (reply.plan, reply.headers["x-ullage-why"]) == ("unchanged", "prompt_kept_by_provider")
        assert reply.raw == story.request().body
        told = (await gate.record(reply)).plan
        assert told is not None and told["warnings"] == ["prompt_kept_by_provider"]


@every_dialect
def test_a_pair_at_the_edge_moves_the_cut_and_refuses_nothing(dialect: Dialect) -> None:
    """bastani-inc/atomic#1300: a guard against halves made compaction fail wherever a pair lay at the cut."""
    story = loops(dialect)
    planner = Planner(story)
    least = planner.size(len(story.messages) - 1)
    statuses = {planner.within(limit, live=False).plan.status for limit in range(least, planner.tokens, 7)}
    assert statuses == {"managed"}
    lengths = [len(planner.within(limit).kept) for limit in range(least, planner.tokens + 1, 7)]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("calls", [2, 3, 7])
@every_dialect
def test_parallel_calls_leave_with_all_their_results(dialect: Dialect, calls: int) -> None:
    """omnigent-ai/omnigent#2448: emergency dropping knew one call with one output, and dropped the first of several alone."""
    story = Story(dialect)
    story.user("Do them all.")
    batch = story.exchange(*[words(10)] * calls)
    newest = story.exchange("now this")
    planner = Planner(story)
    for limit in planner.limits:
        for live in (True, False):
            kept = planner.within(limit, live=live).kept
            assert kept >= {*newest}
            assert len(kept & set(batch)) in (0, len(batch))


@every_dialect
@pytest.mark.parametrize("answered", [0, 1])
async def test_a_call_in_flight_is_kept_with_what_has_come_of_it(
    dialect: Dialect, answered: int, managed: Managed
) -> None:
    """7df-lab/devo#186: compaction between a call and its missing result deleted the call."""
    story = Story(dialect)
    for _ in range(8):
        story.turn(words(60), words(60))
    asked = story.user("Compare them.")
    flying = (
        [*story.call("a", "b"), *story.answer(dict([("a", "1, 2, 3")][:answered]))]
        if answered
        else story.call("a", "b")
    )
    planner = Planner(story)
    for limit in range(planner.size(asked, *flying), planner.tokens, 11):
        made = planner.within(limit)
        assert made.kept >= {asked, *flying}
        assert made.messages[-len(flying) :] == story.messages[-len(flying) :]
    assert planner.within(10, live=False).plan.error == "mandatory_over_limit"
    async with managed(400, strict=False) as gate:
        reply = await gate.send(story)
        assert reply.plan == "managed"
        assert reply.messages[-len(flying) - 1 :] == story.messages[asked:]


@every_dialect
async def test_a_call_that_was_never_answered_does_not_stop_the_session(dialect: Dialect, managed: Managed) -> None:
    """aaif-goose/goose#1102, pydantic/pydantic-ai#4728: a tool failed or a stream broke off; all requests since were refused."""
    story = Story(dialect)
    story.turn(words(200), words(200))
    story.user("Look.")
    lost = story.call("lost")
    story.user("Again.")
    sound = [*story.exchange("there it is"), story.assistant("Found.")]
    newest = story.user("And now?")
    planner = Planner(story)
    assert planner.within(planner.tokens).plan.warnings == (BROKEN_HISTORY,)
    for limit in range(planner.size(*sound, newest) + 20, planner.tokens, 5):
        made = planner.within(limit)
        assert made.kept >= {*sound, newest}
        assert not made.kept & set(lost)
        assert find_refusal(dialect, made.sent) is None
    async with managed(planner.tokens // 2) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")
        plan_told = (await gate.record(reply)).plan
        assert plan_told is not None and BROKEN_HISTORY in plan_told["warnings"]


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
def test_an_id_that_comes_again_in_a_later_turn_is_another_call(dialect: Dialect) -> None:
    """NousResearch/hermes-agent#102629, open-webui/open-webui#28305: ids of a name and a counter; the later call lost its result,
    or left it alone."""
    story = Story(dialect)
    north = [story.user("Run north."), *story.exchange(words(30, "north"), ids=["run:0"])]
    story.turn("Thanks.", "Gladly.")
    south = [story.user("Run south."), *story.exchange(words(30, "south"), ids=["run:0"]), story.assistant("Green.")]
    newest = story.user("And now?")
    planner = Planner(story)
    for limit in planner.limits:
        kept = planner.within(limit).kept
        for group in (north, south):
            assert not kept & set(group) or kept >= set(group)
    assert planner.within(planner.size(*south, newest)).kept == {*south, newest}


def test_ids_that_repeat_are_passed_on_as_they_are() -> None:
    """mnfst/llm-gateway#2851: to a provider of the same dialect, what the client sends is what it is asked about."""
    story = Story("openai-chat")
    for name in ("north", "south"):
        story.user(f"Run {name}.")
        story.exchange(name, ids=["run:0"])
    story.user(words(200))
    made = Planner(story).within(240)
    assert made.plan.status == "managed"
    assert all(message in story.messages for message in made.messages)
