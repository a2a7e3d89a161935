"""Specification of routing, section 21: when a task goes on with more."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.routing.routes import DEBUG, HAIKU, OPUS, SONNET, choose
from ullage.core.routing.escalation import NO_STREAKS, Escalation, Step, find_escalation, follow, step_up
from ullage.core.routing.mistakes import ToolOutcome

NOT_FOUND = "Could not find the exact text in /a.ts. The old text must match exactly"
INVALID = 'Validation failed for tool "bash":\n- command: must be string'


def _done(tool: str, text: str = "done", *, is_error: bool = False, arguments: str = "") -> ToolOutcome:
    _done.count += 1
    return ToolOutcome(tool=tool, arguments=arguments or str(_done.count), text=text, is_error=is_error)


_done.count = 0


def _find(outcomes: list[ToolOutcome], **known: bool) -> Escalation | None:
    return find_escalation(follow(NO_STREAKS, outcomes), **known)


def _missed() -> ToolOutcome:
    return _done("edit", NOT_FOUND, is_error=True)


@pytest.mark.parametrize(
    ("outcomes", "escalates"),
    [
        pytest.param([_missed(), _missed()], True, id="edit: not found, edit: not found"),
        pytest.param([_missed(), _done("edit"), _missed()], False, id="a success of the tool resets"),
        pytest.param([_missed(), _done("bash", INVALID, is_error=True)], False, id="different tools"),
        pytest.param(
            [_done("bash", "x: command not found", is_error=True, arguments="x")] * 3, False, id="command not found x3"
        ),
        pytest.param(
            [_missed(), _done("bash", "2 failed, 1 passed\nCommand exited with code 1", is_error=True), _missed()],
            True,
            id="another tool neither counts nor resets",
        ),
        pytest.param([_missed(), _done("bash"), _missed()], True, id="nor does another's success"),
        pytest.param(
            [_missed(), _done("edit", "Permission denied: /a.ts", is_error=True), _missed()],
            True,
            id="trouble of the same tool neither counts nor resets",
        ),
        pytest.param([_missed()], False, id="one mistake"),
        pytest.param([_missed(), _missed(), _done("edit")], False, id="it has found its way by itself"),
        pytest.param([_done("read", "failed", is_error=True, arguments="a")] * 3, True, id="the same failing call x3"),
        pytest.param([_done("read", "failed", is_error=True, arguments="a")] * 2, False, id="the same failing call x2"),
        pytest.param(
            [_done("bash", "1 failed\nCommand exited with code 1", is_error=True, arguments="a")] * 3,
            False,
            id="the same failing tests x3",
        ),
        pytest.param([_done("read", "same", arguments="a")] * 3, False, id="the same call that succeeds x3"),
        pytest.param(
            [_done("read", "failed", is_error=True) for _ in range(3)], False, id="other failures with other arguments"
        ),
        pytest.param([], False, id="no calls"),
    ],
)
def test_the_sequences_of_section_21(outcomes: list[ToolOutcome], escalates: bool) -> None:
    assert (_find(outcomes) is not None) is escalates


def test_a_task_escalates_once_and_never_under_a_pin() -> None:
    outcomes = [_missed(), _missed()]
    assert _find(outcomes, done=True) is None
    assert _find(outcomes, pinned=True) is None


def test_an_escalation_tells_why() -> None:
    found = _find([_missed(), _missed()])
    assert found == Escalation(tool="edit", why="mistakes", kinds=("text-not-found", "text-not-found"))
    assert found.reason == "2 mistakes of edit in a row: text-not-found, text-not-found"
    repeated = _find([_done("read", "failed", is_error=True, arguments="a")] * 3)
    assert repeated is not None
    assert repeated.reason == "read failed 3 times with the same arguments"


def test_mistakes_of_a_patch_in_a_script_are_the_patchs_own() -> None:
    failed = "Script failed\nWall time 0.1 seconds\nOutput:\n\nScript error:\napply_patch verification failed: Failed to find x"
    script = _done("exec", "Script completed\nOutput:\nls")
    patches = [_done("exec", failed, arguments=f"apply_patch {number}") for number in range(2)]
    found = _find([patches[0], script, patches[1]])
    assert found is not None
    assert found.tool == "apply_patch"


def test_the_next_call_goes_to_a_strictly_stronger_target() -> None:
    ranked = choose(DEBUG).ranked
    assert ranked[0].target == SONNET
    assert step_up(ranked, HAIKU, "low") == Step(target=SONNET, thinking="low", raised="target")
    assert step_up(ranked, SONNET, "low") == Step(target=OPUS, thinking="low", raised="target")


def test_without_a_stronger_target_the_same_one_thinks_more() -> None:
    ranked = choose(DEBUG).ranked
    assert step_up(ranked, OPUS, "low") == Step(target=OPUS, thinking="medium", raised="thinking")
    assert step_up(ranked, OPUS, "max") is None
    assert step_up(ranked, OPUS, "low", settled=True) is None


def test_a_level_that_the_model_has_not_is_passed_over() -> None:
    ranked = choose(DEBUG).ranked
    opus = next(one for one in ranked if one.target == OPUS)

    def limited(**fields: object) -> list:
        model = replace(opus.candidate.model, **fields)
        return [replace(opus, candidate=replace(opus.candidate, model=model))]

    gap = limited(thinking_levels={"medium": None, "high": "high"})
    assert step_up(gap, OPUS, "low") == Step(target=OPUS, thinking="high", raised="thinking")
    assert step_up(limited(reasoning=False), OPUS, "off") is None


def test_a_target_of_unknown_tier_is_not_left_for_its_rank() -> None:
    ranked = choose(DEBUG).ranked
    unknown = [replace(one, rank=0) if one.target == HAIKU else one for one in ranked]
    step = step_up(unknown, HAIKU, "low")
    assert step is not None
    assert step.raised == "thinking"
    assert step_up(ranked, "nobody/knows", "low") is None


def test_a_task_can_be_followed_call_by_call() -> None:
    outcomes = [_missed(), _done("bash"), _missed(), _done("read", "failed", is_error=True, arguments="a")]
    streaks = NO_STREAKS
    for one in outcomes:
        streaks = follow(streaks, [one])
    assert streaks == follow(NO_STREAKS, outcomes)
    assert streaks.mistakes == {"edit": ("text-not-found", "text-not-found")}


def test_nothing_that_a_call_said_is_kept() -> None:
    secret = "the-secret"
    streaks = follow(NO_STREAKS, [_done("read", secret, is_error=True, arguments=f'{{"path":"{secret}"}}')] * 2)
    assert streaks.failures == 2
    assert secret not in repr(streaks)
    assert follow(NO_STREAKS, [_done("read", "x", is_error=True, arguments="\ud800")]).failures == 1


def test_of_a_long_streak_the_newest_mistakes_are_told() -> None:
    found = _find([_missed() for _ in range(9)])
    assert found is not None
    assert len(found.kinds) == 5
