"""The page on what routes learn: its example is a settings file, and its figures are those of the code."""

from __future__ import annotations

import re
from math import exp
from pathlib import Path

import pytest

from ullage.core.routing.exploring import TEMPERATURE
from ullage.core.routing.learning import EXPLORATION, HALF_LIFE_MS, MOST, VOTE, Delivery, Judged, Vote, learn
from ullage.core.routing.pace import ANSWER_TOKENS
from ullage.core.routing.selection import QUALITY_GAP
from ullage.core.routing.weights import WEIGHTS
from ullage.settings import load_file

PAGE = " ".join((Path(__file__).resolve().parents[2] / "docs" / "how-to" / "route-learning.md").read_text().split())
TARGET, KINDS, NOW_MS = "p/a", ("debug",), 1_780_000_000_000


def reliability(attempts: int) -> float:
    ones = [Delivery(at_ms=NOW_MS, target=TARGET, delivered=True, kinds=KINDS) for _ in range(attempts)]
    found = learn(ones).reliability(TARGET, KINDS, NOW_MS)
    assert found is not None
    return found.score


def test_the_example_is_a_settings_file_without_problems(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "route-learning.md").read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "config.toml"
    file.write_text(block)
    loaded = load_file(file)
    assert loaded.problems == ()
    assert loaded.settings.routing.explore == 0.05


def test_little_is_believed_of_few_calls() -> None:
    said = re.search(
        r"of one out of one delivered a reliability of ([\d.]+) is made, of twenty out of twenty ([\d.]+)", PAGE
    )
    assert said is not None
    assert [f"{reliability(1):.2f}", f"{reliability(20):.2f}"] == [said[1].rstrip("."), said[2].rstrip(".")]


def test_votes_and_judged_tasks_move_scores_as_it_says() -> None:
    vote = Vote(id="v", at_ms=NOW_MS, target=TARGET, good=True, kinds=KINDS)
    learned = learn(votes=[vote])
    assert learned.quality(TARGET, KINDS, NOW_MS).offset == pytest.approx(VOTE)
    assert learned.quality(TARGET, ("plan",), NOW_MS).offset == pytest.approx(VOTE / 2)
    assert "moves its score by 0.02, at tasks of the same kinds and, half as much, at others" in PAGE
    assert f"five votes at once reach the limit of {MOST:.2f}" in PAGE
    assert pytest.approx(5) == MOST / VOTE
    failures = [
        Judged(id=f"{n}", at_ms=NOW_MS, task=f"{n}", target=TARGET, success=False, kinds=KINDS) for n in range(4)
    ]
    assert f"take {-learn(judged=failures).quality(TARGET, KINDS, NOW_MS).offset:.2f}" in PAGE


def test_its_figures_are_those_of_the_code() -> None:
    weights = sorted({one.reliability for one in WEIGHTS.values()})
    assert f"weighs {weights[0]:.2f} to {weights[-1]:.2f}" in PAGE
    assert f"an answer of {ANSWER_TOKENS} tokens" in PAGE
    assert f"at most {QUALITY_GAP} worse" in PAGE
    assert f"gain up to {EXPLORATION} of reliability" in PAGE
    assert 7 < exp(0.1 / TEMPERATURE) < 7.5
    assert "some seven times as likely" in PAGE
    assert HALF_LIFE_MS == 30 * 86_400_000
    assert "forgotten in thirty days" in PAGE
