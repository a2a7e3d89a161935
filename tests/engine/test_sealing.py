"""Bodies are looked through for foreign reasoning where they are new, with the result of looking through all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.translation import holds_seal
from ullage.engine import sealing
from ullage.engine.sealing import SealSearch

MARK = b"ullage:1:"


@given(
    st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=300), st.sampled_from([b"", MARK, b"dWxsYWdlOjE6"]))),
    st.integers(100, 2_000),
)
def test_what_is_found_is_what_is_there(turns: list[tuple[int, bytes, bytes]], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "_SMALL_BYTES", 10)
        patch.setattr(sealing, "_HEAD_BYTES", 4)
        patch.setattr(sealing, "_CHANGED_BYTES", 4)
        search = SealSearch(limit)
        body = b"head"
        for cut, more, mark in turns:
            body = b"head" + body[4 : 4 + cut] + more + mark
            assert search.may_hold(body) == holds_seal(body)


def test_a_mark_across_the_end_of_what_is_known_is_found() -> None:
    search, before = SealSearch(), b"{" + b"x" * 100_000
    for size in range(len(MARK)):
        known = before + MARK[:size] + b"y" * 300
        assert not search.may_hold(known)
        assert search.may_hold(before + MARK + b"z" * 300)


def test_only_what_is_new_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def count(body: bytes, start: int = 0) -> bool:
        looked_at.append(len(body) - start)
        return False

    monkeypatch.setattr(sealing, "holds_seal", count)
    search, body = SealSearch(), b"x" * 1_000_000
    for _ in range(3):
        search.may_hold(body + b"]}")
        body += b"y" * 1_000
    assert looked_at[0] == 1_000_002
    assert max(looked_at[1:]) < 2_000


def test_what_is_kept_is_bounded() -> None:
    search = SealSearch(100_000)
    for number in range(10):
        search.may_hold(b"%d" % number * 40_000)
    assert search._bytes == sum(map(len, search._clean.values())) <= 100_000
