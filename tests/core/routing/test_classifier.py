"""What a small model says of a task (routing specification, section 5)."""

from __future__ import annotations

import pytest

from ullage.core.routing.classifier import Verdict, is_uncertain, merge_verdict, read_verdict
from ullage.core.routing.task import TaskProfile, analyze_task

LOCAL = analyze_task("Summarize this paragraph in three bullets.", analyzer="v1")


def merged(answer: str, task: TaskProfile = LOCAL) -> TaskProfile:
    verdict = read_verdict(answer)
    assert verdict is not None
    return merge_verdict(task, verdict)


def test_the_worked_answer_replaces_what_it_names() -> None:
    assert LOCAL.complexity == pytest.approx(0.1105)
    task = merged('{"complexity":0.8,"requiresReasoning":true,"minTier":"strong","x":1}')
    assert (task.complexity, task.demand.reasoning, task.minimum_tier, task.confidence) == (0.8, 0.7, "strong", 0.65)
    assert (task.kinds, task.risk) == (LOCAL.kinds, LOCAL.risk)


@pytest.mark.parametrize(
    "answer",
    [
        '{"complexity":7}', '{"complexity":true}', '{"complexity":NaN}', 'Sure! {"complexity":0.8}', "", "[]", "0.8", "{}",
        "[" * 9999,
        '{"kind":"poem","kinds":["x"],"minTier":"best","requiresReasoning":1,"requiresVision":"yes","highRisk":null}',
    ],
    ids=lambda answer: answer[:20],
)  # fmt: skip
def test_an_answer_without_a_valid_field_is_none(answer: str) -> None:
    assert read_verdict(answer) is None


def test_one_fenced_object_is_read_and_text_around_it_is_not() -> None:
    assert read_verdict('```json\n{"complexity": 0.5}\n```\n') == Verdict(complexity=0.5)
    assert read_verdict('Here:\n```json\n{"complexity": 0.5}\n```') is None


def test_valid_fields_count_beside_invalid_ones() -> None:
    assert read_verdict('{"complexity": 7, "highRisk": true}') == Verdict(high_risk=True)


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        ('{"kind":"debug"}', ("debug", "mixed")),
        ('{"kind":"debug","kinds":["test","debug","x"]}', ("debug", "test", "mixed")),
        ('{"kinds":["ops"]}', ("ops", "mixed")),
        ('{"kind":"mixed"}', ("mixed",)),
        ('{"kind":"mixed","kinds":["ops"]}', ("ops", "mixed")),
        ('{"highRisk":false}', ("mixed",)),
    ],
)
def test_kinds_are_those_that_are_named(answer: str, kinds: tuple[str, ...]) -> None:
    assert merged(answer).kinds == kinds


def test_flags_bound_and_pictures_stay() -> None:
    risky = analyze_task("Fix the incident. Error: x", images=1, analyzer="v1")
    calmed = merged('{"highRisk":false,"requiresReasoning":false,"requiresVision":false}', risky)
    assert (calmed.risk, calmed.demand.reasoning, calmed.requires_vision, calmed.demand.vision) == (0.3, 0.3, True, 1.0)
    alarmed = merged('{"highRisk":true,"requiresVision":true}')
    assert (alarmed.risk, alarmed.requires_vision, alarmed.demand.vision) == (0.6, True, 1.0)
    assert merged('{"highRisk":true}', risky).risk == risky.risk > 0.6


@pytest.mark.parametrize(("complexity", "tier"), [("0.59", "strong"), ("0.6", "frontier"), ("null", "strong")])
def test_the_dearest_tier_is_granted_to_complex_tasks_only(complexity: str, tier: str) -> None:
    assert merged(f'{{"complexity":{complexity},"minTier":"frontier"}}').minimum_tier == tier
    assert merged('{"minTier":"light"}').minimum_tier == "light"


def test_only_what_the_words_leave_open_is_asked_about() -> None:
    assert is_uncertain(LOCAL)
    assert is_uncertain(analyze_task("Why does it stop? Traceback (most recent call last)", analyzer="v1"))
    assert not is_uncertain(analyze_task("explain it"))
    assert not is_uncertain(analyze_task("continue", previous=LOCAL))
