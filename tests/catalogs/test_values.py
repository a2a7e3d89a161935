"""Values as sources write them: what cannot be meant is not said."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.catalogs.values import a_bool, a_price, a_token_count


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (200_000, 200_000),
        (4096.0, 4_096),
        ("131072", 131_072),
        (0, None),
        (-1, None),
        (0.5, None),
        (True, None),
        (None, None),
        ([], None),
        ("max input tokens, if the provider specifies it", None),
        (2**31 - 1, None),
        (2**63, None),
        (float("inf"), None),
        (10**400, None),
        ("nan", None),
    ],
)
def test_tokens_are_whole_positive_and_no_sentinel(value: Any, tokens: int | None) -> None:
    assert a_token_count(value) == tokens


@pytest.mark.parametrize(
    ("value", "price"),
    [
        (1.25e-6, 1.25),
        (1e-5, 10.0),
        ("0.000000125", 0.125),
        (0, 0.0),
        ("-1", None),
        (-1e-6, None),
        (2.0, None),
        ("free", None),
        (None, None),
        (True, None),
    ],
)
def test_prices_are_usd_per_million_and_never_negative(value: Any, price: float | None) -> None:
    assert a_price(value, 1_000_000) == price


def test_only_true_and_false_are_yes_and_no() -> None:
    assert [a_bool(value) for value in (True, False, 1, "true", None)] == [True, False, None, None, None]
