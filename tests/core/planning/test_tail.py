"""What holds of every choice of a tail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given as example
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.planning.making import CAPS, assistant, exchange, given, result, system, user
from ullage.core.planning import TailContext, TailMemory, choose_tail, plan
from ullage.core.planning.tail import find_memory
from ullage.core.planning.tail_records import plain_memory, read_memory
from ullage.core.spend import CallPrices

if TYPE_CHECKING:
    from ullage.core.planning import PlanInput, TailChoice, TailPolicy

PRICES = (
    CallPrices(input=5, output=25, cache_read=0.5, cache_write=6.25),
    CallPrices(input=1.4, output=4, cache_read=0.26, cache_write=1.4),
    CallPrices(input=3, output=9, cache_read=0.1, cache_write=3),
    CallPrices(input=1, output=0, cache_read=1, cache_write=1, known=False),
)
TTL_MS = 300_000

sizes = st.integers(1, 3_000)


@st.composite
def bits(draw: st.DrawFn) -> list[Any]:
    """A piece of a conversation that may stand anywhere."""
    size = draw(sizes)
    kind = draw(st.sampled_from(["exchange", "exchange", "exchange", "parallel", "said", "prompt", "system"]))
    name = str(draw(st.integers(0, 1_000_000)))
    match kind:
        case "exchange":
            return list(exchange(name, size))
        case "parallel":
            return [assistant(size, f"{name}a", f"{name}b"), result(size, f"{name}b"), result(5, f"{name}a")]
        case "said":
            return [assistant(size)]
        case "prompt":
            return [user(size)]
        case _:
            return [system(size // 10 + 1)]


@st.composite
def talks(draw: st.DrawFn) -> list[list[Any]]:
    """A conversation by pieces; the user speaks first."""
    return [[user(draw(sizes))], *draw(st.lists(bits(), max_size=40))]


def requests(pieces: list[list[Any]], **more: Any) -> list[PlanInput]:
    """The requests of a session that grows by these pieces."""
    sent: list[Any] = []
    made = []
    for piece in pieces:
        sent += piece
        made.append(given(*sent, **more))
    return made


def context(request: PlanInput, now_ms: int, prices: CallPrices) -> TailContext:
    hashes = tuple(range(1, len(request.facts) + 1))
    return TailContext(hashes=hashes, prices=prices, target="p/m", now_ms=now_ms, ttl_ms=TTL_MS)


def played(
    made: list[PlanInput], waits: list[int], prices: CallPrices, policy: TailPolicy = "auto"
) -> list[tuple[PlanInput, TailChoice | None, TailMemory | None]]:
    """Each request with its tail and the memory that was there before."""
    memory: TailMemory | None = None
    now_ms, rows = 0, []
    for number, request in enumerate(made):
        now_ms += waits[number % len(waits)]
        before = memory
        choice, memory = choose_tail(request, context(request, now_ms, prices), memory, policy)
        rows.append((request, choice, before))
    return rows


waits = st.lists(st.sampled_from([1_000, 1_000, 400_000]), min_size=1, max_size=7)
prices = st.sampled_from(PRICES)
limits = st.integers(0, 20_000)
hards = st.integers(1_000, 40_000)


def caps(limit: int) -> Any:
    return replace(CAPS, recent_tail=limit)


@example(talks(), waits, prices, limits, hards)
def test_a_plan_sends_what_the_choice_says_and_no_more_than_fits(
    pieces: list[list[Any]], waits: list[int], prices: CallPrices, limit: int, hard: int
) -> None:
    for request, choice, _ in played(requests(pieces, hard=hard, caps=caps(limit)), waits, prices):
        assert choice is not None
        made = plan(replace(request, tail=choice.first))
        if made.error is not None:
            continue
        if choice.tokens > hard:
            continue
        sent = sum(request.tokens[index] for index in made.kept)
        prompts = {drop.index for drop in made.dropped if request.facts[drop.index].opens_turn}
        assert all(drop.index < choice.first or drop.index in prompts for drop in made.dropped)
        # Prompts in front of the request have a share of the room that they may not exceed.
        assert choice.tokens - sum(request.tokens[index] for index in prompts) <= sent <= choice.tokens
        assert made.tokens <= hard


@example(talks(), waits, prices, limits, hards)
def test_the_tail_never_begins_earlier_than_before(
    pieces: list[list[Any]], waits: list[int], prices: CallPrices, limit: int, hard: int
) -> None:
    rows = played(requests(pieces, hard=hard, caps=caps(limit)), waits, prices)
    firsts = [choice.first for _, choice, _ in rows if choice is not None]
    assert firsts == sorted(firsts)
    assert len(firsts) == len(pieces)


@example(talks(), waits, prices, limits, limits, hards, hards)
def test_a_smaller_limit_never_gives_a_longer_tail(
    pieces: list[list[Any]], waits: list[int], prices: CallPrices, one: int, other: int, hard: int, more: int
) -> None:
    """Of the same request, with the same memory of the session."""
    rows = played(requests(pieces, hard=hard + more, caps=caps(max(one, other))), waits, prices)
    now_ms = 0
    for number, (request, choice, memory) in enumerate(rows):
        now_ms += waits[number % len(waits)]
        smaller = requests(pieces, hard=hard, caps=caps(min(one, other)))[number]
        shorter, _ = choose_tail(smaller, context(request, now_ms, prices), memory)
        assert choice is not None
        assert shorter is not None
        assert shorter.first >= choice.first


@example(talks(), waits, prices, limits, hards, st.sampled_from(["auto", "epoch-v1", "off"]))
def test_the_same_session_gives_the_same_tails(
    pieces: list[list[Any]], waits: list[int], prices: CallPrices, limit: int, hard: int, policy: TailPolicy
) -> None:
    made = requests(pieces, hard=hard, caps=caps(limit))
    assert played(made, waits, prices, policy) == played(made, waits, prices, policy)


@example(talks(), waits, prices, limits, hards)
def test_what_is_remembered_may_be_kept_as_json(
    pieces: list[list[Any]], waits: list[int], prices: CallPrices, limit: int, hard: int
) -> None:
    for _, _, memory in played(requests(pieces, hard=hard, caps=caps(limit)), waits, prices):
        assert memory is None or msgspec.json.decode(msgspec.json.encode(memory), type=TailMemory) == memory


@example(talks(), waits, prices, limits, hards)
def test_every_plan_is_one_that_a_provider_takes(
    pieces: list[list[Any]], waits: list[int], prices: CallPrices, limit: int, hard: int
) -> None:
    for request, choice, _ in played(requests(pieces, hard=hard, caps=caps(limit)), waits, prices):
        assert choice is not None
        made = plan(replace(request, tail=choice.first))
        assert made.error in (None, "mandatory_over_limit", "fixed_over_limit")


def test_off_leaves_the_tail_to_the_planner() -> None:
    request = given(user(), exchange("a"))
    assert choose_tail(request, context(request, 0, PRICES[0]), None, "off") == (None, None)


def left_by(*hashes: int, start: int = 0, opener: int = 0) -> TailMemory:
    """What a request of these messages left, whose tail began with the one number `start`."""
    return TailMemory(
        target="p/m",
        first=hashes[start],
        index=start,
        last=hashes[-1],
        count=len(hashes),
        turn=hashes[opener],
        opener=opener,
        used_ms=0,
    )


def test_a_request_goes_on_from_the_memory_of_its_own_conversation() -> None:
    agent, helper = left_by(1, 2, 3), left_by(7, 8, 9)
    assert find_memory((agent, helper), (1, 2, 3, 4)) is agent
    assert find_memory((agent, helper), (7, 8, 9, 10)) is helper
    assert find_memory((agent, helper), (5, 6)) is None
    assert find_memory((), (5, 6)) is None


def test_a_request_whose_end_was_rewritten_goes_on_from_where_its_tail_began() -> None:
    agent, helper = left_by(1, 2, 3, start=1), left_by(7, 8, 9)
    assert find_memory((agent, helper), (1, 2, 4)) is agent


def test_of_two_memories_that_fit_the_newest_counts() -> None:
    older, newer = left_by(1, 2), left_by(1, 2, start=1)
    assert find_memory((older, newer), (1, 2, 3)) is newer


def test_what_is_kept_of_a_memory_is_small_and_reads_as_it_was() -> None:
    memory = TailMemory(
        target="p/m", first=2**127, index=3, last=7, count=9, turn=None, opener=4, used_ms=5, rent_usd=0.25, sent=(1, 2)
    )
    plain = json.loads(json.dumps(plain_memory(memory)))
    assert read_memory(plain) == replace(memory, sent=())
    assert len(json.dumps(plain)) < 500


@pytest.mark.parametrize("change", [{"first": None}, {"first": "x"}, {"count": "9"}, {"target": 3}, {"turn": 8}])
def test_what_is_no_memory_is_as_none(change: dict[str, object]) -> None:
    memory = TailMemory(target="p/m", first=1, index=0, last=1, count=1, turn=1, opener=0, used_ms=5)
    assert read_memory({**plain_memory(memory), **change}) is None
