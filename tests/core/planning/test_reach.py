"""Old turns that are left out together: the plan is the one that it would be without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.core.planning.making import (
    CAPS,
    assistant,
    exchange,
    reasons,
    result,
    summary,
    supplement,
    system,
    trim,
    user,
)
from tests.core.planning.making import given as request
from ullage.core.planning import Plan, PlanInput, SliceFacts, plan
from ullage.core.planning.manifest import report_plan
from ullage.core.planning.plan import plan_whole

if TYPE_CHECKING:
    from tests.core.planning.making import Sized
    from ullage.core.planning import SupplementKind


def in_full(made: Plan) -> Plan:
    """A plan with the rows of its old turns."""
    return structs.replace(made, parts=made.groups, older=None)


def long_list(turns: int = 40, *, tokens: int = 50) -> list[Sized]:
    return [
        one for number in range(turns) for one in (user(tokens), *exchange(f"c{number}", tokens), assistant(tokens))
    ]


@pytest.mark.parametrize("tail", [None, 0, 120, 136, 150])
def test_turns_beyond_reach_are_left_out_as_they_would_be_alone(tail: int | None) -> None:
    whole = request(system(), long_list(), user(), hard=1_000, tail=tail)
    made = plan(whole)
    assert made.older is not None
    assert in_full(made) == plan_whole(whole)
    assert set(reasons(made)) == set(range(len(whole.facts))) - set(made.kept)


def test_most_of_a_long_list_is_beyond_reach() -> None:
    made = plan(request(long_list(400), user(), hard=1_000))
    assert made.older is not None
    assert len(made.older.turns.firsts) > 380
    assert len(made.parts) < 20


def test_the_oversized_turns_beyond_reach_are_told_first() -> None:
    caps = structs.replace(CAPS, recent_tail=400)
    whole = request(user(900), long_list(60), user(), hard=1_000, caps=caps)
    made = plan(whole)
    assert made.older is not None
    assert made.excluded[0].id == "group:0-0"
    assert made.oversized == 1
    assert made.excluded == plan_whole(whole).excluded
    assert len(made.excluded) == 32


UNPLAIN: dict[str, list[Sized]] = {
    "a summary": [summary()],
    "a compaction": [assistant(10, compaction=True)],
    "a call without its result": [user(), assistant(10, "lost")],
    "a result without its call": [user(), result(10, "nothing")],
    "reasoning without what came of it": [user(), assistant(10, leads=True)],
    "two calls of one id": [user(), assistant(10, "twice", "twice"), result(10, "twice"), result(10, "twice")],
}


@pytest.mark.parametrize("name", UNPLAIN)
def test_a_list_with_something_unplain_in_it_is_taken_apart(name: str) -> None:
    whole = request(long_list(20), UNPLAIN[name], long_list(20), user(), hard=1_000)
    assert plan(whole).older is None


def test_a_list_that_begins_with_the_model_is_taken_apart() -> None:
    assert plan(request(assistant(), long_list(), user(), hard=1_000)).older is None


def test_a_result_that_came_late_keeps_its_old_call() -> None:
    whole = request(long_list(), user(), result(10, "c3"), hard=100_000, tail=157)
    made = plan(whole)
    assert made.older is None
    assert made == plan_whole(whole)


def test_turns_with_pins_are_not_among_those_left_out_together() -> None:
    whole = request(long_list(), user(), hard=1_000, pinned=frozenset({6, 41}))
    made = plan(whole)
    assert made.older is not None
    assert not {4, 40} & set(made.older.turns.firsts)
    assert {6, 41} <= set(made.kept)
    assert in_full(made) == plan_whole(whole)


Turn = tuple[str, ...]
TURNS = ("plain", "plain", "plain", "call", "parallel", "hosted", "leads", "thinking", "bare", "system")
ODD = ("late", "lost", "stray", "again", "opaque", "summary", "compaction", "lead-without", "answer-only", "empty-id")


@st.composite
def turn(draw: st.DrawFn, number: int, odd: bool) -> list[Sized]:
    kind = draw(st.sampled_from((*TURNS, *ODD) if odd else TURNS))
    size = draw(st.integers(0, 30))
    key = f"c{draw(st.sampled_from([number, number, 1]))}"
    opener = user(size)
    built: dict[str, list[Sized]] = {
        "plain": [opener, assistant(size)],
        "call": [opener, *exchange(key, size), assistant()],
        "parallel": [opener, assistant(size, key, "x"), result(size, "x"), result(5, key), assistant()],
        "hosted": [opener, assistant(size, hosted=(key,), answers=(key,)), assistant()],
        "leads": [opener, assistant(3, leads=True), assistant(size, key), result(size, key)],
        "thinking": [opener, *exchange(key, size, thinking=True), *exchange("y", size, thinking=True)],
        "bare": [opener],
        "system": [opener, system(size), assistant(), *([system()] if size % 2 else [])],
        "late": [opener, assistant(5, "z"), user(size), result(4, "z"), assistant()],
        "lost": [opener, assistant(size, key)],
        "stray": [opener, result(size, draw(st.sampled_from(["x", "c1", "nothing"])))],
        "again": [opener, assistant(size, key, key), result(size, key), result(size, key)],
        "opaque": [opener, assistant(size, opaque=True), result(4, draw(st.sampled_from(["x", "unknown"])))],
        "summary": [summary(size)],
        "compaction": [assistant(size, compaction=True)],
        "lead-without": [opener, assistant(size, leads=True)],
        "answer-only": [assistant(size)],
        "empty-id": [opener, assistant(size, "\0run"), result(4, "\0run"), result(3, "\0")],
    }
    return built[kind]


@st.composite
def requests(draw: st.DrawFn) -> PlanInput:
    """Long lists, most of them sound but for a turn or two."""
    count = draw(st.integers(4, 30))
    odd = draw(st.sets(st.integers(draw(st.sampled_from([0, count - 4])), count - 1), max_size=draw(st.integers(0, 3))))
    messages = [one for number in range(count) for one in draw(turn(number, number in odd))]
    if draw(st.booleans()):
        messages.insert(0, system(draw(st.integers(0, 20))))
    if draw(st.booleans()):
        messages.append(user(draw(st.integers(0, 30))))
    total = sum(tokens for _, tokens in messages)
    hard = total * draw(st.integers(0, 10)) // 10
    pins = draw(st.sets(st.integers(0, len(messages) - 1), max_size=draw(st.sampled_from([0, 0, 2]))))
    kinds: list[tuple[SupplementKind, ...]] = [(), (), ("pin",), ("memory", "project"), ("retrieval",)]
    offered = draw(st.sampled_from(kinds))
    more: dict[str, Any] = {
        "fixed_tokens": draw(st.sampled_from([0, 10])),
        "tail": draw(st.one_of(st.none(), st.integers(0, len(messages)))),
        "rescue": draw(st.booleans()),
        "pinned": frozenset(pins),
        "alone": frozenset(one for one in pins if draw(st.booleans())),
        "placement": draw(st.sampled_from(["latest-user", "stable-prefix", "hybrid"])),
        "trims": tuple(
            trim(index, tokens, tokens // 4)
            for index, (fact, tokens) in enumerate(messages)
            if _is_result(fact) and tokens > 4 and draw(st.integers(0, 2)) == 0
        ),
        "supplements": tuple(supplement(f"s{kind}", kind, draw(st.integers(0, 40))) for kind in offered),
    }
    caps = structs.replace(CAPS, recent_tail=draw(st.sampled_from([0, 20, 200, 10_000])))
    active = draw(st.integers(hard // 2, hard))
    return request(messages, hard=hard, active=active, caps=caps, **more)


def _is_result(fact: SliceFacts) -> bool:
    return fact.role == "tool"


def test_what_is_beyond_reach_leaves_no_room_for_the_rest_of_a_pinned_turn() -> None:
    pinned = (user(1), assistant(1))
    turns = (pinned, (user(1), assistant(17)), *((user(0), assistant(0)) for _ in range(4)))
    caps = structs.replace(CAPS, recent_tail=0)
    whole = request(turns, hard=2, active=1, caps=caps, pinned=frozenset({0}), rescue=False, tail=10)
    assert plan_whole(whole).kept[0] == 0
    assert in_full(plan(whole)) == plan_whole(whole)


@given(whole=requests())
@settings(deadline=None, max_examples=600)
def test_every_plan_is_as_if_all_had_been_taken_apart(whole: PlanInput) -> None:
    made = plan(whole)
    event("some is beyond reach" if made.older is not None else "all is taken apart")
    assert in_full(made) == plan_whole(whole)


@given(whole=requests(), classes=st.dictionaries(st.integers(0, 100), st.just("private"), max_size=3))
@settings(deadline=None, max_examples=200)
def test_a_report_is_as_if_all_had_been_taken_apart(whole: PlanInput, classes: dict[int, str]) -> None:
    told, full = (report_plan(made, whole, classes=classes) for made in (plan(whole), plan_whole(whole)))
    assert told == full
