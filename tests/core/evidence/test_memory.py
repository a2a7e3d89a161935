"""What may be remembered, and what contradicts it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.evidence.keeping import PROJECT, Keeping, letters
from ullage.core.errors import CallError, InputError
from ullage.core.evidence.changes import Owner
from ullage.core.evidence.evidence_text import memory_text
from ullage.core.evidence.memory import change_source, end_memory, report_memory
from ullage.core.evidence.mutations import replay
from ullage.core.evidence.ranking import rank

SOURCE = ("/code/a", "s1")


@pytest.fixture
def keeping() -> Keeping:
    return Keeping()


def test_a_claim_is_what_the_log_then_says(keeping: Keeping) -> None:
    memory = keeping.remember("Build Runner = vitest", PROJECT, source_ids=("e1",))
    assert keeping.kept.items == {memory.id: memory}
    assert (memory.text, memory.key, memory.scope, memory.state) == (
        "Build Runner = vitest",
        "build-runner",
        "project",
        "active",
    )


def test_a_key_that_is_given_counts_and_is_normalised(keeping: Keeping) -> None:
    assert keeping.remember("We use vitest", key="Test Runner").key == "test-runner"
    assert keeping.remember("port: 8484", key="gateway/port").key == "gateway/port"
    assert keeping.remember("We like short functions").key is None
    with pytest.raises(CallError) as refusal:
        keeping.remember("x: y", key="!!")
    assert refusal.value.code == "bad_key"


def test_a_claim_has_2000_characters_at_most(keeping: Keeping) -> None:
    assert keeping.remember("x" * 2_000).is_active
    with pytest.raises(CallError, match="The claim has 2,001 characters; 2,000 is the most"):
        keeping.remember("x" * 2_001)


def test_a_claim_is_for_a_session_or_a_project(keeping: Keeping) -> None:
    with pytest.raises(CallError) as refusal:
        keeping.remember("x: y", Owner(scope="branch", session="s1", branch="3:ab"))
    assert refusal.value.code == "bad_scope"


def test_what_ullage_put_into_a_request_cannot_be_remembered(keeping: Keeping) -> None:
    """Regression R31: a claim that became the placeholder which once stood for it."""
    memory = keeping.remember("Build Runner = vitest")
    for claim in (memory_text(memory, 34.0, "recent"), "[local-only text withheld by ullage]"):
        with pytest.raises(CallError) as refusal:
            keeping.remember(claim)
        assert refusal.value.code == "replayed_text"


def test_the_same_claim_is_remembered_once_whatever_its_case(keeping: Keeping) -> None:
    first = keeping.remember("Build Runner = vitest")
    assert keeping.remember("build  runner = VITEST") == first
    assert len(keeping.log) == 1


# Conflicts (planner specification, section 15.2)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Build Runner = vitest", "build runner: jest"),
        ("Build Runner = vitest", "The build-runner is jest"[4:]),
        ("telemetry is enabled", "Telemetry is disabled"),
        ("must use tabs", "never use tabs"),
        ("Tabs are on", "tabs are off"),
    ],
)
def test_a_claim_that_contradicts_an_active_one_is_refused(keeping: Keeping, first: str, second: str) -> None:
    held = keeping.remember(first)
    with pytest.raises(InputError) as refusal:
        keeping.remember(second)
    assert refusal.value.code == "conflict"
    assert held.id in refusal.value.message
    assert f"--supersedes {held.id}" in refusal.value.hint
    assert len(keeping.log) == 1


def test_the_opposite_of_the_same_subject_is_a_conflict_under_any_key(keeping: Keeping) -> None:
    keeping.remember("telemetry is enabled", key="a")
    with pytest.raises(InputError, match="says the opposite"):
        keeping.remember("telemetry is disabled", key="b")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Build Runner = vitest", "Test Runner = jest"),
        ("telemetry is enabled", "tracing is disabled"),
        ("must use tabs", "must use spaces"),
        ("must use tabs", "use tabs"),
        ("never use tabs", "never use tabs here"),
        ("not", "on"),
    ],
)
def test_claims_that_do_not_contradict_stand_side_by_side(keeping: Keeping, first: str, second: str) -> None:
    assert keeping.remember(first).id != keeping.remember(second).id


def test_another_owner_may_say_otherwise(keeping: Keeping) -> None:
    keeping.remember("telemetry is enabled")
    assert keeping.remember("telemetry is disabled", PROJECT).is_active


def test_a_claim_may_be_superseded_by_its_opposite(keeping: Keeping) -> None:
    first = keeping.remember("telemetry is enabled")
    second = keeping.remember("telemetry is disabled", supersedes=first.id)
    found = keeping.kept.find(first.id)
    assert found is not None
    assert (found.state, found.superseded_by) == ("superseded", second.id)
    assert keeping.kept.active("memory") == [second]
    with pytest.raises(InputError):
        keeping.remember("telemetry is on", supersedes=first.id)


def test_a_claim_that_supersedes_keeps_the_key_unless_it_says_another(keeping: Keeping) -> None:
    first = keeping.remember("Build Runner = vitest")
    second = keeping.remember("We use jest", supersedes=first.id)
    third = keeping.remember("Test Runner = jest", supersedes=second.id)
    fourth = keeping.remember("We use bun", supersedes=third.id, key="runtime")
    assert [item.key for item in (second, third, fourth)] == ["build-runner", "test-runner", "runtime"]


@pytest.mark.parametrize("state", ["invalid", "expired"])
def test_once_a_claim_has_ended_nothing_contradicts_it(keeping: Keeping, state: str) -> None:
    first = keeping.remember("telemetry is enabled")
    ended = keeping.write(end_memory(keeping.kept, first.id, state, keeping.stamp(), reason="was tried"))
    assert (ended.state, ended.reason) == (state, "was tried")
    assert keeping.remember("telemetry is disabled").is_active
    with pytest.raises(InputError) as refusal:
        end_memory(keeping.kept, first.id, state, keeping.stamp())
    assert refusal.value.code == "not_active"


def test_a_manifest_says_everything_of_a_memory_but_its_claim(keeping: Keeping) -> None:
    memory = keeping.remember("Build Runner = vitest", PROJECT, source_ids=("e1",))
    (ranked,) = rank([memory], "which build-runner?")
    assert report_memory(ranked, letters(ranked.text)) == {
        "id": "i1",
        "scope": "project",
        "key": "build-runner",
        "session": "s1",
        "mutation": "m1",
        "source_ids": ["e1"],
        "supersedes": None,
        "classification": "normal",
        "tokens": len(ranked.text),
        "score": 91.0,
        "reason": "key, 1 term",
    }


def test_a_session_that_is_excluded_is_told_of_to_itself_alone(keeping: Keeping) -> None:
    mine = keeping.remember("port: 8484", PROJECT)
    theirs = keeping.remember("host: local", replace(PROJECT, session="s2"))
    beside = keeping.remember("port: 1")
    excluding = change_source(keeping.kept, SOURCE, "exclude", keeping.stamp(), reason="old")
    assert excluding is not None
    keeping.log.append(excluding)
    kept = keeping.kept
    assert kept.excluded == {SOURCE: "old"}
    assert kept.told_to("memory", "s2") == [theirs, beside]
    assert kept.told_to("memory", "s1") == [mine, theirs, beside]
    assert change_source(kept, SOURCE, "exclude", keeping.stamp()) is None
    with pytest.raises(InputError, match="has the key port"):  # it holds its key all the same
        keeping.remember("port: 9", PROJECT)
    including = change_source(kept, SOURCE, "include", keeping.stamp())
    assert including is not None
    assert not replay([including, *keeping.log]).excluded


def test_only_who_has_said_something_of_the_project_is_excluded(keeping: Keeping) -> None:
    keeping.remember("x: y")
    with pytest.raises(InputError, match="has said nothing"):
        change_source(keeping.kept, SOURCE, "exclude", keeping.stamp())
