"""Bodies that passed: where the check of the next one begins."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ullage.core.privacy.cleared import Cleared

BODY = b"a" * 200_000


def test_a_body_is_checked_from_a_little_before_where_it_goes_on() -> None:
    cleared = Cleared()
    assert cleared.start(BODY) == 0
    cleared.keep(BODY)
    assert cleared.start(BODY) == len(BODY)
    assert cleared.start(BODY + b"b") == len(BODY) - 8_192
    assert cleared.start(BODY[:100_000] + b"b" + BODY[100_000:]) == 100_000 - 8_192
    assert cleared.start(b"b" + BODY) == 0


def test_bodies_of_other_sessions_stay_known() -> None:
    cleared = Cleared()
    other = b"z" * 100_000
    cleared.keep(BODY)
    cleared.keep(other)
    cleared.keep(BODY + b"b")
    assert cleared.start(other) == len(other)


def test_what_is_kept_is_bounded() -> None:
    cleared = Cleared(limit_bytes=250_000)
    cleared.keep(BODY)
    cleared.keep(b"z" * 100_000)
    assert cleared.start(BODY) == 0
    cleared.keep(b"y" * 300_000)
    assert cleared.start(b"y" * 300_000) == 0


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_the_start_lies_in_what_both_begin_with(first: bytes, second: bytes) -> None:
    cleared = Cleared()
    cleared.keep(first)
    start = cleared.start(second)
    assert second[:start] == first[:start]
