"""Numbers with their intervals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ullage.core.accounting.amounts import within


@given(tokens=st.floats(-1e6, 1e6), error=st.floats(0, 0.9))
def test_bounds_enclose_the_number_whatever_its_sign(tokens: float, error: float) -> None:
    amount = within(tokens, error, "rule")
    assert amount.low <= amount.tokens <= amount.high
