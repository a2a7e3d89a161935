"""Chains of slices: what two requests share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.caching.making import chain
from ullage.core.caching import chain_digest, shared_length

hashes = st.lists(st.integers(0, 3), max_size=12).map(tuple)


@given(hashes, hashes)
def test_the_shared_beginning_is_what_comparing_one_by_one_finds(old: tuple[int, ...], new: tuple[int, ...]) -> None:
    pairs = list(zip(old, new, strict=False))
    one_by_one = next((index for index, (left, right) in enumerate(pairs) if left != right), len(pairs))
    assert shared_length(old, new) == one_by_one


def test_tokens_are_counted_to_the_end_of_each_slice() -> None:
    request = chain("TSab", tools=1, system=1)
    assert [request.tokens_to(position) for position in range(5)] == [0, 1_000, 2_000, 3_000, 4_000]
    assert (request.depth, request.harness, request.tokens) == (4, 2, 4_000)
    assert chain("").tokens == 0


def test_a_digest_tells_runs_apart_by_what_is_in_them_and_in_which_order() -> None:
    assert chain_digest((1, 2)) == chain_digest((1, 2))
    assert len({chain_digest((1, 2)), chain_digest((2, 1)), chain_digest((1,)), chain_digest(())}) == 4
