"""Planner specification, sections 13 and 22, with design, section 11: worked plans, scores, reasons, statuses, placements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from tests.core.planning.making import (
    CAPS,
    LISTS,
    ROOMY,
    Sized,
    assistant,
    budget,
    chosen,
    exchange,
    given,
    reasons,
    result,
    rows,
    summary,
    supplement,
    system,
    user,
)
from ullage.core.content import Message
from ullage.core.planning import Limits, Plan, PlanInput, draw_budget, facts_of, find_faults, plan
from ullage.core.planning.parts import Parts, divide
from ullage.core.wire import parse_request, read_message

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.core.planning.drafting import Draft
    from ullage.core.wire import Conversation, Dialect

SUMMARIES = (summary(60), summary(20))
TURNS = ((user(100), assistant(200)), (user(50), assistant(200)), (user(150), assistant(50)))
"""G1 of 300 tokens, G2 of 250 and G3 of 200, the oldest first; each is two messages."""


def worked(*, tail: int = 500, fixed: int = 200, current: int = 100, **more: Any) -> PlanInput:
    """The request of section 13.4: active 1,000, hard 1,500."""
    return given(
        SUMMARIES,
        TURNS,
        user(current),
        hard=1_500,
        active=1_000,
        fixed_tokens=fixed,
        caps=structs.replace(CAPS, recent_tail=tail),
        **more,
    )


S1, S2, G1, G2, G3, C = (0,), (1,), (2, 3), (4, 5), (6, 7), (8,)


def messages(made: Plan) -> int:
    """Tokens of everything but the fixed part."""
    return made.tokens - made.fixed_tokens


class TestWorkedPlans:
    def test_a_the_tail_ends_before_the_turn_that_exceeds_it(self) -> None:
        made = plan(worked())
        assert (made.status, made.kept, messages(made)) == ("managed", (*S1, *S2, *G3, *C), 380)
        assert reasons(made) == dict.fromkeys(G1, "recent-tail-closed") | dict.fromkeys(G2, "recent-tail-limit")
        assert not made.rescued

    def test_b_the_turn_before_the_current_one_is_rescued(self) -> None:
        """Regression R1: "as I said before" must not be answered blindly while there is room."""
        made = plan(worked(tail=250))
        assert (made.status, made.kept, messages(made)) == ("managed", (*S1, *S2, *G3, *C), 380)
        assert made.rescued
        assert rows(made)["group:6-7"] == (True, "rescued-predecessor")
        assert set(reasons(made).values()) == {"recent-tail-closed"}

    def test_b_without_rescue_it_is_not(self) -> None:
        made = plan(worked(tail=250, rescue=False))
        assert (made.kept, messages(made), made.rescued) == ((*S1, *S2, *C), 180, False)
        assert {one.id: one.not_rescued for one in made.excluded}["group:6-7"] == "disabled"

    def test_c_supplements_fill_the_rest_in_their_order(self) -> None:
        offered = (
            supplement("p1", "project", 150, 80.5),
            supplement("p2", "project", 40, 80.4),
            supplement("h1", "retrieval", 400, 85.2),
            supplement("h2", "retrieval", 90, 85.1),
            supplement("m1", "memory", 120, 91),
        )
        made = plan(worked(supplements=offered))
        assert (made.kept, messages(made)) == ((*S1, *S2, *G3, *C), 780)
        assert chosen(made) == ["m1", "h2", "p1", "p2"]
        assert [(one.id, one.reason) for one in made.left_out] == [("h1", "input-budget")]
        assert {placed.before for placed in made.supplements} == {8}

    def test_d_a_fixed_part_over_the_limit_says_so(self) -> None:
        """Faults, section 2 (loop): said once, with what the least would be; the reference falls back."""
        made = plan(worked(fixed=1_600))
        assert (made.status, made.error, made.kept) == ("refused", "fixed_over_limit", C)
        assert made.ullage == -200

    def test_e_the_current_turn_may_exceed_the_target(self) -> None:
        made = plan(worked(current=1_250))
        assert (made.status, made.kept, messages(made)) == ("managed", C, 1_250)
        assert made.ullage == 50

    def test_e_but_not_the_hard_limit(self) -> None:
        """Design, section 11: refused; the reference falls back."""
        made = plan(worked(current=1_301))
        assert (made.status, made.error, made.kept, messages(made)) == ("refused", "mandatory_over_limit", C, 1_301)
        assert plan(worked(current=1_300)).status == "managed"

    def test_f_pins_over_their_cap_fall_back(self) -> None:
        pinned = given(user(17_000), TURNS, user(100), pinned=frozenset({0}), hard=100_000, caps=CAPS)
        made = plan(pinned)
        assert (made.status, made.error, made.kept) == ("fallback", "pins_over_cap", tuple(range(8)))
        over = plan(structs.replace(pinned, budget=budget(1_500, 1_000)))
        assert (over.status, over.error, over.kept) == ("refused", "pins_over_cap", (0, 7))

    def test_g_a_pinned_turn_leaves_no_room(self) -> None:
        request = given(
            user(700),
            SUMMARIES,
            TURNS,
            user(100),
            hard=1_500,
            active=1_000,
            fixed_tokens=200,
            pinned=frozenset({0}),
        )
        made = plan(request)
        assert (made.status, made.kept, messages(made)) == ("managed", (0, 9), 800)
        assert rows(made)["group:7-8"] == (False, "input-budget")
        assert rows(made)["group:1-1"] == (False, "summary-policy-or-budget")

    def test_h_without_a_tail_nothing_is_rescued(self) -> None:
        made = plan(worked(tail=0))
        assert (made.kept, messages(made), made.rescued) == ((*S1, *S2, *C), 180, False)
        assert made.excluded[0].not_rescued == "tail-disabled"

    def test_the_reference_keeps_what_its_own_tests_say(self) -> None:
        """Section 13.4, last paragraph: the oldest turn leaves; at a target of 200 only the current one stays; a pin stays."""
        sizes: tuple[Sized, ...] = (user(90), assistant(90), user(90), assistant(90), user(90))

        def kept(active: int, **more: Any) -> tuple[int, ...]:
            caps = structs.replace(CAPS, recent_tail=1_500)
            made = plan(given(*sizes, active=active, hard=2_000, fixed_tokens=100, caps=caps, **more))
            return made.kept

        assert kept(500) == (2, 3, 4)
        assert kept(200) == (4,)
        assert kept(100, pinned=frozenset({0}))[0] == 0


class TestScores:
    def test_a_score_is_the_priority_and_how_new_the_part_is(self) -> None:
        """The example of section 13.3."""
        turns = (user(10), assistant(10), user(10), assistant(10), assistant(10), user(10))
        made = plan(given(*turns, hard=45, caps=ROOMY))
        assert [(row.id, row.kind, row.score, row.selected) for row in made.groups] == [
            ("group:0-1", "recent", 100.285714, False),
            ("group:2-4", "recent", 100.714286, True),
            ("group:5-5", "current", 1000.857143, True),
        ]

    def test_every_kind_has_its_priority(self) -> None:
        request = given(
            system(10), assistant(10), summary(10), user(10), user(20), assistant(10), user(10), pinned=frozenset({3})
        )
        made = plan(structs.replace(request, budget=budget(1_000)))
        assert made.status == "unchanged"
        assert [(row.kind, int(row.score)) for row in made.groups] == [
            ("system", 1_000),
            ("history", 40),
            ("summary", 75),
            ("pin", 900),
            ("recent", 100),
            ("current", 1_000),
        ]

    def test_supplements_count_whether_they_are_chosen_or_not(self) -> None:
        offered = (supplement("h1", "retrieval", 9_000), supplement("m1", "memory", 10))
        made = plan(given(user(10), assistant(10), user(10), hard=100, caps=ROOMY, supplements=offered))
        assert {row.id: row.score for row in made.groups} == {"group:0-1": 100.333333, "group:2-2": 1000.833333}

    def test_the_current_turn_is_one_row_unless_something_of_it_is_left_out(self) -> None:
        request = given(user(10), exchange("a", 20), exchange("b", 20), hard=50, caps=ROOMY)
        assert [row.id for row in plan(request).groups] == ["group:0-4"]
        cut = plan(structs.replace(request, budget=budget(40)))
        assert rows(cut) == {"exchange:1-2": (False, "input-budget"), "group:0-4": (True, "current")}


class TestExclusions:
    def test_large_turns_come_first_then_the_predecessor_then_the_newest(self) -> None:
        turns = [(user(1), assistant(size)) for size in (40, 200, 30, 300, 120)]
        made = plan(given(*turns, user(10), hard=90, caps=structs.replace(CAPS, recent_tail=100)))
        assert [(one.id, one.oversized, one.predecessor) for one in made.excluded] == [
            ("group:8-9", True, True),
            ("group:6-7", True, False),
            ("group:2-3", True, False),
            ("group:4-5", False, False),
            ("group:0-1", False, False),
        ]
        assert [one.not_rescued for one in made.excluded[:2]] == ["input-budget", "not-immediate-predecessor"]
        assert made.oversized == 3
        assert made.warnings == ("context.excluded_oversized_turn",)

    def test_at_most_32_are_told_and_all_are_counted(self) -> None:
        """Weakness W15: what was left out is known to whoever tunes the limits."""
        turns = [(user(5), assistant(5)) for _ in range(40)]
        made = plan(given(*turns, user(10), hard=15, caps=ROOMY))
        assert len(made.excluded) == 32
        assert (made.excluded_groups, made.excluded_native_tokens) == (40, 400)
        assert made.excluded[0].last == 79

    def test_a_prefix_is_background(self) -> None:
        made = plan(given(assistant(50), user(10), assistant(10), user(10), hard=60, caps=ROOMY))
        assert reasons(made) == {0: "background-without-retrieval"}

    def test_a_prefix_that_fits_at_the_end_of_an_unbroken_tail_stays(self) -> None:
        """Regression R10, and faults, section 2 (silent-no-op): the reference drops it though everything fits."""
        made = plan(given(assistant(50), user(10), assistant(10), user(10), hard=80, caps=ROOMY))
        assert made.status == "unchanged"
        offered = (supplement("m", "memory", 10),)
        added = plan(given(assistant(50), user(10), assistant(10), user(10), hard=100, caps=ROOMY, supplements=offered))
        assert added.kept == (0, 1, 2, 3)


class TestStatuses:
    def test_what_fits_is_unchanged_and_is_said_to_be(self) -> None:
        """Case c06: trailing tool result included."""
        made = plan(given(system(10), user(10), exchange("a", 20), hard=40, caps=ROOMY))
        assert (made.status, made.kept, made.dropped, made.error) == ("unchanged", (0, 1, 2, 3), (), None)
        assert (made.tokens, made.ullage) == (40, 0)

    @pytest.mark.parametrize("limit", [0, 1, 2])
    def test_a_tiny_limit_cannot_be_overrun(self, limit: int) -> None:
        """Faults, section 2 (oversize): nothing is sent as planned; what it would take is said."""
        made = plan(given(user(2), assistant(2), user(3), hard=limit))
        assert (made.status, made.error, made.kept, made.tokens) == ("refused", "mandatory_over_limit", (2,), 3)

    def test_a_request_without_messages_is_unchanged(self) -> None:
        made = plan(given(hard=10))
        assert (made.status, made.kept, made.groups) == ("unchanged", (), ())
        assert plan(given(hard=10, fixed_tokens=11)).error == "fixed_over_limit"

    def test_system_messages_in_the_list_are_mandatory(self) -> None:
        made = plan(given(system(10), user(10), system(10), assistant(10), user(10), hard=30, caps=ROOMY))
        assert made.kept == (0, 2, 4)
        over = plan(given(system(10), user(10), system(10), assistant(10), user(10), hard=29, caps=ROOMY))
        assert (over.status, over.kept) == ("refused", (0, 2, 4))

    def test_small_windows_still_have_a_plan(self) -> None:
        """Regression R45: the zero-budget rows of section 4.2."""
        for window, most in ((8_192, 8_192), (16_384, None), (40_000, 32_768)):
            drawn = draw_budget(window=window, max_output=most, safety_margin=1_024, limits=Limits())
            turns = [(user(500), assistant(2_000)) for _ in range(20)]
            made = plan(structs.replace(given(*turns, user(500), caps=ROOMY), budget=drawn))
            assert made.status == "managed"
            assert len(made.kept) > 1

    def test_every_request_of_a_loop_is_planned(self) -> None:
        """Regression R49: no overflow in the middle of a tool loop."""
        for length in range(30):
            loop = [exchange(f"call-{number}", 100) for number in range(length)]
            made = plan(given(user(50), *loop, hard=1_000, caps=ROOMY))
            assert made.tokens <= 1_000
            assert made.kept[0] == 0
            assert made.kept[-1] == 2 * length

    def test_a_selection_that_no_provider_takes_is_not_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Section 13.2, step 11: the last look at what was chosen, should choosing ever fail."""
        monkeypatch.setattr("ullage.core.planning.drafting.Draft.parts", _PartsWithoutResults())
        made = plan(given(user(10), exchange("a", 20), user(10), hard=35, caps=ROOMY))
        assert (made.status, made.error, made.kept) == ("fallback", "invalid_selection", (0, 1, 2, 3))

    def test_a_plan_does_not_depend_on_what_it_was_before(self) -> None:
        """A smaller model in the middle of a session (faults, section 2: model-switch) is planned from the messages."""
        turns = [(user(50), assistant(50)) for _ in range(20)]
        made = plan(given(*turns, user(10), hard=250, caps=ROOMY))
        assert made.kept == (36, 37, 38, 39, 40)


class _PartsWithoutResults:
    """Parts of a request as a fault of ours might make them: turns without their results."""

    def __get__(self, draft: Draft, _: type) -> Parts:
        parts = divide(draft.made, draft.given.pinned)
        turns = tuple(structs.replace(part, indices=part.indices[:-1], tokens=20) for part in parts.turns)
        return structs.replace(parts, turns=turns)


class TestPlacements:
    offered = (
        supplement("p", "project", 10),
        supplement("h", "retrieval", 10),
        supplement("m", "memory", 10),
        supplement("k", "pin", 10),
    )

    def places(self, placement: str, *messages: Any) -> list[tuple[str, int]]:
        made = plan(given(*messages, hard=500, caps=ROOMY, supplements=self.offered, placement=placement))
        return [(placed.supplement_id, placed.before) for placed in made.supplements]

    @pytest.mark.parametrize(
        ("placement", "places"),
        [
            ("latest-user", [4, 4, 4, 4]),
            ("stable-prefix", [2, 2, 2, 2]),
            ("hybrid", [2, 2, 4, 2]),
        ],
    )
    def test_pins_memory_history_and_project_stand_in_this_order(self, placement: str, places: list[int]) -> None:
        """Section 22."""
        list_ = (system(5), system(5), user(10), assistant(10), user(10))
        assert self.places(placement, *list_) == list(zip("kmhp", places, strict=True))

    @pytest.mark.parametrize("placement", ["latest-user", "stable-prefix", "hybrid"])
    def test_a_request_alone_has_them_before_it(self, placement: str) -> None:
        assert {place for _, place in self.places(placement, system(5), user(10))} == {1}
        assert {place for _, place in self.places(placement, user(10), system(5), exchange("a"))} == {0}

    def test_nothing_stands_between_a_call_and_a_result_that_came_late(self) -> None:
        """Regression R34."""
        late = (user(10), assistant(10, "a"), user(10), result(10, "a"), assistant(10))
        assert {place for _, place in self.places("latest-user", user(10), assistant(10), *late)} == {2}

    def test_supplements_do_not_take_messages_of_the_client_into_their_groups(self) -> None:
        """Regressions R10 and R25: every message keeps its number and its group."""
        made = plan(given(assistant(10), user(10), assistant(10), user(10), hard=500, supplements=self.offered))
        assert [row.id for row in made.groups] == ["group:0-0", "group:1-2", "group:3-3"]
        assert made.kept == (0, 1, 2, 3)
        assert len(made.supplements) == 4


def tokens_of(conversation: Conversation, read: list[Message]) -> tuple[int, ...]:
    """Sizes as a scope of messages has them: the system prompt is beside the limit."""
    return tuple(
        0 if message.role == "system" else 8 + len(piece.raw) // 4
        for piece, message in zip(conversation.messages, read, strict=True)
    )


@pytest.mark.shared
@pytest.mark.parametrize("number", range(1, 13))
def test_the_awkward_requests_hold_at_every_limit(number: int, shared_data: Path) -> None:
    (path,) = (shared_data / "cases").glob(f"c{number:02}-*.json")
    case = json.loads(path.read_bytes())
    dialect: Dialect = {"anthropic-messages": "anthropic"}.get(case["protocol"], case["protocol"])
    conversation = parse_request(json.dumps(case["request"]).encode(), dialect)
    read = [read_message(piece, dialect) for piece in conversation.messages]
    request = PlanInput(
        facts=tuple(facts_of(message, dialect) for message in read),
        tokens=tokens_of(conversation, read),
        fixed_tokens=0,
        budget=budget(0),
        caps=ROOMY,
        pinned=frozenset(int(pointer.rpartition("/")[2]) for pointer in case["budget"].get("pins", [])),
    )
    total = sum(request.tokens)
    last = len(read) - 1
    asked = max(index for index, fact in enumerate(request.facts) if fact.opens_turn)
    reached = 0
    for limit in range(0, total + 20, 7):
        made = plan(structs.replace(request, budget=budget(limit)))
        assert find_faults(request.facts, made.kept) == ()
        assert {asked, last, *request.pinned} <= set(made.kept)
        assert (made.tokens <= limit) == (made.error is None)
        assert len(made.kept) >= reached
        reached = len(made.kept)
    assert made.status == "unchanged"
    assert LISTS[dialect] in case["request"]


@pytest.mark.parametrize(
    ("tail", "kept"),
    [(None, (0, 21)), (15, (0, *range(15, 22))), (0, (0, 21))],
    ids=["walked", "chosen inside", "chosen before"],
)
def test_a_message_that_is_kept_alone_leaves_its_turn_to_the_tail(tail: int | None, kept: tuple[int, ...]) -> None:
    loop = (exchange(f"call {number}", 100) for number in range(10))
    request = given(
        user(50), *loop, user(10), hard=700, caps=ROOMY, pinned=frozenset({0}), alone=frozenset({0}), tail=tail
    )
    assert plan(request).kept == kept
