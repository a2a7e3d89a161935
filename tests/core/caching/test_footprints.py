"""What a request leaves in the cache, and how many tokens stand at each place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.caching.making import CLAUDE, GPT56, MINUTE_MS, OPENAI, START_MS, chain, left_by, marked, usage
from ullage.core.caching import Footprint, Mark, Measured, Stop, is_read, make_chain
from ullage.core.content import Usage


def positions(footprint: Footprint) -> list[int]:
    return [stop.position for stop in footprint.stops]


def test_a_marked_request_is_held_at_its_marks_and_an_automatic_one_to_its_end() -> None:
    assert positions(left_by(CLAUDE, marked("TSab"), usage(4_000, 0, 3_990))) == [2, 4]
    assert positions(left_by(OPENAI, chain("TSab", tools=1), usage(4_000, 0))) == [4]


def test_the_time_to_live_is_that_of_the_mark_or_of_the_request() -> None:
    request = make_chain([1, 2], [10, 10], marks=[Mark(1, long=True), Mark(2)])
    assert [stop.ttl_ms for stop in left_by(CLAUDE, request, None).stops] == [60 * MINUTE_MS, 5 * MINUTE_MS]
    assert left_by(OPENAI, chain("ab", long=True), None).stops[0].ttl_ms == 24 * 60 * MINUTE_MS


@pytest.mark.parametrize(("idle_ms", "warm"), [(300_000, True), (301_000, False), (0, True)])
def test_idle_for_the_whole_time_is_warm_and_a_second_longer_is_cold(idle_ms: int, warm: bool) -> None:
    # Routing specification, section 12.3: 10:05:00 is warm, 10:05:01 is cold.
    assert Stop(1, START_MS, 300_000).is_warm(START_MS + idle_ms) is warm


def test_a_provider_that_reads_and_writes_nothing_holds_nothing() -> None:
    assert positions(left_by(CLAUDE, marked("TSab"), usage(900, 0, 0))) == []
    assert positions(left_by(CLAUDE, marked("TSab"), None)) == [2, 4]  # cut before it told


def test_tokens_are_exact_where_the_provider_has_told_and_shared_out_between() -> None:
    first = left_by(CLAUDE, marked("TSab"), usage(6_010, 0, 6_000))
    second = left_by(CLAUDE, marked("TSabcd"), usage(9_010, 6_000, 3_000), before=first, found=4)
    assert second.measured == (Measured(4, 6_000), Measured(6, 9_000))
    assert [second.tokens_at(position) for position in (0, 2, 4, 5, 6)] == [0, 3_000, 6_000, 7_500, 9_000]
    assert [second.distance(position) for position in (0, 2, 4, 5, 6)] == [0, 3_000, 0, 1_500, 0]


def test_the_end_of_the_prompt_is_told_too_where_the_last_mark_stands_before_it() -> None:
    footprint = left_by(CLAUDE, chain("TSab", tools=1, system=1, marks=(2,)), usage(4_400, 0, 2_200))
    assert footprint.measured == (Measured(2, 2_200), Measured(4, 4_400))
    assert footprint.tokens_at(3) == 3_300


def test_behind_the_last_place_told_our_own_tokens_go_on() -> None:
    first = left_by(OPENAI, chain("ab"), usage(5_000, 0))
    cut = left_by(OPENAI, chain("abcd"), None, before=first, found=2)
    assert cut.measured == (Measured(2, 5_000),)
    assert cut.tokens_at(4) == 7_000
    assert cut.distance(4) == 2_000


def test_what_was_told_of_a_part_that_is_gone_is_forgotten() -> None:
    first = left_by(OPENAI, chain("abc"), usage(3_000, 0))
    second = left_by(OPENAI, chain("abcde"), usage(5_000, 2_944), before=first, found=3)
    rewritten = left_by(OPENAI, chain("abcXYZ"), usage(6_000, 2_944), before=second, found=3)
    assert rewritten.measured == (Measured(3, 3_000), Measured(6, 6_000))


def test_earlier_marks_live_on_until_their_time_is_over() -> None:
    first = left_by(CLAUDE, marked("TSa"), usage(3_000, 0, 2_999))
    second = left_by(CLAUDE, marked("TSabc"), usage(5_000, 2_999, 2_000), START_MS + MINUTE_MS, before=first, found=3)
    third = left_by(
        CLAUDE, marked("TSabcde"), usage(7_000, 4_999, 2_000), START_MS + 5 * MINUTE_MS, before=second, found=5
    )
    assert positions(third) == [2, 3, 5, 7]
    late = left_by(
        CLAUDE, marked("TSabcdef"), usage(8_000, 6_999, 1_000), START_MS + 7 * MINUTE_MS, before=third, found=7
    )
    assert positions(late) == [2, 5, 7, 8]  # 3 was used six minutes ago


def test_a_hit_makes_the_place_young_again() -> None:
    first = left_by(GPT56, chain("ab"), usage(2_000, 0))
    later = START_MS + 20 * MINUTE_MS
    second = left_by(GPT56, chain("abc"), usage(3_000, 1_920), later, before=first, found=2)
    assert [stop.used_ms for stop in second.stops] == [later, later]


def test_what_was_expected_and_not_read_was_cold() -> None:
    # Routing specification, section 12.3: a zero read on an expected hit marks the entry cold.
    first = left_by(CLAUDE, marked("TSab"), usage(40_000, 0, 39_990))
    missed = left_by(CLAUDE, marked("TSabc"), usage(50_000, 0, 49_990), before=first, found=4)
    assert positions(missed) == [2, 5]
    request = chain("TSabc", tools=1, system=1, marks=(5,))
    partly = left_by(CLAUDE, request, usage(50_000, 20_000, 29_990), before=first, found=4)
    assert positions(partly) == [2, 5]  # the harness was read, 4 was not


def test_a_provider_confirms_by_reporting_cached_tokens() -> None:
    silent = left_by(OPENAI, chain("ab"), usage(2_000))
    assert not silent.confirmed
    assert left_by(OPENAI, chain("ab"), usage(2_000, 1_920)).confirmed
    told = left_by(OPENAI, chain("abc"), usage(3_000, 1_920), before=silent, found=2)
    assert left_by(OPENAI, chain("abcd"), usage(4_000, 0), before=told, found=3).confirmed


@pytest.mark.parametrize(
    ("tokens", "read", "hit"),
    [
        (22_727, 22_272, True),  # blocks of 1,024 tokens
        (276_454, 275_200, True),  # the furthest below of all recorded hits on a step of blocks
        (442_280, 439_421, True),  # an earlier mark of the same line
        (223_672, 192_384, False),  # the nearest recorded miss
        (13_353, 7_360, False),
        (2_000, 1_024, True),
        (1_500, 0, False),
        (0, 0, True),
    ],
)
def test_a_read_a_little_below_is_a_hit(tokens: int, read: int, hit: bool) -> None:
    assert is_read(tokens, read) is hit


letters = st.text("abcdef", min_size=1, max_size=8)


@given(
    st.lists(st.tuples(letters, st.integers(1, 9_000), st.integers(0, 9_000)), min_size=1, max_size=8), st.booleans()
)
def test_tokens_only_grow_along_a_prompt_whatever_was_reported(
    calls: list[tuple[str, int, int]], explicit: bool
) -> None:
    footprint: Footprint | None = None
    for number, (text, fresh, read) in enumerate(calls):
        reported = Usage(input_fresh=fresh, cache_read=read, cache_write=0 if explicit else None)
        request = chain(text, marks=(len(text),)) if explicit else chain(text)
        footprint = left_by(
            CLAUDE if explicit else GPT56, request, reported, START_MS + number, before=footprint, found=number % 3
        )
        tokens = [footprint.tokens_at(position) for position in range(request.depth + 1)]
        assert tokens == sorted(tokens)
        assert tokens[-1] == reported.prompt or explicit
        assert footprint.measured == tuple(sorted(set(footprint.measured)))
        assert len(positions(footprint)) == len(set(positions(footprint)))
