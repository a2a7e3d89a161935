"""Which memories a request gets (planner specification, section 15.3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.evidence.keeping import change, letters
from ullage.core.evidence.memory import MemoryLimits
from ullage.core.evidence.mutations import Item, replay
from ullage.core.evidence.ranking import Ranked, choose, rank


def memory(text: str, *, name: str = "a", key: str | None = None, scope: str = "session", created_ms: int = 1) -> Item:
    fields: dict[str, Any] = {"kind": "memory", "scope": scope, "project": "/code/a", "created_ms": created_ms}
    return replay([change(item=name, payload={"text": text, "key": key}, **fields)]).items[name]


def scores(memories: list[Item], request: str) -> dict[str, float]:
    return {ranked.item.id: ranked.score for ranked in rank(memories, request)}


@pytest.mark.parametrize(
    ("scope", "claim", "key", "request_text", "score", "reason"),
    [
        ("session", "Build Runner = vitest", "build-runner", "does build-runner mean vitest?", 107, "key, 2 terms"),
        ("project", "Build Runner = vitest", "build-runner", "add a changelog entry", 34, "recent"),
        ("session", "alpha beta gamma delta epsilon zeta", None, "alpha beta gamma delta epsilon zeta", 98, "6 terms"),
        ("session", "alpha beta gamma delta epsilon", None, "alpha beta gamma delta epsilon", 98, "5 terms"),
        ("session", "alpha", None, "alpha", 50, "1 term"),
        ("session", "alpha", None, "", 38, "recent"),
    ],
)
def test_the_worked_rows(scope: str, claim: str, key: str | None, request_text: str, score: float, reason: str) -> None:
    (ranked,) = rank([memory(claim, key=key, scope=scope)], request_text)
    assert (ranked.score, ranked.reason) == (score, reason)


def test_the_worked_rows_are_the_same_side_by_side() -> None:
    memories = [
        memory("Build Runner = vitest", name="a", key="build-runner"),
        memory("alpha beta gamma build-runner vitest delta", name="b"),
        memory("Deploy on Fridays", name="c", scope="project"),
    ]
    assert scores(memories, "build-runner vitest alpha beta gamma delta") == {"a": 107, "b": 98}


@pytest.mark.parametrize(
    ("key", "request_text", "is_match"),
    [
        ("build-runner", "which build runner is it", True),
        ("build-runner", "run the build", False),
        ("on", "turn it on", False),
        ("8484", "port 8484", False),
        ("src/core/config.ts", "look at src/core/config.ts", True),
        ("größe", "Welche GRÖSSE?", True),
        ("工具", "哪个工具", True),
    ],
)
def test_a_key_matches_where_its_words_stand_in_a_row(key: str, request_text: str, is_match: bool) -> None:
    (ranked,) = rank([memory("something else", key=key)], request_text)
    assert ranked.is_match is is_match


def test_a_short_word_matches_no_longer_one() -> None:
    """Regression R11: "on" matched "config"."""
    assert scores([memory("config lives in etc"), memory("art of war", name="b")], "npm or art") == {"b": 50}


def test_once_something_matches_what_does_not_is_left_out() -> None:
    memories = [memory("uses pnpm", name="a"), memory("uses vitest", name="b"), memory("uses mypy", name="c")]
    assert list(scores(memories, "which pnpm version?")) == ["a"]


def test_if_nothing_matches_the_three_newest_stay() -> None:
    memories = [memory("claim", name=f"{number}", created_ms=number) for number in range(5)]
    assert list(scores(memories, "continue")) == ["4", "3", "2"]


def test_of_the_three_newest_a_session_s_own_come_first() -> None:
    memories = [
        memory("claim", name="a", scope="project", created_ms=9),
        memory("claim", name="b", created_ms=5),
        memory("claim", name="c", created_ms=7),
        memory("claim", name="d", created_ms=4),
    ]
    assert list(scores(memories, "continue")) == ["c", "b", "a"]


def test_equal_scores_are_settled_by_time_then_id() -> None:
    memories = [memory("pnpm", name=name, created_ms=time_ms) for name, time_ms in (("b", 1), ("c", 2), ("a", 1))]
    assert list(scores(memories, "pnpm")) == ["c", "a", "b"]


def test_a_word_that_most_claims_hold_tells_less_than_a_rare_one() -> None:
    common = [memory("tests of the parser", name=f"c{number}") for number in range(9)]
    rare = memory("the linker", name="rare")
    found = scores([*common, rare], "tests linker")
    assert found["rare"] == 50
    assert 38 < found["c0"] < 50
    assert next(iter(found)) == "rare"


def test_a_word_that_all_claims_hold_tells_nothing() -> None:
    assert set(scores([memory("tests", name=f"{number}") for number in range(9)], "tests").values()) == {38}


def test_no_memories_give_none() -> None:
    assert rank([], "pnpm") == ()


def test_a_reason_repeats_no_word_of_the_request() -> None:
    """It goes into manifests."""
    (ranked,) = rank([memory("pnpm-secret", key="pnpm-secret")], "pnpm-secret?")
    assert ranked.reason == "key, 1 term"


# Fitting


def ranked(number: int, chars: int = 1) -> Ranked:
    return Ranked(memory("x" * chars, name=f"{number}"), 50.0, "1 term")


SIZE = len(ranked(0).text)


def test_as_many_as_were_asked_for_and_no_more() -> None:
    chosen = choose([ranked(number) for number in range(14)], MemoryLimits(), letters)
    assert len(chosen.taken) == 12
    assert [(one.item.id, reason) for one, reason in chosen.left_out] == [
        ("12", "memory-results"),
        ("13", "memory-results"),
    ]


def test_one_that_does_not_fit_is_skipped_and_the_next_may_fit() -> None:
    limits = MemoryLimits(tokens=2 * SIZE + 10)
    chosen = choose([ranked(0), ranked(1, chars=50), ranked(2), ranked(3)], limits, letters)
    assert [one.item.id for one in chosen.taken] == ["0", "2"]
    assert [(one.item.id, reason) for one, reason in chosen.left_out] == [
        ("1", "memory-budget"),
        ("3", "memory-budget"),
    ]


def test_a_limit_of_nothing_takes_nothing() -> None:
    assert choose([ranked(0)], MemoryLimits(tokens=0), letters).taken == ()
    assert choose([ranked(0)], MemoryLimits(results=0), letters).taken == ()


WORDS = st.lists(st.sampled_from(["pnpm", "on", "config", "vitest", "构建", "the", "a-b"]), max_size=6).map(" ".join)


@given(claims=st.lists(WORDS, max_size=8), request_text=WORDS, seed=st.randoms())
def test_the_order_of_memories_changes_nothing(claims: list[str], request_text: str, seed: Any) -> None:
    memories = [memory(claim or "x", name=f"{number}", created_ms=number % 3) for number, claim in enumerate(claims)]
    mixed = memories.copy()
    seed.shuffle(mixed)
    assert rank(mixed, request_text) == rank(memories, request_text)
