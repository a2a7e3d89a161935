"""Values as other programs write them."""

from __future__ import annotations

import pytest

from ullage.sources.decoding import decode_json, epoch_ms, mapping, sequence, string, whole


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-07-13T14:47:18.506Z", 1783954038506),
        ("2025-04-30T17:56:40.640800", 1746035800640),
        (1783956713993, 1783956713993),
        (1783956713, 1783956713000),
        ("[trimmed for fixture]", None),
        (None, None),
        (True, None),
        (-5, None),
    ],
)
def test_times_come_in_several_forms(value: object, expected: int | None) -> None:
    assert epoch_ms(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (0, 0), (2.0, 2), (-1, None), (True, None), ("3", None), (float("inf"), None), (None, None)],
)
def test_a_count_is_a_number_of_zero_or_more(value: object, expected: int | None) -> None:
    assert whole(value) == expected


def test_a_value_of_another_kind_reads_as_nothing() -> None:
    assert (mapping([]), sequence({}), string(3), string("")) == ({}, [], None, None)


def test_what_is_no_json_raises() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        decode_json(b"{oops")
