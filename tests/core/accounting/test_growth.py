"""Accounting specification, section 24."""

from __future__ import annotations

import pytest

from ullage.core.accounting import grown, make_meter, next_prompt
from ullage.core.profiles import Growth


def test_nothing_learned_means_one_token_a_token() -> None:
    assert grown(Growth(), output=40, new_tokens=100) == 140


@pytest.mark.parametrize(
    ("provider", "model", "k", "b"),
    [
        ("openai", "gpt-5.6-sol", 1.00, 1.00),
        ("anthropic", "claude-opus-4-5", 1.245, 1.00),
        ("anthropic", "claude-opus-4-8", 1.60, 1.00),
        ("zai", "glm-5.2", 1.015, 0.95),
        (None, "no such model", 1.00, 1.00),
    ],
)
def test_a_family_brings_its_prior(provider: str, model: str, k: float, b: float) -> None:
    growth = make_meter(dialect=None, provider=provider, model=model, client=None).growth
    assert (growth.k, growth.b) == (k, b)


def test_the_next_prompt_is_anchored_on_the_last_one() -> None:
    growth = Growth(k=1.0, b=1.0, a=12.0, error=0.1)
    total = next_prompt(growth, prompt=10_000, output=88, new_tokens=900, new_low=800, new_high=1_000)
    assert (total.tokens, total.kind) == (11_000, "estimate")
    assert total.low == 10_900 - 100
    assert total.high == 11_100 + 100


def test_a_call_without_news_grows_by_its_answer() -> None:
    total = next_prompt(Growth(), prompt=10_000, output=88, new_tokens=0, new_low=0, new_high=0)
    assert total.tokens == 10_088
