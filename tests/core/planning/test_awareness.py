"""Profile, samples and settings become limits: the seed's live rows, and what holds whatever comes in."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.calibration import Bounds, Conversion, Sample
from ullage.core.planning import Anchored, Limits, Policy, become_aware, heed_output, report_awareness
from ullage.core.planning.awareness import Method
from ullage.core.profiles import Layer, ModelFacts, ModelOverride, ModelProfile, resolve_profile

MINI = ModelFacts(context_window=128_000, max_output_tokens=16_384)
NATIVE = ModelFacts(context_window=1_050_000, max_output_tokens=128_000)
RAISED = Limits(recent_tail_tokens=80_000, max_retrieved_history_tokens=40_000, max_project_tokens=40_000)


def profile_of(facts: ModelFacts, *, enabled: bool = True, **overrides: Any) -> ModelProfile:
    return resolve_profile(
        "openrouter",
        "openai/gpt-4o-mini",
        layers=[Layer(source="litellm", facts=facts, exact=True, matched="gpt-4o-mini")],
        overrides={"openrouter/openai/gpt-4o-mini": ModelOverride(**overrides)} if overrides else {},
        enabled=enabled,
    )


def samples_of(*prompts: int, ratio: float = 1.0) -> list[Sample]:
    return [
        Sample(id=f"{index:04}", created_ms=index, estimated=round(prompt / ratio), input_fresh=prompt)
        for index, prompt in enumerate(prompts)
    ]


def test_without_samples_the_limits_are_the_nominal_ones() -> None:
    aware = become_aware(profile_of(MINI), [], Policy())
    assert aware.budget is not None
    assert (aware.budget.hard, aware.budget.soft, aware.budget.preferred) == (109_056, 102_400, 89_600)
    assert (aware.calibration.applied_ratio, aware.auto_tune.status, aware.drift) == (1.0, "disabled", None)


@pytest.mark.parametrize(("most", "hard"), [(272_000, 264_000), (390_000, 359_232), (1_000, 334)])
def test_a_provider_that_takes_less_input_than_the_window_holds_sets_the_hard_limit(most: int, hard: int) -> None:
    """400,000 of window, 128,000 of output: 0.9 of the window is more than 272,000 of input."""
    facts = ModelFacts(context_window=400_000, max_input_tokens=most, max_output_tokens=128_000)
    profile = msgspec.structs.replace(profile_of(facts), max_input_tokens=most)
    aware = become_aware(profile, [], Policy())
    assert aware.budget is not None
    assert aware.budget.hard == hard
    assert aware.budget.preferred <= hard


def test_a_learned_ratio_divides_the_limits() -> None:
    """Section 4.2: 128,000 / 16,384 / 1.25."""
    aware = become_aware(profile_of(MINI), samples_of(5_000, 10_000, 20_000, ratio=1.25), Policy())
    assert aware.budget is not None
    assert (aware.budget.hard, aware.budget.soft, aware.budget.preferred) == (87_244, 81_920, 71_680)
    assert aware.drift is not None
    assert aware.drift.code == "persistent-underestimate"


def test_a_ratio_below_one_raises_no_input_limit_but_categories() -> None:
    aware = become_aware(profile_of(MINI), samples_of(4_000, 8_000, 16_000, ratio=0.8), Policy())
    assert aware.budget is not None
    assert aware.adaptive is not None
    assert (aware.budget.hard, aware.budget.ratio) == (109_056, 1.0)
    assert (aware.adaptive.recent_tail.nominal, aware.adaptive.recent_tail.resolved) == (24_000, 30_000)


@pytest.mark.parametrize(("largest", "status", "tail"), [(53_760, "expanded", 27_000), (53_761, "no-headroom", 24_000)])
def test_expansion_is_withdrawn_above_53760_tokens(largest: int, status: str, tail: int) -> None:
    """Sections 4.3 and 9: 60 % of 70 % of 128,000."""
    samples = samples_of(*[1_000] * 8, largest)
    aware = become_aware(profile_of(MINI), samples, Policy(auto_tune=True))
    assert aware.adaptive is not None
    assert (aware.auto_tune.status, aware.adaptive.recent_tail.resolved) == (status, tail)


@pytest.mark.parametrize(("largest", "status"), [(441_000, "expanded"), (475_703, "no-headroom")])
def test_expansion_is_withdrawn_above_441000_tokens_of_a_native_window(largest: int, status: str) -> None:
    aware = become_aware(profile_of(NATIVE), samples_of(*[35_503] * 8, largest), Policy(auto_tune=True, limits=RAISED))
    assert (aware.auto_tune.status, aware.auto_tune.target) == (status, 735_000)


@pytest.mark.parametrize("asked", [None, 8_192, 100_000])
def test_what_one_request_asks_for_its_answer_moves_no_target_of_expansion(asked: int | None) -> None:
    """The target of section 9 is the model's own; limits of the request make room for its answer all the same."""
    samples = samples_of(*[1_000] * 8, 53_760)
    aware = become_aware(profile_of(MINI), samples, Policy(auto_tune=True), requested_output=asked)
    assert aware.budget is not None
    assert aware.budget.nominal_preferred == (25_440 if asked == 100_000 else 89_600)
    assert (aware.auto_tune.status, aware.auto_tune.target) == ("expanded", 89_600)
    assert heed_output(become_aware(profile_of(MINI), samples, Policy(auto_tune=True)), asked) == aware


@pytest.mark.parametrize(
    ("ratio", "window", "status", "tail"),
    [
        (0.987355, 3_000_000, "expanded", 72_922),
        (0.98757, 1_050_000, "no-headroom", 64_805),
    ],
)
def test_the_published_tails_come_out_to_the_token(ratio: float, window: int, status: str, tail: int) -> None:
    """Section 5.3, the last rows. Six decimals of a ratio need prompts of about a million tokens, so the window that leaves room
    is larger here than the seed's."""
    samples = [
        Sample(id=str(index), created_ms=index, estimated=1_000_000, input_fresh=round(ratio * 1_000_000))
        for index in range(8)
    ]
    facts = ModelFacts(context_window=window, max_output_tokens=128_000)
    aware = become_aware(profile_of(facts), samples, Policy(auto_tune=True, limits=RAISED))
    assert aware.adaptive is not None
    assert (aware.calibration.applied_ratio, aware.auto_tune.status) == (ratio, status)
    assert aware.adaptive.recent_tail.resolved == tail


def test_an_unknown_window_gives_no_limits_and_all_else() -> None:
    aware = become_aware(profile_of(ModelFacts()), samples_of(*[1_000] * 8), Policy(auto_tune=True))
    assert (aware.budget, aware.adaptive) == (None, None)
    assert (aware.calibration.accepted, aware.auto_tune.status, aware.cache_shares.total) == (8, "no-headroom", 8_000)


def test_awareness_switched_off_learns_nothing_and_warns_of_nothing() -> None:
    aware = become_aware(
        profile_of(MINI, enabled=False, context_window=64_000),
        samples_of(*[1_500] * 8, ratio=1.7),
        Policy(enabled=False, auto_tune=True),
    )
    assert aware.budget is not None
    assert aware.adaptive is not None
    assert (aware.budget.context_window, aware.budget.hard) == (128_000, 109_056)
    assert (aware.drift, aware.auto_tune.status) == (None, "disabled")
    assert (aware.adaptive.recent_tail.resolved, aware.adaptive.history.resolved) == (24_000, 16_000)


def test_growth_has_an_offset_and_a_slope_and_the_ratio_only_watches() -> None:
    aware = become_aware(
        profile_of(MINI),
        samples_of(*[1_700] * 4, ratio=1.7),
        Policy(method="growth-v1"),
        estimator="wire-v1",
        anchored=Anchored(conversion=Conversion(offset=9_056.0, slope=1.25), pairs=7),
    )
    assert aware.budget is not None
    assert aware.adaptive is not None
    assert (aware.budget.hard, aware.budget.offset, aware.budget.ratio) == (80_000, 9_056.0, 1.25)
    assert aware.adaptive.recent_tail.resolved == 19_200
    reported = report_awareness(aware)["calibration"]
    assert (reported["method"], reported["offset"], reported["slope"], reported["pairs"]) == (
        "growth-v1",
        9_056.0,
        1.25,
        7,
    )
    assert (reported["estimator"], reported["applied_ratio"]) == ("wire-v1", 1.7)


METHODS: tuple[Method, ...] = ("growth-v1", "ratio-v1")


def test_growth_without_an_anchor_goes_by_the_ratio() -> None:
    samples = samples_of(*[1_700] * 4, ratio=1.7)
    aware, by_ratio = (become_aware(profile_of(MINI), samples, Policy(method=method)) for method in METHODS)
    assert aware.budget is not None
    assert aware.budget.ratio == 1.7
    assert aware.budget == by_ratio.budget


@pytest.mark.parametrize("policy", [Policy(method="ratio-v1"), Policy(method="growth-v1", enabled=False)])
def test_a_line_that_nothing_is_drawn_by_is_not_reported(policy: Policy) -> None:
    anchored = Anchored(conversion=Conversion(offset=9_056.0, slope=1.25), pairs=7)
    aware = become_aware(profile_of(MINI), [], policy, anchored=anchored)
    assert aware.budget is not None
    assert (aware.budget.offset, aware.budget.ratio) == (0.0, 1.0)
    assert "slope" not in report_awareness(aware)["calibration"]


def test_the_report_is_plain_and_says_where_each_field_comes_from() -> None:
    aware = become_aware(profile_of(MINI, max_retrieved_history_tokens=12_000), samples_of(1_000), Policy())
    switch = {"source": "context", "switched": True, "from": "a/b"}
    report = report_awareness(aware, switch)
    assert msgspec.json.decode(msgspec.json.encode(report)) == report
    assert list(report) == [
        "profile",
        "calibration",
        "budget",
        "adaptive",
        "drift",
        "auto_tune",
        "cache_shares",
        "switch",
    ]
    assert report["profile"]["sources"]["context_window"]["source"] == "litellm"
    assert report["profile"]["override_keys"] == ["openrouter/openai/gpt-4o-mini"]
    assert report["adaptive"]["history"] == {"nominal": 12_000, "resolved": 12_000, "explicit": True}
    assert report["switch"] == switch
    assert report["budget"]["active"] == 89_600


FIGURES = st.tuples(st.integers(1, 2_000_000), st.integers(1, 2_000_000))
WINDOWS = st.one_of(st.none(), st.integers(1, 10_000_000))
OUTPUTS = st.one_of(st.none(), st.integers(1, 10_000_000))


@given(figures=st.lists(FIGURES, max_size=40), window=WINDOWS, output=OUTPUTS, most=OUTPUTS, tuned=st.booleans())
def test_whatever_was_seen_the_limits_stay_within_the_window_and_above_nothing(
    figures: list[tuple[int, int]], window: int | None, output: int | None, most: int | None, tuned: bool
) -> None:
    samples = [
        Sample(id=str(index), created_ms=index, estimated=estimated, input_fresh=prompt)
        for index, (estimated, prompt) in enumerate(figures)
    ]
    facts = ModelFacts(context_window=window, max_output_tokens=output)
    profile = msgspec.structs.replace(profile_of(facts), max_input_tokens=most)
    aware = become_aware(profile, samples, Policy(auto_tune=tuned))
    assert 0.5 <= aware.calibration.applied_ratio <= 2.0
    if window is None:
        assert aware.budget is None
        return
    assert aware.budget is not None
    assert aware.adaptive is not None
    assert 1 <= aware.budget.preferred <= aware.budget.hard <= aware.budget.nominal_hard <= min(window, most or window)
    assert aware.budget.soft <= aware.budget.hard
    for category in (aware.adaptive.recent_tail, aware.adaptive.history, aware.adaptive.project):
        assert category.resolved <= aware.budget.active


@given(figures=st.lists(FIGURES, max_size=30), order=st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(figures: list[tuple[int, int]], order: Any) -> None:
    samples = [
        Sample(id=str(index), created_ms=index // 3, estimated=estimated, input_fresh=prompt)
        for index, (estimated, prompt) in enumerate(figures)
    ]
    shuffled = list(samples)
    order.shuffle(shuffled)
    policy = Policy(auto_tune=True, bounds=Bounds(window=12))
    assert become_aware(profile_of(MINI), shuffled, policy) == become_aware(profile_of(MINI), samples, policy)
