"""Who writes summaries for the least (routing specification, section 22)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.profiles import Prices
from ullage.core.routing.compaction import RESERVE_TOKENS, rank_summarizers, summary_usd, tell_summary
from ullage.core.routing.filtering import Candidate, make_candidate
from ullage.core.routing.models import ModelRecord

S_PRICES = Prices(input=3.0, output=15.0, cache_read=0.3)
H_PRICES = Prices(input=1.0, output=4.0, cache_read=0.1)


def model(name: str, prices: Prices, **fields: Any) -> Candidate:
    common: dict[str, Any] = {"context_window": 200_000, "max_output_tokens": 64_000}
    return make_candidate(ModelRecord(provider="p", id=name, prices=prices, **(common | fields)))


S, H = model("s", S_PRICES), model("h", H_PRICES)


def test_the_numbers_of_the_specification() -> None:
    assert summary_usd(S.price, tokens=100_000, warm=100_000) == pytest.approx(0.09144)
    assert summary_usd(H.price, tokens=100_000) == pytest.approx(0.116384)
    ranked = rank_summarizers([S, H], tokens=100_000, warm={"p/s": 100_000})
    assert [one.target for one in ranked] == ["p/s", "p/h"]
    assert tell_summary(ranked) == "summary $0.0914, 100,000 tokens from its cache; $0.1164 at p/h"


def test_where_nothing_is_warm_the_lower_price_wins() -> None:
    assert [one.target for one in rank_summarizers([S, H], tokens=100_000, warm={})] == ["p/h", "p/s"]


def test_a_window_must_hold_the_conversation_and_the_summary() -> None:
    small = model("small", Prices(input=0.1, output=0.1), context_window=100_000 + RESERVE_TOKENS)
    assert [one.target for one in rank_summarizers([S, small], tokens=100_000, warm={})] == ["p/s"]
    assert [one.target for one in rank_summarizers([S, small], tokens=99_999, warm={})] == ["p/small", "p/s"]
    assert rank_summarizers([S, small], tokens=100_000, reserve=8_000, warm={})[0].target == "p/small"
    short = model("short", Prices(input=0.1, output=0.1), context_window=105_000, max_output_tokens=4_000)
    assert rank_summarizers([S, short], tokens=100_000, warm={})[0].target == "p/short"


def test_a_price_that_nobody_knows_is_not_the_lowest() -> None:
    unknown = model("unknown", Prices())
    ranked = rank_summarizers([unknown, S], tokens=1_000, warm={})
    assert [(one.target, one.usd is None) for one in ranked] == [("p/s", False), ("p/unknown", True)]
    assert "at an unknown price at p/unknown" in tell_summary(ranked)


@given(st.integers(0, 150_000), st.integers(0, 200_000), st.permutations([S, H]))
def test_the_first_is_never_dearer_and_order_does_not_matter(tokens: int, warm: int, given: list[Candidate]) -> None:
    ranked = rank_summarizers(given, tokens=tokens, warm={"p/s": warm})
    costs = [one.usd for one in ranked if one.usd is not None]
    assert costs == sorted(costs)
    assert ranked == rank_summarizers([S, H], tokens=tokens, warm={"p/s": warm})
