"""What holds of every plan (style, section 5; planner specification, section 35.3), on conversations of all four dialects."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.conversations import Talk, talks
from tests.core.planning.making import budget, sizes, trim
from tests.strategies import dialects
from ullage.core.planning import (
    Caps,
    Plan,
    PlanInput,
    Supplement,
    Trim,
    current_groups,
    facts_of,
    find_faults,
    outline,
    plan,
    plan_live,
)
from ullage.core.planning.labels import find_labelled
from ullage.core.planning.parts import Part, Parts
from ullage.core.planning.walk import Bounds, walk_tail
from ullage.core.wire import Dialect, parse_request, read_message, render

relaxed = settings(deadline=None, max_examples=150)
thorough = settings(deadline=None, max_examples=400)

few = st.integers(0, 9)


class Case(NamedTuple):
    """A conversation and the request that is planned."""

    talk: Talk
    given: PlanInput


def supplements() -> st.SearchStrategy[tuple[Supplement, ...]]:
    one = st.builds(
        lambda kind, tokens, score, sources, held: (kind, tokens, score, sources, held),
        st.sampled_from(["pin", "memory", "retrieval", "project"]),
        st.integers(0, 120),
        st.integers(80, 99).map(float),
        st.sampled_from([("somewhere",), ("somewhere",), ()]),
        st.booleans(),
    )
    return st.lists(one, max_size=5).map(
        lambda drawn: tuple(
            Supplement(
                id=f"s{number}",
                kind=kind,
                text="",
                tokens=tokens,
                score=score,
                source_ids=sources,
                reason="test",
                held=held and kind != "pin",
            )
            for number, (kind, tokens, score, sources, held) in enumerate(drawn)
        )
    )


@st.composite
def trims(draw: st.DrawFn, given: PlanInput) -> tuple[Trim, ...]:
    """References for some of the tool results, each smaller than its result."""
    made = []
    for index, (fact, tokens) in enumerate(zip(given.facts, given.tokens, strict=True)):
        for result in fact.results:
            share = tokens // len(fact.results)
            if result.ordinal is None or share < 2 or draw(st.integers(0, 3)) == 0:
                continue
            made.append(
                Trim(
                    index=index,
                    ordinal=result.ordinal,
                    call_id=result.call_id,
                    tokens_before=share,
                    tokens_after=draw(st.integers(0, share - 1)),
                    artifact=f"{index}/{result.ordinal}",
                )
            )
    return tuple(made)


@st.composite
def cases(draw: st.DrawFn, *, added: bool = True, whole: bool = False) -> Case:
    """Anything that can be planned. `added`: supplements may be offered; `whole`: neither pins nor a tail that was chosen."""
    talk = draw(dialects.flatmap(talks))
    conversation = parse_request(json.dumps(talk.body).encode(), talk.dialect)
    facts = tuple(facts_of(read_message(piece, talk.dialect), talk.dialect) for piece in conversation.messages)
    count = len(facts)
    tokens = tuple(draw(st.integers(20, 200) if fact.results else st.integers(0, 40)) for fact in facts)
    fixed = draw(st.sampled_from([0, 0, 25]))
    hard = fixed + sum(tokens) * draw(st.sampled_from([0, 3, 5, 6, 7, 8, 9, 10, 12])) // 10 + draw(few)
    limits = st.one_of(st.just(1_000_000), st.integers(0, 400))
    made = PlanInput(
        facts=facts,
        tokens=tokens,
        fixed_tokens=fixed,
        budget=budget(hard, draw(st.one_of(st.just(hard), st.integers(hard // 2, hard)))),
        caps=Caps(
            recent_tail=draw(limits),
            pinned=draw(limits),
            memory=draw(limits),
            history=draw(limits),
            project=draw(limits),
            summary=draw(limits),
        ),
        supplements=draw(supplements()) if added else (),
        placement=draw(st.sampled_from(["latest-user", "stable-prefix", "hybrid"])),
        rescue=draw(st.booleans()),
    )
    if not whole:
        made = structs.replace(
            made,
            pinned=frozenset(draw(st.sets(st.integers(0, count - 1), max_size=2))),
            tail=draw(st.one_of(st.none(), st.none(), st.integers(0, count))),
        )
    return Case(talk, structs.replace(made, trims=draw(st.one_of(st.just(()), trims(made)))))


def is_planned(made: Plan) -> bool:
    return made.status in ("unchanged", "managed", "emergency")


@given(case=cases())
@thorough
def test_no_plan_that_is_one_exceeds_the_hard_limit(case: Case) -> None:
    for made in (plan(case.given), plan_live(case.given)):
        if is_planned(made):
            assert made.tokens <= case.given.budget.hard
            assert made.ullage >= 0
        assert made.tokens == sizes(made, case.given)


@given(case=cases())
@thorough
def test_no_plan_parts_a_call_from_its_result_or_reasoning_from_what_it_led_to(case: Case) -> None:
    """Regression R33, by what belongs together in the conversation as it was made."""
    for made in (plan(case.given), plan_live(case.given)):
        kept = set(made.kept)
        for bond in case.talk.bonds:
            assert bond <= kept or not bond & kept
        if is_planned(made):
            assert find_faults(case.given.facts, made.kept) == ()


@given(case=cases())
@thorough
def test_what_must_be_sent_is_kept_in_its_place(case: Case) -> None:
    made = plan(case.given)
    kept = set(made.kept)
    mandatory = case.talk.mandatory | case.given.pinned
    assert mandatory <= kept
    emergency = plan_live(case.given)
    request = case.talk.request
    assert request is None or request in emergency.kept
    assert len(case.talk.spoken) - 1 in emergency.kept


@given(case=cases())
@thorough
def test_a_plan_is_refused_only_if_what_must_be_sent_does_not_fit(case: Case) -> None:
    made = plan(case.given)
    fits = made.tokens <= case.given.budget.hard
    assert (made.status == "refused") == (not fits and made.error is not None and made.status != "fallback")
    if made.status == "refused":
        bonds = {bond for index in case.given.pinned for bond in case.talk.spoken[index].bonds}
        pinned = {index for index, one in enumerate(case.talk.spoken) if bonds & one.bonds} | case.given.pinned
        needed = case.talk.mandatory | pinned
        assert set(made.kept) >= needed
        assert set(made.dropped) or set(made.kept) == set(range(len(case.given.facts)))


@given(case=cases())
@relaxed
def test_messages_are_kept_or_dropped_in_their_order_and_once(case: Case) -> None:
    for made in (plan(case.given), plan_live(case.given)):
        dropped = [drop.index for drop in made.dropped]
        assert list(made.kept) == sorted(set(made.kept))
        assert dropped == sorted(set(dropped))
        assert sorted([*made.kept, *dropped]) == list(range(len(case.given.facts)))
        assert {one.index for one in made.replaced} <= set(made.kept)


@given(case=cases())
@relaxed
def test_a_supplement_stands_at_a_seam_and_never_without_a_message_of_the_user(case: Case) -> None:
    """Regressions R10 and R34."""
    made = plan(case.given)
    if case.talk.request is None:
        assert made.supplements == ()
        return
    for placed in made.supplements:
        assert placed.before <= case.talk.request
        for bond in case.talk.bonds:
            assert not (min(bond) < placed.before <= max(bond))
    told = [placed.supplement_id for placed in made.supplements] + [one.id for one in made.left_out]
    assert sorted(told) == sorted(one.id for one in case.given.supplements)


@given(case=cases())
@relaxed
def test_the_placement_changes_places_and_nothing_else(case: Case) -> None:
    plans = [
        plan(structs.replace(case.given, placement=placement))
        for placement in ("latest-user", "stable-prefix", "hybrid")
    ]
    chosen = {
        (
            made.status,
            made.kept,
            made.replaced,
            made.left_out,
            tuple(placed.supplement_id for placed in made.supplements),
            made.tokens,
        )
        for made in plans
    }
    assert len(chosen) == 1


@given(case=cases(), data=st.data())
@thorough
def test_a_smaller_limit_never_gives_a_longer_tail(case: Case, data: st.DataObject) -> None:
    """Neither in old turns nor in exchanges of the current one, whatever is added, pinned or trimmed."""
    larger = case.given.budget
    hard = data.draw(st.integers(0, larger.hard))
    smaller = budget(hard, data.draw(st.integers(0, min(hard, larger.active))))
    before, after = plan(case.given), plan(structs.replace(case.given, budget=smaller))
    if before.error is None and after.error is None:
        assert all(less <= more for less, more in zip(_tail(after, case.given), _tail(before, case.given), strict=True))


@st.composite
def parts(draw: st.DrawFn, *, current: bool) -> tuple[Part, ...]:
    """Parts of a request, the newest first, some with results that may become references."""
    made = []
    for index in range(draw(st.integers(0, 5)), 0, -1):
        tokens = draw(st.integers(0, 60))
        number = (20 if current else 0) + index
        saved = draw(st.lists(st.integers(1, 40), max_size=2)) if draw(st.booleans()) else []
        saved = saved if sum(saved) <= tokens else []
        made.append(
            Part(
                id=f"group:{number}-{number}",
                kind="recent",
                first=number,
                last=number,
                indices=(number,),
                tokens=tokens,
                least=tokens - sum(saved),
                trims=tuple(trim(number, before, 0, ordinal) for ordinal, before in enumerate(saved)),
                current=current,
                thinking=current and draw(st.booleans()),
            )
        )
    return tuple(made)


@given(data=st.data())
@thorough
def test_a_smaller_room_never_gives_a_longer_walk(data: st.DataObject) -> None:
    """The same, of the walk alone: results that become references make room, and must not make it for others."""
    older, exchanges = data.draw(parts(current=False)), data.draw(parts(current=True))
    leads = data.draw(st.integers(0, len(older)))
    divided = Parts(
        system=(),
        current=(),
        spoken=(),
        pins=(),
        foremost=(),
        lead_ins=tuple(structs.replace(part, trims=(), least=part.tokens) for part in older[:leads]),
        exchanges=exchanges,
        turns=older[leads:],
        summaries=(),
    )
    free = data.draw(st.integers(0, 300))
    cap = data.draw(st.one_of(st.none(), st.integers(0, 300)))
    start = data.draw(st.sampled_from([0, 0, 2, 22]))
    bounds = Bounds(free=free, cap=cap, start=start, rescue=data.draw(st.booleans()))
    more = walk_tail(divided, bounds)
    less = walk_tail(divided, structs.replace(bounds, free=data.draw(st.integers(0, free))))
    assert more.tokens <= free
    for current in (True, False):
        reached = [
            sum(choice.selected for choice in walked.choices if choice.part.current is current)
            for walked in (less, more)
        ]
        assert reached[0] <= reached[1]


@given(case=cases(), data=st.data())
@thorough
def test_a_broken_history_is_isolated_or_sent_as_it_came(case: Case, data: st.DataObject) -> None:
    """Faults, section 2: one bad pair must not poison every later request, nor stop planning."""
    count = len(case.given.facts)
    left = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=1)))
    broken = structs.replace(
        case.given,
        facts=tuple(case.given.facts[index] for index in left),
        tokens=tuple(case.given.tokens[index] for index in left),
        pinned=frozenset(),
        trims=(),
    )
    made = plan(broken)
    if made.status == "managed":
        assert find_faults(broken.facts, made.kept) == ()
        assert made.tokens <= broken.budget.hard
    assert bool(find_faults(broken.facts, range(len(left)))) == ("context.broken_history" in made.warnings)
    plan_live(broken)


@given(case=cases())
@relaxed
def test_equal_input_gives_equal_plans(case: Case) -> None:
    copies = [
        structs.replace(case.given, facts=tuple(structs.replace(fact) for fact in case.given.facts)) for _ in range(100)
    ]
    assert {repr(plan(copy)) for copy in copies} == {repr(plan(case.given))}


@given(case=cases(added=False, whole=True))
@relaxed
def test_what_fits_goes_unchanged(case: Case) -> None:
    """Regression of requests that were cut although everything fits (faults, section 2: silent-no-op)."""
    given = structs.replace(case.given, caps=structs.replace(case.given.caps, recent_tail=1_000_000, summary=1_000_000))
    made = plan(given)
    if given.fixed_tokens + sum(given.tokens) <= given.budget.active:
        assert made.status == "unchanged"
        assert made.kept == tuple(range(len(given.facts)))
        assert made.dropped == made.replaced == made.supplements == ()
    elif made.status == "unchanged":
        assert made.tokens <= given.budget.hard


@given(case=cases())
@relaxed
def test_what_goes_unchanged_is_everything(case: Case) -> None:
    made = plan(case.given)
    assert (made.status == "unchanged") == (
        made.error is None and len(made.kept) == len(case.given.facts) and not (made.supplements or made.replaced)
    )


@given(case=cases())
@relaxed
def test_the_rows_of_a_plan_are_all_of_its_messages(case: Case) -> None:
    for made in (plan(case.given), plan_live(case.given)):
        assert sum(row.tokens for row in made.groups) == sum(case.given.tokens)
        selected = sum(row.tokens for row in made.groups if row.selected)
        assert selected == sum(case.given.tokens[index] for index in made.kept)
        assert made.excluded_native_tokens == sum(case.given.tokens) - selected


@given(case=cases())
@relaxed
def test_a_live_request_is_too_large_only_if_nothing_smaller_makes_sense(case: Case) -> None:
    made = plan_live(case.given)
    native = case.given.fixed_tokens + sum(case.given.tokens)
    if made.status == "fallback":
        assert made.kept == tuple(range(len(case.given.facts)))
        assert made.error is not None
    if made.tokens > case.given.budget.hard:
        assert made.status == "fallback"
        assert native == made.tokens


@given(case=cases(), dialect=dialects)
@relaxed
def test_kept_messages_are_the_very_bytes_of_the_client(case: Case, dialect: Dialect) -> None:
    body = json.dumps(case.talk.body).encode()
    conversation = parse_request(body, case.talk.dialect)
    made = plan(case.given)
    again = parse_request(render(conversation, messages=made.kept), case.talk.dialect)
    assert [piece.raw for piece in again.messages] == [conversation.messages[index].raw for index in made.kept]


@given(case=cases(), data=st.data())
@relaxed
def test_a_plan_does_not_depend_on_how_the_client_writes_its_json(case: Case, data: st.DataObject) -> None:
    shuffled = data.draw(st.randoms(use_true_random=False))
    body = json.dumps(_shuffle(case.talk.body, shuffled), indent=data.draw(st.sampled_from([None, 1]))).encode()
    conversation = parse_request(body, case.talk.dialect)
    facts = tuple(
        facts_of(read_message(piece, case.talk.dialect), case.talk.dialect) for piece in conversation.messages
    )
    assert plan(structs.replace(case.given, facts=facts)) == plan(case.given)


@given(facts=st.lists(st.builds(dict), max_size=3), data=st.data(), dialect=dialects)
@relaxed
def test_a_request_of_anything_at_all_has_a_plan(facts: Any, data: st.DataObject, dialect: Dialect) -> None:
    from tests.strategies import requests

    conversation = parse_request(data.draw(requests(dialect, having="messages")), dialect)
    read = tuple(facts_of(read_message(piece, dialect), dialect) for piece in conversation.messages)
    tokens = tuple(data.draw(st.lists(st.integers(0, 50), min_size=len(read), max_size=len(read))))
    limit = data.draw(st.integers(0, sum(tokens)))
    generous = Caps(recent_tail=10_000, pinned=10_000, memory=0, history=0, project=0, summary=10_000)
    request = PlanInput(facts=read, tokens=tokens, fixed_tokens=0, budget=budget(limit), caps=generous)
    made = plan(request)
    assert not is_planned(made) or made.tokens <= limit
    if made.status == "managed":
        assert find_faults(read, made.kept) == ()
    plan_live(request)


def _tail(made: Plan, given: PlanInput) -> tuple[int, int]:
    """How many old turns a plan keeps, and how many messages of the current one; what is pinned counts in every plan alike."""
    whole = outline(given.facts, given.tokens)
    current = {group.first for group in current_groups(whole)}
    kept = set(made.kept)
    older = [group for group in whole.groups if group.first not in current and group.kind in ("turn", "prefix")]
    now = [index for group in whole.groups if group.first in current for index in group.indices]
    return (sum(kept.issuperset(group.indices) for group in older), len(kept.intersection(now)))


def _shuffle(value: Any, random: Any) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: _shuffle(value[key], random) for key in keys}
    if isinstance(value, list):
        return [_shuffle(one, random) for one in value]
    return value


@given(case=cases(whole=True), on=st.sets(st.integers(0, 30), max_size=2))
@thorough
def test_of_what_is_labelled_every_sound_exchange_is_sent_and_says_so(case: Case, on: set[int]) -> None:
    """Planner specification, section 14.1: the whole group of a labelled message is mandatory."""
    found = find_labelled(case.given.facts, case.given.tokens, on)
    made = plan(structs.replace(case.given, pinned=found, labelled=found))
    labelled = on.intersection(range(len(case.given.facts)))
    broken = outline(case.given.facts, case.given.tokens).broken
    if not broken:
        assert labelled - {index for index in labelled if case.given.facts[index].system} <= found
    if made.status in ("unchanged", "managed"):
        assert found <= set(made.kept)
        assert {row.reason for row in made.groups if row.kind == "pin" and row.selected} <= {"labelled-pin"}
