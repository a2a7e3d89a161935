"""The tail that moves in steps (design, section 7)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.planning.making import CAPS, assistant, exchange, given, system, user
from ullage.core.planning import PlanInput, TailChoice, TailContext, TailMemory, choose_tail, plan
from ullage.core.spend import CallPrices

CLAUDE = CallPrices(input=5, output=25, cache_read=0.5, cache_write=6.25)
NO_CACHE = CallPrices(input=5, output=25, cache_read=5, cache_write=5)
TTL_MS = 300_000
LIMIT = 10_000


class Talk:
    """A session that grows message by message and is planned again and again."""

    def __init__(self, *, limit: int = LIMIT, hard: int = 100_000, prices: CallPrices = CLAUDE, **more: Any) -> None:
        self.messages: list[Any] = []
        self.names: list[int] = []
        self.memory: TailMemory | None = None
        self.now_ms = 0
        self.target = "anthropic/claude"
        self.steady = False
        self._caps = replace(CAPS, recent_tail=limit)
        self._hard = hard
        self._prices = prices
        self._more = more
        self._count = 0

    def say(self, *messages: Any) -> Talk:
        for message in messages:
            self._count += 1
            self.messages.append(message)
            self.names += [self._count * 1_000 + part for part in range(2 if isinstance(message[0], tuple) else 1)]
        return self

    def exchanges(self, number: int, tokens: int = 1_000) -> Talk:
        return self.say(*(exchange(f"call {self._count + index}", tokens) for index in range(number)))

    def given(self) -> PlanInput:
        return given(*self.messages, hard=self._hard, caps=self._caps, fixed_tokens=1_000, **self._more)

    def context(self) -> TailContext:
        return TailContext(
            hashes=tuple(self.names),
            prices=self._prices,
            target=self.target,
            now_ms=self.now_ms,
            ttl_ms=TTL_MS,
            steady=self.steady,
        )

    def ask(self, *, after_ms: int = 10_000) -> TailChoice:
        """The tail of the next request."""
        self.now_ms += after_ms
        choice, self.memory = choose_tail(self.given(), self.context(), self.memory)
        assert choice is not None
        return choice

    def sent(self, choice: TailChoice) -> tuple[int, ...]:
        """What a plan with this tail sends."""
        return plan(replace(self.given(), tail=choice.first)).kept


def long_turn(calls: int, **more: Any) -> tuple[Talk, TailChoice]:
    """One turn of so many exchanges of 1,000 tokens, asked for after each."""
    talk = Talk(**more).say(user(100))
    choice = talk.ask()
    for _ in range(calls):
        choice = talk.exchanges(1).ask()
    return talk, choice


def test_what_fits_the_limit_stays_where_it_is() -> None:
    _, choice = long_turn(9)
    assert (choice.first, choice.reason, choice.moved) == (0, "fits", False)


def test_a_warm_tail_is_held_beyond_its_limit_in_the_middle_of_a_turn() -> None:
    talk = Talk().say(user(100)).exchanges(8)
    talk.ask()
    talk.say(user(100))
    talk.ask()
    choice = talk.exchanges(4).ask()
    assert (choice.first, choice.reason, choice.moved) == (0, "held", False)
    assert choice.tokens > LIMIT


def test_a_held_tail_tells_what_is_warm_and_what_shortening_would_have_cost() -> None:
    talk = Talk().say(user(100)).exchanges(4).say(user(100)).exchanges(4).say(user(100))
    talk.ask()
    choice = talk.exchanges(4).ask()
    assert (choice.reason, choice.warm_prefix_tokens) == ("held", 1_000 + 8_300)
    assert choice.rejected is not None
    assert (choice.rejected.first, choice.rejected.tokens) == (9, 8_200)
    assert choice.expected_usd is not None
    assert choice.rejected.expected_usd is not None


def test_a_new_turn_shortens_a_tail_that_has_outgrown_its_limit() -> None:
    talk, held = long_turn(20)
    choice = talk.say(user(100)).ask()
    assert (held.first, choice.reason, choice.moved) == (0, "new-turn", True)
    assert LIMIT / 4 <= choice.tokens < LIMIT / 2
    assert choice.warm_prefix_tokens == 1_000
    assert choice.rejected is not None
    assert choice.rejected.first == 0
    assert (choice.expected_usd or 0) < (choice.rejected.expected_usd or 0)


def test_then_it_stays_for_many_calls() -> None:
    talk, _ = long_turn(20)
    first = talk.say(user(100)).ask().first
    choices = [talk.exchanges(1).ask() for _ in range(7)]
    assert {(choice.first, choice.moved) for choice in choices} == {(first, False)}


def test_a_tail_that_begins_inside_an_older_turn_keeps_the_words_that_opened_it() -> None:
    talk, _ = long_turn(20)
    choice = talk.say(user(100)).ask()
    assert talk.sent(choice) == (0, *range(choice.first, 42))
    assert choice.tokens == sum(talk.given().tokens[index] for index in talk.sent(choice))


def test_it_begins_with_a_whole_turn_where_one_is_about_as_long() -> None:
    talk = Talk().say(user(100)).exchanges(12).say(user(100)).exchanges(3)
    talk.ask()
    talk.exchanges(1).say(user(100))
    assert talk.ask().first == 25


def test_a_cold_cache_is_a_moment_to_move_for_nothing() -> None:
    talk = Talk().say(user(100)).exchanges(8)
    talk.ask()
    talk.say(user(100))
    talk.ask()
    choice = talk.exchanges(4).ask(after_ms=TTL_MS + 1)
    assert (choice.first, choice.reason, choice.warm_prefix_tokens) == (17, "cold-cache", 0)


def test_another_model_has_cached_nothing() -> None:
    talk = Talk().say(user(100)).exchanges(8)
    talk.ask()
    talk.say(user(100))
    talk.ask()
    talk.target = "openai/gpt"
    assert talk.exchanges(4).ask().reason == "cold-cache"


def test_a_cold_cache_leaves_a_tail_within_its_limit_alone() -> None:
    talk, _ = long_turn(8)
    assert talk.ask(after_ms=TTL_MS + 1).reason == "fits"


def test_what_belongs_to_the_current_turn_is_left_out_for_the_input_limit_alone() -> None:
    talk, choice = long_turn(30)
    assert choice.first == 0
    assert talk.ask(after_ms=TTL_MS + 1).first == 0


def test_the_input_limit_shortens_a_long_loop_by_whole_exchanges_and_far_enough() -> None:
    talk = Talk(hard=16_000).say(user(100))
    talk.ask()
    choices = [talk.exchanges(1).ask() for _ in range(40)]
    moves = [choice for choice in choices if choice.moved]
    assert 2 <= len(moves) <= 10
    assert {choice.reason for choice in moves} == {"over-limit"}
    assert all(talk.given().facts[choice.first].role == "assistant" for choice in moves)
    assert all(choice.tokens <= 15_000 for choice in choices)


def test_where_nothing_is_cheaper_from_a_cache_the_tail_is_the_walked_one() -> None:
    talk = Talk(prices=NO_CACHE).say(user(100)).exchanges(4).say(user(100)).exchanges(4).say(user(100))
    talk.ask()
    choice = talk.exchanges(2).ask()
    assert (choice.first, choice.reason) == (9, "dear")
    assert talk.sent(choice) == plan(talk.given()).kept


def test_holding_ends_when_it_has_cost_twice_what_shortening_costs() -> None:
    talk = Talk().say(user(100)).exchanges(6).say(user(100)).exchanges(3).say(user(100))
    talk.ask()
    reasons = [talk.exchanges(1, 100).ask().reason for _ in range(60)]
    held = reasons.index("dear")
    assert held > 10
    assert set(reasons[8:held]) == {"held"}


def test_who_would_lose_its_thinking_keeps_the_tail_until_the_next_turn() -> None:
    talk = Talk(prices=NO_CACHE).say(user(100)).exchanges(4).say(user(100)).exchanges(4).say(user(100))
    talk.ask()
    talk.steady = True
    choices = [talk.exchanges(1).ask(after_ms=TTL_MS + 1) for _ in range(8)]
    assert {(choice.first, choice.reason) for choice in choices[-6:]} == {(0, "held")}
    assert talk.say(user(100)).ask().moved


def test_who_would_lose_its_thinking_keeps_the_tail_as_far_as_the_hard_limit_allows() -> None:
    moves: dict[bool, list[TailChoice]] = {False: [], True: []}
    for steady, moved in moves.items():
        talk = Talk(hard=20_000, active=14_000).say(user(100))
        talk.steady = steady
        choices = [talk.exchanges(1).ask() for _ in range(60)]
        assert all(choice.tokens <= 19_000 for choice in choices)
        moved += [choice for choice in choices if choice.moved and choice.first]
    assert {choice.reason for choice in moves[True]} == {"over-limit"}
    assert 1 <= len(moves[True]) < len(moves[False])


def test_what_was_paid_for_holding_is_forgotten_when_the_tail_moves() -> None:
    talk = Talk().say(user(100)).exchanges(6).say(user(100)).exchanges(3).say(user(100))
    talk.ask()
    talk.exchanges(4).ask()
    assert talk.memory is not None
    assert talk.memory.rent_usd > 0
    talk.say(user(100)).ask()
    assert talk.memory.rent_usd == 0


def test_a_history_that_the_client_replaced_is_walked_anew() -> None:
    talk, _ = long_turn(20)
    talk.messages = [user(500), assistant(100), user(50)]
    talk.names = [7, 8, 9]
    choice = talk.ask()
    assert (choice.first, choice.reason, choice.moved) == (0, "history-replaced", True)


def test_the_first_tail_takes_the_newest_of_a_turn_that_is_too_large_to_be_whole() -> None:
    """As after a restart: "yes, do that" says nothing without what it answers."""
    talk = Talk(hard=12_000).say(user(100)).exchanges(20).say(user(10))
    choice = talk.ask()
    assert (choice.first, choice.tokens, choice.reason) == (23, 9_110, "first-request")
    assert talk.sent(choice) == (0, *range(23, 42))


def test_a_first_tail_without_room_for_an_exchange_before_it_is_the_current_turn() -> None:
    talk = Talk(limit=500, hard=2_000).say(user(100)).exchanges(20).say(user(10))
    assert talk.sent(talk.ask()) == (41,)


def test_messages_in_front_of_the_tail_may_go_without_moving_it() -> None:
    talk, _ = long_turn(20)
    choice = talk.say(user(100)).ask()
    first = talk.names[choice.first]
    del talk.messages[1], talk.names[1:3]
    again = talk.ask()
    assert talk.names[again.first] == first


def test_prompts_in_a_row_are_one_turn() -> None:
    talk = Talk().say(user(100)).exchanges(20)
    talk.ask()
    talk.say(user(3_000), user(100))
    choice = talk.ask()
    assert 41 in talk.sent(choice)


def test_room_is_kept_for_pins_and_memory() -> None:
    from tests.core.planning.making import supplement

    offered = (supplement("p", "pin", 3_000), supplement("m", "memory", 2_000), supplement("h", "retrieval", 9_000))
    talk = Talk(hard=16_000, supplements=offered).say(user(100)).exchanges(11)
    assert talk.ask().tokens <= 10_000


def test_system_messages_in_the_list_are_kept_and_open_no_turn() -> None:
    talk = Talk().say(system(50), user(100)).exchanges(20)
    talk.ask()
    choice = talk.say(system(70), user(100)).ask()
    kept = talk.sent(choice)
    assert {0, 42} <= set(kept)
    assert choice.tokens == sum(talk.given().tokens[index] for index in kept)


def test_unknown_prices_tell_no_money() -> None:
    talk, _ = long_turn(20, prices=replace(CLAUDE, known=False))
    choice = talk.say(user(100)).ask()
    assert choice.reason == "new-turn"
    assert choice.expected_usd is None
    assert choice.rejected is not None
    assert choice.rejected.expected_usd is None


def test_free_reading_is_no_reason_to_keep_everything() -> None:
    talk, _ = long_turn(20, prices=CallPrices(input=1, output=0, cache_read=0, cache_write=1))
    assert talk.say(user(100)).ask().tokens > LIMIT / 4


@pytest.mark.parametrize(("limit", "rescue"), [(0, True), (1, False)])
def test_a_limit_of_next_to_nothing_keeps_the_current_turn(limit: int, rescue: bool) -> None:
    talk = Talk(limit=limit, rescue=rescue).say(user(100)).exchanges(3).say(user(100))
    assert talk.sent(talk.ask()) == (7,)


def test_an_empty_request_has_an_empty_tail() -> None:
    choice = Talk().ask()
    assert (choice.first, choice.tokens, choice.reason) == (0, 0, "first-request")


def test_a_start_that_leaves_nothing_out_is_no_move() -> None:
    talk = Talk().say(system(0), user(100)).exchanges(12)
    talk.ask()
    assert talk.ask(after_ms=TTL_MS + 1).first == 0


def test_a_user_who_says_the_same_twice_has_begun_a_new_turn() -> None:
    talk, _ = long_turn(20)
    talk.say(user(10))
    talk.names[-1] = talk.names[0]
    assert talk.ask().reason == "new-turn"


def test_of_messages_that_say_the_same_the_tail_begins_with_the_one_it_began_with() -> None:
    talk = Talk().say(user(100)).exchanges(12).say(user(100)).exchanges(3)
    talk.names[25] = talk.names[0]
    talk.ask()
    talk.exchanges(1).say(user(100))
    assert talk.ask().first == 25
    del talk.messages[1], talk.names[1:3]
    assert talk.ask().first == 23
