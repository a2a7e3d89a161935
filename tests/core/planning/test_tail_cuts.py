"""Where a tail may begin, and what it holds."""

from __future__ import annotations

import pytest

from tests.core.planning.making import assistant, exchange, given, rows, supplement, system, user
from ullage.core.planning import plan
from ullage.core.planning.tail_cuts import Cuts

# 0 user, 1-2, 3-4, 5 user, 6-7, 8 user, 9-10, 11-12
MESSAGES = (
    user(100),
    exchange("a", 1_000),
    exchange("b", 2_000),
    user(50),
    exchange("c", 3_000),
    user(20),
    exchange("d", 500),
    exchange("e", 400),
)


def test_a_turn_begins_with_what_the_user_says() -> None:
    cuts = Cuts(given(*MESSAGES))
    assert (cuts.turns, cuts.current, cuts.opener) == ([0, 5, 8], 8, 8)


def test_prompts_in_a_row_begin_one_turn_whatever_the_system_says_in_between() -> None:
    cuts = Cuts(given(system(), user(), exchange("a"), user(), system(), user(), system(), user(), assistant()))
    assert (cuts.turns, cuts.opener) == ([0, 1, 4], 8)


def test_a_list_without_a_prompt_is_one_turn() -> None:
    assert (Cuts(given(assistant(), exchange("a"))).turns, Cuts(given()).turns) == ([0], [0])


def test_what_is_known_of_the_beginning_is_not_looked_for() -> None:
    assert Cuts(given(*MESSAGES), known=9, opener=8).opener == 8
    assert Cuts(given(*MESSAGES), known=3, opener=0).opener == 8


@pytest.mark.parametrize(
    ("start", "tokens"), [(0, 7_070), (1, 7_070), (3, 6_070), (5, 3_970), (6, 3_970), (8, 920), (11, 420), (13, 20)]
)
def test_a_tail_holds_what_is_behind_its_start_and_what_opened_the_turn(start: int, tokens: int) -> None:
    assert Cuts(given(*MESSAGES)).kept(start) == tokens


def test_system_messages_are_held_wherever_they_stand() -> None:
    cuts = Cuts(given(system(7), *MESSAGES, system(9)))
    assert (cuts.kept(0), cuts.kept(6), cuts.kept(12)) == (7_086, 3_986, 436)


@pytest.mark.parametrize(
    ("tokens", "room", "start"),
    [
        (10_000, 100_000, 0),
        (3_970, 100_000, 5),
        (3_969, 100_000, 5),  # the predecessor is rescued
        (3_969, 3_969, 8),
        (0, 100_000, 8),
        (10_000, 919, 11),
        (10_000, 10, 11),
    ],
)
def test_a_walked_tail_is_the_one_of_the_planner(tokens: int, room: int, start: int) -> None:
    from msgspec.structs import replace

    from tests.core.planning.making import CAPS

    request = given(*MESSAGES, hard=room, caps=replace(CAPS, recent_tail=tokens))
    assert Cuts(request).walk(tokens) == start
    made = plan(request)
    assert made.error is not None or made.kept[-1] == 12
    assert made.error is not None or made.kept == tuple(sorted({8, *range(start, 13)}))


@pytest.mark.parametrize(
    ("tokens", "room", "start"),
    [
        (10_000, 100_000, 0),
        (3_969, 100_000, 5),  # the predecessor is rescued
        (3_969, 3_969, 8),  # its only exchange does not fit
        (0, 100_000, 8),
        (10_000, 919, 11),
    ],
)
def test_a_tail_begins_as_it_is_walked(tokens: int, room: int, start: int) -> None:
    assert Cuts(given(*MESSAGES, hard=room)).begin(tokens) == start


@pytest.mark.parametrize(("tokens", "start"), [(3_000, 3), (2_130, 3), (2_129, 5), (100, 5), (10, 5)], ids=str)
def test_a_tail_begins_inside_the_turn_before_where_that_is_too_large(tokens: int, start: int) -> None:
    request = given(*MESSAGES[:3], user(30), hard=3_000)
    assert Cuts(request).begin(tokens) == start
    assert Cuts(request).kept(3) == 2_130


@pytest.mark.parametrize(
    ("tokens", "room", "start"),
    [
        (0, 100_000, 11),
        (420, 100_000, 11),
        (421, 100_000, 9),
        (921, 100_000, 6),
        (7_071, 100_000, 0),
        (7_000, 6_100, 3),
    ],
)
def test_at_least_so_much_is_kept_if_there_is_as_much(tokens: int, room: int, start: int) -> None:
    cuts = Cuts(given(*MESSAGES, hard=room))
    assert cuts.kept(cuts.at_least(tokens)) == cuts.kept(start)


def test_a_whole_turn_is_preferred_where_it_is_about_as_long() -> None:
    cuts = Cuts(given(*MESSAGES, hard=100_000))
    assert (cuts.whole_turn(500, 2), cuts.whole_turn(450, 2), cuts.whole_turn(2_000, 2)) == (8, 9, 5)


def test_room_is_what_the_target_leaves() -> None:
    offered = (
        supplement("p", "pin", 100),
        supplement("m", "memory", 9_000),
        supplement("h", "retrieval", 500),
        supplement("held", "project", 30, held=True),
    )
    request = given(*MESSAGES, hard=50_000, active=20_000, fixed_tokens=1_000, supplements=offered)
    assert Cuts(request).room == 20_000 - 1_000 - 100 - 30 - 8_000


def test_a_tail_that_begins_inside_an_older_turn_has_the_words_that_opened_it() -> None:
    made = plan(given(*MESSAGES, hard=100_000, tail=3))
    assert made.kept == (0, *range(3, 13))
    assert rows(made)["group:3-4"] == (True, "recent-tail")
    assert rows(made)["group:1-2"] == (False, "before-tail")


def test_parts_of_a_turn_that_the_tail_divides_may_still_not_fit() -> None:
    made = plan(given(*MESSAGES, hard=4_000, tail=3))
    assert made.kept == tuple(range(5, 13))
