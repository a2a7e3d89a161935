"""Staying or switching by different rules, on made-up sessions."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.evals.outcomes import issues
from ullage.core.spend.prices import CallPrices
from ullage.evals.routing_switching import CONTEXTS, RULES, SwitchScore, play_switches, situations

SONNET = CallPrices(input=3, output=15, cache_read=0.3, cache_write=3.75)
HAIKU = CallPrices(input=0.8, output=4, cache_read=0.08, cache_write=1)


def play() -> SwitchScore:
    found = play_switches(issues(), (SONNET, HAIKU), draws=50)
    assert found is not None
    return found


def test_every_ordered_pair_is_played_at_every_context() -> None:
    assert len(situations(4)) == 12 * len(CONTEXTS)
    assert play().situations == 2 * len(CONTEXTS)


def test_the_one_request_rule_stays_where_all_calls_would_switch() -> None:
    """Section 12.4: at 100,000 tokens the next request is dearer at the cheaper model, and twelve calls are not."""
    found = {one.rule: one for one in play().rules}
    assert found["one request"].switched < found["horizon, 12 calls"].switched
    assert found["horizon, 12 calls"].usd < found["one request"].usd
    assert found["horizon, 12 calls"].interval.high < 1


def test_no_rule_is_cheaper_than_the_cheaper_choice() -> None:
    found = play()
    assert all(one.usd >= found.least_usd - 1e-12 for one in found.rules)
    assert {one.rule for one in found.rules} == set(RULES)


def test_staying_and_switching_are_each_right_where_the_other_is_not() -> None:
    found = {one.rule: one for one in play().rules}
    assert (found["stay"].switched, found["switch"].switched) == (0, 1)
    assert found["stay"].right + found["switch"].right == pytest.approx(1)
    assert found["one request"].beside_one_request == 1


def test_a_rule_that_knows_how_many_calls_each_model_takes_does_not_fall_for_the_price() -> None:
    """A model at a third of the price that takes ten times the calls is no bargain."""
    data = issues()
    slow = replace(
        data,
        items=tuple(
            replace(item, outcomes=(item.outcomes[0], item.outcomes[1]._replace(calls=140))) for item in data.items
        ),
    )
    found = play_switches(slow, (SONNET, HAIKU), draws=20)
    assert found is not None
    rules = {one.rule: one for one in found.rules}
    assert rules["horizon, calls by model"].usd < rules["horizon, usual calls"].usd
    assert rules["horizon, calls by model"].right == 1


def test_without_calls_or_prices_nothing_is_played() -> None:
    data = issues()
    assert play_switches(data, (SONNET, None)) is None
    blank = replace(
        data,
        items=tuple(
            replace(item, outcomes=tuple(one._replace(calls=None) for one in item.outcomes)) for item in data.items
        ),
    )
    assert play_switches(blank, (SONNET, HAIKU)) is None
