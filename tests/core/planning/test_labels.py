"""Planner specification, sections 13.3, 13.4 and 14.1: what a user's label keeps, and what is said of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from tests.core.planning.making import CAPS, ROOMY, Sized, assistant, given, result, rows, summary, system, user
from ullage.core.planning import plan, plan_live
from ullage.core.planning.labels import find_labelled, is_pin

if TYPE_CHECKING:
    from ullage.core.planning import PlanInput


@pytest.mark.parametrize(
    "label", ["ds4:pin", "ds4:pin the rule", "ullage:pin", "ullage:pin\tx", " DS4:Pin", "ds4:pin\n"]
)
def test_a_label_that_begins_with_pin_pins(label: str) -> None:
    assert is_pin(label)


@pytest.mark.parametrize("label", ["", "ds4:pinned", "ds4:pin-1", "my ds4:pin", "ds4: pin", "pin", "ullage:pins"])
def test_other_labels_are_bookmarks(label: str) -> None:
    assert not is_pin(label)


def labelled(*of: Any, on: set[int], **more: Any) -> PlanInput:
    """A request in which messages are labelled, as the engine plans it."""
    request = given(*of, **more)
    found = find_labelled(request.facts, request.tokens, on)
    return structs.replace(request, pinned=found, labelled=found)


def kept(messages: tuple[Sized, ...], on: set[int]) -> frozenset[int]:
    request = given(*messages)
    return find_labelled(request.facts, request.tokens, on)


LOOP = (user(10), assistant(10, "a", "b"), result(10, "a"), result(10, "b"), assistant(10))
TURNS = ((user(100), assistant(200)), (user(50), assistant(200)), (user(150), assistant(50)))


@pytest.mark.parametrize("on", range(5))
def test_all_of_its_turn_is_kept_whichever_message_is_labelled(on: int) -> None:
    made = plan(labelled(LOOP, TURNS, user(10), on={on}, hard=200, caps=ROOMY))
    assert (made.status, made.kept) == ("managed", (0, 1, 2, 3, 4, 11))
    assert rows(made)["group:0-4"] == (True, "labelled-pin")


def test_a_turn_that_its_results_reach_into_is_kept_as_well() -> None:
    late = (user(10), assistant(10, "a"), user(10), result(10, "a"), assistant(10))
    assert kept((*late, user(10)), {0}) == {0, 1, 2, 3, 4}


def test_g_a_labelled_turn_leaves_no_room() -> None:
    """Section 13.4, G: P + C = 800; G3 misfits the target, and so do the summaries."""
    request = labelled(
        user(700),
        (summary(60), summary(20)),
        TURNS,
        user(100),
        on={0},
        hard=1_500,
        active=1_000,
        fixed_tokens=200,
        caps=CAPS,
    )
    made = plan(request)
    assert (made.status, made.kept, made.tokens) == ("managed", (0, 9), 1_000)
    (row,) = [one for one in made.groups if one.kind == "pin"]
    assert (row.reason, row.score) == ("labelled-pin", 900.090909)
    assert rows(made)["group:7-8"] == (False, "input-budget")


def test_f_labelled_turns_over_the_cap_of_pins_fall_back() -> None:
    request = labelled(user(17_000), TURNS, user(100), on={0}, hard=100_000, caps=CAPS)
    made = plan(request)
    assert (made.status, made.error, made.kept) == ("fallback", "pins_over_cap", tuple(range(8)))


def test_where_a_labelled_turn_does_not_fit_the_current_one_is_sent_alone() -> None:
    """Design, section 11: live, the emergency plan."""
    request = labelled((user(50), assistant(100)), user(40), on={1}, hard=150, caps=ROOMY)
    assert (plan(request).status, plan(request).error) == ("refused", "mandatory_over_limit")
    made = plan_live(request)
    assert (made.status, made.error, made.kept) == ("emergency", "mandatory_over_limit", (2,))


def test_in_the_current_turn_the_exchange_is_kept() -> None:
    """The loop may be longer than the window: a label in it must not keep all of it."""
    loop = [(assistant(10, f"c{number}"), result(10, f"c{number}")) for number in range(5)]
    made = plan(labelled(user(10), *loop, on={2}, hard=60, caps=ROOMY))
    assert made.kept == (0, 1, 2, 9, 10)


def test_what_lacks_its_other_half_is_left() -> None:
    broken = (user(10), assistant(10, "a"), user(10), assistant(10))
    assert kept((*broken, user(10)), {0, 3}) == {0, 2, 3}
    assert kept((*broken, user(10)), {1}) == {0}


def test_a_labelled_summary_is_kept_and_a_system_message_is_anyway() -> None:
    made = plan(labelled(system(5), summary(50), TURNS, user(10), on={0, 1}, hard=80, caps=CAPS))
    assert made.kept == (0, 1, 8)


def test_without_a_label_nothing_is_looked_at() -> None:
    assert find_labelled((), (), ()) == frozenset()


def test_where_everything_is_sent_it_says_so_too() -> None:
    made = plan(labelled(TURNS, user(10), on={0}, hard=10_000, caps=ROOMY))
    assert (made.status, rows(made)["group:0-1"]) == ("unchanged", (True, "labelled-pin"))
