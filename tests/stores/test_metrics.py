"""What recorded calls add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.core.errors import CallError
from ullage.core.profiles.cache_rules import UNKNOWN_CACHE, find_cache_rule
from ullage.core.profiles.facts import Prices, PriceTier
from ullage.stores import MemoryStore
from ullage.stores.metrics import Tally, cost_nano_usd, cost_of, parse_since, report_metrics
from ullage.stores.route_records import facts_of
from ullage.stores.routed import report_routed

if TYPE_CHECKING:
    from conftest import Records

    from ullage.stores import Store

NOW_MS = 1_780_000_000_000  # 2026-05-28T20:26:40Z
HOUR_MS = 3_600_000
PRICES: dict[str, Any] = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75}


def usage(fresh: int, read: int = 0, write: int = 0, output: int = 0) -> dict[str, Any]:
    return {"input_fresh": fresh, "cache_read": read, "cache_write": write, "output": output}


def cache(expected: int | None, miss: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"expected": expected, "miss": miss}


def filled(store: Store, records: Records, calls: list[dict[str, Any]]) -> Store:
    sessions: dict[str, int] = {}
    for number, fields in enumerate(calls):
        call = records.call(f"c{number}", **fields)
        store.put_call(call)
        if call.session:
            sessions[call.session] = max(sessions.get(call.session, 0), call.created_ms)
    for name, last_ms in sessions.items():
        store.put_session(records.session(name, last_ms=last_ms, client="pi" if name == "s2" else "claude-code"))
    assert store.flush()
    return store


def report(store: Store, hours: int = 24, **named: Any) -> dict[str, Any]:
    return report_metrics(store, since_ms=NOW_MS - hours * HOUR_MS, until_ms=NOW_MS, **named)


def test_calls_are_added_up_by_target_provider_and_hour_in_every_store(store: Store, records: Records) -> None:
    filled(
        store,
        records,
        [
            {"created_ms": NOW_MS - 1, "usage": usage(10, 20, 5, 7)},
            {"created_ms": NOW_MS - HOUR_MS, "session": "s2", "usage": usage(30, 0, 0, 1)},
            {"created_ms": NOW_MS - 2, "session": "", "model": "claude-y"},
            {"created_ms": NOW_MS - 25 * HOUR_MS, "session": "s3"},
            {"created_ms": NOW_MS - 3, "provider": "openai", "model": "gpt"},
        ],
    )
    told = report(store)
    assert [(row["target"], row["attempts"]) for row in told["targets"]] == [
        ("anthropic/claude-x", 2),
        ("anthropic/claude-y", 1),
        ("openai/gpt", 1),
    ]
    assert [(row["provider"], row["attempts"]) for row in told["providers"]] == [("anthropic", 3), ("openai", 1)]
    assert [(row["hour"], row["attempts"]) for row in told["hourly"]] == [
        ("2026-05-28T19:00:00.000Z", 1),
        ("2026-05-28T20:00:00.000Z", 3),
    ]
    assert (told["since"], told["until"]) == ("2026-05-27T20:26:40.000Z", "2026-05-28T20:26:40.000Z")
    assert told["targets"][0]["output"] == 8
    assert msgspec.json.decode(msgspec.json.encode(told)) == told


def test_rows_may_be_clients_or_sessions_too(records: Records) -> None:
    store = filled(MemoryStore(), records, [{"session": "s1"}, {"session": "s1"}, {"session": "s2"}, {"session": ""}])
    by_client = report(store, by="client")["clients"]
    assert [(row["client"], row["attempts"]) for row in by_client] == [("claude-code", 2), ("pi", 1), ("unknown", 1)]
    by_session = report(store, by="session")["sessions"]
    assert [(row["session"], row["attempts"]) for row in by_session] == [("s1", 2), ("", 1), ("s2", 1)]
    assert "sessions" not in report(store)


def test_a_session_with_many_calls_is_read_until_it_is_old_enough(records: Records) -> None:
    calls = [{"created_ms": NOW_MS - number * 60_000} for number in range(1_000)]
    store = filled(MemoryStore(), records, calls)
    assert report(store, hours=10)["targets"][0]["attempts"] == 601
    assert report(store, hours=100)["targets"][0]["attempts"] == 1_000


def test_what_was_not_dispatched_or_only_counted_is_no_attempt(records: Records) -> None:
    store = filled(
        MemoryStore(),
        records,
        [{"kind": "count_tokens"}, {"outcome": "answered"}, {"kind": "title"}, {"created_ms": NOW_MS + 1}],
    )
    assert [row["attempts"] for row in report(store)["targets"]] == [1]


def test_outcomes_statuses_and_times_of_answers(records: Records) -> None:
    tally = Tally()
    for number in range(1, 101):
        tally.add(
            facts_of(records.call(status=200, duration_ms=float(number), first_byte_ms=number / 2, streamed=True))
        )
    tally.add(facts_of(records.call(outcome="error", status=529, duration_ms=9_999.0)))
    tally.add(facts_of(records.call(outcome="cut", status=200, duration_ms=9_999.0)))
    tally.add(facts_of(records.call(outcome="left", status=None)))
    tally.add(facts_of(records.call(status=200, streamed=False, first_byte_ms=5_000.0)))
    told = tally.report()
    assert (told["attempts"], told["successes"], told["failures"]) == (104, 101, 2)
    assert told["statuses"] == {"200": 102, "529": 1}
    assert told["latency_ms"] == {"p50": 50.0, "p95": 95.0}
    assert told["ttft_ms"] == {"p50": 25.0, "p95": 47.5}


def test_nothing_is_known_of_nothing() -> None:
    told = Tally().report()
    assert told["latency_ms"] == {"p50": None, "p95": None}
    assert told["cost_usd"] is None
    assert told["cache"]["read_share"] == told["cache"]["write_share"] == 0.0


def test_shares_of_the_cache(records: Records) -> None:
    # Planner specification, section 10.1.
    tally = Tally()
    tally.add(facts_of(records.call(usage=usage(4_000, 850, 0))))
    tally.add(facts_of(records.call(usage=usage(480, 0, 170))))
    told = tally.report()["cache"]
    assert (told["input_fresh"], told["cache_read"], told["cache_write"]) == (4_480, 850, 170)
    assert (told["read_share"], told["write_share"]) == (0.154545, 0.030909)


def test_shares_are_rounded_half_up(records: Records) -> None:
    tally = Tally()
    tally.add(facts_of(records.call(usage=usage(127, 1, 0))))
    assert tally.report()["cache"]["read_share"] == 0.007813


def test_misses_are_counted_by_cause_and_alarming_ones_apart(records: Records) -> None:
    tally = Tally()
    evicted = {"cause": "evicted", "slice": None, "missed_tokens": 900, "unexpected": True}
    expired = {"cause": "expired", "slice": None, "missed_tokens": 500, "unexpected": False}
    for told in (cache(1_000), cache(1_000, evicted), cache(1_000, evicted), cache(0, expired), cache(None)):
        tally.add(facts_of(records.call(cache=told)))
    told = tally.report()["cache"]
    assert (told["expected_warm"], told["unexpected_misses"], told["missed_tokens"]) == (3_000, 2, 1_800)
    assert told["misses"] == {"evicted": {"calls": 2, "tokens": 1_800}, "expired": {"calls": 1, "tokens": 500}}


def test_cost_is_that_of_calls_with_prices_and_the_others_are_counted(records: Records) -> None:
    tally = Tally()
    tally.add(facts_of(records.call(usage=usage(1_000, 10_000, 2_000, 500), awareness={"profile": {"prices": PRICES}})))
    tally.add(facts_of(records.call(usage=usage(1_000), awareness={"profile": {"prices": {}}})))
    tally.add(facts_of(records.call(usage=usage(1_000), awareness=None)))
    tally.add(facts_of(records.call(usage=None)))
    told = tally.report()
    assert told["cost_usd"] == pytest.approx(0.003 + 0.003 + 0.0075 + 0.0075)
    assert told["unpriced"] == 2


@pytest.mark.parametrize(
    ("used", "prices", "nano"),
    [
        (usage(1_000_000), Prices(input=3.0), 3_000_000_000),
        (usage(0, 1_000_000), Prices(input=3.0), 3_000_000_000),  # no price of its own: as fresh
        (usage(0, 1_000_000), Prices(input=3.0, cache_read=0.0), 0),  # a known 0 is free
        (usage(0, 0, 1_000_000), Prices(input=3.0, cache_write=3.75), 3_750_000_000),
        (usage(1), Prices(input=0.1), 100),
        (usage(1, output=1), Prices(input=0.1), None),
        (usage(1), Prices(output=0.1), None),
        (usage(0), None, None),
        (usage(0), Prices(), 0),
        ({"input_fresh": None, "cache_read": None, "output": 2}, Prices(input=1.0, output=1.5), 3_000),
    ],
)
def test_a_call_costs_what_its_parts_cost(used: dict[str, Any], prices: Prices | None, nano: int | None) -> None:
    assert cost_nano_usd(used, prices, UNKNOWN_CACHE) == nano


def test_what_a_price_list_lacks_is_what_the_provider_usually_charges() -> None:
    """The same prices as those of a miss, and those by which plans choose."""
    claude = find_cache_rule("anthropic", "claude-opus-4-5")
    assert cost_nano_usd(usage(0, 1_000_000), Prices(input=3.0), claude) == 300_000_000
    assert cost_nano_usd(usage(0, 0, 1_000_000), Prices(input=3.0), claude) == 3_750_000_000


def test_writing_for_an_hour_has_its_own_price() -> None:
    used = {**usage(0, 0, 1_000_000), "cache_write_1h": 400_000, "cache_write_5m": 600_000}
    assert (
        cost_nano_usd(used, Prices(input=3.0, cache_write=3.75, cache_write_1h=6.0), UNKNOWN_CACHE)
        == 2_250_000_000 + 2_400_000_000
    )
    assert cost_nano_usd(used, Prices(input=3.0, cache_write=3.75), UNKNOWN_CACHE) == 3_750_000_000


def test_the_prices_of_a_tier_hold_for_the_whole_request() -> None:
    prices = Prices(
        input=1.0, output=10.0, tiers=(PriceTier(above=200_000, input=2.0), PriceTier(above=500_000, input=3.0))
    )
    assert cost_nano_usd(usage(200_000), prices, UNKNOWN_CACHE) == 200_000_000
    assert cost_nano_usd(usage(200_001), prices, UNKNOWN_CACHE) == 400_002_000
    assert cost_nano_usd(usage(100_000, 500_000, output=1), prices, UNKNOWN_CACHE) == 1_800_010_000


@pytest.mark.parametrize(
    ("text", "back_ms"),
    [("30m", 1_800_000), ("24h", 24 * HOUR_MS), ("7d", 168 * HOUR_MS), ("2W", 336 * HOUR_MS), ("2026-05-28", 73_600_000)],
)  # fmt: skip
def test_a_time_is_a_span_or_a_date(text: str, back_ms: int) -> None:
    assert parse_since(text, NOW_MS) == NOW_MS - back_ms


def test_a_time_may_name_its_zone_and_lies_never_before_the_epoch() -> None:
    assert parse_since("2026-05-28T22:26:40+02:00", NOW_MS) == NOW_MS
    assert parse_since("999999w", NOW_MS) == 0


@pytest.mark.parametrize("text", ["", "yesterday", "24", "-3h", "1e9d", "9999999h", "2026-13-01"])
def test_what_is_no_time_is_said_to_be_none(text: str) -> None:
    with pytest.raises(CallError, match="is no time"):
        parse_since(text, NOW_MS)


def test_a_target_that_failed_before_another_one_answered_counts_as_its_own_attempt(records: Records) -> None:
    made = [
        {"target": "openai/gpt", "status": 429, "failure": "rate-limit", "ms_to_first": 5.0, "ms": 10.0},
        {"target": "anthropic/x", "status": 200, "ms_to_first": 90.0, "ms": 900.0, "committed": True},
    ]
    route = {"task_id": "t", "target": "anthropic/x", "attempts": made}
    told = {"duration_ms": 950.0, "first_byte_ms": 140.0, "streamed": True, "status": 200, "model": "x", "route": route}
    store = filled(MemoryStore(), records, [told])
    rows = {row["target"]: row for row in report(store)["targets"]}
    assert (rows["openai/gpt"]["failures"], rows["openai/gpt"]["failovers"]) == (1, 1)
    assert rows["openai/gpt"]["statuses"] == {"429": 1}
    assert (rows["anthropic/x"]["successes"], rows["anthropic/x"]["failovers"]) == (1, 0)
    assert rows["anthropic/x"]["latency_ms"]["p50"] == 900.0
    assert rows["anthropic/x"]["ttft_ms"]["p50"] == 90.0
    assert report(store)["hourly"][0]["attempts"] == 2
    routed = {row["target"]: row for row in report_routed(store, since_ms=0, until_ms=NOW_MS)["targets"]}
    assert (routed["openai/gpt"]["success_rate"], routed["anthropic/x"]["success_rate"]) == (0.0, 1.0)
    assert routed["anthropic/x"]["latency_ms"]["average"] == 900.0


def test_what_the_ledger_knows_of_a_cost_goes_before_usage_and_price(records: Records) -> None:
    call = facts_of(records.call(usage=usage(1_000_000), spend={"usd": 0.25}))
    assert cost_of(call) == 250_000_000
    assert cost_of(facts_of(records.call(usage=usage(1_000_000), spend={"usd": None}))) is None
