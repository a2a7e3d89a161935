"""Insights from the reports of a live session, which hold no content."""

from __future__ import annotations

from typing import Any

from ullage.core.accounting.insights import (
    ReportedCall,
    find_clearings,
    find_reported_caching,
    find_reported_compactions,
    find_reported_growth,
    sum_turns,
)
from ullage.core.content import Usage


def reported(
    number: int, prompt: int | None, *, read: int = 0, results: int = 0, prompts: int = 1, **more: Any
) -> ReportedCall:
    """A call whose report has a system prompt, tools, `results` tokens of tool outputs and `prompts` texts of the user."""
    items = [
        {"name": "user text", "tokens": 20 * prompts, "count": prompts},
        {"name": "assistant text", "tokens": number},
    ]
    sections = [
        {"id": "system", "title": "System", "tokens": 1_000, "items": [{"name": "prompt", "tokens": 1_000}]},
        {"id": "context:/w/A.md", "title": "A.md", "tokens": 200, "items": []},
        {"id": "tools", "title": "Tools", "tokens": 2_000, "items": []},
        {"id": "tool_outputs", "title": "Out", "tokens": results, "items": [{"name": "bash", "tokens": results}]},
        {"id": "messages", "title": "Messages", "tokens": 20 * prompts + number, "items": items},
    ]
    total = prompt if prompt is not None else sum(section["tokens"] for section in sections)  # type: ignore[misc]
    usage = None
    if prompt is not None:
        usage = Usage(input_fresh=prompt - read, cache_read=read, cache_write=0, output=50)
    return ReportedCall(
        id=f"call{number}",
        report={
            "dialect": "anthropic",
            "total": total,
            "total_kind": "usage" if prompt is not None else "estimate",
            "gap": total - sum(section["tokens"] for section in sections),  # type: ignore[misc]
            "sections": sections,
        },
        **{"provider": "anthropic", "model": "claude-opus-4-8", "usage": usage, "time_ms": number * 1_000, **more},
    )


STORY = [
    reported(1, 4_000),
    reported(2, 5_050, read=3_990, results=900),
    reported(3, 5_300, read=5_040, results=900, prompts=2),
]


def test_results_alone_are_measured_and_other_growth_is_estimated() -> None:
    _, second, third = find_reported_growth(STORY)
    assert [(piece.kind, piece.name, piece.tokens, piece.method) for piece in second.added] == [
        ("reply", "answer", 50, "usage"),
        ("tool_outputs", "bash", 1_000, "measured"),
    ]
    assert [(piece.name, piece.tokens, piece.method) for piece in third.added] == [
        ("answer", 50, "usage"),
        ("user text", 20, "estimate"),
    ]
    assert (third.growth, third.unexplained) == (250, 180)


def test_calls_have_their_ids_their_sections_and_their_turns() -> None:
    calls = find_reported_growth(STORY)
    assert [(call.call, call.id, call.turn, call.since) for call in calls] == [
        (1, "call1", 1, None),
        (2, "call2", 1, 1),
        (3, "call3", 2, 2),
    ]
    for call in calls:
        assert sum(call.sections.values()) + call.gap == call.total
    assert calls[0].sections["context"] == 200
    assert calls[0].events == ("start",)
    assert [turn.calls for turn in sum_turns(calls)] == [2, 1]


def test_a_rewritten_history_is_a_compaction_with_both_sides() -> None:
    cut = reported(4, 4_200, cut="rewrite", messages_before=80, messages_after=12, messages_kept=1)
    calls = find_reported_growth([*STORY, cut])
    assert calls[3].events == ("compaction",)
    assert (calls[3].growth, calls[3].since, calls[3].added) == (None, None, ())
    assert [call.in_window for call in calls] == [False, False, False, True]
    assert [call.later_calls for call in calls] == [2, 1, 0, 0]
    [one] = find_reported_compactions([*STORY, cut])
    assert (one.call, one.before_call, one.total_before, one.total_after) == (4, 3, 5_300, 4_200)
    assert (one.messages_before, one.messages_after, one.kept_messages) == (80, 12, 1)
    assert one.before["tool_outputs"] == 900
    assert (one.new_tokens, one.dropped) == (None, ())


def test_a_branch_is_no_compaction() -> None:
    branch = reported(4, 4_200, cut="branch")
    assert find_reported_growth([*STORY, branch])[3].events == ("rewind",)
    assert find_reported_compactions([*STORY, branch]) == ()


def test_another_model_s_growth_is_not_measured() -> None:
    other = reported(4, 9_000, model="claude-haiku-4-5")
    last = find_reported_growth([*STORY, other])[3]
    assert (last.growth, last.unexplained, last.events) == (None, None, ("switch",))


def test_a_prompt_that_fell_is_a_clearing() -> None:
    calls = find_reported_growth([*STORY, reported(4, 4_900, read=3_000, results=900, prompts=2)])
    [one] = find_clearings(calls)
    assert (one.call, one.kind, one.dropped) == (4, "unmarked", 450)


def test_a_call_without_usage_is_an_estimate_that_nothing_is_measured_from() -> None:
    calls = find_reported_growth([reported(1, None), reported(2, 5_000)])
    assert (calls[0].total_kind, calls[0].growth, calls[1].growth) == ("estimate", None, None)


def test_the_cache_is_laid_on_the_harness_and_the_conversation() -> None:
    found = find_reported_caching(STORY)
    assert found is not None
    assert [(row.kind, row.start, row.tokens) for row in found.rows] == [
        ("tools", 0, 2_000),
        ("system", 2_000, 1_200),
        ("session", 3_200, 2_100),
    ]
    assert (found.call, found.read, found.rows[2].behind) == (3, 5_040, 2_100)
    assert find_reported_caching([]) is None
    assert find_reported_caching([reported(1, None)]) is None
