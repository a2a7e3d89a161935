"""What a record says of learning and limits, in words."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.cli.awareness_text import (
    auto_tune_text,
    awareness_facts,
    budget_text,
    cache_text,
    calibration_text,
    categories_text,
    drift_text,
    profile_text,
    sample_text,
    samples_text,
    switch_text,
)

from .conftest import AWARENESS


def calibration(**changes: Any) -> dict[str, Any]:
    return {**AWARENESS["calibration"], **changes}


def test_every_part_of_an_awareness_has_its_line() -> None:
    facts = dict(awareness_facts(AWARENESS))
    assert list(facts) == [
        "profile",
        "overrides",
        "calibration",
        "samples",
        "budget",
        "categories",
        "drift",
        "auto-tune",
        "switch",
    ]


def test_what_is_unknown_of_a_model_is_called_so_and_a_similar_models_figure_is_marked() -> None:
    sources = {**AWARENESS["profile"]["sources"]}
    sources["context_window"] = {"source": "genai-prices", "detail": "x", "exact": False}
    profile = {**AWARENESS["profile"], "max_output_tokens": None, "sources": sources}
    assert profile_text(profile) == ("window ~200.0k (genai-prices) · longest answer unknown · safety 4.0k (default)")


def test_a_ratio_is_told_once_it_is_applied() -> None:
    assert calibration_text(calibration()) == "usage = 1.205 × chars-v1 (ratio-v1)"
    collecting = calibration(calibrated=False, accepted=2)
    assert calibration_text(collecting) == "collecting for chars-v1 (ratio-v1): 2 of at least 3 samples"


def test_growth_is_told_as_a_line() -> None:
    line = calibration(method="growth-v1", estimator="wire-v1", offset=4_010.4, slope=1.25, pairs=1)
    assert calibration_text(line) == "usage = 4.0k + 1.250 × wire-v1 (growth-v1), 1 pair of calls"
    less = calibration(method="growth-v1", estimator="wire-v1", offset=-2_010.4, slope=0.98, pairs=64)
    assert calibration_text(less) == "usage = -2.0k + 0.980 × wire-v1 (growth-v1), 64 pairs of calls"


def test_growth_without_a_call_to_start_from_says_what_holds_instead() -> None:
    said = "growth-v1 without a call before it: by the ratio"
    assert calibration_text(calibration(method="growth-v1")) == f"usage = 1.205 × chars-v1 ({said})"
    collecting = calibration(method="growth-v1", calibrated=False, accepted=2)
    assert calibration_text(collecting) == f"collecting for chars-v1 ({said}): 2 of at least 3 samples"


def test_samples_that_were_not_accepted_are_told_apart() -> None:
    said = "10 of 12 samples accepted, 1 too far from the median, 1 outside the bounds"
    assert samples_text(calibration()) == said
    plain = calibration(observed=1, accepted=1, outliers=0)
    del plain["hard_bound"]
    assert samples_text(plain) == "1 of 1 sample accepted"


def test_without_a_window_there_is_no_budget() -> None:
    assert budget_text(None, "chars-v1") == "none: the window is unknown"
    assert categories_text(None) == ""


def test_a_budget_that_was_set_says_so() -> None:
    adaptive = {**AWARENESS["adaptive"], "history": {"nominal": 12_000, "resolved": 12_000, "explicit": True}}
    assert categories_text(adaptive) == "tail 32.0k → 26.6k · history 12.0k, set · project 20.0k → 16.6k"


def test_drift_is_told_with_its_grounds() -> None:
    drift = {"code": "persistent-underestimate", "severity": "critical", "samples": 9, "ratio": 1.7}
    assert drift_text(drift) == "persistent-underestimate, critical: 9 samples, ratio 1.700"
    outliers = {"code": "calibration-outliers", "severity": "warning", "samples": 3, "ratio": None}
    assert drift_text(outliers) == "calibration-outliers, warning: 3 samples"
    assert drift_text(None) == ""


@pytest.mark.parametrize(
    ("status", "factor", "said"),
    [
        ("expanded", 1.125, "expanded × 1.125: largest prompt 1.0k of a target of 89.6k, 8 samples accepted"),
        ("no-headroom", 1.0, "no-headroom: largest prompt 1.0k of a target of 89.6k, 8 samples accepted"),
        ("disabled", 1.0, ""),
    ],
)
def test_tuning_is_told_while_it_is_on(status: str, factor: float, said: str) -> None:
    tuned = {"status": status, "factor": factor, "accepted": 8, "high_watermark": 1_000, "target": 89_600}
    assert auto_tune_text(tuned) == said


def test_a_switch_is_told_where_there_was_one() -> None:
    switch = {**AWARENESS["switch"], "profile_reused": False}
    assert switch_text(switch) == (
        "from anthropic/claude-haiku-4-5 (context), a cold boundary by rule (what was read says more); new in this session"
    )
    assert switch_text({**switch, "cache_disposition": "unknown"}) == (
        "from anthropic/claude-haiku-4-5 (context), unknown; new in this session"
    )
    assert switch_text({**switch, "switched": False}) == ""
    assert switch_text(None) == ""


def test_a_sample_is_its_figures_or_why_there_is_none() -> None:
    accepted = {"estimator": "chars-v1", "estimated": 70_124, "actual": 84_500, "ratio": 1.205008, "accepted": True}
    assert sample_text(accepted) == "84.5k / ~70.1k by chars-v1 = 1.205"
    assert sample_text({"refused": "no_usage"}) == "none: no_usage"
    assert sample_text(None) == ""


@pytest.mark.parametrize(
    ("cache", "said"),
    [
        (
            {"expected": None, "read": None, "disposition": "unknown"},
            "unknown expected, nothing reported read (unknown)",
        ),
        ({"expected": 0, "read": 0, "disposition": "cold_first"}, "~0.0k expected, 0.0k read (cold_first)"),
        (
            {
                "expected": 70_000,
                "read": 0,
                "disposition": "eligible",
                "age_ms": 40_000,
                "ttl_ms": 3_600_000,
                "miss": {"cause": "tools_changed", "slice": {"kind": "tool", "index": 3}, "missed_tokens": 70_000},
            },
            "~70.0k expected, 0.0k read (eligible); 40 s old, kept for 60 min; missed 70.0k: tools_changed at tool 3",
        ),
        (
            {
                "expected": 9_000,
                "read": 100,
                "disposition": "cold_expired",
                "age_ms": 8_000_000,
                "ttl_ms": 300_000,
                "miss": {"cause": "expired", "slice": None, "missed_tokens": 8_900},
            },
            "~9.0k expected, 0.1k read (cold_expired); 2 h old, kept for 5 min; missed 8.9k: expired",
        ),
    ],
)
def test_what_was_expected_warm_stands_beside_what_was_read(cache: dict[str, Any], said: str) -> None:
    assert cache_text({"age_ms": None, "ttl_ms": None, "miss": None, **cache}) == said
