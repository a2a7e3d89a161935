"""Rules, requests and results that got lost when something was left out (faults, section 2)."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from ullage.core.planning import Supplement
from ullage.core.planning.assembling import weigh_text
from ullage.core.planning.request import Caps
from ullage.core.wire import DIALECTS, Dialect
from ullage.sources.artifacts import ArtifactFiles, artifact_folder

from .conftest import Managed
from .rig import ROOMY, Planner, Story, meter_of, words

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
RULES = (
    "Project rules: (1) nothing under gen/ is edited; (2) amounts are cents; (3) a new endpoint needs an audit entry."
)


def ruled(dialect: Dialect) -> tuple[Story, int, int]:
    """Rules at the start, thirty turns about other things, and a question that shares no word with them."""
    story = Story(dialect)
    rules = story.user(RULES)
    story.assistant("I keep to them.")
    for number in range(30):
        story.turn(f"question {number} {words(20)}", words(40))
    return story, rules, story.user("Why so slow?")


@every_dialect
def test_a_message_that_is_pinned_is_in_every_plan_word_for_word(dialect: Dialect) -> None:
    """anthropics/claude-code#19471: rules of the instruction file were ignored after compaction."""
    story, rules, newest = ruled(dialect)
    planner = Planner(story, pins=[rules])
    for limit in range(planner.size(rules, newest), planner.tokens, 13):
        made = planner.within(limit)
        assert made.kept >= {rules, newest}
        assert made.messages[0] == story.messages[rules]
    assert planner.within(planner.size(rules, newest) - 1, live=False).plan.error == "mandatory_over_limit"


@every_dialect
async def test_what_the_user_pinned_comes_with_every_request(dialect: Dialect, managed: Managed) -> None:
    """The same, where the rule is kept by the gateway: in front of the request, whatever else leaves."""
    story, _, _ = ruled(dialect)
    async with managed(500) as gate:
        pin = await gate.keep("pins", text=RULES, session="s")
        for _ in range(3):
            reply = await gate.send(story, x_ullage_session="s")
            assert (reply.status, reply.plan) == (200, "managed")
            assert RULES in str(reply.messages[-2])
            assert reply.messages[-1] == story.messages[-1]
            assert str(reply.messages).count(pin["id"]) == 1
            story.assistant("It waits.")
            story.user("On what?")


@every_dialect
def test_a_pin_larger_than_a_tenth_of_the_limit_has_a_budget_of_its_own(dialect: Dialect) -> None:
    """anthropics/claude-code#44166: long instruction files blurred; they were to be exempt, and it was to be said if they do not
    fit."""
    story = Story(dialect)
    rules = story.user(words(300))
    for _ in range(10):
        story.turn(words(30), words(30))
    newest = story.user("And now?")
    limit = 450
    assert Planner(story, pins=[rules]).within(limit).kept >= {rules, newest}
    narrow: Caps = structs.replace(ROOMY, pinned=200)
    planner = Planner(story, pins=[rules], caps=narrow)
    assert planner.within(limit, live=False).plan.error == "pins_over_cap"
    live = planner.within(limit)
    assert (live.plan.status, live.plan.error) == ("emergency", "pins_over_cap")
    assert live.plan.tokens <= limit


@every_dialect
async def test_the_current_request_is_the_last_and_as_it_came(dialect: Dialect, managed: Managed) -> None:
    """anthropics/claude-code#9796: after compaction the agent reported on work of hours ago and did not answer the question."""
    story = Story(dialect)
    for number in range(12):
        story.user(f"work {number} {words(20)}")
        story.exchange(words(40))
        story.assistant(f"done {number} {words(20)}")
    newest = story.user("A new question: what is the port?")
    planner = Planner(story)
    for limit in planner.limits:
        for live in (True, False):
            made = planner.within(limit, live=live)
            assert made.messages[-1] == story.messages[newest]
    async with managed(400) as gate:
        reply = await gate.send(story)
        assert reply.plan == "managed"
        assert reply.messages[-1] == story.messages[newest]


@every_dialect
def test_the_newest_turn_is_whole_before_any_of_an_older_one_is_kept(dialect: Dialect) -> None:
    """openai/codex#25686: told to do Y after X, it began X again."""
    story = Story(dialect)
    x = [story.user("Do X."), *story.exchange(words(20)), *story.exchange(words(20)), story.assistant("X is done.")]
    y = [story.user("Now do Y."), *story.exchange(words(20)), *story.exchange(words(20))]
    planner = Planner(story)
    for limit in range(planner.size(y[0], *y[-2:]), planner.tokens + 1):
        kept = planner.within(limit, live=False).kept
        assert y[0] in kept
        assert not kept & set(x) or kept >= set(y)


@every_dialect
def test_a_command_is_never_kept_without_its_result(dialect: Dialect) -> None:
    """openai/codex#28874: the command before compaction was carried out twice."""
    story = Story(dialect)
    story.user("Clean up, then deploy.")
    runs = [story.exchange(f"ran {number}", tool="deploy") for number in range(5)]
    planner = Planner(story)
    for limit in planner.limits:
        for live in (True, False):
            kept = planner.within(limit, live=live).kept
            for run in runs:
                assert len(kept & set(run)) in (0, len(run))
            assert kept >= set(runs[-1])


@every_dialect
@pytest.mark.parametrize("kept_as", ["pins", "memory"])
async def test_what_was_agreed_early_is_there_when_it_is_asked_for(
    dialect: Dialect, kept_as: str, managed: Managed
) -> None:
    """openai/codex#18720: details agreed in turn 2 were lost in turn 40, and small fixes went wrong."""
    story = Story(dialect)
    story.turn("The port is 8484, agreed?", "Agreed.")
    for number in range(38):
        story.turn(f"question {number} {words(20)}", words(40))
    story.user("Which port did we agree on?")
    async with managed(500) as gate:
        await gate.keep(kept_as, text="The port is 8484.", session="s")
        reply = await gate.send(story, x_ullage_session="s")
    assert (reply.status, reply.plan) == (200, "managed")
    assert story.messages[0] not in reply.messages
    assert "8484" in str(reply.messages[-2])


@every_dialect
async def test_the_only_request_of_a_long_loop_stays(dialect: Dialect, managed: Managed) -> None:
    """docker/docker-agent#1863: the only message of the user was removed, and the model greeted in place of working."""
    story = Story(dialect)
    asked = story.user("Replace the old clock helper everywhere and keep the public names.")
    pairs = [story.exchange(words(30)) for _ in range(25)]
    planner = Planner(story)
    for limit in range(planner.size(asked, *pairs[-1]), planner.tokens, 17):
        made = planner.within(limit, live=False)
        assert made.plan.status == "managed"
        assert made.messages[0] == story.messages[asked]
        kept = [pair for pair in pairs if made.kept >= set(pair)]
        assert kept == pairs[-len(kept) :]
        assert made.kept == {asked, *(index for pair in kept for index in pair)}
    async with managed(400) as gate:
        reply = await gate.send(story)
        assert (reply.status, reply.plan) == (200, "managed")
        assert reply.messages[0] == story.messages[asked]


@every_dialect
def test_the_newest_reading_of_a_file_wins(dialect: Dialect) -> None:
    """Tarquinen/opencode-dynamic-context-pruning#451: readings older than an edit of the same file misled the model."""
    story = Story(dialect)
    asked = story.user("Rename it.")
    first = story.exchange(f"version 1 {words(40)}")
    edit = story.exchange("edited", tool="edit")
    second = story.exchange(f"version 2 {words(40)}")
    planner = Planner(story)
    for limit in range(planner.size(asked, *second), planner.tokens + 1):
        kept = planner.within(limit, live=False).kept
        assert kept >= set(second)
        assert not kept & set(first) or kept >= {*first, *edit, *second}


@every_dialect
async def test_a_reference_names_what_can_really_be_fetched(dialect: Dialect, managed: Managed, tmp_path: Path) -> None:
    """HKUDS/nanobot#5775: a stub told of an earlier reading that was no longer in the request."""
    story = Story(dialect)
    texts = ["\n".join(f"{number} line {line} {words(8)}" for line in range(200)) for number in range(3)]
    for number, text in enumerate(texts):
        story.user(f"Read {number}.")
        story.exchange(text)
        story.assistant("Read.")
    story.user("And now?")
    async with managed(4_000, artifacts={"inline_chars": 1_000, "excerpt_chars": 100}) as gate:
        reply = await gate.send(story)
        told = (await gate.record(reply)).plan
        assert (reply.status, reply.plan) == (200, "managed")
        assert told is not None and told["replaced"]
        for one in told["replaced"]:
            (record,) = gate.daemon.store.artifacts(prefix=one["artifact"])
            assert str(reply.messages).count(record.id) == str(reply.messages).count(record.sha256) == 1
            kept = ArtifactFiles(artifact_folder(tmp_path, None)).read(record.sha256, most_bytes=1_000_000)
            assert kept.decode() in texts


@every_dialect
def test_supplements_stand_between_turns_and_before_the_request(dialect: Dialect) -> None:
    """A kind of our own: what is added parts no call from its result and comes before what the user asks now."""
    story = Story(dialect)
    story.user("Look.")
    story.exchange("it", "and that")
    newest = story.user("And now?")
    meter = meter_of(dialect)
    pin = Supplement(
        id="p", kind="pin", text=RULES, tokens=weigh_text(RULES, meter), score=950, source_ids=("p",), reason="pinned"
    )
    made = Planner(story).within(10_000, evidence=[pin])
    assert made.messages[-1] == story.messages[newest]
    assert RULES in str(made.messages[-2])
    assert made.messages[:-2] == story.messages[:-1]
