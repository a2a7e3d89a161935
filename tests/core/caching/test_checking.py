"""A provider's report against what was expected."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.caching.making import CLAUDE, OPENAI, rule, usage
from ullage.core.caching import Expectation, Miss, Place, check, miss_cost_usd, report_cache, report_miss
from ullage.core.profiles.facts import Prices


def expected(tokens: int | None = 40_000, **named: Any) -> Expectation:
    return Expectation(
        **{"disposition": "eligible", "tokens": tokens, "own": True, "held_tokens": tokens or 0, **named}
    )


@pytest.mark.parametrize("read", [40_000, 45_000, 39_000])
def test_a_hit_is_no_miss(read: int) -> None:
    assert check(expected(), usage(50_000, read)) is None


def test_a_prefix_that_should_be_there_and_is_not_was_evicted() -> None:
    miss = check(expected(), usage(50_000, 0))
    assert miss == Miss(cause="evicted", place=None, missed_tokens=40_000)
    assert miss.unexpected


def test_another_sessions_prefix_may_lie_elsewhere() -> None:
    miss = check(expected(own=False, held_tokens=0), usage(50_000, 0))
    assert miss is not None
    assert (miss.cause, miss.unexpected) == ("not_shared", False)


@pytest.mark.parametrize(
    ("cause", "unexpected"),
    [
        ("system_changed", True),
        ("tools_changed", True),
        ("tools_reordered", True),
        ("message_changed", True),
        ("options_changed", True),
        ("mark_missing", True),
        ("look_back", True),
        ("history_replaced", False),
        ("expired", False),
        ("model_switch", False),
        ("below_minimum", False),
    ],
)
def test_what_the_last_request_left_and_this_one_cannot_find_is_missed(cause: Any, unexpected: bool) -> None:
    place = Place("message", 3)
    seen = expected(5_000, held_tokens=40_000, cause=cause, place=place)
    miss = check(seen, usage(50_000, 5_000))
    assert miss == Miss(cause=cause, place=place, missed_tokens=35_000)
    assert miss.unexpected is unexpected


def test_no_more_is_missed_than_the_prompt_has() -> None:
    miss = check(expected(0, held_tokens=150_000, cause="history_replaced"), usage(20_000, 0))
    assert miss is not None
    assert miss.missed_tokens == 20_000


def test_reasoning_that_a_model_drops_is_no_eviction() -> None:
    seen = expected(193_536, held_tokens=193_542, turn_tokens=160_715)
    miss = check(seen, usage(192_554, 160_640))
    assert miss is not None
    assert (miss.cause, miss.unexpected, miss.missed_tokens) == ("reasoning_dropped", False, 32_896)
    gone = check(seen, usage(192_554, 11_648))
    assert gone is not None
    assert gone.cause == "evicted"


def test_an_estimate_may_be_off_by_its_error() -> None:
    assert check(expected(10_000, error_tokens=3_000), usage(20_000, 5_500)) is None
    assert check(expected(10_000, error_tokens=0), usage(20_000, 5_500)) is not None


def test_a_provider_that_reports_no_cache_is_said_to_report_none() -> None:
    miss = check(expected(), usage(50_000))
    assert miss is not None
    assert (miss.cause, miss.missed_tokens, miss.unexpected) == ("not_reported", 0, False)
    assert check(expected(0), usage(50_000)) is None


def test_where_nothing_can_be_told_nothing_is_missed() -> None:
    assert check(expected(None), usage(50_000, 0)) is None


def test_the_record_of_a_call_has_plain_figures() -> None:
    seen = expected(age_ms=1_000, ttl_ms=300_000)
    miss = check(seen, usage(50_000, 0))
    assert report_cache(CLAUDE, seen, 0, miss) == {
        "expected": 40_000,
        "read": 0,
        "held": 40_000,
        "ttl_ms": 300_000,
        "age_ms": 1_000,
        "disposition": "eligible",
        "rule": "claude-4",
        "miss": {"cause": "evicted", "slice": None, "missed_tokens": 40_000, "unexpected": True},
    }
    assert report_miss(Miss(cause="tools_changed", place=Place("tool", 2), missed_tokens=9))["slice"] == {
        "kind": "tool",
        "index": 2,
    }


MISS = Miss(cause="evicted", place=None, missed_tokens=1_000_000)
LISTED = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_1h=6.0)


@pytest.mark.parametrize(
    ("name", "prices", "long", "cost"),
    [
        ("claude-4", LISTED, False, 3.45),
        ("claude-4", LISTED, True, 5.7),
        ("claude-4", Prices(input=3.0), False, 3.45),  # the vendor's ratios: 1.25 and 0.1 of the input price
        ("claude-4", Prices(input=3.0), True, 5.7),
        ("openai", Prices(input=2.0, cache_read=0.5), False, 1.5),
        ("openai-5.6", Prices(input=2.0, cache_read=0.2), False, 2.3),
        ("openai", Prices(cache_read=0.5), False, None),
        ("openai", None, False, None),
    ],
)
def test_a_miss_costs_what_was_paid_above_the_price_of_reading(
    name: str, prices: Prices | None, long: bool, cost: float | None
) -> None:
    assert miss_cost_usd(MISS, rule(name), prices, long=long) == cost


def test_openai_before_5_6_charges_nothing_for_writing() -> None:
    assert miss_cost_usd(MISS, OPENAI, Prices(input=2.0, cache_read=0.5, cache_write=9.0)) == 1.5
