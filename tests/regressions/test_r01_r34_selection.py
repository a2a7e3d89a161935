"""Planner specification, section 35, by row: which messages are kept, and where what is added stands."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import structs

from tests.faults.conftest import Managed
from tests.faults.rig import ROOMY, Planner, Story, meter_of, words
from ullage.core.planning import Supplement, SupplementKind, find_faults, group_messages, plan
from ullage.core.planning.assembling import limit_budget, make_input, weigh_text
from ullage.core.planning.manifest import report_plan
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing.strict import find_refusal

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def offered(story: Story, text: str = "The port is 8484.", kind: SupplementKind = "pin") -> Supplement:
    tokens = weigh_text(text, meter_of(story.dialect))
    return Supplement(id=kind, kind=kind, text=text, tokens=tokens, score=90, source_ids=(kind,), reason="test")


@every_dialect
def test_r01_the_turn_before_the_current_one_is_kept_though_larger_than_the_tail(dialect: Dialect) -> None:
    """0.3.6: "as I said before" was answered blindly."""
    story = Story(dialect)
    older = story.turn(words(20), words(20))
    said = story.turn(words(200), words(200))
    newest = story.user("As I said before.")
    planner = Planner(story, caps=structs.replace(ROOMY, recent_tail=100))
    made = planner.within(10_000)
    assert made.kept == {*said, newest}
    assert made.plan.rescued
    assert not made.kept & set(older)


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
def test_r08_a_call_id_that_comes_again_merges_no_turns(dialect: Dialect) -> None:
    """0.4.11: unrelated turns became one huge group."""
    story = Story(dialect)
    for _ in range(3):
        story.user("Again.")
        story.exchange("done", ids=["run:0"])
    planner = Planner(story)
    groups = group_messages(planner.facts.facts, planner.facts.tokens)
    assert [(group.first, group.last) for group in groups] == [(0, 2), (3, 5), (6, 8)]


@every_dialect
@pytest.mark.parametrize("placement", ["latest-user", "stable-prefix", "hybrid"])
def test_r10_what_is_added_absorbs_no_message_and_moves_no_pin(dialect: Dialect, placement: str) -> None:
    """0.5.3: the assistant's message at the start vanished, or was charged to a pin."""
    story = Story(dialect)
    greeting = story.assistant(words(30))
    story.turn("Hello.", "Hello.")
    pinned = story.user("Keep this.")
    story.assistant(words(30))
    story.user("And now?")
    planner = Planner(story)
    given = make_input(
        planner.facts,
        budget=limit_budget(10_000),
        caps=ROOMY,
        evidence=[offered(story)],
        pinned=frozenset({pinned}),
        placement=placement,  # type: ignore[arg-type]
    )
    made = plan(given)
    assert made.kept == tuple(range(len(story.messages)))
    rows = {row.id: row for row in made.groups}
    assert rows[f"group:{greeting}-{greeting}"].tokens == planner.facts.tokens[greeting]
    assert [row.tokens for row in made.groups if row.kind == "pin" and row.id.endswith(f"{pinned}-{pinned}")] == [
        planner.facts.tokens[pinned]
    ]
    assert made.tokens == planner.tokens + given.supplements[0].tokens


async def test_r25_what_was_added_is_never_taken_for_a_message_of_the_client(managed: Managed) -> None:
    """The current request was attributed to old evidence. Here: a session is known again by what its client sent, whatever was
    added to it, and a manifest numbers the client's messages alone."""
    story = Story("anthropic")
    async with managed(2_000) as gate:
        sessions = set()
        for number in range(5):
            story.user(f"question {number}")
            reply = await gate.send(story)
            record = await gate.record(reply)
            sessions.add(record.session)
            await gate.keep("pins", text=f"Rule {number}.", session=record.session)
            assert record.plan is not None
            assert [item["index"] for item in record.plan["included"]] == list(range(len(story.messages)))
            assert len(record.plan["supplements"]) == number
            assert all(item["source_ids"] for item in record.plan["supplements"])
            story.assistant("Yes.")
        assert len(sessions) == 1
        happened = await asyncio.to_thread(gate.daemon.store.events, sessions.pop())
        assert not {event.kind for event in happened} & {"branch", "rewrite"}


def test_r25_a_manifest_tells_what_was_added_apart_from_what_came() -> None:
    """The same, without a gateway."""
    story = Story("openai-chat")
    story.turn("The port is 8484.", "Yes.")
    story.user("The port is 8484.")
    planner = Planner(story)
    given = make_input(planner.facts, budget=limit_budget(10_000), caps=ROOMY, evidence=[offered(story)])
    told = report_plan(plan(given), given)
    assert [(item["index"], item["kind"]) for item in told["included"]] == [
        (0, "recent"),
        (1, "recent"),
        (2, "current"),
    ]
    assert [(item["id"], item["before"]) for item in told["supplements"]] == [("pin", 2)]


@every_dialect
def test_r33_no_list_has_a_result_without_its_call(dialect: Dialect) -> None:
    """openclaw #28377, #3243, #8525, claude-code #65098: refused, as the cut lay inside an exchange."""
    story = Story(dialect)
    for _ in range(4):
        story.user(words(10))
        story.exchange(words(10), words(10), thinks=True)
        story.exchange(words(10))
    planner = Planner(story)
    for limit in planner.limits:
        for live in (True, False):
            made = planner.within(limit, live=live)
            assert find_faults(planner.facts.facts, made.plan.kept) == ()
            assert find_refusal(dialect, made.sent) is None


@every_dialect
@pytest.mark.parametrize("placement", ["latest-user", "stable-prefix", "hybrid"])
def test_r34_nothing_is_added_between_a_call_and_its_result(dialect: Dialect, placement: str) -> None:
    """LibreChat agents PR 162, 171: refused after a message was put between both."""
    story = Story(dialect)
    story.turn("Hello.", "Hello.")
    story.user("Look.")
    story.exchange("one", "two", thinks=True)
    story.exchange("three")
    evidence = [offered(story, kind=kind) for kind in ("pin", "memory", "retrieval", "project")]
    planner = Planner(story)
    given = make_input(
        planner.facts,
        budget=limit_budget(10_000),
        caps=ROOMY,
        evidence=evidence,
        placement=placement,  # type: ignore[arg-type]
    )
    assert {placed.before for placed in plan(given).supplements} <= {0, 2}
    assert find_refusal(dialect, planner.within(10_000, evidence=evidence).sent) is None


def test_r34_a_result_that_came_behind_a_message_of_the_user_is_not_parted_either() -> None:
    """The same, where the user spoke meanwhile."""
    story = Story("openai-responses")
    story.user("Look.")
    story.call("a")
    story.user("Be quick.")
    story.answer({"a": "there"})
    made = Planner(story).within(10_000, evidence=[offered(story)])
    assert [placed.before for placed in made.plan.supplements] == [0]
    assert made.messages[1:] == story.messages
