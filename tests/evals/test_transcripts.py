"""The evaluation of transcripts: what is taken, left out, and summed up (accounting specification, sections 16.1 and 24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.evals.sessions import OPENAI, growing, reply
from tests.sources.rows import pi_header, pi_user, write_lines
from ullage.evals.files import Skipped
from ullage.evals.methods import ANCHORED, FITTED, LEARNED, METHODS
from ullage.evals.transcripts import Evaluation, evaluate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    """Two sessions of one model and one in which the model changes."""
    for name in ("one", "two"):
        growing(tmp_path / f"{name}.jsonl", session=name)
    rows = [pi_header(id="three")]
    parent = None
    for number in range(6):
        model = OPENAI["model"] if number < 3 else "gpt-5.5"
        rows += [
            pi_user(f"u{number}", parent, "On."),
            reply(f"a{number}", f"u{number}", 5_000 + 60 * number, model=model),
        ]
        parent = f"a{number}"
    write_lines(tmp_path / "three.jsonl", rows)
    return evaluate(sorted(tmp_path.glob("*.jsonl")))


def test_every_model_of_a_file_is_a_transcript(evaluation: Evaluation) -> None:
    found = [(one.path.rpartition("/")[2], one.identity.model, one.calls, one.judged) for one in evaluation.transcripts]
    assert found == [
        ("one.jsonl", "gpt-5.6-sol", 12, 11),
        ("three.jsonl", "gpt-5.6-sol", 3, 2),
        ("three.jsonl", "gpt-5.5", 3, 2),
        ("two.jsonl", "gpt-5.6-sol", 12, 11),
    ]


def test_every_method_is_tried_on_the_same_calls(evaluation: Evaluation) -> None:
    pool = evaluation.pooled["all"]
    assert list(pool) == list(METHODS) == [*FITTED, *ANCHORED, *LEARNED]
    assert {scores.calls for scores in pool.values()} == {26}
    assert evaluation.pooled["pi"] == pool


def test_a_transcript_is_scored_over_all_its_calls_by_the_fitted_methods(evaluation: Evaluation) -> None:
    one = evaluation.transcripts[0]
    assert {scores.calls for scores in one.fitted.values()} == {12}
    assert {scores.calls for scores in one.scores.values()} == {11}


def test_the_summary_holds_transcripts_of_files_with_one_model(evaluation: Evaluation) -> None:
    assert [one.mixed for one in evaluation.transcripts] == [False, True, True, False]
    summary = evaluation.summary["o200k"]
    assert (summary.transcripts, summary.calls) == (2, 24)
    maes = [one.fitted["o200k"].mae for one in evaluation.transcripts if not one.mixed]
    assert summary.median_mae == summary.weighted_mae == pytest.approx(sum(maes) / 2)


def test_a_method_wins_where_its_error_is_smaller_than_that_of_characters(evaluation: Evaluation) -> None:
    plain, seed, o200k = (evaluation.summary[method] for method in FITTED)
    assert (plain.wins, plain.losses) == (0, 0)
    assert (seed.wins, seed.losses) == (0, 0)  # the same divisor for this family
    assert o200k.wins + o200k.losses == 2


def test_calls_without_a_call_before_are_counted(evaluation: Evaluation) -> None:
    assert evaluation.unscored == {"first": 3, "switched": 1}


def test_every_miss_of_the_learned_method_is_told_by_trap(evaluation: Evaluation) -> None:
    assert {trap: scores.calls for trap, scores in evaluation.misses.items()} == {"none": 26}


def test_the_learned_laws_are_reported(evaluation: Evaluation) -> None:
    laws = {law.model: law for law in evaluation.laws}
    assert laws["gpt-5.6-sol"].pairs == 24
    assert laws["gpt-5.6-sol"].a == pytest.approx(30, abs=1)


def test_intervals_are_reported_by_client(evaluation: Evaluation) -> None:
    assert set(evaluation.intervals) == {"all", "pi"}
    assert 0 <= evaluation.intervals["all"].inside <= 1


def test_short_transcripts_are_left_out(tmp_path: Path) -> None:
    files = [growing(tmp_path / "long.jsonl"), growing(tmp_path / "short.jsonl", calls=3, session="t")]
    evaluation = evaluate(files, min_calls=4)
    assert [one.path for one in evaluation.transcripts] == [str(files[0])]
    assert evaluation.skipped == (Skipped(path=str(files[1]), reason="fewer than 4 calls of one model"),)


def test_a_file_that_cannot_be_read_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"note": "hello"}\n' * 100)
    evaluation = evaluate([bad, growing(tmp_path / "good.jsonl"), tmp_path / "gone.jsonl"])
    assert len(evaluation.transcripts) == 1
    assert [skipped.path for skipped in evaluation.skipped] == [str(bad), str(tmp_path / "gone.jsonl")]
    unknown, gone = (skipped.reason for skipped in evaluation.skipped)
    assert unknown.startswith("is no session of a known client: ")
    assert gone == "cannot be read: No such file or directory"


def test_a_session_without_usage_measures_nothing(tmp_path: Path) -> None:
    evaluation = evaluate([growing(tmp_path / "s.jsonl", stopReason="error")])
    assert (evaluation.transcripts, evaluation.pooled) == ((), {})
    assert evaluation.skipped[0].reason == "no call has usage that can be trusted"


def test_files_passed_over_before_stay_named(tmp_path: Path) -> None:
    before = Skipped(path="x", reason="same content as y")
    assert evaluate([growing(tmp_path / "s.jsonl")], skipped=[before]).skipped == (before,)
