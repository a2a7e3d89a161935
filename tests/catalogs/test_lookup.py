"""What sources say of real models, and what a profile makes of it: rows of both catalogues."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.catalogs import Catalogs
from ullage.catalogs.lookup import find_dated, undated
from ullage.core.profiles import ModelFacts, ModelProfile, resolve_profile


def profile(catalogs: Catalogs, key: str) -> ModelProfile:
    provider, _, model = key.partition("/")
    return resolve_profile(provider, model, layers=catalogs.layers(provider, model))


@pytest.mark.parametrize(
    ("key", "window", "most_input", "answer"),
    [
        ("openai/gpt-5", 400_000, 272_000, 128_000),
        ("openai/gpt-5.6-terra", 1_050_000, 922_000, 128_000),
        ("openai/gpt-4o", 128_000, None, 16_384),
        ("openai/gpt-4.1", 1_047_576, None, 32_768),
        ("openai/o3", 200_000, None, 100_000),
        ("anthropic/claude-sonnet-4-5", 200_000, None, 64_000),
        ("google/gemini-2.5-pro", 1_048_576, None, 65_536),
        ("deepseek/deepseek-chat", 131_072, None, 8_192),
        ("mistral/codestral-2508", 128_000, None, 128_000),
        ("groq/openai/gpt-oss-120b", 131_072, None, 65_536),
        ("google-vertex/claude-sonnet-4-5@20250929", 200_000, None, 64_000),
        ("amazon-bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, None, 64_000),
    ],
)
def test_an_exact_id_decides(catalogs: Catalogs, key: str, window: int, most_input: int | None, answer: int) -> None:
    found = profile(catalogs, key)
    assert (found.context_window, found.max_input_tokens, found.max_output_tokens) == (window, most_input, answer)
    assert all(origin.exact for origin in found.sources.values())


def test_a_gateway_s_model_has_its_own_window_and_price_and_the_maker_s_longest_answer(catalogs: Catalogs) -> None:
    found = profile(catalogs, "openrouter/openai/gpt-4o-mini")
    assert (found.context_window, found.max_output_tokens) == (128_000, 16_384)
    assert found.sources["context_window"].exact
    assert found.sources["input_price"].source == "genai-prices"
    answer = found.sources["max_output_tokens"]
    assert (answer.source, answer.exact, answer.detail) == ("litellm", False, "openai/gpt-4o-mini (2026-11-30)")


def test_a_gateway_s_larger_window_is_not_cut_by_the_maker_s(catalogs: Catalogs) -> None:
    found = profile(catalogs, "openrouter/anthropic/claude-sonnet-4.5")
    assert (found.context_window, found.max_input_tokens) == (1_000_000, None)
    assert found.sources["max_output_tokens"].detail.startswith("anthropic/claude-sonnet-4-5 ")


def test_an_input_limit_of_the_maker_holds_at_a_gateway_where_it_adds_up(catalogs: Catalogs) -> None:
    found = profile(catalogs, "openrouter/openai/gpt-5.6-terra")
    assert (found.context_window, found.max_input_tokens) == (1_050_000, 922_000)


def test_an_id_filed_under_another_one_has_its_price_and_not_its_window(catalogs: Catalogs) -> None:
    litellm, price, window = catalogs.layers("openai", "gpt-5-chat-latest")
    assert (price.exact, price.matched, price.facts.context_window) == (True, "gpt-5", None)
    assert (window.exact, window.facts) == (False, ModelFacts(context_window=400_000))
    assert profile(catalogs, "openai/gpt-5-chat-latest").context_window == 128_000
    assert litellm.exact


@pytest.mark.parametrize(
    ("key", "window", "matched"),
    [
        ("anthropic/claude-opus-4-5-20251101", 200_000, "claude-opus-4-5 "),
        ("google-vertex/gemini-2.5-pro@20250617", 1_048_576, "gemini-2.5-pro "),
        ("azure/gpt-4o-2024-08-06", 128_000, "openai/gpt-4o-2024-08-06 "),
        ("10.0.0.7:4000/claude-sonnet-4-5", 200_000, "anthropic/claude-sonnet-4-5 "),
        ("10.0.0.7:4000/anthropic/claude-sonnet-4-5", 200_000, "anthropic/claude-sonnet-4-5 "),
        ("minimax/minimax-m2", 200_000, "MiniMax-M2 "),
    ],
)
def test_the_likely_same_model_is_used_and_marked(catalogs: Catalogs, key: str, window: int, matched: str) -> None:
    found = profile(catalogs, key)
    origin = found.sources["context_window"]
    assert (found.context_window, origin.exact) == (window, False)
    assert origin.detail.startswith(matched)


@pytest.mark.parametrize(
    "key",
    [
        "10.0.0.7:8000/llama",
        "localhost:11434/gpt-oss:20b",
        "openai/gpt-4o-nano",
        "openai/gpt-4o-2023-01-01-preview",
        "anthropic/claude-sonnet-4",
        "groq/anthropic/claude",
        "openrouter/groq/gpt-5",
    ],
)
def test_a_similar_name_is_no_match(catalogs: Catalogs, key: str) -> None:
    assert profile(catalogs, key).context_window is None


def test_what_a_provider_said_holds_for_the_dated_id_too_and_is_marked(catalogs: Catalogs) -> None:
    catalogs.note_models("10.0.0.7:4000", b'{"data": [{"id": "own-model", "context_length": 65536}]}')
    (layer,) = catalogs.layers("10.0.0.7:4000", "own-model-20261101")
    assert (layer.exact, layer.matched, layer.facts.context_window) == (False, "own-model", 65_536)


def test_a_subscription_has_no_price_from_elsewhere(catalogs: Catalogs) -> None:
    found = profile(catalogs, "openai-codex/gpt-5.1-codex")
    assert found.context_window is not None
    assert found.prices.input is None
    assert profile(catalogs, "github-copilot/gpt-4o").prices.input is None


def test_a_variant_of_a_gateway_has_no_price_from_elsewhere(catalogs: Catalogs) -> None:
    found = profile(catalogs, "openrouter/openai/gpt-4o:free")
    assert (found.context_window, found.prices.input) == (128_000, None)


@pytest.mark.parametrize(
    ("model", "plain"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-v20250514", "claude-sonnet-4"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("Grok-4.3", "grok-4.3"),
        ("kimi-k2-0905", "kimi-k2-0905"),
    ],
)
def test_a_date_is_eight_digits_or_three_groups(model: str, plain: str) -> None:
    assert undated(model) == plain


@pytest.mark.parametrize(
    ("ids", "model", "found"),
    [
        (["gpt-4o-mini", "gpt-4o-2024-05-13", "gpt-4o-2024-08-06"], "gpt-4o", "gpt-4o-2024-08-06"),
        (["claude-sonnet-4-20250514"], "claude-sonnet-4", "claude-sonnet-4-20250514"),
        (["claude-sonnet-4-5"], "claude-sonnet-4", None),
        (["claude-sonnet-4-5-20250929"], "claude-sonnet-4", None),
        (["gemini-2.5-flash-lite"], "gemini-2.5-flash", None),
        (["gpt-4o", "gpt-4o-2024-05-13"], "gpt-4o-2024-08-06", "gpt-4o"),
        (["gpt-4o-2024-05-13"], "gpt-4o-2024-08-06", None),
        ([], "llama", None),
    ],
)
def test_a_date_is_added_or_left_out_and_never_changed(ids: list[str], model: str, found: Any) -> None:
    assert find_dated(dict.fromkeys(ids, ModelFacts()), model) == found
