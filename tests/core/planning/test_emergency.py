"""What a live request is sent by where it cannot be planned (weakness W5 of planner specification, section 34; section 24)."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.core.planning.making import (
    CAPS,
    ROOMY,
    assistant,
    budget,
    chosen,
    exchange,
    given,
    reasons,
    result,
    rows,
    sizes,
    supplement,
    system,
    trim,
    user,
)
from ullage.core.planning import plan, plan_live

OLD = ((user(10), assistant(40)), (user(10), assistant(40)))


def test_a_plan_that_is_as_it_should_be_is_sent() -> None:
    request = given(OLD, user(10), hard=70, caps=ROOMY)
    assert plan_live(request) == plan(request)
    assert plan_live(request).status == "managed"


def test_what_cannot_be_planned_but_fits_is_sent_as_it_came() -> None:
    """Pins of the user that exceed the limit beside the request: the conversation is worth more."""
    request = given(OLD, user(10), hard=200, caps=ROOMY, supplements=(supplement("p", "pin", 195),))
    assert plan(request).status == "refused"
    made = plan_live(request)
    assert (made.status, made.error, made.kept) == ("fallback", "mandatory_over_limit", (0, 1, 2, 3, 4))
    assert chosen(made) == []
    assert [one.reason for one in made.left_out] == ["plan-failed"]


def test_of_a_request_that_is_too_large_the_current_turn_and_the_newest_that_fits_are_sent() -> None:
    """Pins over their cap: the reference sends the whole list, though it is known to exceed the window."""
    request = given(user(60), OLD, user(10), hard=110, caps=structs.replace(CAPS, pinned=50), pinned=frozenset({0}))
    assert plan(request).error == "pins_over_cap"
    made = plan_live(request)
    assert (made.status, made.error, made.kept) == ("emergency", "pins_over_cap", (0, 5))
    smaller = plan_live(structs.replace(request, budget=budget(69)))
    assert (smaller.status, smaller.kept) == ("emergency", (3, 4, 5))
    assert reasons(smaller)[0] == "input-budget"


@pytest.mark.parametrize("alone", [frozenset(), frozenset({0})])
def test_of_a_pinned_turn_nothing_is_sent_without_its_pin(alone: frozenset[int]) -> None:
    """A provider takes no answer without the words of the user before it."""
    caps = structs.replace(CAPS, pinned=50)
    request = given(user(60), assistant(10), user(10), hard=65, caps=caps, pinned=frozenset({0}), alone=alone)
    made = plan_live(request)
    assert (made.status, made.error, made.kept) == ("emergency", "pins_over_cap", (2,))
    assert reasons(made) == {0: "input-budget", 1: "input-budget"}


def test_neither_target_nor_tail_hold_in_an_emergency() -> None:
    caps = structs.replace(CAPS, pinned=0, recent_tail=0)
    made = plan_live(given(user(60), OLD, user(10), hard=65, active=10, caps=caps, pinned=frozenset({0})))
    assert (made.status, made.kept) == ("emergency", (3, 4, 5))


def test_results_of_the_current_turn_become_references_if_it_is_larger_than_the_limit() -> None:
    """Faults, section 2 (oversize): build output overflows before any history could be left out."""
    build = (assistant(10, "a", "b", "c"), result(300, "a"), result(90, "b"), result(20, "c"))
    request = given(
        OLD,
        user(10),
        build,
        hard=170,
        caps=ROOMY,
        trims=(trim(6, 300, 10), trim(7, 90, 10), trim(8, 20, 10)),
    )
    assert plan(request).status == "refused"
    made = plan_live(request)
    assert (made.status, made.error, made.kept) == ("emergency", "mandatory_over_limit", (4, 5, 6, 7, 8))
    assert [(one.index, one.tokens) for one in made.replaced] == [(6, 10)]
    assert made.tokens == sizes(made, request) == 140
    smaller = plan_live(structs.replace(request, budget=budget(65)))
    assert [one.index for one in smaller.replaced] == [6, 7]
    assert smaller.tokens == 60


def test_what_fits_in_no_way_is_sent_as_it_came() -> None:
    request = given(user(10), exchange("a", 100), hard=50, trims=(trim(2, 50, 10),))
    made = plan_live(request)
    assert (made.status, made.error, made.kept) == ("fallback", "mandatory_over_limit", (0, 1, 2))
    assert made.ullage < 0
    assert plan_live(structs.replace(request, fixed_tokens=51)).error == "fixed_over_limit"


def test_pins_are_sent_if_they_fit_and_nothing_that_was_retrieved_is() -> None:
    offered = (supplement("p", "pin", 20), supplement("q", "pin", 90), supplement("m", "memory", 5))
    request = given(user(60), OLD, user(10), hard=100, caps=CAPS, supplements=offered)
    assert plan(request).error == "mandatory_over_limit"
    made = plan_live(request)
    assert (made.status, chosen(made), made.kept) == ("emergency", ["p"], (3, 4, 5))
    assert {one.id: one.reason for one in made.left_out} == {"q": "input-budget", "m": "plan-failed"}


def test_words_beside_results_give_way_to_the_last_exchange() -> None:
    said = (assistant(30, "said"), result(30, "said", says=True))
    request = given(system(5), user(10), said, exchange("a", 20), exchange("b", 20), hard=80, caps=ROOMY)
    assert plan(request).error == "mandatory_over_limit"
    made = plan_live(request)
    assert (made.status, made.kept) == ("emergency", (0, 1, 4, 5, 6, 7))
    assert rows(made)["exchange:2-3"] == (False, "input-budget")


def test_a_broken_current_turn_that_is_too_large_is_at_least_made_to_fit() -> None:
    request = given(OLD, user(10), result(20, "lost"), hard=90, caps=ROOMY)
    made = plan_live(request)
    assert (made.status, made.error, made.kept) == ("emergency", "broken_exchange", (2, 3, 4, 5))
