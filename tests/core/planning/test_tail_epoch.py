"""The reference's rule for a longer tail (planner specification, section 10.2)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.planning.making import CAPS, exchange, given, user
from ullage.core.planning import TailChoice, TailContext, TailMemory, choose_tail
from ullage.core.planning.tail_epoch import (
    EPOCH_RULES,
    EpochRules,
    choose_epoch,
    epoch_usd,
    judge_eligibility,
    request_usd,
    reusable_tokens,
)
from ullage.core.spend import CallPrices

DEAR = CallPrices(input=3, output=15, cache_read=0.1, cache_write=3)
USUAL = CallPrices(input=3, output=15, cache_read=0.3, cache_write=3.75)


def test_the_worked_numbers() -> None:
    assert request_usd(60_000, 0, DEAR) == pytest.approx(0.18)
    assert request_usd(60_000, 60_000, DEAR) == pytest.approx(0.006)
    assert epoch_usd(60_000, 0, DEAR, stable=False) == pytest.approx(0.792)
    assert epoch_usd(90_000, 0, DEAR, stable=True) == pytest.approx(0.405)
    assert request_usd(100_000, 80_000, DEAR) == pytest.approx(0.068)
    assert 0.405 < 0.792 * (1 - EPOCH_RULES.improvement) == pytest.approx(0.7128)


def judged(**changes: Any) -> tuple[bool, int, tuple[str, ...]]:
    usual: dict[str, Any] = {"prices": DEAR, "share": 0.8, "samples": 5, "nominal": 64_000, "active": 400_000}
    found = judge_eligibility(**usual | changes)
    return found.eligible, found.tail, found.notes


@pytest.mark.parametrize(
    ("changes", "tail", "notes"),
    [
        ({}, 200_000, ("cache-aware-tail:200000",)),
        ({"active": 100_000}, 64_000, ("cache-aware-tail:64000",)),
        ({"active": 140_001}, 70_000, ("cache-aware-tail:70000",)),
    ],
    ids=["half of the target", "never below the nominal tail", "whole tokens"],
)
def test_the_longer_tail_is_half_of_the_target(changes: Any, tail: int, notes: tuple[str, ...]) -> None:
    assert judged(**changes) == (True, tail, notes)


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({"prices": USUAL}, ("miss-hit-ratio-below-threshold:10.00",)),
        ({"prices": replace(DEAR, known=False)}, ("cache-pricing-incomplete",)),
        ({"prices": replace(DEAR, cache_read=0)}, ("cache-pricing-incomplete",)),
        ({"share": None}, ("cache-share-unobserved",)),
        ({"share": 0.49996}, ("cache-read-share-below-threshold:0.5000",)),
        ({"samples": 2}, ("insufficient-samples:2",)),
        (
            {"prices": USUAL, "share": 0.1, "samples": 0},
            (
                "miss-hit-ratio-below-threshold:10.00",
                "cache-read-share-below-threshold:0.1000",
                "insufficient-samples:0",
            ),
        ),
    ],
    ids=["cheap misses", "no prices", "free reads", "no share", "low share", "few samples", "all at once"],
)
def test_what_speaks_against_it_is_told_in_codes(changes: Any, notes: tuple[str, ...]) -> None:
    assert judged(**changes) == (False, 64_000, notes)


def test_the_reusable_prefix_ends_with_the_first_message_that_differs() -> None:
    assert reusable_tokens([1, 2, 3], [1, 2, 4], [10, 20, 30]) == 30
    assert reusable_tokens([], [1], [10]) == 0
    assert reusable_tokens([2, 3], [1, 2, 3], [10, 20, 30]) == 0


class Talk:
    """A session of turns of 1,000 tokens each, with a tail of 3,000 and half a target of 10,000."""

    def __init__(self, rules: EpochRules = EPOCH_RULES, prices: CallPrices = DEAR) -> None:
        self.memory: TailMemory | None = None
        self.turns = 0
        self.rules = rules
        self.prices = prices
        self.target = "p/m"

    def ask(self, **changes: Any) -> TailChoice | None:
        self.turns += 1
        messages = [(user(200), *exchange(f"c{turn}", 800)) for turn in range(self.turns - 1)]
        request = given(*messages, user(200), hard=20_000, caps=replace(CAPS, recent_tail=3_000))
        context = TailContext(
            hashes=tuple(range(len(request.facts))),
            prices=self.prices,
            target=self.target,
            now_ms=0,
            ttl_ms=300_000,
            cache_share=0.9,
            samples=9,
        )
        choice, self.memory = choose_epoch(request, replace(context, **changes), self.memory, self.rules)
        return choice


def test_a_longer_tail_that_is_clearly_cheaper_is_taken() -> None:
    talk = Talk()
    choices = [talk.ask() for _ in range(8)]
    assert choices[0] is None  # both tails hold all there is
    last = choices[-1]
    assert last is not None
    assert (last.first, last.tokens, last.notes) == (0, 7_200, ("cache-aware-tail:10000",))
    assert last.rejected is not None
    assert (last.rejected.first, last.rejected.tokens) == (15, 2_200)
    assert (last.expected_usd or 0) < 0.9 * (last.rejected.expected_usd or 0)


def test_at_usual_prices_the_tail_is_the_walked_one() -> None:
    talk = Talk(prices=USUAL)
    assert [talk.ask() for _ in range(8)] == [None] * 8


def test_once_taken_it_stays_until_it_has_lost_in_two_epochs_in_a_row() -> None:
    talk = Talk()
    for _ in range(8):
        talk.ask()
    talk.rules = replace(EPOCH_RULES, improvement=0.99)  # from now on it always loses
    used = [talk.ask() is not None for _ in range(9)]
    assert used == [True] * 7 + [False] * 2


def test_another_model_begins_anew() -> None:
    talk = Talk()
    for _ in range(8):
        talk.ask()
    talk.target = "p/other"
    talk.rules = replace(EPOCH_RULES, improvement=0.99)
    assert talk.ask() is None
    assert talk.memory is not None
    assert (talk.memory.target, talk.memory.turns) == ("p/other", 1)


def test_without_the_tail_s_share_being_observed_it_is_left() -> None:
    talk = Talk()
    for _ in range(8):
        talk.ask()
    assert talk.ask(cache_share=None) is None


def test_it_is_one_of_the_policies() -> None:
    request = given(user(10))
    context = TailContext(hashes=(1,), prices=USUAL, target="p/m", now_ms=5, ttl_ms=1)
    choice, memory = choose_tail(request, context, None, "epoch-v1")
    assert choice is None
    assert memory is not None
    assert (memory.used_ms, memory.sent) == (5, (1,))


def test_an_empty_request_is_no_trouble() -> None:
    context = TailContext(hashes=(), prices=USUAL, target="p/m", now_ms=0, ttl_ms=1)
    assert choose_tail(given(), context, None, "epoch-v1")[0] is None
