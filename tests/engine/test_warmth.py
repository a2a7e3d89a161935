"""What providers hold warm, from request to request: real bodies, played through parser, hashes and weights."""

from __future__ import annotations

import json
from typing import Any

from tests.engine.observing import ANSWERS, Bench, asked
from ullage.core.accounting import make_meter
from ullage.core.content import Usage
from ullage.core.profiles.facts import Prices, PriceTier
from ullage.core.wire import Dialect, parse_request
from ullage.engine.measuring import Measuring
from ullage.engine.warmth import Forecast, Settled, Warmth, miss_details
from ullage.stores import PrefixRecord

START_MS = 1_800_000_000_000
MINUTE_MS = 60_000
TEXT = "The quick brown fox reads the file, edits a line and runs the tests again. " * 60
TTL = {"type": "ephemeral"}


class Player:
    """A client and its provider: what is sent is settled with the usage that the provider reports."""

    def __init__(self, *, provider: str = "anthropic", model: str = "claude-opus-4-8", session: str = "s") -> None:
        self.warmth = Warmth()
        self.measuring = Measuring()
        self.provider, self.model, self.session = provider, model, session
        self.now_ms = START_MS

    def ask(self, body: dict[str, Any], *, dialect: Dialect = "anthropic", **named: Any) -> Forecast:
        conversation = parse_request(json.dumps(body).encode(), dialect)
        meter = make_meter(
            dialect=dialect,
            provider=named.pop("provider", self.provider),
            model=named.pop("model", self.model),
            client=None,
        )
        return self.warmth.look_ahead(
            named.pop("session", self.session),
            meter,
            conversation,
            hashes=self.measuring.canonical_hashes(conversation),
            measures=self.measuring.measure(conversation, meter),
            weights=self.measuring.weigh(conversation, meter),
            now_ms=self.now_ms,
            **named,
        )

    def settle(self, forecast: Forecast, read: int | None, write: int | None = 0, fresh: int = 10) -> Settled:
        self.now_ms += 10_000
        usage = Usage(input_fresh=fresh, cache_read=read, cache_write=write, output=5)
        return self.warmth.settle(forecast, usage, ended_ms=self.now_ms)

    def play(self, turns: int, read: int, write: int, **named: Any) -> Settled:
        return self.settle(self.ask(talk(turns), **named), read, write)


def talk(
    turns: int, *, system: str = "You are a careful assistant. ", marked: bool = True, **members: Any
) -> dict[str, Any]:
    """A conversation of so many turns; marks behind the system and at the end, as clients of Anthropic set them."""
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        messages.append({"role": "user", "content": [{"type": "text", "text": f"{number} {TEXT}"}]})
        messages.append({"role": "assistant", "content": f"answer {number}"})
    messages = messages[:-1]
    block: dict[str, Any] = {"type": "text", "text": system + TEXT}
    if marked:
        block["cache_control"] = TTL
        messages[-1]["content"][-1]["cache_control"] = TTL
    tool = {"name": "read", "description": TEXT, "input_schema": {"type": "object", "properties": {}}}
    return {"tools": [tool], "system": [block], "messages": messages, **members}


def test_a_growing_conversation_is_expected_to_read_what_was_held() -> None:
    player = Player()
    first = player.play(1, 0, 30_000)
    assert first.cache == {
        "expected": 0,
        "read": 0,
        "held": 0,
        "ttl_ms": None,
        "age_ms": None,
        "disposition": "cold_first",
        "rule": "claude-4",
        "miss": None,
    }
    second = player.play(2, 30_000, 5_000)
    assert (second.cache["expected"], second.cache["disposition"]) == (30_000, "eligible")
    assert (second.cache["age_ms"], second.cache["ttl_ms"]) == (0, 5 * MINUTE_MS)
    assert player.play(3, 35_000, 5_000).cache["expected"] == 35_000


def test_the_prefix_that_is_warm_is_kept_as_a_record() -> None:
    player = Player()
    player.play(1, 0, 30_000)
    prefix = player.play(2, 30_000, 5_000).prefix
    assert prefix is not None
    assert (prefix.provider, prefix.model, prefix.session) == ("anthropic", "claude-opus-4-8", "s")
    assert (prefix.depth, prefix.tokens, prefix.read, prefix.written) == (5, 35_000, 30_000, 5_000)
    assert (prefix.used_ms, prefix.ttl_ms) == (player.now_ms, 5 * MINUTE_MS)


def test_an_unexpected_miss_makes_an_event_with_its_price() -> None:
    player = Player()
    player.play(1, 0, 30_000)
    player.now_ms += MINUTE_MS
    forecast = player.ask(talk(2, system="It is 10:02 now. "))
    missed = player.settle(forecast, 0, 35_000)
    assert missed.miss is not None
    assert missed.miss.unexpected
    prices = Prices(
        input=5.0,
        cache_read=0.5,
        cache_write=6.25,
        tiers=(PriceTier(above=200_000, input=10.0, cache_read=1.0, cache_write=12.5),),
    )
    details = miss_details(forecast, missed.miss, prices, prompt_tokens=35_010)
    assert details == {
        "cause": "system_changed",
        "slice": {"kind": "system", "index": 0},
        "missed_tokens": 30_000,
        "target": "anthropic/claude-opus-4-8",
        "age_ms": MINUTE_MS,
        "cost_usd": 0.1725,
    }
    assert miss_details(forecast, missed.miss, None, prompt_tokens=35_010)["cost_usd"] is None
    # A tier's prices hold for all of a long prompt.
    assert miss_details(forecast, missed.miss, prices, prompt_tokens=200_001)["cost_usd"] == 0.345


def test_a_miss_that_no_one_expected_is_an_event_of_its_session() -> None:
    """A clock in the system prompt: the record says what was missed and why, the event what that cost."""
    prices = {"input_price": 5.0, "cache_read_price": 0.5, "cache_write_price": 6.25}
    usages = [
        {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 30_000, "output_tokens": 5},
        {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 35_000, "output_tokens": 5},
    ]
    with Bench(sections={"models": {"overrides": {"*": prices}}}) as bench:
        for turns, usage in enumerate(usages, start=1):
            body = talk(turns, system=f"It is 10:0{turns} now. ", model="claude-opus-4-8", max_tokens=9)
            request = asked("/v1/messages", body, x_ullage_session="s")
            call = bench.ask(request, {**ANSWERS["anthropic"], "usage": usage})
        ((kind, details),) = bench.events("s")
    assert call.cache is not None and call.cache["miss"]["cause"] == "system_changed"
    assert (kind, details["cause"], details["missed_tokens"]) == ("cache_miss", "system_changed", 30_000)
    assert details["cost_usd"] == 0.1725


def test_an_edited_middle_is_told_with_its_message() -> None:
    player = Player()
    player.play(3, 0, 40_000)
    pruned = talk(4)
    pruned["messages"][2]["content"] = "[cleared]"
    forecast = player.ask(pruned)
    assert forecast.expectation.place is not None
    assert (forecast.expectation.place.kind, forecast.expectation.place.index) == ("message", 2)
    assert forecast.expectation.cause == "message_changed"


def test_another_session_of_the_client_finds_the_harness_warm() -> None:
    player = Player()
    player.play(2, 0, 40_000)
    forecast = player.ask(talk(1, messages=[{"role": "user", "content": "else"}], cache_control=TTL), session="other")
    assert forecast.expectation.disposition == "eligible"
    assert not forecast.expectation.own
    assert 10_000 < (forecast.expectation.tokens or 0) < 30_000
    assert forecast.expectation.position == 2


def test_several_models_may_be_warm_at_once() -> None:
    player = Player()
    player.play(1, 0, 30_000)
    player.now_ms += MINUTE_MS
    switched = player.play(2, 0, 35_000, model="claude-sonnet-5")
    assert switched.cache["disposition"] == "cold_model_switch"
    assert switched.miss is not None
    assert (switched.miss.cause, switched.miss.unexpected) == ("model_switch", False)
    player.now_ms += MINUTE_MS
    back = player.play(3, 30_000, 9_000)
    assert (back.cache["disposition"], back.cache["expected"], back.miss) == ("eligible", 30_000, None)


def test_after_five_minutes_it_is_cold_and_nobody_is_alarmed() -> None:
    player = Player()
    player.play(1, 0, 30_000)
    player.now_ms += 301_000
    cold = player.play(2, 0, 35_000)
    assert (cold.cache["disposition"], cold.cache["expected"], cold.cache["age_ms"]) == ("cold_expired", 0, 301_000)
    assert cold.miss is not None
    assert (cold.miss.cause, cold.miss.missed_tokens, cold.miss.unexpected) == ("expired", 30_000, False)


def test_a_zero_read_on_an_expected_hit_marks_the_entry_cold() -> None:
    player = Player()
    player.play(1, 0, 30_000)
    evicted = player.settle(player.ask(talk(2)), 0, 0, fresh=35_000)  # nothing read, nothing written
    assert evicted.miss is not None
    assert evicted.miss.cause == "evicted"
    assert player.ask(talk(3)).expectation.tokens == 0


def test_a_title_under_the_same_session_is_another_line() -> None:
    player = Player()
    player.play(2, 0, 40_000)
    title = player.ask({"system": "Make a title.", "messages": [{"role": "user", "content": "hello"}]})
    assert title.expectation.disposition == "cold_first"
    assert player.settle(title, 0, 0).miss is None
    assert player.ask(talk(3)).expectation.tokens == 40_000


def test_a_branch_of_the_conversation_finds_what_it_shares() -> None:
    player = Player()
    for turns in (1, 2, 3):
        player.play(turns, 20_000 + 5_000 * turns, 5_000)
    again = talk(2)
    again["messages"][-1]["content"][0]["text"] = "another question " + TEXT
    forecast = player.ask(again)
    assert forecast.expectation.tokens == 30_000  # what the first turn had held
    assert forecast.expectation.cause == "history_replaced"
    player.settle(forecast, 30_000, 5_000)
    assert player.ask(talk(4)).expectation.tokens == 40_000  # the first branch is warm as well


def test_an_answer_that_was_cut_has_warmed_its_prompt() -> None:
    player = Player()
    player.play(1, 0, 30_000)
    cut = player.warmth.settle(player.ask(talk(2)), None, ended_ms=player.now_ms)
    assert (cut.cache["read"], cut.cache["miss"]) == (None, None)
    expected = player.ask(talk(3)).expectation
    assert (expected.tokens or 0) > 30_000
    assert expected.error_tokens > 0


def test_answers_that_arrive_in_another_order_leave_the_newest_request() -> None:
    player = Player()
    early = player.ask(talk(1))
    player.now_ms += 1_000
    late = player.ask(talk(2))
    player.settle(late, 0, 35_000)
    player.settle(early, 0, 30_000)
    assert player.ask(talk(3)).expectation.tokens == 35_000


def test_a_growing_line_takes_the_place_of_what_it_grew_from() -> None:
    player = Player()
    for turns in range(1, 30):
        player.play(turns, 25_000 + turns, 10)
    assert len(player.warmth._lines._lines) == 1


def test_what_goes_on_from_a_stored_response_cannot_be_told() -> None:
    player = Player(provider="openai", model="gpt-5.4")
    forecast = player.ask({"input": [], "previous_response_id": "resp_1"}, dialect="openai-responses")
    assert (forecast.expectation.disposition, forecast.expectation.tokens) == ("unknown", None)
    assert player.settle(forecast, 5_000, None).prefix is None


def test_an_automatic_cache_needs_no_marks() -> None:
    player = Player(provider="openai", model="gpt-5.4")
    body = {"messages": [{"role": "system", "content": TEXT}, {"role": "user", "content": TEXT}]}
    player.settle(player.ask(body, dialect="openai-chat"), 0, None, fresh=5_000)
    body["messages"] += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"}]
    assert player.ask(body, dialect="openai-chat").expectation.tokens == 5_000 // 128 * 128


def test_a_request_without_a_session_is_checked_and_not_remembered() -> None:
    player = Player()
    settled = player.settle(player.ask(talk(1), session=""), 0, 30_000)
    assert (settled.cache["disposition"], settled.prefix) == ("cold_first", None)
    assert player.ask(talk(2), session="").expectation.tokens == 0


class TestRestart:
    """Prefixes are taken up again from their records."""

    @staticmethod
    def kept(turns: int = 2) -> tuple[Player, PrefixRecord]:
        player = Player()
        prefix = player.play(turns, 0, 40_000).prefix
        assert prefix is not None
        player.warmth = Warmth()
        player.warmth.recall([prefix])
        return player, prefix

    def test_a_conversation_that_goes_on_is_known_by_the_hash_of_its_slices(self) -> None:
        player, _ = self.kept()
        expected = player.ask(talk(3)).expectation
        assert (expected.disposition, expected.tokens, expected.error_tokens) == ("eligible", 40_000, 0)
        assert player.play(3, 40_000, 5_000).cache["expected"] == 40_000
        assert player.play(4, 45_000, 5_000).cache["expected"] == 45_000

    def test_its_time_runs_on(self) -> None:
        player, _ = self.kept()
        player.now_ms += 301_000
        assert player.ask(talk(3)).expectation.disposition == "cold_expired"

    def test_one_that_was_changed_meanwhile_is_unknown_not_cold(self) -> None:
        player, _ = self.kept()
        changed = player.ask(talk(3, system="Changed. "))
        assert (changed.expectation.disposition, changed.expectation.tokens) == ("unknown", None)
        player.settle(changed, 0, 45_000)
        assert player.ask(talk(4, system="Changed. ")).expectation.tokens == 45_000

    def test_other_sessions_are_not_taken_for_it(self) -> None:
        player, _ = self.kept()
        assert player.ask(talk(3), session="other").expectation.disposition == "cold_first"


def test_memory_is_bounded_by_lines_and_by_slices() -> None:
    warmth = Warmth(lines=50, slices=400)
    player = Player()
    player.warmth = warmth
    for number in range(300):
        player.play(1 + number % 20, 20_000, 5_000, session=f"s{number}", model=f"claude-opus-4-8-{number % 7}")
    lines = warmth._lines
    assert len(lines._lines) <= 50
    assert lines._slices == sum(line.footprint.chain.depth for line in lines._lines.values()) <= 400
    indexed = {number for numbers in lines._by_session.values() for number in numbers}
    assert indexed == set(lines._lines) == {number for numbers in lines._by_first.values() for number in numbers}
    assert set(lines._newest.values()) <= set(lines._lines)


def test_a_session_that_never_goes_on_keeps_few_lines() -> None:
    player = Player()
    for number in range(20):
        body = talk(1, system=f"{number}")
        player.settle(player.ask(body), 0, 30_000)
    assert len(player.warmth._lines._lines) == 4
