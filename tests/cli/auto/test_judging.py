"""`ullage feedback` and `ullage outcome`: what is kept of what a user says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.auto.routed import ATTIC, CELLAR, DEBUG, RENAME
from tests.gateway.routes import FRONTIER, LIGHT, STRONG
from ullage.stores import FeedbackRecord, OutcomeRecord, open_reader

if TYPE_CHECKING:
    from .conftest import Run, Tell


def kept(data_dir: Path) -> tuple[list[FeedbackRecord], list[OutcomeRecord]]:
    reader = open_reader("sqlite", data_dir)
    try:
        return reader.feedback(), reader.outcomes()
    finally:
        reader.close()


@pytest.mark.usefixtures("routed")
def test_a_vote_is_for_the_target_of_the_newest_task_and_its_kinds(run: Run, data_dir: Path) -> None:
    status, out, _ = run("feedback", "good", "--reason", "found it")
    assert (status, out) == (0, f"Good: {STRONG} is at +0.020 for tasks of debug, test (at most 0.10 either way).\n")
    ((vote,), _) = kept(data_dir)
    assert (vote.target, vote.good, vote.kinds, vote.session, vote.task) == (
        STRONG,
        True,
        ("debug", "test"),
        CELLAR,
        DEBUG,
    )
    assert vote.reason == "found it"


@pytest.mark.usefixtures("routed")
def test_votes_reach_the_cap_and_no_more(tell: Tell) -> None:
    told = [tell("feedback", "bad", LIGHT)["preference"] for _ in range(7)]
    assert told == pytest.approx([-0.02, -0.04, -0.06, -0.08, -0.1, -0.1, -0.1])


@pytest.mark.usefixtures("routed")
def test_a_named_target_keeps_its_case_and_a_near_miss_is_told(run: Run, tell: Tell, data_dir: Path) -> None:
    status, _, err = run("feedback", "bad", LIGHT.upper())
    assert status == 2 and f"Did you mean '{LIGHT}'?" in err
    assert kept(data_dir) == ([], [])
    told = tell("feedback", "bad", FRONTIER, "--session", ATTIC)
    assert (told["target"], told["session"]) == (FRONTIER, ATTIC)


@pytest.mark.usefixtures("routed")
def test_an_outcome_is_for_the_newest_task_that_is_over(run: Run, tell: Tell, data_dir: Path) -> None:
    status, out, _ = run("outcome", "success")
    assert status == 0
    assert out.splitlines()[0] == f"Task {DEBUG[:8]}: success."
    (_, (said,)) = kept(data_dir)
    assert (said.task, said.target, said.judgement, said.session) == (DEBUG, STRONG, "success", CELLAR)
    assert tell("auto", "task")["assessment"] == "success"
    tell("outcome", "unknown")
    assert tell("auto", "task")["assessment"] is None


@pytest.mark.usefixtures("routed")
def test_a_task_is_named_by_the_beginning_of_its_id(run: Run, tell: Tell, data_dir: Path) -> None:
    told = tell("outcome", "failure", "--task", RENAME[:6])
    assert (told["task"], told["target"], told["summary"]["assessment"]) == (RENAME, LIGHT, "failure")
    status, _, err = run("outcome", "failure", "--task", "nowhere")
    assert status == 1 and "`ullage history` lists tasks" in err
    assert len(kept(data_dir)[1]) == 1


@pytest.mark.usefixtures("config")
def test_before_anything_was_routed_nothing_is_kept(run: Run, data_dir: Path) -> None:
    for arguments, message in (
        (("outcome", "success"), "No task is over yet"),
        (("feedback", "good"), "Nothing was routed yet"),
    ):
        status, out, err = run(*arguments)
        assert (status, out) == (1, "") and message in err
    assert kept(data_dir) == ([], [])


@pytest.mark.usefixtures("config")
def test_a_vote_without_a_task_is_for_any_kind(run: Run, tell: Tell) -> None:
    assert tell("feedback", "good", LIGHT)["kinds"] == []
    assert "for tasks of any kind" in run("feedback", "good", LIGHT)[1]
