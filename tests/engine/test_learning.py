"""What routes learn from the store, beside the requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.core.routing.routes import DEBUG, MODELS, OPUS, SONNET
from ullage.core.errors import StoreError
from ullage.core.routing.pace import ANSWER_TOKENS
from ullage.core.routing.route import RouteSession, resolve_route
from ullage.core.routing.scoring import Signals
from ullage.core.routing.task import analyze_task
from ullage.engine.learning import FRESH_MS, LONGEST_CALL_MS, Learning, read_lessons
from ullage.stores import AttemptRecord, CallRecord, FeedbackRecord, MemoryStore, OutcomeRecord, TallyRecord

if TYPE_CHECKING:
    from collections.abc import Callable

NOW_MS = 1_780_000_000_000
GOOD, BAD = "lab/good", "lab/bad"
TASK = analyze_task("Debug this failing test")
KINDS = list(TASK.kinds)


class Background:
    """Runs jobs when a test says so."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], None]] = []

    def __call__(self, job: Callable[[], None]) -> None:
        self.jobs.append(job)

    def run(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()


def call(name: str, target: str = GOOD, **fields: Any) -> CallRecord:
    provider, _, model = target.partition("/")
    route = {"task_id": f"t{name}", "target": target, "task": {"kinds": KINDS, "complexity": 0.3}}
    common: dict[str, Any] = {
        "session": "s",
        "created_ms": NOW_MS,
        "dialect": "anthropic",
        "kind": "conversation",
        "path": "/v1/messages",
        "provider": provider,
        "model": model,
        "status": 200,
        "outcome": "ok",
        "streamed": True,
        "first_byte_ms": 400.0,
        "duration_ms": 2400.0,
        "estimated_input_tokens": 1_000,
        "usage": {"input_fresh": 300, "cache_read": 900, "cache_write": None, "output": 100},
        "route": route,
    }
    return CallRecord(id=name, **(common | fields))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def background() -> Background:
    return Background()


@pytest.fixture
def learning(store: MemoryStore, background: Background) -> Learning:
    return Learning(store, start=background)


def test_nothing_is_said_of_targets_that_nothing_is_known_of(learning: Learning) -> None:
    learning.read(NOW_MS)
    assert learning.signals(TASK, [GOOD, BAD], NOW_MS) == ({}, {})


def test_calls_say_how_reliable_and_how_fast_a_target_is(learning: Learning, store: MemoryStore) -> None:
    for number in range(8):
        store.put_call(call(f"g{number}"))
        store.put_call(call(f"b{number}", BAD, outcome="error", status=503, usage=None))
    learning.read(NOW_MS)
    signals, preferences = learning.signals(TASK, [GOOD, BAD, "other/x"], NOW_MS)
    assert set(signals) == {GOOD, BAD}
    assert preferences == {}
    good, bad = signals[GOOD], signals[BAD]
    assert good.reliability is not None
    assert bad.reliability is not None
    assert good.reliability > 0.6 > 0.4 > bad.reliability
    assert good.latency_ms == 400 + ANSWER_TOKENS * 20
    assert bad.latency_ms is None
    assert good.learning is not None
    assert good.learning.startswith("reliability 0.")


def test_calls_that_were_not_routed_are_learned_from_too(learning: Learning, store: MemoryStore) -> None:
    for number in range(4):
        store.put_call(call(f"g{number}", route=None))
    learning.read(NOW_MS)
    signals, _ = learning.signals(TASK, [GOOD, "lab/untried"], NOW_MS)
    assert signals[GOOD].latency_ms is not None
    assert signals["lab/untried"] == Signals(reliability=signals["lab/untried"].reliability)


def test_what_says_nothing_of_the_provider_is_left_out(learning: Learning, store: MemoryStore) -> None:
    store.put_call(call("left", outcome="left"))
    store.put_call(call("counted", kind="count_tokens", usage=None))
    store.put_call(call("refused", outcome="error", status=400, usage=None))
    learning.read(NOW_MS)
    assert learning.signals(TASK, [GOOD], NOW_MS) == ({}, {})


def test_votes_and_judged_tasks_are_preferences(learning: Learning, store: MemoryStore) -> None:
    kinds = TASK.kinds
    for number in range(3):
        store.put_feedback(FeedbackRecord(id=f"v{number}", created_ms=NOW_MS, target=GOOD, good=True, kinds=kinds))
    for number in range(4):
        store.put_outcome(
            OutcomeRecord(
                id=f"o{number}", created_ms=NOW_MS, task=f"t{number}", judgement="failure", target=BAD, kinds=kinds
            )
        )
    learning.read(NOW_MS)
    signals, preferences = learning.signals(TASK, [GOOD, BAD], NOW_MS)
    assert preferences[GOOD] == pytest.approx(0.12)
    assert preferences[BAD] == pytest.approx(-2 * 0.2 * (0.5 - 50 / 6 / 54) * 0.5)
    assert signals[GOOD] == Signals(learning="task quality +0.06")


def test_what_another_program_counted_is_heeded(learning: Learning, store: MemoryStore) -> None:
    store.put_tally(
        TallyRecord(
            id="1", created_ms=NOW_MS, source="quality.json", provider="lab", target=GOOD, attempts=9, successes=9
        )
    )
    learning.read(NOW_MS)
    signals, _ = learning.signals(TASK, [GOOD], NOW_MS)
    assert signals[GOOD].reliability is not None


def test_a_question_is_answered_at_once_and_the_store_read_beside_it(
    learning: Learning, store: MemoryStore, background: Background
) -> None:
    store.put_call(call("a"))
    assert learning.signals(TASK, [GOOD], NOW_MS) == ({}, {})
    assert learning.signals(TASK, [GOOD], NOW_MS) == ({}, {})
    assert len(background.jobs) == 1
    background.run()
    assert set(learning.signals(TASK, [GOOD], NOW_MS)[0]) == {GOOD}
    assert background.jobs == []


def test_what_is_known_is_read_anew_once_it_is_old_or_something_was_written(
    learning: Learning, store: MemoryStore, background: Background
) -> None:
    learning.read(NOW_MS)
    store.put_call(call("a"))
    assert learning.signals(TASK, [GOOD], NOW_MS + FRESH_MS) == ({}, {})
    assert background.jobs == []
    learning.refresh(NOW_MS + FRESH_MS + 1)
    assert len(background.jobs) == 1
    background.run()
    assert learning.signals(TASK, [GOOD], NOW_MS + FRESH_MS + 2)[0]
    learning.expire()
    learning.refresh(NOW_MS + FRESH_MS + 3)
    assert len(background.jobs) == 1


def test_what_is_written_while_the_store_is_read_is_read_next(store: MemoryStore, background: Background) -> None:
    class Slow(MemoryStore):
        def tallies(self) -> list[TallyRecord]:
            learning.expire()
            return super().tallies()

    learning = Learning(Slow(), start=background)
    learning.read(NOW_MS)
    learning.refresh(NOW_MS)
    assert len(background.jobs) == 1


def test_a_store_that_cannot_be_read_leaves_what_is_known(
    learning: Learning, store: MemoryStore, background: Background
) -> None:
    store.put_call(call("a"))
    learning.read(NOW_MS)
    known = learning.signals(TASK, [GOOD], NOW_MS)
    store.close()
    learning.expire()
    assert learning.signals(TASK, [GOOD], NOW_MS) == known
    background.run()
    assert learning.signals(TASK, [GOOD], NOW_MS) == known
    assert background.jobs == []
    with pytest.raises(StoreError):
        learning.read(NOW_MS)


def test_of_calls_only_new_ones_are_read_and_none_is_missed_or_counted_twice(store: MemoryStore) -> None:
    asked: list[int] = []

    class Watched(MemoryStore):
        def attempts(self, *args: Any, since_ms: int = 0, **options: Any) -> list[AttemptRecord]:
            asked.append(since_ms)
            return super().attempts(*args, since_ms=since_ms, **options)

    watched = Watched()
    learning = Learning(watched)
    watched.put_call(call("a"))
    learning.read(NOW_MS)
    watched.put_call(call("b", created_ms=NOW_MS - 60_000))  # it began before and ended after
    watched.put_call(call("a"))
    learning.read(NOW_MS)
    assert asked == [0, NOW_MS - LONGEST_CALL_MS]
    assert [one.id for one in read_lessons(watched).attempts] == ["a", "b"]
    known = learning.signals(TASK, [GOOD], NOW_MS)
    fresh = Learning(watched)
    fresh.read(NOW_MS)
    assert fresh.signals(TASK, [GOOD], NOW_MS) == known


def test_what_is_kept_is_known_from_the_start_and_read_again_at_the_first_question(
    learning: Learning, store: MemoryStore, background: Background
) -> None:
    store.put_call(call("a"))
    learning.recall()
    assert learning.signals(TASK, [GOOD], NOW_MS)[0]
    assert len(background.jobs) == 1


def test_a_vote_turns_a_choice_that_was_made_by_a_hair(learning: Learning, store: MemoryStore) -> None:
    """The published choices hang on margins of 0.003 to 0.014 (section 10.5)."""
    plain = resolve_route(MODELS, DEBUG, policy="best")
    assert (plain.target, plain.ranked[1].target) == (SONNET, OPUS)
    task = analyze_task(DEBUG)
    store.put_feedback(FeedbackRecord(id="v", created_ms=NOW_MS, target=OPUS, good=True, kinds=task.kinds))
    store.put_feedback(FeedbackRecord(id="w", created_ms=NOW_MS, target=SONNET, good=False, kinds=task.kinds))
    learning.read(NOW_MS)
    signals, preferences = learning.signals(task, [one.target for one in plain.ranked], NOW_MS)
    taught = resolve_route(MODELS, DEBUG, policy="best", session=RouteSession(signals=signals, preferences=preferences))
    assert taught.target == OPUS
    assert "task quality +0.02" in taught.reasons


def test_what_is_said_is_worked_out_once_a_minute_and_forgotten_little_by_little(
    learning: Learning, store: MemoryStore
) -> None:
    store.put_feedback(FeedbackRecord(id="v", created_ms=NOW_MS, target=GOOD, good=True, kinds=TASK.kinds))
    learning.read(NOW_MS)
    first, again = (learning.signals(TASK, [GOOD], NOW_MS) for _ in range(2))
    assert first[0][GOOD] is again[0][GOOD]
    later = learning.signals(TASK, [GOOD], NOW_MS + 30 * 24 * 60 * 60_000)
    assert later[1][GOOD] == pytest.approx(first[1][GOOD] / 2, rel=1e-4)


def test_exploring_speaks_for_what_is_not_known(store: MemoryStore) -> None:
    store.put_call(call("a", BAD))
    cautious, curious = Learning(store), Learning(store, explore=0.1)
    for learning in (cautious, curious):
        learning.read(NOW_MS)
    assert cautious.signals(TASK, ["other/x"], NOW_MS)[0] == {}
    assert curious.signals(TASK, ["other/x"], NOW_MS)[0] == {"other/x": Signals(reliability=0.58)}


def test_ratios_of_what_was_expected_are_told(learning: Learning, store: MemoryStore) -> None:
    for number in range(3):
        store.put_call(call(f"g{number}"))
    learning.read(NOW_MS)
    ratios = learning.ratios(GOOD)
    assert (ratios.input, ratios.cached, ratios.output) == pytest.approx((1.2, 0.75, 100))
    assert learning.ratios(BAD).input is None


def test_the_store_is_read_in_a_thread_of_its_own(store: MemoryStore) -> None:
    from threading import Event, current_thread, main_thread

    read = Event()
    threads = []

    class Watched(MemoryStore):
        def tallies(self) -> list[TallyRecord]:
            threads.append(current_thread())
            read.set()
            return super().tallies()

    Learning(Watched()).refresh(NOW_MS)
    assert read.wait(10)
    assert threads[0] is not main_thread()
