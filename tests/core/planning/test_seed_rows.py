"""What the reference measured live, replayed: its thresholds, its tails and what it withdrew (planner specification, sections
4.3, 5.3, 32 and 33)."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from ullage.core.calibration import AutoTune, Bounds, Calibration, Sample, calibrate, convert_ratio, find_drift, tune
from ullage.core.planning import Adaptive, Budget, Limits, Overrides, draw_budget, resolve_categories

MINI = {"window": 128_000, "max_output": 16_384, "safety_margin": 2_560}
"""GPT-4o-mini."""

NATIVE = {"window": 1_050_000, "max_output": 128_000, "safety_margin": 8_192}
"""GPT-6-sol, GPT-6-luna and GPT-5.6-terra."""

RAISED = Limits(recent_tail_tokens=80_000, max_retrieved_history_tokens=40_000, max_project_tokens=40_000)
"""The ceilings that were raised for the runs with a native window: by default its tail is at its cap and cannot grow."""


class Turn(NamedTuple):
    """What a request is planned with."""

    calibration: Calibration
    budget: Budget
    auto_tune: AutoTune
    adaptive: Adaptive


class Session:
    """One session: usage comes in call by call, and each request is planned from what came before it."""

    def __init__(self, model: dict[str, int], limits: Limits | None = None, *, auto_tune: bool = True) -> None:
        self.model, self.limits, self.auto_tune = model, limits or Limits(), auto_tune
        self.samples: list[Sample] = []

    def report_usage(self, estimated: int, actual: int) -> None:
        number = len(self.samples)
        self.samples.append(Sample(id=f"{number:03}", created_ms=number, estimated=estimated, input_fresh=actual))

    def plan(self) -> Turn:
        calibration = calibrate(self.samples, Bounds())
        budget = draw_budget(limits=self.limits, conversion=convert_ratio(calibration), **self.model)
        auto_tune = tune(calibration, enabled=self.auto_tune, target=budget.nominal_preferred)
        adaptive = resolve_categories(
            window=budget.context_window,
            limits=self.limits,
            overrides=Overrides(),
            ratio=calibration.applied_ratio,
            factor=auto_tune.factor,
            room=budget.active,
        )
        return Turn(calibration, budget, auto_tune, adaptive)


def session_of(
    model: dict[str, int], samples: list[tuple[int, int]], limits: Limits | None = None, *, auto_tune: bool = True
) -> Session:
    session = Session(model, limits, auto_tune=auto_tune)
    for estimated, actual in samples:
        session.report_usage(estimated, actual)
    return session


# Eight short calls whose median ratio is the published one; the next larger ratio becomes the median with one call more.
MINI_CALLS = [(2_000, actual) for actual in (1_940, 1_942, 1_944, 1_945, 1_954, 1_955, 1_956, 1_957)]
NATIVE_CALLS = [(40_000, actual) for actual in (39_460, 39_470, 39_480, 39_485, 39_503, 39_510, 39_520, 39_530)]


def test_a_near_limit_call_withdraws_the_expansion() -> None:
    """GPT-4o-mini: 60,640 tokens, above 53,760; the tail goes from 27,699 to 24,564."""
    session = session_of(MINI, MINI_CALLS)
    ninth = session.plan()
    assert (ninth.auto_tune.status, ninth.calibration.accepted) == ("expanded", 8)
    assert (ninth.calibration.applied_ratio, ninth.adaptive.recent_tail.resolved) == (0.97475, 27_699)

    session.report_usage(60_708, 60_640)
    after = session.plan()
    assert (after.auto_tune.status, after.auto_tune.high_watermark) == ("no-headroom", 60_640)
    assert (after.calibration.applied_ratio, after.adaptive.recent_tail.resolved) == (0.977, 24_564)
    assert after.budget == ninth.budget


@pytest.mark.parametrize(("estimated", "actual"), [(475_790, 475_703), (475_794, 475_707)], ids=["sol", "terra"])
def test_a_native_window_withdraws_the_expansion_too(estimated: int, actual: int) -> None:
    """Above 441,000: from a tail of 72,922 to 64,805, what it would have been untuned at that turn's ratio."""
    session = session_of(NATIVE, NATIVE_CALLS, RAISED)
    expanded = session.plan()
    assert (expanded.auto_tune.status, expanded.adaptive.recent_tail.resolved) == ("expanded", 72_922)
    assert session_of(NATIVE, NATIVE_CALLS, RAISED, auto_tune=False).plan().adaptive.recent_tail.resolved == 64_819

    session.report_usage(estimated, actual)
    after = session.plan()
    assert (after.auto_tune.status, after.adaptive.recent_tail.resolved) == ("no-headroom", 64_805)
    session.auto_tune = False
    assert session.plan().adaptive == after.adaptive


@pytest.mark.parametrize(("model", "threshold"), [(MINI, 53_760), (NATIVE, 441_000)], ids=["128,000", "1,050,000"])
def test_the_threshold_is_six_tenths_of_the_preferred_limit(model: dict[str, int], threshold: int) -> None:
    target = draw_budget(limits=Limits(), **model).nominal_preferred
    assert target == {128_000: 89_600, 1_050_000: 735_000}[model["window"]]
    at, above = (
        session_of(model, [*[(1_000, 1_000)] * 8, (prompt, prompt)]).plan().auto_tune
        for prompt in (threshold, threshold + 1)
    )
    assert (at.status, above.status) == ("expanded", "no-headroom")


@pytest.mark.parametrize(
    ("model", "estimated", "actual", "status"),
    [
        (MINI, 37_552, 37_464, "expanded"),
        (MINI, 60_708, 60_640, "no-headroom"),
        (NATIVE, 381_593, 381_501, "expanded"),
        (NATIVE, 475_790, 475_703, "no-headroom"),
    ],
)
def test_only_usage_above_the_threshold_withdraws(
    model: dict[str, int], estimated: int, actual: int, status: str
) -> None:
    assert session_of(model, [*MINI_CALLS, (estimated, actual)]).plan().auto_tune.status == status


def test_seven_accepted_samples_expand_nothing_that_could_be_withdrawn() -> None:
    """The probe that reached 60,509 tokens with seven of eight samples accepted."""
    session = session_of(MINI, [*MINI_CALLS[:7], (2_000, 2_600)])
    assert session.plan().auto_tune.status == "insufficient-samples"
    assert session.plan().calibration.outliers == 1


def test_a_fresh_session_has_no_evidence_whatever_it_sends() -> None:
    """The three requests of 381,501 tokens were fresh sessions."""
    assert session_of(NATIVE, [(381_593, 381_501)]).plan().auto_tune.status == "insufficient-samples"


def test_the_default_cap_of_a_native_tail_is_saturated() -> None:
    """Reported as expanded, the tail of the first round was at its cap of 64,000 all the same."""
    turn = session_of(NATIVE, [(36_027, 35_503)] * 9).plan()
    assert (turn.auto_tune.status, turn.adaptive.recent_tail.resolved) == ("expanded", 64_000)


def test_a_ratio_of_short_calls_raises_no_limit() -> None:
    """Eight short calls gave 0.677157: the limits of the ninth are the nominal ones."""
    turn = session_of(MINI, [(1_000_000, 677_157)] * 8, auto_tune=False).plan()
    assert turn.calibration.applied_ratio == 0.677157
    assert (turn.budget.hard, turn.budget.soft, turn.budget.preferred) == (109_056, 102_400, 89_600)


MEASURED = [
    (23_492, 23_196),
    (23_926, 23_486),
    (37_552, 37_464),
    (250, 244),
    (60_708, 60_640),
    (36_027, 35_503),
    (63_699, 63_050),
    (381_593, 381_501),
    (475_790, 475_703),
    (475_794, 475_707),
]
"""Estimates by BPE and what the provider counted (section 32)."""


def test_every_measured_estimate_was_over_by_at_most_two_and_a_half_percent() -> None:
    over = [round(100 * (estimated / actual - 1), 2) for estimated, actual in MEASURED]
    assert (min(over), max(over)) == (0.02, 2.46)


def test_the_measured_estimates_agree_and_warn_of_nothing() -> None:
    calibration = calibrate(session_of(NATIVE, MEASURED).samples, Bounds())
    assert (calibration.accepted, calibration.outliers) == (10, 0)
    assert 0.97 < calibration.applied_ratio < 1.0
    assert find_drift(calibration, Bounds()) is None


def test_characters_undercount_where_tokens_do_not() -> None:
    """Section 32: a prompt of 48,000 characters was 16,668 tokens; chars-v1 made 12,033 of it, BPE 16,674."""
    by_chars, by_tokens = (
        calibrate(session_of(MINI, [(estimated, 16_668)] * 3).samples, Bounds()) for estimated in (12_033, 16_674)
    )
    drift = find_drift(by_chars, Bounds())
    assert round(100 * (12_033 / 16_668 - 1), 2) == -27.81
    assert drift is not None
    assert (drift.code, drift.severity) == ("persistent-underestimate", "warning")
    assert find_drift(by_tokens, Bounds()) is None
