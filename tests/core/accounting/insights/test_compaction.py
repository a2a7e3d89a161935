"""What a compaction kept and dropped, and prompts that fell without one: accounting specification, section 20, item 6."""

from __future__ import annotations

from ullage.core.accounting.insights import (
    GrowthCall,
    Moment,
    Piece,
    Sent,
    account_calls,
    find_clearings,
    find_compactions,
)
from ullage.core.content import Message

from .conversations import ask, facts, give, lines, measured, say, timeline

READ = ask("read", path="a.py")
RESULT = give(lines(40))
BEFORE = [say("Go."), READ, RESULT, say("Next.")]
AFTER = [say("In short: it was read."), say("Next.")]


def sent(messages: list[Message], ratio: float = 1.0) -> tuple[Sent, ...]:
    return tuple(Sent(hash(one), measure, ratio) for one, measure in zip(messages, measured(messages), strict=True))


def test_a_compaction_has_both_sides_and_names_what_it_dropped() -> None:
    story = timeline([(facts(5_000, 4), BEFORE), (facts(900, 2), [])])
    moment = Moment(
        before=0, after=1, sent_before=sent(BEFORE), sent_after=sent(AFTER), tokens_before=5_100, trigger="auto"
    )
    accounts = account_calls(story)
    [one] = find_compactions([moment], accounts)
    assert (one.before_call, one.call, one.total_before, one.total_after) == (1, 2, 5_000, 900)
    assert (one.tokens_before, one.tokens_after, one.trigger) == (5_100, None, "auto")
    assert one.before == accounts[0].sections
    assert (one.messages_before, one.messages_after, one.kept_messages) == (4, 2, 1)
    assert [(dropped.kind, dropped.name, dropped.count) for dropped in one.dropped] == [
        ("tool_outputs", "read", 1),
        ("messages", "tool calls", 1),
        ("messages", "user text", 1),
    ]
    assert one.new_tokens == sent(AFTER)[0].tokens


def test_what_was_measured_weighs_what_was_measured() -> None:
    single = Moment(before=None, after=None, sent_before=sent([READ, RESULT], 3.0))
    [tripled] = find_compactions([single], [])
    [plain] = find_compactions([Moment(before=None, after=None, sent_before=sent([READ, RESULT]))], [])
    assert tripled.dropped[0].tokens == 3 * plain.dropped[0].tokens


def test_a_compaction_that_no_call_followed_shows_what_the_next_one_would_send() -> None:
    [one] = find_compactions([Moment(before=None, after=None, sent_after=sent(AFTER), tokens_after=70)], [])
    assert (one.call, one.before_call, one.total_after, one.tokens_after) == (None, None, None, 70)
    assert set(one.after) == {"messages"}
    assert one.dropped == ()


def fell(added: int, lapsed: int, growth: int) -> GrowthCall:
    pieces = [Piece(kind="reply", name="answer", tokens=added, method="usage")]
    if lapsed:
        pieces.append(Piece(kind="reasoning", name="dropped", tokens=-lapsed, method="retention rule"))
    return GrowthCall(call=7, total=9_000, growth=growth, added=tuple(pieces), events=("shrank",))


def test_reasoning_that_ended_with_its_turn_is_named() -> None:
    [one] = find_clearings([fell(300, 1_200, -880)])
    assert (one.kind, one.added, one.dropped, one.reasoning) == ("reasoning", 300, 1_180, 1_200)
    assert (one.total_before, one.total_after) == (9_880, 9_000)


def test_what_went_without_a_mark_is_not_explained_away() -> None:
    [one] = find_clearings([fell(300, 1_200, -6_000)])
    assert (one.kind, one.dropped, one.reasoning) == ("unmarked", 6_300, 1_200)
    assert find_clearings([fell(300, 0, -100)])[0].kind == "unmarked"


def test_a_prompt_that_grew_is_none_of_them() -> None:
    assert find_clearings([GrowthCall(call=1, total=9_000, growth=50), GrowthCall(call=2, events=("shrank",))]) == ()
