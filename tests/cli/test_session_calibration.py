"""What the calls of a recorded session would have taught."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.cli.session_calibration import recorded_course
from ullage.core.accounting import Meter, make_meter, measure_message, measure_system, measure_tool
from ullage.core.calibration import Course
from ullage.core.planning import Policy
from ullage.sources import Session, read_session

GOLDEN = Path(__file__).parents[1] / "golden" / "insights" / "session.in.jsonl"


def meter_of(session: Session, estimator: str) -> Meter:
    return make_meter(
        dialect="anthropic",
        provider="anthropic",
        model="claude-opus-4-8",
        client=session.client,
        estimator=estimator,
    )


def course_of(session: Session, *, last: int | None = None, estimator: str = "chars-v1") -> Course:
    like = next(call for call in reversed(session.calls) if call.trusted)
    course = recorded_course(session, like, Policy(), meter=meter_of(session, estimator), last=last)
    assert course is not None
    return course


def whole_estimate(session: Session, call: int, estimator: str) -> int:
    """The same figure, of the whole context at once."""
    meter = meter_of(session, estimator)
    context = session.context(call)
    measures = [
        *(measure_system(text, meter) for text in context.system),
        *(measure_tool(spec, meter) for spec in context.tools),
        *(measure_message(message, meter) for message in context.messages),
    ]
    return sum(measure.weight for measure in measures)


@pytest.mark.parametrize("estimator", ["chars-v1", "o200k-base-v1", "wire-v1"])
def test_each_call_is_estimated_as_if_it_were_the_only_one(estimator: str) -> None:
    session = read_session(GOLDEN)
    course = course_of(session, estimator=estimator)
    assert len(course.steps) > 5
    for step in course.steps:
        assert step.sample.estimated == whole_estimate(session, int(step.sample.id) - 1, estimator)


def test_a_sample_has_the_usage_of_its_call() -> None:
    session = read_session(GOLDEN)
    for step in course_of(session).steps:
        usage = session.calls[int(step.sample.id) - 1].usage
        assert usage is not None
        assert step.sample.prompt == usage.prompt


def test_up_to_an_earlier_call_only_the_calls_before_it_count() -> None:
    session = read_session(GOLDEN)
    assert [int(step.sample.id) for step in course_of(session, last=3).steps] == [1, 2, 3, 4]


@pytest.mark.shared
def test_recorded_sessions_are_estimated_like_their_contexts_and_refuse_what_failed(shared_data: Path) -> None:
    for file in ("codex/soul.jsonl", "claude-code/lokal.jsonl", "pi/pi-mono-before-compaction.jsonl"):
        session = read_session(shared_data / "sessions" / file)
        course = course_of(session)
        last = int(course.steps[-1].sample.id) - 1
        assert course.steps[-1].sample.estimated == whole_estimate(session, last, "chars-v1"), file
        trusted = {call.index for call in session.calls if call.trusted}
        assert {int(step.sample.id) - 1 for step in course.steps} <= trusted
        refused = {int(one.id) - 1 for one in course.refused}
        assert all(session.calls[index].lossy or index not in trusted for index in refused)
