"""What was made of a list of slices goes over to the list that continues it."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from ullage.core.wire import Slice
from ullage.engine.prefixes import Prefixes


def slices(*numbers: int) -> tuple[Slice, ...]:
    return tuple(
        Slice(kind="message", index=index, start=index, raw=b"%d" % number, hash=number)
        for index, number in enumerate(numbers)
    )


def run(
    prefixes: Prefixes[int], purpose: str, numbers: tuple[int, ...], make: Callable[[Slice], int]
) -> tuple[int, ...]:
    return prefixes.map(purpose, slices(*numbers), numbers, make)


class Counting:
    """Tells what was made anew."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def __call__(self, piece: Slice) -> int:
        self.made.append(piece.hash)
        return piece.hash * 10


def test_only_what_is_new_is_made() -> None:
    prefixes, make = Prefixes[int](), Counting()
    assert run(prefixes, "a", (1, 2), make) == (10, 20)
    assert run(prefixes, "a", (1, 2, 3), make) == (10, 20, 30)
    assert run(prefixes, "a", (1, 2, 3), make) == (10, 20, 30)
    assert make.made == [1, 2, 3]


def test_an_edited_middle_is_made_anew_from_there_on() -> None:
    prefixes, make = Prefixes[int](), Counting()
    run(prefixes, "a", (1, 2, 3, 4), make)
    make.made.clear()
    assert run(prefixes, "a", (1, 2, 9, 4, 5), make) == (10, 20, 90, 40, 50)
    assert make.made == [9, 4, 5]
    assert run(prefixes, "a", (1,), make) == (10,)
    assert make.made == [9, 4, 5]


def test_purposes_and_lists_are_kept_apart_and_bounded() -> None:
    prefixes, make = Prefixes[int](lists=2), Counting()
    run(prefixes, "a", (1,), make)
    run(prefixes, "b", (1,), make)
    run(prefixes, "a", (2,), make)
    run(prefixes, "a", (1,), make)
    assert make.made == [1, 1, 2, 1]
    assert run(prefixes, "a", (), make) == ()


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=8))
def test_it_is_always_as_if_all_was_made_anew(lists: list[list[int]]) -> None:
    prefixes = Prefixes[int](lists=3)
    for numbers in lists:
        made = run(prefixes, "a", tuple(numbers), lambda piece: piece.hash * 10)
        assert made == tuple(number * 10 for number in numbers)
