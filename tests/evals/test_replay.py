"""Recorded sessions sent again by other policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.evals.replaying import GROWTH, HARNESS, profile_of, talking
from tests.evals.sessions import growing
from ullage.evals.replay import ALL, Replay, Replayed, replay

if TYPE_CHECKING:
    from pathlib import Path


def played(*paths: Path, tail: int = 3_000, **more: Any) -> Replay:
    return replay(paths, profile_of, tail=tail, **more)


def one(path: Path, **more: Any) -> Replayed:
    [trace] = played(path, **more).traces
    return trace


def test_the_played_cache_reads_what_the_provider_reported(tmp_path: Path) -> None:
    trace = one(talking(tmp_path / "s.jsonl"))
    validation = trace.validation
    assert (validation.calls, validation.expected, validation.read) == (29, validation.read, validation.read)
    assert (validation.agrees, validation.error, validation.causes) == (True, 0.0, {})


def test_a_miss_that_nobody_can_foresee_is_named(tmp_path: Path) -> None:
    path = talking(tmp_path / "s.jsonl", turns=1, calls=4)
    text = path.read_text()
    missed = f'"cacheRead": {HARNESS + GROWTH}, "cacheWrite": {GROWTH}'
    assert missed in text
    path.write_text(text.replace(missed, f'"cacheRead": 0, "cacheWrite": {HARNESS + 2 * GROWTH}'))
    validation = one(path).validation
    assert validation.causes == {"evicted": HARNESS + GROWTH}
    assert not validation.agrees


def test_what_was_recorded_is_sent_whole(tmp_path: Path) -> None:
    figures = one(talking(tmp_path / "s.jsonl")).policies["as-recorded"]
    assert figures.prompt_tokens == sum(HARNESS + GROWTH * number for number in range(30))
    assert (figures.evidence, figures.shared, figures.rewrites, figures.calls) == (1.0, 1.0, 0, 30)


def test_the_tail_that_moves_in_steps_costs_less_and_moves_less_often(tmp_path: Path) -> None:
    policies = one(talking(tmp_path / "s.jsonl", turns=12)).policies
    sliding, auto, whole = policies["sliding"], policies["auto"], policies["as-recorded"]
    assert auto.usd < 0.9 * sliding.usd
    assert auto.rewrites < sliding.rewrites
    assert auto.cache_share > sliding.cache_share
    assert auto.evidence >= sliding.evidence
    assert auto.prompt_tokens < whole.prompt_tokens


def test_the_reference_s_rule_slides_at_usual_prices(tmp_path: Path) -> None:
    policies = one(talking(tmp_path / "s.jsonl")).policies
    assert policies["epoch-v1"] == policies["sliding"]


def test_a_history_within_the_tail_is_sent_by_every_policy_alike(tmp_path: Path) -> None:
    made = played(talking(tmp_path / "s.jsonl", turns=2), tail=50_000)
    [trace] = made.traces
    assert not trace.reaches
    assert len({policy.usd for policy in trace.policies.values()}) == 1
    assert made.pooled == {}


def test_idle_time_empties_the_cache(tmp_path: Path) -> None:
    trace = one(talking(tmp_path / "s.jsonl", wait_ms=400_000))
    assert trace.policies["as-recorded"].read_tokens == 0
    assert trace.validation.expected == 0


def test_a_window_may_be_given(tmp_path: Path) -> None:
    path = talking(tmp_path / "s.jsonl", turns=12)
    wide, narrow = one(path, tail=50_000), one(path, tail=50_000, window=20_000)
    assert (wide.window, narrow.window) == (100_000, 20_000)
    assert narrow.policies["auto"].prompt_tokens < wide.policies["auto"].prompt_tokens


def test_only_what_is_asked_for_is_played(tmp_path: Path) -> None:
    assert set(one(talking(tmp_path / "s.jsonl"), policies=("auto",)).policies) == {"auto"}


def test_figures_add_up_over_files_and_clients(tmp_path: Path) -> None:
    made = played(talking(tmp_path / "a.jsonl"), talking(tmp_path / "b.jsonl", session="t", turns=7))
    first, second = (trace.policies["auto"] for trace in made.traces)
    pooled = made.pooled[ALL]["auto"]
    assert pooled == made.pooled["pi"]["auto"]
    assert pooled.prompt_tokens == first.prompt_tokens + second.prompt_tokens
    assert pooled.usd == pytest.approx(first.usd + second.usd)
    assert made.validation[ALL].calls == 29 + 34


def test_a_model_of_which_nothing_is_known_caches_nothing_and_costs_by_ratios(tmp_path: Path) -> None:
    trace = one(talking(tmp_path / "s.jsonl", provider="nobody", model="unheard-of"))
    assert (trace.priced, trace.window, trace.rule) == (False, 200_000, "unknown")
    whole = trace.policies["as-recorded"]
    assert whole.read_tokens == 0
    assert whole.usd == pytest.approx(whole.prompt_tokens / 1_000_000)


def test_a_provider_that_reports_no_reads_proves_nothing(tmp_path: Path) -> None:
    made = played(growing(tmp_path / "s.jsonl"))
    assert made.traces[0].validation.reported  # it reported zero
    assert made.validation[ALL].error is None


def test_files_that_cannot_be_played_are_named(tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"note": "hello"}\n' * 100)
    made = played(notes, growing(tmp_path / "e.jsonl", calls=0))
    assert made.traces == ()
    assert [skipped.reason.endswith(".") for skipped in made.skipped] == [False, False]
    assert made.skipped[1].reason == "has no calls with usage"
