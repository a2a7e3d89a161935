"""What should be read from the cache, before the answer tells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.caching.making import CLAUDE, GPT56, MINUTE_MS, OPENAI, START_MS, chain, left_by, marked, rule, usage
from ullage.core.caching import Chain, Expectation, Footprint, Mark, Place, expect, find_change, make_chain
from ullage.core.profiles.cache_rules import UNKNOWN_CACHE, CacheRule

LATER_MS = START_MS + MINUTE_MS


def asked(cache_rule: CacheRule, request: Chain, own: Footprint | None = None, **named: Any) -> Expectation:
    return expect(cache_rule, request, own=own, **{"now_ms": LATER_MS, **named})


OWN = left_by(CLAUDE, marked("TSab"), usage(6_010, 0, 6_000))
AUTOMATIC = left_by(OPENAI, chain("TSab", tools=1, system=1), usage(6_010, 0))


def test_the_first_request_of_all_is_cold() -> None:
    expected = asked(CLAUDE, marked("TSa"))
    assert (expected.disposition, expected.tokens, expected.cause) == ("cold_first", 0, None)
    assert expected.age_ms is None


def test_a_request_that_goes_on_finds_all_that_was_held_before() -> None:
    expected = asked(CLAUDE, marked("TSabcd"), OWN)
    assert (expected.disposition, expected.tokens, expected.held_tokens) == ("eligible", 6_000, 6_000)
    assert (expected.position, expected.own, expected.cause) == (4, True, None)
    assert (expected.age_ms, expected.ttl_ms) == (MINUTE_MS, 5 * MINUTE_MS)
    assert expected.error_tokens == 0


def test_an_automatic_cache_reads_whole_blocks_of_what_is_shared() -> None:
    expected = asked(OPENAI, chain("TSabcd", tools=1, system=1), AUTOMATIC)
    assert (expected.tokens, expected.held_tokens) == (46 * 128, 6_010)
    rewritten = asked(OPENAI, chain("TSaXY", tools=1, system=1), AUTOMATIC)
    assert rewritten.tokens == 6_010 * 3 // 4 // 128 * 128
    assert rewritten.error_tokens == int(0.2 * (6_010 - 6_010 * 3 // 4))


def test_where_prefixes_end_with_requests_a_part_of_one_is_not_found() -> None:
    first = left_by(GPT56, chain("ab"), usage(2_000, 0))
    own = left_by(GPT56, chain("abcd"), usage(4_000, 1_920), before=first, found=2)
    assert asked(GPT56, chain("abcde"), own).tokens == 31 * 128
    assert asked(GPT56, chain("abcX"), own).tokens == 15 * 128  # the first request's end


@pytest.mark.parametrize(
    ("idle_ms", "disposition", "tokens", "cause"),
    [(300_000, "eligible", 6_000, None), (301_000, "cold_expired", 0, "expired")],
)
def test_after_its_time_to_live_nothing_is_warm(idle_ms: int, disposition: str, tokens: int, cause: str | None) -> None:
    expected = asked(CLAUDE, marked("TSabcd"), OWN, now_ms=START_MS + idle_ms)
    assert (expected.disposition, expected.tokens, expected.cause) == (disposition, tokens, cause)
    assert (expected.held_tokens, expected.age_ms) == (6_000, idle_ms)


def test_marks_of_one_hour_outlive_those_of_five_minutes() -> None:
    request = make_chain([1, 2, 3], [1_000] * 3, tools=1, system=1, marks=[Mark(2, long=True), Mark(3)])
    own = left_by(CLAUDE, request, usage(3_010, 0, 3_000))
    expected = asked(CLAUDE, request, own, now_ms=START_MS + 30 * MINUTE_MS)
    assert (expected.disposition, expected.tokens, expected.cause) == ("eligible", 2_000, "expired")


def test_a_prefix_shorter_than_the_minimum_is_not_cached() -> None:
    own = left_by(OPENAI, chain("a"), usage(1_000, 0))
    expected = asked(OPENAI, chain("ab"), own)
    assert (expected.tokens, expected.held_tokens, expected.cause) == (0, 1_000, "below_minimum")
    assert asked(OPENAI, chain("ab"), own, minimum_tokens=500).tokens == 7 * 128


def test_the_profile_can_raise_the_minimum() -> None:
    assert asked(CLAUDE, marked("TSabcd"), OWN, minimum_tokens=6_000).tokens == 6_000
    assert asked(CLAUDE, marked("TSabcd"), OWN, minimum_tokens=6_001).tokens == 0


def test_a_session_of_its_own_finds_the_harness_of_another() -> None:
    expected = asked(CLAUDE, marked("TSxy"), others=[OWN])
    assert (expected.disposition, expected.tokens, expected.own) == ("eligible", 3_000, False)
    assert expected.held_tokens == 0
    assert asked(CLAUDE, marked("UVxy"), others=[OWN]).disposition == "cold_first"


def test_of_several_the_longest_warm_prefix_is_expected() -> None:
    short = left_by(CLAUDE, marked("TSa"), usage(4_010, 0, 4_000), LATER_MS)
    assert asked(CLAUDE, marked("TSabcd"), others=[short, OWN]).tokens == 6_000
    cold = asked(CLAUDE, marked("TSabcd"), OWN, others=[short], now_ms=START_MS + 6 * MINUTE_MS)
    assert (cold.disposition, cold.tokens, cold.own, cold.cause) == ("eligible", 4_000, False, "expired")


def test_another_model_is_a_cold_boundary() -> None:
    expected = asked(CLAUDE, marked("TSabcd"), left=AUTOMATIC)
    assert (expected.disposition, expected.tokens, expected.cause) == ("cold_model_switch", 0, "model_switch")
    assert expected.held_tokens == 4_000  # our own tokens of what both share


def test_a_model_that_is_returned_to_may_still_be_warm() -> None:
    # Routing specification, section 12.2 (f): warmth is of a target and prefix, not of a session.
    expected = asked(CLAUDE, marked("TSabcdef"), OWN, left=AUTOMATIC)
    assert (expected.disposition, expected.tokens, expected.cause) == ("eligible", 6_000, None)


@pytest.mark.parametrize(
    ("request_", "cause", "place", "tokens"),
    [
        (marked("USab"), "tools_changed", Place("tool", 0), 0),
        (marked("TUab"), "system_changed", Place("system", 0), 0),
        (marked("TSXb"), "message_changed", Place("message", 0), 3_000),
        (marked("TSaXbc"), "message_changed", Place("message", 1), 3_000),
        (marked("TSxyz"), "history_replaced", Place("message", 0), 3_000),
        (marked("TSab", options=7), "options_changed", None, 3_000),
    ],
)
def test_the_slice_that_changed_first_is_named(request_: Chain, cause: str, place: Place | None, tokens: int) -> None:
    expected = asked(CLAUDE, request_, OWN)
    assert (expected.cause, expected.place, expected.tokens) == (cause, place, tokens)
    assert (expected.disposition, expected.held_tokens) == ("eligible", 6_000)


def test_tools_in_another_order_are_told_from_other_tools() -> None:
    old = chain("ABCSm", tools=3, system=1)
    assert find_change(old, chain("ACBSm", tools=3, system=1)) == ("tools_reordered", Place("tool", 1))
    assert find_change(old, chain("ABSm", tools=2, system=1)) == ("tools_changed", Place("tool", 2))
    assert find_change(old, chain("ABCDSm", tools=4, system=1)) == ("tools_changed", Place("tool", 3))


def test_a_summary_in_place_of_the_history_is_no_rewrite() -> None:
    long, kept = chain("S" + "abcdefgh", system=1), chain("S" + "Xgh", system=1)
    assert find_change(long, kept) == ("history_replaced", Place("message", 0))
    pruned = chain("S" + "abXdefgh", system=1)
    assert find_change(long, pruned) == ("message_changed", Place("message", 2))


def test_where_the_order_of_the_harness_is_unknown_a_change_in_it_leaves_nothing() -> None:
    changed = chain("TUab", tools=1, system=1)
    assert asked(OPENAI, changed, AUTOMATIC).tokens == 0
    other = asked(OPENAI, chain("TSxy", tools=1, system=1), AUTOMATIC)
    assert other.tokens == 6_010 // 2 // 128 * 128


def test_without_a_mark_behind_it_nothing_is_found() -> None:
    bare = replace(marked("TSabcd"), marks=())
    assert (asked(CLAUDE, bare, OWN).tokens, asked(CLAUDE, bare, OWN).cause) == (0, "mark_missing")
    early = replace(marked("TSabcd"), marks=(Mark(2),))
    assert (asked(CLAUDE, early, OWN).tokens, asked(CLAUDE, early, OWN).cause) == (3_000, "mark_missing")


@pytest.mark.parametrize(("blocks", "tokens", "cause"), [(19, 6_000, None), (20, 3_000, "look_back")])
def test_a_mark_looks_back_over_twenty_blocks_its_own_among_them(blocks: int, tokens: int, cause: str | None) -> None:
    expected = asked(CLAUDE, marked("TSabc"), OWN, blocks_of=lambda index: blocks if index == 4 else 1)
    assert (expected.tokens, expected.cause) == (tokens, cause)


def test_blocks_are_asked_for_no_further_back_than_marks_look() -> None:
    seen: list[int] = []

    def blocks_of(index: int) -> int:
        seen.append(index)
        return 1

    request = marked("TSab" + "c" * 500)
    assert asked(CLAUDE, request, OWN, blocks_of=blocks_of).cause == "look_back"
    assert len(seen) < 100


def test_of_an_unknown_provider_nothing_is_expected_until_it_reports_cached_tokens() -> None:
    silent = left_by(UNKNOWN_CACHE, chain("ab"), usage(2_000))
    expected = asked(UNKNOWN_CACHE, chain("abc"), silent)
    assert (expected.disposition, expected.tokens) == ("unknown", None)
    told = left_by(UNKNOWN_CACHE, chain("abc"), usage(3_000, 1_920), before=silent, found=2)
    assert asked(UNKNOWN_CACHE, chain("abcd"), told).tokens == 23 * 128


def test_dropped_reasoning_is_foreseen_where_a_turn_opens() -> None:
    own = left_by(OPENAI, chain("abcd", turn=1), usage(4_000, 0))
    assert asked(OPENAI, chain("abcdef", turn=6), own, drops_reasoning=True).turn_tokens == 1_000
    assert asked(OPENAI, chain("abcdef", turn=1), own, drops_reasoning=True).turn_tokens is None
    assert asked(OPENAI, chain("abcdef", turn=6), own).turn_tokens is None


letters = st.text("abc", min_size=1, max_size=6)


@given(
    letters, letters, st.sampled_from(["claude-4", "openai", "openai-5.6", "deepseek"]), st.integers(0, 90 * MINUTE_MS)
)
def test_no_more_is_expected_than_was_held_or_is_shared(old: str, new: str, name: str, idle_ms: int) -> None:
    cache_rule = rule(name)
    explicit = cache_rule.kind == "marks"
    request, before = (chain(text, marks=(len(text),) if explicit else ()) for text in (new, old))
    own = left_by(cache_rule, before, usage(before.tokens, 0, before.tokens - 1 if explicit else None))
    expected = asked(cache_rule, request, own, now_ms=START_MS + idle_ms)
    assert expected.tokens is not None
    assert 0 <= expected.tokens <= min(own.tokens_at(before.depth), request.tokens)
    assert expected.position <= request.depth
    assert expected.disposition in ("eligible", "cold_expired")
    if idle_ms > cache_rule.ttl_ms:
        assert expected.tokens == 0
