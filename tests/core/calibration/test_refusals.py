"""Planner specification, section 7.1, and regressions R39 to R43."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.calibration import Refusal, refuse
from ullage.core.content import Usage

SOUND: dict[str, Any] = {
    "outcome": "ok",
    "stop_reason": "end",
    "usage": Usage(input_fresh=900, cache_read=100),
    "estimated": 1_000,
    "window": 200_000,
}


def refusal(**fields: Any) -> Refusal | None:
    return refuse(**{**SOUND, **fields})


def test_an_answer_with_usage_to_a_request_with_an_estimate_is_a_sample() -> None:
    assert refusal() is None
    assert refusal(stop_reason=None, window=None) is None


@pytest.mark.parametrize("reason", ["length", "tool_calls", "stop_sequence", "refusal", "pause", "other"])
def test_however_a_whole_answer_ended_it_is_a_sample(reason: str) -> None:
    assert refusal(stop_reason=reason) is None


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("error", "error"),
        ("left", "aborted"),
        ("cut", "cut"),
        ("answered", "answered"),
        ("unparsed", "unparsed"),
        ("something new", "error"),
    ],
)
def test_a_call_that_did_not_go_well_is_none(outcome: str, reason: Refusal) -> None:
    assert refusal(outcome=outcome) == reason


def test_an_error_inside_the_stream_is_none() -> None:
    assert refusal(stop_reason="error") == "error"


def test_a_helpers_request_is_none() -> None:
    assert refusal(helper=True) == "helper"


def test_an_answer_that_was_counted_is_none() -> None:
    assert refusal(counted=True) == "duplicate"


@pytest.mark.parametrize(
    ("usage", "reason"),
    [
        (None, "no_usage"),
        (Usage(output=12), "no_usage"),
        (Usage(input_fresh=0, cache_read=0, output=12), "zero_usage"),
        (Usage(input_fresh=-1, cache_read=100), "invalid"),
        (Usage(input_fresh=2**53), "invalid"),
    ],
)
def test_usage_that_says_nothing_is_none(usage: Usage | None, reason: Refusal) -> None:
    """Regression R42: local models often report none."""
    assert refusal(usage=usage) == reason


def test_the_window_and_one_is_a_sentinel_and_no_measurement() -> None:
    """Regression R43; a prompt beyond a window that we may have wrong is one."""
    assert refusal(usage=Usage(input_fresh=200_001)) == "sentinel"
    assert refusal(usage=Usage(input_fresh=200_001), window=None) is None
    assert refusal(usage=Usage(input_fresh=200_002)) is None


@pytest.mark.parametrize(
    ("estimated", "reason"), [(None, "no_estimate"), (0, "no_estimate"), (-1, "invalid"), (2**53, "invalid")]
)
def test_a_request_without_an_estimate_is_none(estimated: int | None, reason: Refusal) -> None:
    assert refusal(estimated=estimated) == reason
