"""The cost of the calls that are left (routing specification, section 12.4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.spend import CallPrices, Horizon, first_usd, later_usd, total_usd

OPUS = CallPrices(input=15, output=75, cache_read=1.5, cache_write=18.75)
SONNET = CallPrices(input=3, output=15, cache_read=0.3, cache_write=3.75)
HAIKU = CallPrices(input=0.8, output=4, cache_read=0.08, cache_write=1)


def ahead(context: int, calls: int, *, warm: bool) -> Horizon:
    """The calls of the worked example."""
    return Horizon(context=context, warm=context if warm else 0, fresh=1_024, output=800, growth=1_500, calls=calls)


@pytest.mark.parametrize(
    ("context", "calls", "stay_sonnet", "to_haiku", "stay_opus", "to_sonnet"),
    [
        (20_000, 1, 0.0218, 0.0242, 0.1092, 0.0908),
        (20_000, 2, 0.0458, 0.0306, 0.2289, 0.1148),
        (100_000, 1, 0.0458, 0.1042, 0.2292, 0.3908),
        (100_000, 2, 0.0938, 0.1170, 0.4689, 0.4388),
        (100_000, 12, 0.5978, 0.2514, 2.9892, 0.9428),
    ],
)
def test_staying_and_switching_cost_what_the_specification_says(
    context: int, calls: int, stay_sonnet: float, to_haiku: float, stay_opus: float, to_sonnet: float
) -> None:
    warm, cold = ahead(context, calls, warm=True), ahead(context, calls, warm=False)
    assert total_usd(warm, SONNET) == pytest.approx(stay_sonnet, abs=5.1e-5)
    assert total_usd(cold, HAIKU) == pytest.approx(to_haiku, abs=5.1e-5)
    assert total_usd(warm, OPUS) == pytest.approx(stay_opus, abs=5.1e-5)
    assert total_usd(cold, SONNET) == pytest.approx(to_sonnet, abs=5.1e-5)


@pytest.mark.parametrize(("context", "break_even"), [(20_000, 2), (100_000, 3)])
def test_a_switch_to_a_cheaper_model_pays_from_some_call_on(context: int, break_even: int) -> None:
    pays = [
        total_usd(ahead(context, calls, warm=False), HAIKU) < total_usd(ahead(context, calls, warm=True), SONNET)
        for calls in range(1, 6)
    ]
    assert pays == [calls >= break_even for calls in range(1, 6)]


@given(
    context=st.integers(0, 2_000_000),
    share=st.floats(0, 1),
    fresh=st.integers(0, 50_000),
    growth=st.integers(0, 50_000),
    calls=st.integers(1, 200),
)
def test_the_total_is_the_sum_of_the_calls(context: int, share: float, fresh: int, growth: int, calls: int) -> None:
    horizon = Horizon(context=context, warm=int(share * context), fresh=fresh, output=500, growth=growth, calls=calls)
    one_by_one = first_usd(horizon, SONNET) + sum(later_usd(horizon, SONNET, call) for call in range(1, calls))
    assert total_usd(horizon, SONNET) == pytest.approx(one_by_one)


def test_no_call_costs_nothing() -> None:
    assert total_usd(Horizon(context=50_000, calls=0), SONNET) == 0
