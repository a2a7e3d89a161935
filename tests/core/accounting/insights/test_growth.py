"""Growth call by call: accounting specification, sections 9.1, 10 and 20 (item 4)."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.accounting import CallFacts
from ullage.core.accounting.insights import (
    KEEP_CALLS,
    GrowthCall,
    account_calls,
    find_growth,
    largest_growth,
    sum_turns,
)
from ullage.core.content import Message

from .conversations import ask, facts, give, lines, say, timeline

READ = ask("read", path="a.py")
RESULT = give(lines(40))
Step = tuple[CallFacts | None, list[Message]]


def growth_of(steps: list[Step], **last: Any) -> tuple[GrowthCall, ...]:
    story = timeline(steps, **last)
    trusted = [index for index, call in enumerate(story.calls) if call.facts is not None]
    calls = find_growth(story, account_calls(story), window_of=trusted[-1] if trusted else None)
    for call in calls:
        if call.growth is not None:
            assert sum(piece.tokens for piece in call.added) + (call.unexplained or 0) == call.growth
    return calls


def pieces(call: GrowthCall) -> list[tuple[str, str, int, str]]:
    return [(piece.kind, piece.name, piece.tokens, piece.method) for piece in call.added]


def test_the_specification_s_measured_result() -> None:
    """Section 9.1: prompt 10,000, output 40, next prompt 16,040 with 9,984 from cache: 6,000 measured, not 250."""
    steps: list[Step] = [
        (facts(10_000, 1, reply=(1,)), [say("Go.")]),
        (facts(16_040, 3, read=9_984), [READ, give("x" * 1_000)]),
    ]
    _, second = growth_of(steps)
    assert pieces(second) == [("reply", "answer", 40, "usage"), ("tool_outputs", "read", 6_000, "measured")]
    assert (second.since, second.growth, second.unexplained) == (1, 6_040, 0)


def test_several_tools_share_what_is_measured_and_say_so() -> None:
    added = [READ, ask("bash", "2", command="ls"), RESULT, give(lines(20), "2")]
    steps: list[Step] = [(facts(10_000, 1, reply=(1, 2)), [say("Go.")]), (facts(13_043, 5, read=9_990), added)]
    found = [piece for piece in growth_of(steps)[1].added if piece.kind == "tool_outputs"]
    assert {piece.method for piece in found} == {"measured, shared by estimates"}
    assert sum(piece.tokens for piece in found) == 3_003
    assert found[0].tokens > found[1].tokens


@pytest.mark.parametrize(
    ("read", "added"),
    [(0, [READ, RESULT]), (5_000, [READ, RESULT]), (9_990, [READ, RESULT, say("And more.")])],
    ids=["nothing from cache", "half from cache", "a user message joined"],
)
def test_what_is_not_proven_stays_an_estimate_and_the_rest_unexplained(read: int, added: list[Message]) -> None:
    steps: list[Step] = [
        (facts(10_000, 1, reply=(1,)), [say("Go.")]),
        (facts(16_040, 1 + len(added), read=read), added),
    ]
    second = growth_of(steps)[1]
    assert {piece.method for piece in second.added} == {"usage", "estimate"}
    assert second.unexplained is not None and second.unexplained > 4_000


def test_growth_is_not_measured_across_a_switch() -> None:
    steps: list[Step] = [
        (facts(10_000, 1, reply=(1,), model="claude-sonnet-5"), [say("Go.")]),
        (facts(16_040, 3, read=9_990), [READ, RESULT]),
    ]
    second = growth_of(steps)[1]
    assert (second.growth, second.unexplained, second.events) == (None, None, ("switch",))


def test_an_answer_that_was_logged_too_small_is_counted_by_its_text() -> None:
    long_answer = say(lines(50), "assistant")
    steps: list[Step] = [
        (facts(10_000, 1, reply=(1,), output=2, output_unsure=True), [say("Go.")]),
        (facts(13_000, 3, read=9_990), [long_answer, say("Thanks.")]),
    ]
    kind, _, tokens, method = pieces(growth_of(steps)[1])[0]
    assert (kind, method) == ("reply", "estimate")
    assert tokens > 500


def test_what_was_kept_is_what_later_calls_sent_again() -> None:
    steps: list[Step] = [
        (facts(10_000, 1, reply=(1,)), [say("Go.")]),
        (facts(11_000, 3, read=9_990, reply=(3,)), [READ, RESULT]),
        (facts(12_000, 5, read=10_990, reply=(5,)), [READ, RESULT]),
        (facts(13_000, 7, read=11_990), [READ, RESULT]),
    ]
    calls = growth_of(steps)
    assert [call.later_calls for call in calls] == [3, 2, 1, 0]
    assert [call.resent_tokens for call in calls] == [0, 2_000, 1_000, 0]
    assert calls[1].keep_tokens == 1_000 * KEEP_CALLS
    assert [call.call for call in largest_growth(calls, 2)] == [2, 3]


def test_what_a_compaction_took_costs_nothing_more() -> None:
    story = timeline([(facts(10_000, 1, reply=(1,)), [say("Go.")]), (facts(16_040, 3, read=9_990), [READ, RESULT])])
    calls = find_growth(story, account_calls(story), window_of=None)
    assert calls[1].growth == 6_040
    assert calls[1].keep_tokens == 0
    assert largest_growth(calls, 5) == []


def test_a_turn_sums_its_calls() -> None:
    steps: list[Step] = [
        (facts(10_000, 1, reply=(1,)), [say("Go.")]),
        (facts(11_000, 3, read=9_990, reply=(3,)), [READ, RESULT]),
        (facts(11_100, 5, read=10_990), [say("Done.", "assistant"), say("Next.")]),
    ]
    calls = growth_of(steps)
    first, second = sum_turns(calls)
    assert (first.turn, first.first_call, first.last_call, first.calls) == (1, 1, 2, 2)
    assert (first.growth, first.sent, first.output) == (1_000, 21_000, 80)
    assert (second.turn, second.growth, second.first_call) == (2, 100, 3)
    assert first.added["tool_outputs"] == 960


def test_a_sub_agent_s_calls_belong_to_no_turn_of_the_main_chain() -> None:
    story = timeline([(facts(10_000, 1), [say("Go.")])], sidechain=True, agent="explorer")
    calls = find_growth(story, account_calls(story), window_of=None)
    assert (calls[0].sidechain, calls[0].agent) == (True, "explorer")
    assert sum_turns(calls) == ()


@pytest.mark.parametrize(
    ("facts_of_last", "event"),
    [
        ({"shrank": True}, "shrank"),
        ({"lossy": True}, "lossy"),
        ({"rewound": True}, "rewind"),
        ({"compaction": True}, "compaction"),
    ],
)
def test_events_are_named(facts_of_last: dict[str, Any], event: str) -> None:
    steps: list[Step] = [(facts(10_000, 1, reply=(1,)), [say("Go.")]), (facts(9_000, 3), [READ, RESULT])]
    calls = growth_of(steps, **facts_of_last)
    assert calls[0].events == ("start",)
    assert event in calls[1].events
