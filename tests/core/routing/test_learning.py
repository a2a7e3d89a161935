"""What past calls and their users say of targets (routing specification, section 23)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.routing.routes import DEBUG, OPUS, scores
from ullage.core.routing.learning import (
    EXPLORATION,
    HALF_LIFE_MS,
    Delivery,
    Judged,
    Prior,
    Quality,
    Vote,
    delivered,
    learn,
    tell,
)
from ullage.core.routing.scoring import Situation

if TYPE_CHECKING:
    from collections.abc import Iterable

NOW_MS = 1_780_000_000_000
TARGET, KINDS = "p/a", ("debug",)
REST = Quality(offset=0.0, voted=0.0, assessed=0.0, judged=0.0)


def votes(*signs: int, at_ms: int = NOW_MS, kinds: tuple[str, ...] = KINDS, name: str = "v") -> list[Vote]:
    return [
        Vote(id=f"{name}{number}", at_ms=at_ms, target=TARGET, good=sign > 0, kinds=kinds)
        for number, sign in enumerate(signs)
    ]


def deliveries(attempts: int, successes: int, **fields: Any) -> list[Delivery]:
    common: dict[str, Any] = {"at_ms": NOW_MS, "target": TARGET} | fields
    return [Delivery(delivered=number < successes, **common) for number in range(attempts)]


def judged(*successes: bool | None, at_ms: int = NOW_MS, kinds: tuple[str, ...] = KINDS) -> list[Judged]:
    return [
        Judged(id=f"o{number}", at_ms=at_ms, task=f"t{number}", target=TARGET, success=success, kinds=kinds)
        for number, success in enumerate(successes)
    ]


# Section 23.1


def test_seven_good_votes_at_once_come_to_the_most_there_is() -> None:
    assert learn(votes=votes(*[1] * 7)).quality(TARGET, KINDS, NOW_MS).voted == pytest.approx(0.1)


def test_a_vote_has_lost_half_of_itself_when_another_comes_thirty_days_later() -> None:
    learned = learn(votes=votes(1) + votes(1, at_ms=NOW_MS + HALF_LIFE_MS, name="w"))
    assert learned.quality(TARGET, KINDS, NOW_MS + HALF_LIFE_MS).voted == pytest.approx(0.03)


def test_after_sixty_days_a_quarter_of_an_offset_is_left() -> None:
    learned = learn(votes=votes(*[1] * 5))
    assert learned.quality(TARGET, KINDS, NOW_MS + 2 * HALF_LIFE_MS).voted == pytest.approx(0.025)


def test_a_vote_counts_for_the_target_and_for_each_kind_of_the_task() -> None:
    learned = learn(votes=votes(1, kinds=("debug", "test")))
    assert learned.quality(TARGET, ("debug", "test"), NOW_MS).voted == pytest.approx(0.02)
    assert learned.quality(TARGET, ("debug",), NOW_MS).voted == pytest.approx(0.02)
    assert learned.quality(TARGET, ("plan",), NOW_MS).voted == pytest.approx(0.01)
    assert learned.quality(TARGET, (), NOW_MS).voted == pytest.approx(0.02)
    assert learned.quality("p/b", ("debug",), NOW_MS) == REST


def test_a_vote_without_kinds_is_one_at_mixed_tasks() -> None:
    learned = learn(votes=votes(1, kinds=()))
    assert learned.quality(TARGET, ("mixed",), NOW_MS).voted == pytest.approx(0.02)


def test_that_a_task_has_several_kinds_is_no_kind_beside_them() -> None:
    """Most tasks have several: what is learned of one of them would be said of all."""
    learned = learn(
        [*deliveries(9, 9, kinds=("plan", "review", "mixed")), *deliveries(2, 0, kinds=("debug", "test", "mixed"))],
        votes(1, kinds=("debug", "mixed")),
    )
    found = learned.reliability(TARGET, ("debug", "mixed"), NOW_MS)
    assert found is not None
    assert found.attempts == 2
    assert learned.quality(TARGET, ("debug", "test", "mixed"), NOW_MS).voted == pytest.approx(0.04 / 3)
    assert learned.quality(TARGET, ("plan", "mixed"), NOW_MS).voted == pytest.approx(0.01)


def test_a_bad_vote_takes_away_what_a_good_one_gave() -> None:
    assert learn(votes=votes(1, -1)).quality(TARGET, KINDS, NOW_MS).voted == 0
    assert learn(votes=votes(*[-1] * 9)).quality(TARGET, KINDS, NOW_MS).voted == pytest.approx(-0.1)


def test_a_vote_that_comes_twice_counts_once() -> None:
    assert learn(votes=votes(1) * 3).quality(TARGET, KINDS, NOW_MS).voted == pytest.approx(0.02)


# Section 23.2


@pytest.mark.parametrize(
    ("own", "provider", "age_ms", "expected", "confidence"),
    [
        ((0, 0), (0, 0), 0, 0.58, 0),
        ((1, 1), (1, 1), 0, 0.597333, 0.2),
        ((4, 0), (4, 0), 0, 0.373333, 0.5),
        ((10, 8), (10, 8), 0, 0.701429, 0.714286),
        ((10, 8), (10, 8), HALF_LIFE_MS, 0.654603, 0.555556),
        ((20, 20), (20, 20), 0, 0.892121, 0.833333),
        ((0, 0), (10, 10), 0, 0.820476, 0.714286),
    ],
    ids=["nothing", "one of one", "none of four", "8 of 10", "8 of 10 aged", "20 of 20", "provider alone"],
)
def test_reliabilities_are_as_in_the_table(
    own: tuple[int, int], provider: tuple[int, int], age_ms: int, expected: float, confidence: float
) -> None:
    """The table explores: 0.08 for what nothing is known of."""
    others = (provider[0] - own[0], provider[1] - own[1])
    learned = learn([*deliveries(*own, kinds=KINDS), *deliveries(*others, target="p/other")])
    found = learned.reliability(TARGET, KINDS, NOW_MS + age_ms, exploration=EXPLORATION)
    assert found is not None
    assert (found.score, found.confidence) == pytest.approx((expected, confidence), abs=1e-6)
    assert found.attempts == pytest.approx(own[0] * 0.5 ** (age_ms / HALF_LIFE_MS))


def test_nothing_is_added_for_what_is_not_known_unless_exploring_is_asked_for() -> None:
    assert learn().reliability(TARGET, KINDS, NOW_MS) is None
    untried = learn(deliveries(10, 10, target="p/other")).reliability(TARGET, KINDS, NOW_MS)
    assert untried is not None
    assert untried.score == pytest.approx(0.820476 - EXPLORATION * (1 - 0.714286), abs=1e-6)


def test_of_several_kinds_the_one_with_the_most_attempts_speaks_for_the_target() -> None:
    learned = learn([*deliveries(10, 8, kinds=("debug",)), *deliveries(2, 0, kinds=("test",))])
    by_debug = learned.reliability(TARGET, ("test", "debug"), NOW_MS)
    assert by_debug is not None
    assert (by_debug.attempts, by_debug.successes) == (10, 8)
    by_all = learned.reliability(TARGET, ("plan",), NOW_MS)
    assert by_all is not None
    assert (by_all.attempts, by_all.successes) == (12, 8)


def test_a_call_that_was_not_routed_speaks_for_its_target_and_provider_too() -> None:
    """Weakness 5 of section 33: only chosen routes were learned from."""
    learned = learn(deliveries(4, 0, kinds=()))
    found = learned.reliability(TARGET, KINDS, NOW_MS)
    assert found is not None
    assert found.attempts == 4


@pytest.mark.parametrize(
    ("outcome", "status", "expected"),
    [
        ("ok", 200, True),
        ("unparsed", 200, True),
        ("cut", 200, False),
        ("error", None, False),
        ("error", 200, False),
        ("error", 529, False),
        ("error", 429, False),
        ("error", 400, None),
        ("error", 401, None),
        ("error", 404, None),
        ("left", 200, None),
        ("answered", None, None),
    ],
)
def test_only_what_a_provider_did_counts_as_a_delivery(outcome: str, status: int | None, expected: bool | None) -> None:
    assert delivered(outcome, status) is expected


# Task quality, kept apart


def test_deliveries_say_nothing_of_quality_and_users_nothing_of_reliability() -> None:
    """Weakness 5 of section 33: the two were mixed."""
    failing = learn(deliveries(9, 0, kinds=KINDS))
    assert failing.quality(TARGET, KINDS, NOW_MS) == REST
    voted = learn(votes=votes(-1, -1), judged=judged(False, False))
    assert voted.reliability(TARGET, KINDS, NOW_MS) is None


def test_judged_tasks_come_to_as_much_as_they_are_believed() -> None:
    quality = learn(judged=judged(True, True, True, False)).quality(TARGET, KINDS, NOW_MS)
    at_kind = (3 + 50 * 4 / 6) / (4 + 50)
    assert quality.assessed == pytest.approx(0.2 * (at_kind - 0.5) * 4 / 8)
    assert quality.judged == 4
    assert learn(judged=judged(*[True] * 10_000)).quality(TARGET, KINDS, NOW_MS).assessed < 0.1


def test_a_kind_is_told_from_the_others_only_by_enough_tasks() -> None:
    """Three tasks of a kind say little of it; what the model makes of all tasks says more."""
    good = [
        Judged(id=f"g{n}", at_ms=NOW_MS, task=f"g{n}", target=TARGET, success=True, kinds=("plan",)) for n in range(40)
    ]
    few = learn(judged=[*good, *judged(*[False] * 3)]).quality(TARGET, KINDS, NOW_MS)
    many = learn(judged=[*good, *judged(*[False] * 300)]).quality(TARGET, KINDS, NOW_MS)
    assert few.offset > 0.05
    assert many.offset < -0.05
    assert learn(judged=[*good, *judged(*[False] * 300)]).quality(TARGET, ("plan",), NOW_MS).offset > many.offset + 0.05


def test_of_several_kinds_each_has_a_say() -> None:
    learned = learn(judged=[*judged(*[True] * 200, kinds=("debug",))])
    alone, beside = (learned.quality(TARGET, kinds, NOW_MS).assessed for kinds in (("debug",), ("debug", "plan")))
    assert 0 < beside < alone


def test_as_many_successes_as_failures_move_nothing() -> None:
    assert learn(judged=judged(True, False)).quality(TARGET, KINDS, NOW_MS).offset == 0


def test_of_what_is_said_of_one_task_the_newest_holds() -> None:
    first = Judged(id="a", at_ms=NOW_MS, task="t", target=TARGET, success=True, kinds=KINDS)
    later = Judged(id="b", at_ms=NOW_MS + 1, task="t", target=TARGET, success=None, kinds=KINDS)
    assert learn(judged=[later, first]).quality(TARGET, KINDS, NOW_MS) == REST


def test_what_is_learned_of_one_kind_is_said_of_another_less() -> None:
    failing = [
        Judged(id=f"x{n}", at_ms=NOW_MS, task=f"x{n}", target=TARGET, success=False, kinds=("plan",)) for n in range(9)
    ]
    learned = learn(judged=failing)
    assert learned.quality(TARGET, ("plan",), NOW_MS).offset < learned.quality(TARGET, ("debug",), NOW_MS).offset < 0


def test_votes_and_judged_tasks_move_a_utility_by_a_tenth_at_most_and_by_all_of_it() -> None:
    """Preferences weigh a half in a score: the offset is whole nevertheless."""
    learned = learn(votes=votes(*[1] * 9), judged=judged(*[True] * 50))
    quality = learned.quality(TARGET, KINDS, NOW_MS)
    assert quality.offset == pytest.approx(0.1)
    plain = scores(DEBUG, situation=Situation())[OPUS]
    moved = scores(DEBUG, situation=Situation(preferences={OPUS: quality.preference}))[OPUS]
    assert moved.utility - plain.utility == pytest.approx(0.1)


# What other programs had counted


def test_what_was_counted_elsewhere_counts_as_if_it_had_been_counted_here() -> None:
    priors = [
        Prior(id="1", at_ms=NOW_MS, source="x", provider="p", target=TARGET, attempts=10, successes=8),
        Prior(id="2", at_ms=NOW_MS, source="x", provider="p", attempts=10, successes=8),
        Prior(id="3", at_ms=NOW_MS, source="x", provider="p", target=TARGET, kind="debug", attempts=10, successes=8),
    ]
    here, elsewhere = learn(deliveries(10, 8, kinds=KINDS)), learn(priors=priors)
    later_ms = NOW_MS + HALF_LIFE_MS
    assert elsewhere.reliability(TARGET, KINDS, later_ms) == here.reliability(TARGET, KINDS, later_ms)
    assert elsewhere.reliability("p/b", KINDS, later_ms) == here.reliability("p/b", KINDS, later_ms)


def test_an_offset_that_was_learned_elsewhere_goes_on_from_there() -> None:
    priors = [Prior(id="1", at_ms=NOW_MS - HALF_LIFE_MS, source="x", provider="p", target=TARGET, offset=0.08)]
    learned = learn(votes=votes(1, kinds=()), priors=priors)
    assert learned.quality(TARGET, (), NOW_MS).voted == pytest.approx(0.06)


def test_of_what_one_source_has_counted_of_the_same_the_newest_holds() -> None:
    common = {"source": "x", "provider": "p", "target": TARGET}
    older = Prior(id="1", at_ms=NOW_MS - 1, attempts=10, successes=8, **common)
    newer = Prior(id="2", at_ms=NOW_MS, attempts=12, successes=10, **common)
    offset = Prior(id="3", at_ms=NOW_MS, offset=0.1, **common)
    learned = learn(priors=[newer, offset, older])
    found = learned.reliability(TARGET, KINDS, NOW_MS)
    assert found is not None
    assert (found.attempts, found.successes) == (12, 10)
    assert learned.quality(TARGET, (), NOW_MS).voted == pytest.approx(0.1)


# What is told


def test_it_is_told_what_was_learned_and_nothing_of_what_was_not() -> None:
    learned = learn(deliveries(10, 8, kinds=KINDS), votes(*[1] * 3))
    reliability, quality = learned.reliability(TARGET, KINDS, NOW_MS), learned.quality(TARGET, KINDS, NOW_MS)
    assert tell(reliability, quality) == "reliability 0.68, task quality +0.06"
    assert tell(reliability, REST) == "reliability 0.68"
    assert tell(None, quality) == "task quality +0.06"
    assert tell(None, REST) is None
    of_provider = learned.reliability("p/b", KINDS, NOW_MS)
    assert tell(of_provider, REST) is None


# Whatever comes

TIMES_MS = st.integers(0, 4).map(lambda steps: NOW_MS - steps * HALF_LIFE_MS // 2)
SOME_KINDS = st.lists(st.sampled_from(["debug", "test", "plan", "mixed"]), max_size=3).map(tuple)
TARGETS = st.sampled_from(["p/a", "p/b", "q/a/b"])


@st.composite
def lessons(draw: st.DrawFn) -> tuple[list[Delivery], list[Vote], list[Judged], list[Prior]]:
    common = {"at_ms": TIMES_MS, "target": TARGETS, "kinds": SOME_KINDS}
    one = st.builds(Delivery, delivered=st.booleans(), **common)
    vote = st.builds(Vote, id=st.uuids().map(str), good=st.booleans(), **common)
    word = st.builds(
        Judged,
        id=st.uuids().map(str),
        task=st.sampled_from("xyz"),
        success=st.none() | st.booleans(),
        **common,
    )
    prior = st.builds(
        Prior,
        id=st.uuids().map(str),
        at_ms=TIMES_MS,
        source=st.sampled_from("xy"),
        provider=st.just("p"),
        target=st.none() | st.just("p/a"),
        attempts=st.floats(0, 50),
        successes=st.just(0.0),
        offset=st.none() | st.floats(-0.2, 0.2),
    )
    return tuple(draw(st.lists(kind, max_size=12)) for kind in (one, vote, word, prior))  # type: ignore[return-value]


@given(lessons(), st.randoms(use_true_random=False), TARGETS, SOME_KINDS)
def test_it_does_not_matter_in_which_order_things_arrive(
    given_ones: tuple[list[Any], ...], random: Any, target: str, kinds: tuple[str, ...]
) -> None:
    shuffled: list[Iterable[Any]] = [random.sample(ones, len(ones)) for ones in given_ones]
    first, second = learn(*given_ones), learn(*shuffled)
    assert first.reliability(target, kinds, NOW_MS) == second.reliability(target, kinds, NOW_MS)
    assert first.quality(target, kinds, NOW_MS) == second.quality(target, kinds, NOW_MS)


@given(lessons(), TARGETS, SOME_KINDS, st.integers(-HALF_LIFE_MS, 1000 * HALF_LIFE_MS))
def test_everything_stays_within_its_bounds(
    given_ones: tuple[list[Any], ...], target: str, kinds: tuple[str, ...], later_ms: int
) -> None:
    learned = learn(*given_ones)
    reliability = learned.reliability(target, kinds, NOW_MS + later_ms, exploration=EXPLORATION)
    assert reliability is not None
    assert 0 <= reliability.score <= 1
    assert 0 <= reliability.confidence < 1
    assert 0 <= reliability.successes <= reliability.attempts
    quality = learned.quality(target, kinds, NOW_MS + later_ms)
    assert -0.1 <= quality.offset <= 0.1
    assert abs(quality.voted) <= 0.1 + 1e-12
    assert abs(quality.assessed) < 0.1


@given(lessons(), TARGETS, SOME_KINDS)
def test_what_is_not_repeated_is_forgotten(
    given_ones: tuple[list[Any], ...], target: str, kinds: tuple[str, ...]
) -> None:
    learned = learn(*given_ones)
    long_after_ms = NOW_MS + 60 * HALF_LIFE_MS
    reliability = learned.reliability(target, kinds, long_after_ms, exploration=EXPLORATION)
    assert reliability is not None
    assert reliability.score == pytest.approx(0.58)
    assert learned.quality(target, kinds, long_after_ms).offset == pytest.approx(0)
    offsets = [abs(learned.quality(target, kinds, NOW_MS + age * HALF_LIFE_MS).voted) for age in range(5)]
    assert offsets == sorted(offsets, reverse=True)


@given(lessons(), TARGETS, SOME_KINDS)
def test_one_more_good_vote_never_makes_a_target_worse(
    given_ones: tuple[list[Any], ...], target: str, kinds: tuple[str, ...]
) -> None:
    ones, words, tasks, priors = given_ones
    vote = Vote(id="more", at_ms=NOW_MS, target=target, good=True, kinds=kinds)
    before, after = learn(ones, words, tasks, priors), learn(ones, [*words, vote], tasks, priors)
    assert after.quality(target, kinds, NOW_MS).offset >= before.quality(target, kinds, NOW_MS).offset - 1e-12
