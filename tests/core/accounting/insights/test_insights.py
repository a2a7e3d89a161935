"""Insights as data for other programs, and as warnings."""

from __future__ import annotations

from ullage.core.accounting import account
from ullage.core.accounting.insights import (
    Caching,
    GrowthCall,
    Insights,
    Outdated,
    Piece,
    Repeats,
    find_insight_notices,
    next_call,
    report_insights,
    sections_by_kind,
)
from ullage.core.content import Context, Usage

from .conversations import METER, say

CONTEXT = Context(messages=(say("Go."),))
ESTIMATE = account(CONTEXT, METER)
COUNTED = account(CONTEXT, METER, usage=Usage(input_fresh=30))


def test_a_warning_needs_a_share_and_a_number() -> None:
    much = Repeats(freeable_tokens=12_345, freeable_share=0.14)
    [notice] = find_insight_notices(much)
    assert notice.code == "repeated_content"
    assert "~12,345 tokens (14%)" in notice.message
    for few in (
        Repeats(freeable_tokens=1_999, freeable_share=0.9),
        Repeats(freeable_tokens=90_000, freeable_share=0.09),
        Repeats(freeable_tokens=5_000),
    ):
        assert find_insight_notices(few) == ()


def test_the_report_has_every_part_and_times_as_text() -> None:
    piece = Piece(kind="reply", name="answer", tokens=60, method="usage")
    call = GrowthCall(call=2, time_ms=5, total=160, growth=60, added=(piece,), unexplained=0, later_calls=3)
    stale = Outdated(message=1, tokens=70, tool="read", path="/w/a", reason="edited", by_message=2, by_tool="edit")
    insights = Insights(calls=(call,), repeats=Repeats(outdated=(stale,), stale_tokens=70), caching=Caching(read=5))
    data = report_insights(insights, COUNTED, time_text=lambda time: f"at {time}")
    [told] = data["growth"]["calls"]
    assert (told["time"], told["resent_tokens"], told["keep_tokens"]) == ("at 5", 180, 600)
    assert "time_ms" not in told
    assert list(told["added"]) == [{"kind": "reply", "name": "answer", "tokens": 60, "method": "usage", "count": 1}]
    assert data["outdated"][0]["path"] == "/w/a"
    assert (len(data["duplicates"]), data["stale_tokens"], data["cache"]["read"]) == (0, 70, 5)
    assert not (data["compactions"] or data["clearings"] or data["growth"]["turns"])


def test_what_a_source_does_not_hold_is_null_and_not_empty() -> None:
    data = report_insights(Insights(), COUNTED, time_text=str)
    assert (data["duplicates"], data["outdated"], data["freeable_tokens"], data["cache"]) == (None, None, None, None)


def test_the_next_call_is_told_only_where_the_report_is_an_estimate() -> None:
    assert next_call(COUNTED) is None
    ahead = next_call(ESTIMATE)
    assert ahead is not None
    assert ahead["total"] == ESTIMATE.total.tokens == sum(ahead["sections"].values()) + ahead["gap"]


def test_instruction_files_are_one_kind() -> None:
    text = "".join(
        f'<project_instructions path="/w/{name}">\nUse {name}.\n</project_instructions>\n' for name in ("A.md", "B.md")
    )
    text = f"<project_context>\n{text}</project_context>"
    kinds = sections_by_kind(account(Context(system=(text,)), METER))
    assert kinds["context"] > 0
    assert [kind for kind in kinds if kind.startswith("context")] == ["context"]
