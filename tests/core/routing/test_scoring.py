"""Terms and utilities (routing specification, sections 10.1, 10.2 and 10.5)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict

from tests.core.routing.routes import (
    CHINESE,
    DEBUG,
    HAIKU,
    OPUS,
    REFACTOR,
    SONNET,
    SUMMARY,
    THREE,
    model,
    scores,
    task_of,
)
from ullage.core.errors import InputError
from ullage.core.routing.capability import score_range
from ullage.core.routing.filtering import make_candidate
from ullage.core.routing.scoring import Abilities, Signals, Situation, quality_of, quota_term
from ullage.core.routing.weights import WEIGHTS, Policy, read_policy


def abilities(tier: Any) -> Abilities:
    return Abilities(*[score_range(tier, "high").likely] * 5)


@pytest.mark.parametrize(
    ("prompt", "tier", "expected"),
    [
        (DEBUG, "frontier", 1.0),
        (DEBUG, "strong", 0.944465),
        (DEBUG, "light", 0.830311),
        (DEBUG, "unknown", 0.861164),
        (CHINESE, "frontier", 1.0),
        (CHINESE, "strong", 0.87016),
        (CHINESE, "mid", 0.70744),
        (CHINESE, "light", 0.4845),
        (CHINESE, "unknown", 0.6105),
        (SUMMARY, "frontier", 1.0),
        (SUMMARY, "strong", 0.986077),
        (SUMMARY, "light", 0.957457),
    ],
)
def test_quality_is_as_in_the_worked_examples(prompt: str, tier: str, expected: float) -> None:
    assert quality_of(task_of(prompt), abilities(tier)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("policy", "opus", "sonnet", "haiku"),
    [
        ("balanced", 0.565, 0.653756, 0.630518),
        ("best", 0.715, 0.718259, 0.661671),
        ("cost", 0.443, 0.682082, 0.698881),
        ("fast", 0.536, 0.602736, 0.5817),
    ],
)
def test_utilities_without_a_current_target_are_as_in_the_worked_examples(
    policy: Policy, opus: float, sonnet: float, haiku: float
) -> None:
    found = scores(DEBUG, policy)
    assert [found[target].utility for target in (OPUS, SONNET, HAIKU)] == pytest.approx([opus, sonnet, haiku], abs=1e-6)


@pytest.mark.parametrize(
    ("current", "opus", "sonnet", "haiku"),
    [(OPUS, 0.655, 0.573756, 0.550518), (HAIKU, 0.565, 0.653756, 0.800518)],
)
def test_utilities_with_a_warm_cache_are_those_of_one_request_by_v1(
    current: str, opus: float, sonnet: float, haiku: float
) -> None:
    found = scores(DEBUG, situation=Situation(context=40_000, current=current, cache_model="v1"))
    assert [found[target].utility for target in (OPUS, SONNET, HAIKU)] == pytest.approx([opus, sonnet, haiku], abs=1e-6)


@pytest.mark.parametrize(
    ("prompt", "luna", "free"), [(SUMMARY, 0.63, 0.678834), (REFACTOR, 0.63, 0.616356)], ids=["summary", "refactor"]
)
def test_a_free_model_is_the_cheapest_whatever_its_record_says(prompt: str, luna: float, free: float) -> None:
    pair = (
        make_candidate(model("gateway/openai/gpt-5.6-luna")),
        make_candidate(model("openrouter/free")),
    )
    found = scores(prompt, candidates=pair)
    assert found["openrouter/free"].utility == pytest.approx(free, abs=1e-6)
    assert found["gateway/openai/gpt-5.6-luna"].utility == pytest.approx(luna, abs=1e-6)


@pytest.mark.parametrize("policy", WEIGHTS)
def test_the_weights_of_a_policy_sum_to_one(policy: Policy) -> None:
    assert sum(asdict(WEIGHTS[policy]).values()) == pytest.approx(1)


def test_fast_weighs_time_most_and_staying_little_more_than_balanced() -> None:
    """Section 32, row 8."""
    assert (WEIGHTS["fast"].latency, WEIGHTS["fast"].stickiness) == (0.16, 0.10)


def test_the_old_word_for_cost_is_read() -> None:
    assert read_policy("price") == "cost"
    with pytest.raises(InputError, match="no policy"):
        read_policy("cheap")


def test_an_unknown_price_is_neither_cheap_nor_dear() -> None:
    candidates = (*THREE, make_candidate(model("local/llama")))
    found = scores(DEBUG, candidates=candidates)
    assert (found["local/llama"].terms.cost, found["local/llama"].cost_usd) == (0.5, None)


def test_the_only_known_price_is_neither_cheap_nor_dear() -> None:
    assert scores(DEBUG, candidates=THREE[:1])[OPUS].terms.cost == 0.5


def test_an_unknown_model_does_not_outrank_a_light_one_for_being_unknown() -> None:
    """Weakness 2 of section 33."""
    found = scores(CHINESE, candidates=(THREE[2], make_candidate(model("local/llama"))))
    assert found["local/llama"].terms.quality == pytest.approx(found[HAIKU].terms.quality)
    assert found["local/llama"].quality_range == pytest.approx((found[HAIKU].terms.quality, 1.0))


def test_latency_compares_those_that_have_a_time() -> None:
    signals = {OPUS: Signals(latency_ms=9_000), SONNET: Signals(latency_ms=3_000)}
    found = scores(DEBUG, situation=Situation(signals=signals, cache_model="v1"))
    assert [found[target].terms.latency for target in (OPUS, SONNET, HAIKU)] == [0.0, 1.0, 0.5]
    alone = scores(DEBUG, situation=Situation(signals={OPUS: Signals(latency_ms=9_000)}, cache_model="v1"))
    assert alone[OPUS].terms.latency == 0.5


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        (Signals(), 0.5),
        (Signals(quota="blocked", uvi=0.2), 0.0),
        (Signals(quota="cooldown"), 0.0),
        (Signals(quota="healthy", uvi=0.25), 0.75),
        (Signals(quota="warning", uvi=2.0), 0.0),
    ],
)
def test_quota_is_what_is_left_of_it(signals: Signals, expected: float) -> None:
    assert quota_term(signals) == expected


def test_feedback_counts_in_every_route() -> None:
    """Weakness 5 of section 33: the map of preferences was never passed on."""
    plain = scores(DEBUG)[HAIKU].utility
    liked = scores(DEBUG, situation=Situation(preferences={HAIKU: 0.1}, cache_model="v1"))[HAIKU].utility
    assert liked - plain == pytest.approx(0.05)


def test_the_estimate_knows_what_a_cache_holds() -> None:
    """Weakness 3 of section 33, complaint C17: a warm target is not priced as if all of it were read anew."""
    warm = scores(DEBUG, situation=Situation(context=100_000, current=SONNET))[SONNET].cost_usd
    cold = scores(DEBUG, situation=Situation(context=100_000, current=SONNET, cold=True))[SONNET].cost_usd
    assert warm is not None and cold is not None
    assert cold - warm == pytest.approx(100_000 * (3.75 - 0.3) / 1e6)


def test_each_target_has_its_own_cache_prices() -> None:
    """Complaint C33: one provider's cache multiplier was applied to all."""
    dear = make_candidate(model("one/claude-sonnet", 3, 15, 1.5, 3))
    cheap = make_candidate(model("two/claude-sonnet", 3, 15, 0.3, 3))
    warm = {"one/claude-sonnet": 50_000, "two/claude-sonnet": 50_000}
    found = scores(DEBUG, candidates=(dear, cheap), situation=Situation(context=50_000, warm=warm))
    assert found["two/claude-sonnet"].terms.cost > found["one/claude-sonnet"].terms.cost


def test_a_cache_price_of_nothing_in_a_registry_is_not_free_reading() -> None:
    """Section 12.2 (d)."""
    silent = make_candidate(model("one/claude-sonnet", 3, 15, 0, 0))
    plain = make_candidate(model("two/claude-sonnet", 3, 15))
    warm = {"one/claude-sonnet": 50_000}
    found = scores(DEBUG, candidates=(silent, plain), situation=Situation(context=50_000, warm=warm))
    assert found["one/claude-sonnet"].cost_usd == found["two/claude-sonnet"].cost_usd
