"""How able models are, as far as anybody says (routing specification, section 7)."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from ullage.core.routing.capability import (
    ABILITIES,
    TIERS,
    BenchmarkOverride,
    Capability,
    ScoreRange,
    capability_of,
    score_range,
    tier_of,
    tier_rank,
)
from ullage.core.routing.capability_rows import BENCHMARKS, DETAILED, ORIGINS, PRIORS, THRESHOLDS, BenchmarkSource
from ullage.core.routing.models import ModelRecord

if TYPE_CHECKING:
    from pathlib import Path


def ask(target: str, source: BenchmarkSource | None = None, **said: object) -> Capability:
    provider, _, model = target.partition("/")
    return capability_of(ModelRecord(provider=provider, id=model), source=source, **said)  # type: ignore[arg-type]


def test_tiers_have_the_scores_and_ranks_of_the_specification() -> None:
    assert [score_range(tier, "high").likely for tier in TIERS] == [1.0, 0.82, 0.64, 0.45, 0.55]
    assert [tier_rank(tier) for tier in TIERS] == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("source", "score", "tier"),
    [
        ("ramp", 0.85, "frontier"),
        ("ramp", 0.8499, "strong"),
        ("ramp", 0.80, "strong"),
        ("ramp", 0.7999, "mid"),
        ("ramp", 0.75, "mid"),
        ("ramp", 0.7499, "light"),
        ("aa", 52, "frontier"),
        ("aa", 51.9, "strong"),
        ("aa", 47, "strong"),
        ("aa", 46.9, "mid"),
        ("aa", 40, "mid"),
        ("aa", 39.9, "light"),
        ("aider", 0, "light"),
    ],
)
def test_thresholds_are_the_least_score_of_a_tier(source: BenchmarkSource, score: float, tier: str) -> None:
    assert tier_of(source, score) == tier


@pytest.mark.parametrize(
    ("target", "unset", "ramp", "aa"),
    [
        ("z-ai/glm-5.3", "strong", "strong", "mid"),
        ("deepseek/deepseek-v4-flash-0731", "strong", "mid", "mid"),
        ("qwen/qwen3.8-flash", "mid", "light", "light"),
    ],
)
def test_sources_disagree_and_are_never_mixed(target: str, unset: str, ramp: str, aa: str) -> None:
    found = [ask(target, source) for source in (None, "ramp", "aa")]
    assert [capability.overall for capability in found] == [unset, ramp, aa]
    assert [capability.source for capability in found] == ["catalog", "ramp", "aa"]
    assert [capability.confidence for capability in found] == ["medium", "high", "high"]


def test_a_users_score_stands_in_place_of_the_row_of_its_source() -> None:
    found = ask("openai/gpt-5", "ramp", overrides={"openai/gpt-5": BenchmarkOverride(ramp=0.84)})
    assert (found.overall, found.confidence, found.source, found.score) == ("strong", "high", "ramp", 0.84)
    assert found.as_of is None
    said = {"custom/my-model": BenchmarkOverride(ramp=0.78)}
    assert ask("custom/my-model", "ramp", overrides=said).overall == "mid"
    assert ask("custom/my-model", "aa", overrides=said).overall == "unknown"
    assert ask("openai/gpt-5", "aa", overrides={"openai/gpt-5": BenchmarkOverride(ramp=0.1)}).overall == "frontier"


def test_where_a_benchmark_has_no_score_the_priors_decide() -> None:
    found = ask("openrouter/free", "aa")
    assert (found.overall, found.source, found.confidence) == ("light", "catalog", "low")


def test_abilities_of_a_benchmark_come_from_the_detailed_prior() -> None:
    found = ask("openai/gpt-5.6-luna", "ramp")
    assert [getattr(found, ability) for ability in ABILITIES] == [
        "frontier",
        "frontier",
        "frontier",
        "strong",
        "strong",
    ]
    flash = ask("deepseek/deepseek-v4-flash-0731", "ramp")
    assert [getattr(flash, ability) for ability in ABILITIES] == ["mid", "strong", "strong", "strong", "mid"]
    assert ask("z-ai/glm-5.3", "aa").coding == "mid"


def test_a_model_that_cannot_reason_reasons_lightly() -> None:
    plain = ModelRecord(provider="openai", id="gpt-5", reasoning=False)
    assert capability_of(plain, source="ramp").reasoning == "light"
    assert capability_of(ModelRecord(provider="a", id="b", reasoning=False)).reasoning == "light"
    assert capability_of(ModelRecord(provider="a", id="b")).reasoning == "unknown"


def test_nothing_known_stays_unknown() -> None:
    found = ask("local/llama")
    assert found == Capability(
        overall="unknown",
        coding="unknown",
        reasoning="unknown",
        tool_use="unknown",
        instruction_following="unknown",
        confidence="low",
        source="unknown",
    )
    assert found.describe() == "capability unknown (unknown, low confidence)"


@pytest.mark.parametrize(
    ("target", "tier", "matched"),
    [
        ("gateway/openai/gpt-5", "frontier", "openai/gpt-5"),
        ("openai-codex/gpt-5", "frontier", "openai/gpt-5"),
        ("google-gemini-cli/gemini-flash-latest", "mid", "google/gemini-flash-latest"),
        ("zai/glm-5.3", "strong", "z-ai/glm-5.3"),
    ],
)
def test_a_gateway_and_an_alias_share_what_is_known_of_a_model(target: str, tier: str, matched: str) -> None:
    found = ask(target)
    assert (found.overall, found.matched, found.exact, found.confidence) == (tier, matched, True, "medium")


@pytest.mark.parametrize(
    ("target", "tier"),
    [
        ("anthropic/claude-sonnet-4-20250514", "strong"),
        ("anthropic/claude-haiku-4-5-20251001", "light"),
        ("openrouter/anthropic/claude-sonnet-4-5-20250929", "strong"),
        ("openai/gpt-5-2025-08-07", "frontier"),
    ],
)
def test_a_dated_variant_is_of_its_family_with_less_confidence(target: str, tier: str) -> None:
    """Weakness 4: a catalogue of seventeen exact ids knows none of these."""
    found = ask(target)
    assert (found.overall, found.exact, found.confidence) == (tier, False, "low")


@pytest.mark.parametrize("target", ["openai/gpt-5-mini", "openai/gpt-5.1", "local/claude-sonnet-4-20250514", "x/gpt-5"])
def test_a_similar_name_is_not_taken_for_the_same(target: str) -> None:
    assert ask(target).overall == "unknown"


def test_the_leaderboard_knows_models_that_have_no_prior() -> None:
    found = ask("openai/o3")
    assert (found.overall, found.source, found.score, found.confidence) == ("strong", "aider", 81.3, "medium")
    assert ask("deepseek/deepseek-r1").overall == "mid"
    assert ask("openai/gpt-4o-mini").overall == "light"
    assert ask("openai/gpt-5", "aider").overall == "frontier"


def test_unknown_is_a_range_and_neither_above_nor_below_light() -> None:
    """Weakness 2: as a constant it outranks light in score and ranks below it in filters."""
    unknown, light = ask("local/llama").score_range(), ask("openai/gpt-5.4-nano").score_range()
    assert unknown == ScoreRange(0.45, 0.55, 1.0)
    assert unknown.low <= light.low <= light.likely <= unknown.high


@pytest.mark.parametrize(
    ("tier", "confidence", "expected"),
    [
        ("strong", "high", (0.73, 0.82, 0.91)),
        ("strong", "medium", (0.64, 0.82, 1.0)),
        ("strong", "low", (0.45, 0.82, 1.0)),
        ("frontier", "high", (0.91, 1.0, 1.0)),
        ("light", "high", (0.45, 0.45, 0.545)),
    ],
)
def test_less_confidence_is_a_wider_range(tier: str, confidence: str, expected: tuple[float, float, float]) -> None:
    assert score_range(tier, confidence) == pytest.approx(expected)  # type: ignore[arg-type]


def test_every_figure_has_a_source_with_a_day_and_lies_on_its_scale() -> None:
    assert set(ORIGINS) == {"catalog", *BENCHMARKS}
    assert set(BENCHMARKS) == set(THRESHOLDS)
    assert all(origin.name and origin.as_of for origin in ORIGINS.values())
    most = {"ramp": 1.0, "aa": 100.0, "aider": 100.0}
    assert all(0 <= score <= most[source] for source, rows in BENCHMARKS.items() for score in rows.values())
    assert set(PRIORS) == set(BENCHMARKS["ramp"])
    assert set(PRIORS) >= DETAILED


@pytest.mark.shared
def test_the_leaderboards_rows_are_its_best_runs(shared_data: Path) -> None:
    """Each figure stands in the file that it is from."""
    with (shared_data / "routing" / "aider_polyglot.csv").open(newline="") as file:
        rates = {float(row["pass_rate_2"]) for row in csv.DictReader(file) if row["pass_rate_2"]}
    assert set(BENCHMARKS["aider"].values()) <= rates
