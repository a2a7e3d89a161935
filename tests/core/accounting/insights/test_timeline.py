"""Every call accounted for in one pass: the same numbers as an account of that call alone."""

from __future__ import annotations

from ullage.core.accounting import Record, account_recorded
from ullage.core.accounting.insights import SECTIONS, account_calls
from ullage.core.content import Message, Part

from .conversations import METER, ask, facts, give, lines, measured, say, timeline

READ = ask("read", path="a.py")
RESULT = give(lines(40))


def test_sections_and_gap_of_every_call_are_its_total() -> None:
    story = timeline([(facts(5_000, 1), [say("Go.")]), (facts(6_040, 3, read=4_990), [READ, RESULT])])
    for account in account_calls(story):
        assert account.total is not None
        assert sum(account.sections.values()) + account.gap == account.total
        assert account.kind == "usage"


def test_results_that_usage_proves_weigh_what_the_prompt_grew_by() -> None:
    reply = {"reply": (1,)}
    story = timeline([(facts(5_000, 1, **reply), [say("Go.")]), (facts(6_040, 3, read=4_990), [READ, RESULT])])
    second = account_calls(story)[1]
    assert second.proven == 1_000
    assert second.sections["tool_outputs"] == 1_000


def test_the_account_of_each_call_is_that_of_the_call_alone() -> None:
    """With thinking, reported reasoning, results that prove nothing, and a turn that ends."""
    thought = Message(
        role="assistant",
        parts=(
            Part(kind="thinking", text=lines(5), carries_reasoning=True),
            Part(kind="tool_call", name="read", text="{}", call_id="9"),
        ),
    )
    steps = [
        (facts(5_000, 1, reply=(1,), reasoning=30), [say("Go.")]),
        (facts(6_040, 3, read=4_990, reply=(3,), reasoning=70, output=100), [thought, RESULT]),
        (facts(6_400, 6, read=10, reply=(6,)), [READ, RESULT, say("And now the other one.")]),
        (facts(7_900, 8, read=6_390), [thought, RESULT]),
    ]
    messages = [message for _, added in steps for message in added]
    accounts = account_calls(timeline(list(steps)))
    for number, account in enumerate(accounts):
        record = Record(calls=tuple(call for call, _ in steps[: number + 1]), complete=False)
        sent = messages[: steps[number][0].start]
        alone = account_recorded(METER, system=[], tools=[], messages=measured(sent), record=record)
        assert account.sections == {section.id: section.tokens for section in alone.sections if section.tokens}
        assert (account.total, account.gap) == (alone.total.tokens, alone.gap)


def test_a_call_without_usage_is_estimated_only_where_nothing_anchors_it() -> None:
    alone, behind = timeline([(None, [say("Go.")])]), timeline([(facts(5_000, 1), [say("Go.")]), (None, [READ])])
    [account] = account_calls(alone)
    assert (account.kind, account.total) == ("estimate", sum(account.sections.values()))
    assert account_calls(behind)[1].total is None


def test_a_turn_opens_with_new_words_of_the_user() -> None:
    story = timeline(
        [
            (facts(5_000, 1, reply=(1,)), [say("Go.")]),
            (facts(5_900, 3, reply=(3,)), [READ, RESULT]),
            (None, [READ, say("Stop.")]),
            (facts(6_000, 5), []),
        ]
    )
    assert [account.opens_turn for account in account_calls(story)] == [True, False, True, False]


def test_behind_a_compaction_the_turn_goes_on_unless_something_was_said_after_the_summary() -> None:
    for added, opens in (([say("A summary.")], False), ([say("A summary."), say("Go on.")], True)):
        [account] = account_calls(timeline([(facts(900, len(added)), added)], compaction=True))
        assert account.opens_turn is opens


def test_sections_keep_the_order_of_a_report() -> None:
    [account] = account_calls(timeline([(facts(5_000, 3), [say("Go."), READ, RESULT])]))
    assert list(account.sections) == [kind for kind in SECTIONS if kind in account.sections]
