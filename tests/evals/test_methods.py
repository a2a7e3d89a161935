"""The estimates that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.evals.sessions import OPENAI, OUTPUT_TOKENS, PREFIX_TOKENS, growing, tokens, words
from ullage.core.calibration import Key
from ullage.evals.methods import (
    METHODS,
    Place,
    anchored_estimate,
    fit_constant,
    follow,
    session_denominator,
    text_estimate,
)
from ullage.evals.recordings import Recording, read_recording

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return read_recording(growing(tmp_path / "s.jsonl", calls=12, a=30))


@pytest.mark.parametrize(
    ("provider", "model", "dialect", "denominator"),
    [
        ("anthropic", "claude-opus-4-5", "anthropic", 3.5),
        ("", "claude-3-5-sonnet-20241022", "anthropic", 3.5),
        ("anthropic", "claude-opus-4-7", "anthropic", 2.6),
        ("anthropic", "claude-opus-5", "anthropic", 2.6),
        ("openai", "gpt-5.5", "openai-responses", 4),
        ("zai", "glm-5.2", None, 4),
    ],
)
def test_session_text_is_divided_as_the_seed_does(
    provider: str, model: str, dialect: str | None, denominator: float
) -> None:
    """Accounting specification, section 4.1."""
    assert session_denominator(provider, model, dialect) == denominator


def test_the_whole_text_is_estimated_by_characters_or_tokens(recording: Recording) -> None:
    call = recording.calls[1]
    chars = len("Go.yes") + len(words(0))
    assert text_estimate("chars/4", call) == -(-chars // 4)
    assert text_estimate("seed", call) == -(-chars // 4)
    assert text_estimate("o200k", call) == tokens("Go.") + tokens("yes") + tokens(words(0))


def test_the_constant_is_the_median_of_what_the_estimates_miss(recording: Recording) -> None:
    """Section 16.1. What the text does not explain grows with every call, so half of the calls lie on either side."""
    constant = fit_constant("o200k", recording.calls)
    misses = [call.prompt - text_estimate("o200k", call) - constant for call in recording.calls]
    assert sum(miss > 0 for miss in misses) == sum(miss < 0 for miss in misses)


def test_estimates_from_the_last_usage_add_what_is_new(recording: Recording) -> None:
    call = recording.calls[1]
    assert call.growing is not None
    text = words(0)
    estimates = {m: anchored_estimate(m, call, call.growing) for m in ("usage+chars/4", "usage+o200k", "family")}
    assert estimates["usage+chars/4"] == PREFIX_TOKENS + OUTPUT_TOKENS + -(-len(text) // 4)
    assert estimates["usage+o200k"] == PREFIX_TOKENS + OUTPUT_TOKENS + tokens(text)
    assert estimates["family"] == PREFIX_TOKENS + OUTPUT_TOKENS + tokens(text) + 12


def test_a_learned_method_misses_less_and_less(recording: Recording) -> None:
    judged = follow("growth-v1", [recording]).judged
    errors = [abs(judged[Place(0, number)].tokens - recording.calls[number].prompt) for number in range(1, 12)]
    assert errors[0] == 30 - 12
    assert errors[-1] <= 1


def test_a_call_is_judged_before_it_is_learned_from(recording: Recording) -> None:
    """What comes later changes nothing of what was expected earlier."""
    whole = follow("growth-v1", [recording]).judged
    part = Recording(
        path=recording.path, client=recording.client, handmade=recording.handmade, calls=recording.calls[:6]
    )
    first = follow("growth-v1", [part]).judged
    assert first == {place: judged for place, judged in whole.items() if place.call < 6}


def test_what_one_session_taught_serves_the_next(tmp_path: Path) -> None:
    """The second file is first in the list, but later in time."""
    late, early = (
        read_recording(growing(tmp_path / f"{name}.jsonl", session=name, timestamp=time))
        for name, time in (("late", 1_790_000_000_000), ("early", 1_780_000_000_000))
    )
    learned, fresh = (follow(method, [late, early]).judged for method in ("growth-v1", "growth-v1-fresh"))
    first = Place(0, 1)
    assert abs(learned[first].tokens - late.calls[1].prompt) <= 1
    assert abs(fresh[first].tokens - late.calls[1].prompt) == 30 - 12


def test_a_state_is_kept_for_provider_model_estimator_and_client(recording: Recording) -> None:
    states = follow("growth-v1-o200k", [recording]).states
    key = Key(
        method="growth-v1",
        provider=OPENAI["provider"],
        model=OPENAI["model"],
        estimator="o200k-base-v1",
        client="pi",
    )
    assert list(states) == [(key, "")]


def test_every_method_has_a_name_for_people() -> None:
    assert len(set(METHODS.values())) == len(METHODS)
