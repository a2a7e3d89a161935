"""Errors summed up (accounting specification, section 16.1)."""

from __future__ import annotations

import pytest

from ullage.evals.scores import Miss, score


def test_nothing_has_no_scores() -> None:
    assert score([]) is None


def test_the_figures_of_three_calls() -> None:
    scores = score([Miss(110, 100, 50), Miss(190, 200, 100), Miss(330, 300, 60)])
    assert scores is not None
    assert (scores.calls, scores.median_ae, scores.p90_ae) == (3, 10, 30)
    assert scores.mae == pytest.approx(50 / 3)
    assert scores.mape == pytest.approx((0.10 + 0.05 + 0.10) / 3)
    assert scores.median_ape == pytest.approx(0.10)
    assert scores.bias == pytest.approx((10 - 10 + 30) / 3)
    assert scores.missed == pytest.approx(0.2)


def test_the_ninth_of_ten_errors_is_the_ninth_decile() -> None:
    scores = score([Miss(1_000 + error, 1_000) for error in range(1, 11)])
    assert scores is not None
    assert scores.p90_ae == 9


def test_a_prompt_that_did_not_grow_has_no_share_of_growth() -> None:
    scores = score([Miss(90, 100, -5), Miss(90, 100, 0), Miss(90, 100)])
    assert scores is not None
    assert scores.missed is None
