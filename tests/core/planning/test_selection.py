"""What is taken newest first: exchanges, older turns, references in place of results, supplements (planner specification, section
13.2, with what of section 34 is corrected)."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.core.planning.making import (
    CAPS,
    ROOMY,
    assistant,
    chosen,
    exchange,
    given,
    reasons,
    result,
    rows,
    sizes,
    summary,
    supplement,
    system,
    trim,
    user,
)
from ullage.core.planning import Caps, PlanInput, plan


def caps(**changes: int) -> Caps:
    return structs.replace(ROOMY, **changes)


def loop(count: int, tokens: int = 100) -> list[object]:
    """Exchanges of a tool loop, each of so many tokens."""
    return [exchange(f"call-{number}", tokens) for number in range(count)]


def heavy(name: str, tokens: int) -> object:
    """A small call with a result of so many tokens."""
    return (assistant(10, name), result(tokens, name))


class TestCurrentTurn:
    def test_the_request_of_a_long_loop_stays_and_its_oldest_exchanges_leave(self) -> None:
        """Case c05: the only message of the user must not be trimmed away."""
        made = plan(given(system(20), user(30), *loop(5), hard=270, caps=ROOMY))
        assert made.kept == (0, 1, 8, 9, 10, 11)
        assert made.tokens == 250
        assert reasons(made) == {
            2: "recent-tail-closed",
            3: "recent-tail-closed",
            4: "recent-tail-closed",
            5: "recent-tail-closed",
            6: "input-budget",
            7: "input-budget",
        }

    def test_exchanges_do_not_heed_the_limit_of_the_tail(self) -> None:
        narrow = caps(recent_tail=50)
        made = plan(given(user(), assistant(), user(30), *loop(5), hard=1_000, caps=narrow, rescue=False))
        assert made.kept == tuple(range(2, 13))
        assert reasons(made)[0] == "recent-tail-limit"

    def test_exchanges_heed_the_target_and_the_mandatory_part_does_not(self) -> None:
        made = plan(given(user(30), *loop(3), hard=300, active=100, caps=ROOMY))
        assert (made.status, made.kept, made.tokens) == ("managed", (0, 5, 6), 130)

    def test_an_older_turn_is_taken_only_if_the_current_one_is_whole(self) -> None:
        made = plan(given(user(1), assistant(1), user(30), *loop(3), hard=240, caps=ROOMY))
        assert made.kept == (2, 5, 6, 7, 8)
        assert reasons(made)[0] == reasons(made)[1] == "recent-tail-closed"

    def test_what_the_user_says_beside_results_is_never_left_out(self) -> None:
        """Case c03, inside the current turn: the words belong to the turn that began before them."""
        said = (assistant(50, "said"), result(50, "said", says=True))
        made = plan(given(user(30), said, *loop(4), hard=240, caps=ROOMY))
        assert made.kept == (0, 1, 2, 9, 10)
        assert made.tokens == 230

    def test_a_call_in_flight_is_kept_with_the_results_that_are_there(self) -> None:
        """Case c10."""
        flight = (assistant(50, "a", "b"), result(40, "a"))
        made = plan(given(user(30), *loop(2), flight, hard=130, caps=ROOMY))
        assert (made.status, made.kept) == ("managed", (0, 5, 6))
        over = plan(given(user(30), *loop(2), flight, hard=119, caps=ROOMY))
        assert (over.status, over.error, over.kept) == ("refused", "mandatory_over_limit", (0, 5, 6))

    def test_an_open_loop_begins_with_thinking_if_any_of_it_thinks(self) -> None:
        """Anthropic refuses a loop whose thinking begins in its middle (faults, section 2: thinking-signature)."""

        def thinking(number: int) -> object:
            name = f"call-{number}"
            return (assistant(50, name, thinking=number % 2 == 0), result(50, name))

        made = plan(given(user(10), *(thinking(number) for number in range(6)), hard=320, caps=ROOMY))
        assert made.kept == (0, 9, 10, 11, 12)
        assert reasons(made)[8] == "thinking-first"
        alone = (assistant(50, "x", thinking=True), result(50, "x"))
        once = plan(given(user(10), alone, *loop(5), hard=420, caps=ROOMY))
        assert once.kept == (0, 1, 2, 7, 8, 9, 10, 11, 12)

    def test_messages_right_before_the_request_come_before_exchanges(self) -> None:
        """Clients send their context as messages of the user before the request: a long loop must not push it out."""
        made = plan(given(user(20), assistant(20), user(25), system(5), user(10), *loop(5), hard=300, caps=ROOMY))
        assert made.kept == (2, 3, 4, 11, 12, 13, 14)
        large = plan(given(user(20), assistant(20), user(90), user(10), *loop(5), hard=400, caps=ROOMY))
        assert large.kept == (3, 8, 9, 10, 11, 12, 13)
        assert reasons(large)[2] == "recent-tail-closed"

    def test_what_stands_for_everything_before_it_comes_before_the_tail(self) -> None:
        """A compaction item holds all that was before: without it the task is lost."""
        made = plan(given(assistant(60, compaction=True), user(30), assistant(60), user(10), hard=100, caps=ROOMY))
        assert made.kept == (0, 3)
        assert rows(made)["exchange:0-0"] == (True, "foremost")
        assert plan(given(assistant(60, compaction=True), user(10), hard=60)).kept == (1,)
        inside = (assistant(30, "x", compaction=True), result(30, "x"))
        made = plan(given(user(10), exchange("a"), inside, *loop(3), hard=180, caps=ROOMY))
        assert made.kept == (0, 3, 4, 9, 10)


class TestReferences:
    """Weakness W14: a result becomes a reference before its turn is left out."""

    def test_a_turn_that_does_not_fit_is_taken_with_references(self) -> None:
        request = given(user(10), heavy("a", 300), user(10), heavy("b", 50), user(10), hard=180, caps=ROOMY)
        assert plan(request).kept == (3, 4, 5, 6)
        trimmed = structs.replace(request, trims=(trim(2, 300, 10), trim(5, 50, 10)))
        made = plan(trimmed)
        assert made.kept == tuple(range(7))
        assert [(one.index, one.ordinal, one.tokens, one.artifact) for one in made.replaced] == [
            (2, 0, 10, "artifact:2/0")
        ]
        assert made.tokens == sizes(made, trimmed) == 110

    def test_the_newest_results_keep_their_texts_and_more_turns_are_reached(self) -> None:
        turns = [(user(10), heavy(f"call-{number}", 90)) for number in range(6)]
        trims = tuple(trim(3 * number + 2, 90, 0) for number in range(6))
        request = given(*turns, user(10), hard=410, caps=ROOMY, trims=trims)
        assert plan(structs.replace(request, trims=())).kept == tuple(range(9, 19))
        made = plan(request)
        assert made.kept == tuple(range(19))
        assert [one.index for one in made.replaced] == [2, 5, 8]
        assert made.tokens == sizes(made, request) == 400

    def test_exchanges_of_the_current_turn_are_trimmed_before_they_are_left_out(self) -> None:
        """Faults, section 2 (loop): what was read must not be forgotten."""
        trims = tuple(trim(2 * number + 2, 90, 5) for number in range(6))
        request = given(user(10), *(heavy(f"call-{number}", 90) for number in range(6)), hard=420, caps=ROOMY)
        assert plan(request).kept == (0, 5, 6, 7, 8, 9, 10, 11, 12)
        trimmed = structs.replace(request, trims=trims)
        made = plan(trimmed)
        assert made.kept == tuple(range(13))
        assert [one.index for one in made.replaced] == [2, 4, 6]
        assert made.tokens == sizes(made, trimmed)

    def test_several_results_of_one_message_become_references_one_by_one(self) -> None:
        batch = (assistant(10, "a", "b"), result(120, "a", "b"))
        trims = (trim(2, 70, 10, 0), trim(2, 50, 10, 1))
        request = given(user(10), batch, user(10), hard=100, caps=ROOMY, trims=trims)
        made = plan(request)
        assert [(one.index, one.ordinal) for one in made.replaced] == [(2, 0)]
        assert made.tokens == sizes(made, request) == 90

    def test_the_last_exchange_and_pins_keep_their_texts(self) -> None:
        request = given(
            user(10),
            exchange("a", 100),
            user(10),
            exchange("b", 100),
            hard=200,
            caps=ROOMY,
            pinned=frozenset({1}),
            trims=(trim(2, 50, 0), trim(5, 50, 0)),
        )
        assert plan(request).status == "refused"
        assert plan(request).replaced == ()

    def test_a_reference_that_saves_nothing_is_not_made(self) -> None:
        """Faults, section 2 (no-gain): output is never larger than input."""
        request = given(user(10), exchange("a", 100), user(10), hard=100, caps=ROOMY)
        useless = (trim(2, 50, 50), trim(2, 10, 80, 1), trim(2, 900, 1), trim(9, 50, 1))
        assert plan(structs.replace(request, trims=useless)) == plan(request)


class TestChosenTail:
    """A tail that somebody chose with prompt caches in mind."""

    turns = tuple((user(50), assistant(50)) for _ in range(5))

    def choose(self, tail: int, **more: object) -> PlanInput:
        return given(*self.turns, user(10), hard=450, active=200, caps=CAPS, tail=tail, **more)

    def test_it_is_kept_from_there_on_beyond_target_and_limit_of_the_tail(self) -> None:
        made = plan(self.choose(4))
        assert made.kept == tuple(range(4, 11))
        assert reasons(made)[3] == "before-tail"

    def test_of_a_turn_that_it_starts_in_the_words_of_the_user_stay(self) -> None:
        made = plan(given(user(10), *loop(3), user(10), hard=900, tail=5))
        assert made.kept == (0, 5, 6, 7)
        assert reasons(made)[1] == "before-tail"

    def test_it_never_exceeds_the_hard_limit(self) -> None:
        made = plan(self.choose(0))
        assert made.kept == tuple(range(2, 11))
        assert reasons(made)[1] == "input-budget"

    def test_it_may_lie_within_the_current_turn(self) -> None:
        made = plan(given(user(10), assistant(10), user(10), *loop(4), hard=900, caps=CAPS, tail=7))
        assert made.kept == (2, 7, 8, 9, 10)

    def test_the_request_is_kept_even_if_it_lies_before(self) -> None:
        made = plan(given(user(10), *loop(3), hard=900, tail=6))
        assert made.kept == (0, 5, 6)

    def test_supplements_may_fill_what_the_hard_limit_leaves(self) -> None:
        memory = supplement("m", "memory", 40, 91)
        assert chosen(plan(self.choose(4, supplements=(memory,)))) == ["m"]


class TestSupplements:
    def test_memory_is_not_starved_by_the_tail(self) -> None:
        """Contradiction C5: the seed fits memory before the tail."""
        memory = supplement("m", "memory", 100, 91)
        turns = [(user(50), assistant(50)) for _ in range(4)]
        made = plan(given(*turns, user(10), hard=400, caps=ROOMY, supplements=(memory,)))
        assert chosen(made) == ["m"]
        assert made.kept == (4, 5, 6, 7, 8)

    def test_memory_takes_no_more_than_half_of_the_room_from_the_tail(self) -> None:
        memory = tuple(supplement(f"m{number}", "memory", 60, 91 - number) for number in range(4))
        made = plan(given(user(50), assistant(50), user(10), hard=210, caps=ROOMY, supplements=memory))
        assert made.kept == (0, 1, 2)
        assert chosen(made) == ["m0"]

    def test_each_kind_keeps_to_its_cap_and_skips_what_does_not_fit(self) -> None:
        offered = (
            supplement("m1", "memory", 30, 90.5),
            supplement("m2", "memory", 60, 90.9),
            supplement("h1", "retrieval", 200, 85.9),
            supplement("h2", "retrieval", 50, 85.1),
            supplement("p1", "project", 500, 80.1),
        )
        made = plan(given(user(10), hard=600, caps=caps(memory=60, history=100, project=1_000), supplements=offered))
        assert chosen(made) == ["m2", "h2"]
        assert {one.id: one.reason for one in made.left_out} == {
            "m1": "category-budget",
            "h1": "category-budget",
            "p1": "input-budget",
        }

    def test_of_equals_the_later_one_is_taken_first_and_sent_last(self) -> None:
        offered = tuple(supplement(f"h{number}", "retrieval", 40, 85) for number in range(3))
        made = plan(given(user(10), hard=100, caps=ROOMY, supplements=offered))
        assert chosen(made) == ["h1", "h2"]

    def test_without_a_source_or_a_second_time_nothing_is_taken(self) -> None:
        """Section 13.2, step 1."""
        offered = (
            supplement("m", "memory", 10, source_ids=()),
            supplement("h", "retrieval", 10),
            supplement("h", "retrieval", 20),
        )
        made = plan(given(user(10), caps=ROOMY, supplements=offered))
        assert chosen(made) == ["h"]
        assert [(one.id, one.reason) for one in made.left_out] == [("m", "no-source"), ("h", "duplicate")]

    def test_without_a_message_of_the_user_nothing_is_taken(self) -> None:
        made = plan(given(assistant(10), supplements=(supplement("p", "pin", 10), supplement("m", "memory", 10))))
        assert (made.status, chosen(made)) == ("unchanged", [])
        assert {one.reason for one in made.left_out} == {"no-user-message"}

    @pytest.mark.parametrize("length", [1, 2, 3])
    def test_what_a_user_turn_has_sent_stays_through_its_tool_loop(self, length: int) -> None:
        """Regression R50: the same supplements for every request of a turn, as long as the hard limit allows."""
        held = supplement("m", "memory", 150, 91, held=True)
        made = plan(given(user(10), *loop(length), hard=400, active=200, caps=caps(memory=100), supplements=(held,)))
        assert chosen(made) == ["m"]
        assert made.kept[0] == 0
        assert made.kept[-2:] == (2 * length - 1, 2 * length)

    def test_a_pin_of_the_user_is_mandatory(self) -> None:
        pin = supplement("p", "pin", 100, 950)
        made = plan(given(user(50), assistant(50), user(10), hard=150, caps=ROOMY, supplements=(pin,)))
        assert (chosen(made), made.kept) == (["p"], (2,))
        refused = plan(given(user(10), hard=100, caps=ROOMY, supplements=(pin,)))
        assert (refused.status, refused.error, chosen(refused)) == ("refused", "mandatory_over_limit", ["p"])


class TestPinnedTurns:
    def test_the_pinned_message_is_mandatory_and_the_rest_of_its_turn_takes_a_quarter_of_the_room(self) -> None:
        """Case c09: the pin survives at every limit at which it fits beside the request."""
        turns = (user(20), assistant(20), user(40), assistant(40), user(10))
        request = given(*turns, pinned=frozenset({0}), caps=ROOMY)

        def kept(hard: int) -> tuple[int, ...]:
            return plan(structs.replace(request, budget=given(hard=hard).budget)).kept

        assert kept(130) == (0, 1, 2, 3, 4)
        assert kept(129) == (0, 1, 4)
        assert kept(110) == (0, 1, 4)
        assert kept(109) == kept(30) == (0, 4)
        assert plan(structs.replace(request, budget=given(hard=29).budget)).error == "mandatory_over_limit"

    def test_a_pin_starves_nothing(self) -> None:
        """A pinned message of a long turn must not cost the turns after it, which fit without the pin."""
        long = (user(10), loop(30))
        request = given(*long, (user(50), assistant(50)), (user(50), assistant(50)), user(10), hard=600, caps=ROOMY)
        without = plan(request)
        assert without.kept == (61, 62, 63, 64, 65)
        made = plan(structs.replace(request, pinned=frozenset({0})))
        assert {0, *without.kept} <= set(made.kept)
        assert made.kept == (0, *range(55, 61), *without.kept)
        assert rows(made)["exchange:59-60"] == (True, "pin")
        assert rows(made)["group:1-54"] == (False, "input-budget")
        tight = plan(structs.replace(request, pinned=frozenset({0}), budget=given(hard=220).budget))
        assert tight.kept == (0, 63, 64, 65)

    def test_the_rest_of_a_pinned_turn_stands_in_the_tail_as_without_the_pin(self) -> None:
        """The newest turn comes first, whatever is pinned in it."""
        request = given((user(50), assistant(50)), (user(10), loop(4)), user(10), hard=430, caps=ROOMY)
        assert plan(request).kept == tuple(range(2, 12))
        assert plan(structs.replace(request, pinned=frozenset({2}))).kept == tuple(range(2, 12))

    def test_of_the_rest_of_a_pinned_turn_words_of_the_user_come_first(self) -> None:
        """No provider takes an answer without what it answers."""
        merged = (user(10), assistant(10, "a"), user(10), result(10, "a"), assistant(10))
        request = given(*merged, (user(300), assistant(300)), user(10), pinned=frozenset({4}), caps=ROOMY)

        def kept(hard: int) -> tuple[int, ...]:
            return plan(structs.replace(request, budget=given(hard=hard).budget)).kept

        assert kept(150) == (0, 1, 2, 3, 4, 7)
        assert kept(110) == (0, 2, 4, 7)
        assert kept(69) == (2, 4, 7)

    def test_the_cap_of_pins_holds_the_pins_alone(self) -> None:
        """The rest of their turns takes no more than its share anyway."""
        made = plan(given(user(20), assistant(50), user(10), hard=80, pinned=frozenset({0}), caps=caps(pinned=20)))
        assert (made.status, made.kept) == ("unchanged", (0, 1, 2))
        over = plan(given(user(20), assistant(50), user(10), hard=75, pinned=frozenset({0}), caps=caps(pinned=20)))
        assert (over.kept, reasons(over)) == ((0, 2), {1: "input-budget"})

    def test_a_pinned_exchange_is_kept_with_all_of_its_results(self) -> None:
        made = plan(given(user(20), *loop(3), user(10), hard=135, pinned=frozenset({4}), caps=ROOMY))
        assert made.kept == (0, 3, 4, 7)

    def test_a_pinned_message_of_the_current_turn_counts_as_current(self) -> None:
        """Section 13.2, step 5: and so not against the cap of pins."""
        made = plan(given(user(10), *loop(4), hard=310, pinned=frozenset({1}), caps=caps(pinned=0)))
        assert (made.kept, made.error) == ((0, 1, 2, 5, 6, 7, 8), None)

    def test_a_pinned_summary_is_mandatory(self) -> None:
        made = plan(given(summary(50), user(40), assistant(), user(10), hard=70, pinned=frozenset({0})))
        assert made.kept == (0, 3)


class TestBrokenHistory:
    def test_a_broken_exchange_of_an_old_turn_leaves_alone(self) -> None:
        """Faults, section 2 (orphan-call): reported and isolated, and the turns behind it can still be reached."""
        broken = (user(10), exchange("a", 20), assistant(20, "lost"), result(0), assistant(20))
        request = given((user(30), assistant(30)), (user(10), assistant(10)), broken, user(10), hard=100, caps=ROOMY)
        made = plan(request)
        assert made.kept == (2, 3, 4, 5, 6, 9, 10)
        assert reasons(made) == {
            0: "input-budget",
            1: "input-budget",
            7: "broken-exchange",
            8: "broken-exchange",
        }
        assert made.warnings == ("context.broken_history",)

    def test_a_broken_history_that_fits_is_not_repaired(self) -> None:
        request = given(user(10), assistant(10, "lost"), user(10), hard=100, caps=ROOMY)
        made = plan(request)
        assert (made.status, made.warnings) == ("unchanged", ("context.broken_history",))
        offered = structs.replace(request, supplements=(supplement("h", "retrieval", 900),))
        assert plan(offered).status == "unchanged"
        assert [one.reason for one in plan(offered).left_out] == ["input-budget"]

    def test_what_stands_for_everything_before_it_leaves_if_it_is_broken(self) -> None:
        broken = assistant(10, "lost", compaction=True)
        made = plan(given((user(20), broken, result(0), assistant(10)), user(30), user(10), hard=75, caps=ROOMY))
        assert made.kept == (0, 3, 4, 5)
        assert reasons(made) == {1: "broken-exchange", 2: "broken-exchange"}

    def test_a_current_turn_that_is_broken_is_sent_as_it_came(self) -> None:
        made = plan(given(user(10), assistant(10), user(10), result(10, "lost"), hard=30, caps=ROOMY))
        assert (made.status, made.error, made.kept) == ("fallback", "broken_exchange", (0, 1, 2, 3))
