"""Figures for Prometheus: what calls add up to, in a text that the official client reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ullage.core.terminal import safe
from ullage.stores import AttemptRecord
from ullage.stores.route_records import AttemptAwareness, AttemptMade, AttemptProfile, AttemptRoute
from ullage.telemetry.exposition import Family, Sample, make_labels, render
from ullage.telemetry.figures import MOST_TARGETS, OTHER, Figures

PRICED = AttemptAwareness(profile=AttemptProfile(prices={"input": 1.0, "output": 5.0, "cache_read": 0.1}))
USAGE = {"input_fresh": 2_000, "cache_read": 18_000, "cache_write": 0, "output": 600}


def call(**fields: Any) -> AttemptRecord:
    common: dict[str, Any] = {
        "id": "c1",
        "session": "s",
        "client": "pi",
        "created_ms": 0,
        "kind": "conversation",
        "dialect": "anthropic",
        "provider": "anthropic",
        "model": "haiku",
        "status": 200,
        "outcome": "ok",
        "streamed": True,
        "first_byte_ms": 400.0,
        "duration_ms": 2_500.0,
        "usage": USAGE,
        "awareness": PRICED,
    }
    return AttemptRecord(**(common | fields))


def read(text: str) -> dict[tuple[str, ...], float]:
    """The values of a scrape by name and labels."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()) if value)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(*calls: AttemptRecord) -> dict[tuple[str, ...], float]:
    figures = Figures()
    for one in calls:
        figures.note(one)
    return read(figures.render())


def test_a_call_counts_in_requests_attempts_tokens_cost_and_times() -> None:
    told = scrape(call(), call(duration_ms=9_000.0))
    target = ("anthropic", "haiku")
    assert told["ullage_requests_total", "pi", "anthropic", "conversation", "ok"] == 2
    assert told["ullage_attempts_total", "haiku", "anthropic", "200"] == 2
    assert told["ullage_tokens_total", "cache_read", "haiku", "anthropic"] == 36_000
    assert told["ullage_cost_usd_total", "haiku", "anthropic"] == pytest.approx(2 * 0.0068)
    assert told["ullage_request_seconds_count", *target[::-1]] == 2
    assert told["ullage_request_seconds_sum", *target[::-1]] == 11.5
    assert told["ullage_request_seconds_bucket", "4", "haiku", "anthropic"] == 1
    assert told["ullage_request_seconds_bucket", "+Inf", "haiku", "anthropic"] == 2
    assert told["ullage_first_output_seconds_bucket", "0.5", "haiku", "anthropic"] == 2


def test_a_failover_counts_at_the_target_that_failed() -> None:
    made = (
        AttemptMade(target="openai/gpt", status=429, failure="rate-limit"),
        AttemptMade(target="anthropic/haiku", status=200, ms_to_first=90.0, committed=True),
    )
    told = scrape(call(route=AttemptRoute(target="anthropic/haiku", attempts=made)))
    assert told["ullage_attempts_total", "rate-limit", "gpt", "openai", "429"] == 1
    assert told["ullage_failovers_total", "gpt", "openai"] == 1
    assert told["ullage_attempts_total", "haiku", "anthropic", "200"] == 1
    assert told["ullage_first_output_seconds_bucket", "0.1", "haiku", "anthropic"] == 1


def test_what_is_not_known_is_not_counted_as_nothing() -> None:
    told = scrape(call(awareness=None), call(outcome="error", status=500, usage=None), call(outcome="answered"))
    assert told["ullage_unpriced_requests_total", "haiku", "anthropic"] == 1
    assert ("ullage_cost_usd_total", "haiku", "anthropic") not in told
    assert told["ullage_request_seconds_count", "haiku", "anthropic"] == 1
    assert told["ullage_attempts_total", "error", "haiku", "anthropic", "500"] == 1


def test_ever_new_names_of_models_are_told_together_and_sessions_never() -> None:
    calls = [call(model=f"m{number}", session=f"secret-{number}") for number in range(MOST_TARGETS + 50)]
    figures = Figures()
    for one in calls:
        figures.note(one)
    text = figures.render()
    told = read(text)
    assert told["ullage_cost_usd_total", OTHER, OTHER] == pytest.approx(50 * 0.0068)
    assert len({key for key in told if key[0] == "ullage_cost_usd_total"}) == MOST_TARGETS + 1
    assert "secret" not in text


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False))
def test_any_label_and_value_is_read_back_as_it_was(label: str, value: float) -> None:
    label = safe(label)  # as names are when a call is recorded
    family = Family(name="x", kind="gauge", says="line\nbreak \\", samples=(Sample(make_labels(model=label), value),))
    (found,) = text_string_to_metric_families(render([family]))
    (sample,) = found.samples
    assert (sample.labels, sample.value) == ({"model": label}, value)


def test_families_without_samples_are_left_out() -> None:
    assert [family.name for family in text_string_to_metric_families(Figures().render())] == ["ullage_build_info"]
