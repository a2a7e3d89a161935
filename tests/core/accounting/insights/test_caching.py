"""The provider's cache laid on a prompt: accounting specification, section 20, item 5."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.accounting import measure_system, measure_tool
from ullage.core.accounting.insights import (
    CachedCall,
    CacheMark,
    Caching,
    Harness,
    find_caching,
    measured_harness_rows,
)
from ullage.core.content import ToolSpec, Usage

from .conversations import METER, ask, give, lines, measured, say

MESSAGES = [say("Go."), ask("read", path="a.py"), give(lines(100)), say("Done.", "assistant"), say("And now the rest.")]
HARNESS = [Harness("tools", "tools", 4_000), Harness("system", "system prompt", 900)]


def call(number: int, prompt: int, start: int, *, read: int = 0, written: int | None = 0, **more: Any) -> CachedCall:
    usage = Usage(input_fresh=prompt - read - (written or 0), cache_read=read, cache_write=written)
    return CachedCall(call=number, usage=usage, start=start, **{"target": "a/m", "time_ms": number * 60_000, **more})


def caching(calls: list[CachedCall], harness: list[Harness] | None = None, **more: Any) -> Caching:
    found = find_caching(calls, measured(MESSAGES), HARNESS if harness is None else harness, **more)
    assert found is not None
    end = 0
    for row in found.rows:
        assert row.start == end, "rows stand one behind the other"
        assert 0 <= row.cached <= row.tokens
        assert row.behind >= row.cached
        end += row.tokens
    return found


CALLS = [
    call(1, 5_000, 1, written=5_000),
    call(2, 9_000, 3, read=5_000, written=3_990),
    call(3, 9_100, 5, read=8_990, written=100),
]


def test_the_prompts_of_earlier_calls_are_where_the_rows_begin_and_end() -> None:
    found = caching(CALLS)
    assert [(row.kind, row.title) for row in found.rows] == [
        ("tools", "tools"),
        ("system", "system prompt"),
        ("turn", "messages 0 to 3"),
        ("turn", "message 4"),
    ]
    tools, system, first, second = found.rows
    assert (tools.start, system.start + system.tokens) == (0, first.start)
    assert second.start + second.tokens == 9_100
    assert (first.first_message, first.last_message) == (0, 3)


def test_a_change_breaks_all_that_is_held_behind_its_place() -> None:
    found = caching(CALLS)
    assert (found.read, found.written, found.fresh, found.held) == (8_990, 100, 10, 9_090)
    assert found.rows[0].behind == 9_090
    assert found.rows[-1].behind == 9_090 - found.rows[-1].start
    assert sum(row.cached for row in found.rows) == 9_090
    assert found.through_message == 3, "ten tokens at the end were written nowhere"


def test_what_the_first_prompt_had_beyond_all_that_is_known_belongs_to_the_harness() -> None:
    unknown = caching(CALLS, harness=[])
    assert (unknown.rows[0].kind, unknown.rows[0].title) == ("harness", "system prompt and tools")
    assert unknown.rows[0].tokens == sum(row.tokens for row in caching(CALLS).rows[:2])


def test_a_harness_that_would_not_fit_is_made_smaller() -> None:
    found = caching([call(1, 1_000, 1)])
    assert sum(row.tokens for row in found.rows[:2]) <= 1_000


def test_a_prompt_that_fell_moves_the_earlier_places_down() -> None:
    found = caching([call(1, 5_000, 1, written=5_000), call(2, 9_000, 3, written=9_000), call(3, 8_000, 5, read=8_000)])
    assert found.rows[-1].start + found.rows[-1].tokens == 8_000


def test_messages_behind_the_last_call_are_not_in_the_cache() -> None:
    found = caching(CALLS[:2])
    assert found.through_message == 1, "the last result is a few tokens short of being whole"
    assert (found.rows[-1].cached, found.rows[-1].behind) == (0, 0)


def test_a_provider_that_caches_by_itself_holds_the_prompt_at_most() -> None:
    found = caching([call(1, 5_000, 1, written=None), call(2, 9_000, 3, read=4_992, written=None)])
    assert (found.automatic, found.held, found.written) == (True, 9_000, None)
    assert not caching(CALLS).automatic


def test_the_share_read_from_cache_is_of_all_prompts() -> None:
    assert caching(CALLS).read_share == round((5_000 + 8_990) / (5_000 + 9_000 + 9_100), 4)


def test_a_call_that_found_less_than_was_left_says_how_long_it_waited() -> None:
    late = call(3, 9_100, 5, read=0, written=9_100, time_ms=120_000 + 1_083_000)
    [loss] = caching([*CALLS[:2], late]).losses
    assert (loss.call, loss.expected, loss.read, loss.lost) == (3, 8_990, 0, 8_990)
    assert (loss.idle_s, loss.switched) == (1_083, False)


@pytest.mark.parametrize(("read", "target", "lost"), [(7_000, "a/m", 0), (0, "a/n", 1)])
def test_a_little_less_is_no_loss_and_another_model_is_named(read: int, target: str, lost: int) -> None:
    losses = caching([*CALLS[:2], call(3, 9_100, 5, read=read, written=9_100 - read, target=target)]).losses
    assert len(losses) == lost
    assert all(loss.switched for loss in losses)


def test_where_nobody_spoke_of_a_cache_nothing_is_said_of_it() -> None:
    usage = Usage(input_fresh=5_000, output=3)
    assert find_caching([CachedCall(call=1, usage=usage, start=1)], measured(MESSAGES), HARNESS) is None
    assert find_caching([], measured(MESSAGES), HARNESS) is None


def test_marks_of_a_request_cover_what_stands_before_them() -> None:
    marks = [
        CacheMark(kind="tool", index=3),
        CacheMark(kind="system", index=0, ttl="1h"),
        CacheMark(kind="message", index=2),
        CacheMark(kind="message", index=99),
    ]
    found = caching([], marks=marks)
    assert found.marks is not None
    assert [mark.tokens for mark in found.marks[:2]] == [4_000, 4_900]
    assert found.held == found.marks[2].tokens == found.rows[-2].start + 0 + _upto(2)
    assert found.marks[3].tokens is None
    assert found.call is None


def _upto(message: int) -> int:
    """Tokens of the first messages, as laid out without a call."""
    return sum(
        measure.frame + sum(entry.tokens for entry in measure.entries) for measure in measured(MESSAGES[: message + 1])
    )


@pytest.mark.parametrize(("dialect", "kinds"), [("anthropic", ["tools", "system"]), ("openai-chat", ["harness"])])
def test_the_order_of_the_harness_is_told_only_where_it_is_known(dialect: str, kinds: list[str]) -> None:
    METER.dialect, before = dialect, METER.dialect
    tool = measure_tool(ToolSpec(name="read", description="Reads."), METER)
    rows = measured_harness_rows(METER, [measure_system("Be brief.", METER)], [tool])
    METER.dialect = before
    assert [row.kind for row in rows] == kinds
    assert sum(row.tokens for row in rows) > 290, "the block that comes with the first tool is in it"


@given(
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)), min_size=1, max_size=5),
    st.lists(st.integers(0, 9_000), max_size=3),
)
def test_any_figures_give_rows_one_behind_the_other(prompts: list[tuple[int, int]], harness: list[int]) -> None:
    calls = [call(number, prompt + read, min(5, number), read=read) for number, (prompt, read) in enumerate(prompts, 1)]
    caching(calls, [Harness("tools", f"piece {number}", tokens) for number, tokens in enumerate(harness)])
