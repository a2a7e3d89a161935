"""LiteLLM's catalogue, distilled: rows of the real file."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.catalogs.litellm import distil_litellm
from ullage.core.errors import InputError
from ullage.core.profiles import ModelFacts, Prices, PriceTier

Rows = dict[str, dict[str, ModelFacts]]


@pytest.fixture(scope="module")
def rows(litellm_json: bytes) -> Rows:
    return distil_litellm(litellm_json)


def test_an_entry_is_read_in_tokens_and_usd_per_million(rows: Rows) -> None:
    assert rows["anthropic"]["claude-sonnet-4-5"] == ModelFacts(
        max_input_tokens=200_000,
        max_output_tokens=64_000,
        reasoning=True,
        images=True,
        tools=True,
        prices=Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, cache_write_1h=6.0),
        cache_minimum_tokens=1_024,
    )


def test_what_an_entry_does_not_say_is_not_said(rows: Rows) -> None:
    assert rows["chatgpt"]["gpt-5.5"].prices is None
    assert rows["openai"]["gpt-4o"].reasoning is None


@pytest.mark.parametrize(
    ("provider", "model", "tiers"),
    [
        (
            "openai",
            "gpt-5.6-terra",
            (PriceTier(above=272_000, input=4.0, output=18.0, cache_read=0.4, cache_write=5.0),),
        ),
        ("gemini", "gemini-2.5-pro", (PriceTier(above=200_000, input=2.5, output=15.0, cache_read=0.25),)),
        ("dashscope", "qwen-flash", (PriceTier(above=256_000, input=0.25, output=2.0),)),
        ("anthropic", "claude-sonnet-4-5", ()),
    ],
)
def test_prices_of_long_prompts_are_tiers(rows: Rows, provider: str, model: str, tiers: tuple[PriceTier, ...]) -> None:
    prices = rows[provider][model].prices
    assert prices is not None
    assert prices.tiers == tiers


def test_prices_of_batches_and_of_priority_are_not_taken_for_the_usual_ones(rows: Rows) -> None:
    assert rows["openai"]["gpt-5"].prices == Prices(input=1.25, output=10.0, cache_read=0.125)


def test_an_hour_in_the_cache_has_its_tier_too(rows: Rows) -> None:
    prices = rows["anthropic"]["claude-haiku-5-5"].prices
    assert prices is not None
    assert prices.tiers[0].above == 100_000
    assert prices.tiers[0].cache_write_1h is not None


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-5"),
        ("gemini", "gemini-2.5-pro"),
        ("vertex_ai", "gemini-2.5-pro"),
        ("vertex_ai", "claude-sonnet-4-5@20250929"),
        ("groq", "openai/gpt-oss-120b"),
        ("fireworks_ai", "accounts/fireworks/models/deepseek-v3-0324"),
        ("azure", "eu/gpt-4o"),
        ("bedrock_converse", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("together_ai", "deepseek-ai/DeepSeek-V4.1-Flash"),
        ("ollama", "llama3.1"),
    ],
)
def test_models_are_filed_under_the_id_that_is_sent_to_their_provider(rows: Rows, provider: str, model: str) -> None:
    assert model in rows[provider]


def test_of_two_entries_for_one_model_the_one_that_names_the_provider_has_the_word(rows: Rows) -> None:
    prices = rows["deepseek"]["deepseek-chat"].prices
    assert prices is not None
    assert prices.cache_write == 0.0  # said by `deepseek/deepseek-chat` alone


def test_an_alias_is_what_it_stands_for(rows: Rows) -> None:
    assert rows["anthropic"]["claude-sonnet-latest"] == rows["anthropic"]["claude-sonnet-5-5"]
    assert rows["bedrock"]["claude-fable-latest"].max_input_tokens == 1_000_000


def test_only_models_that_converse_are_kept(rows: Rows) -> None:
    every = {model for models in rows.values() for model in models}
    assert every.isdisjoint(
        {"sample_spec", "text-embedding-3-small", "omni-moderation-latest", "gpt-realtime-2.1-2026-07-07"}
    )


def test_a_limit_of_zero_is_not_said(rows: Rows) -> None:
    assert rows["vercel_ai_gateway"]["amazon/titan-embed-text-v2"].max_input_tokens is None


def test_a_minimum_written_as_a_float_is_a_number_of_tokens(rows: Rows) -> None:
    assert rows["vertex_ai"]["gemini-3.1-pro-preview"].cache_minimum_tokens == 4_096


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b"{}", b'{"a": 1}', b'{"sample_spec": {}}', b'{"a": {}}'])
def test_what_is_no_catalogue_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="LiteLLM"):
        distil_litellm(data)


def test_a_bound_that_no_prompt_reaches_makes_no_tier() -> None:
    entry = {"mode": "chat", "litellm_provider": "p", "input_cost_per_token": 1e-6}
    entry[f"input_cost_per_token_above_{'9' * 30}k_tokens"] = 2e-6
    assert distil_litellm(msgspec.json.encode({"m": entry}))["p"]["m"].prices == Prices(input=1.0)


@pytest.mark.parametrize("steps", [[], [7], [{"range": []}], [{"range": [0], "input_cost_per_token": -1}]])
def test_steps_that_cannot_be_read_are_no_prices(steps: list[object]) -> None:
    entry = {"mode": "chat", "litellm_provider": "p", "max_input_tokens": 8_192, "tiered_pricing": steps}
    assert distil_litellm(msgspec.json.encode({"m": entry}))["p"]["m"].prices is None


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
fields = st.sampled_from(
    [
        "max_input_tokens",
        "input_cost_per_token",
        "input_cost_per_token_above_200k_tokens",
        "tiered_pricing",
        "supports_vision",
        "litellm_provider",
        "alias_of",
        "prompt_cache_min_tokens",
    ]
)


@given(st.dictionaries(fields, odd))
def test_an_odd_entry_never_keeps_the_others_from_being_read(entry: dict[str, object]) -> None:
    good = {"mode": "chat", "litellm_provider": "openai", "max_input_tokens": 128_000}
    data = msgspec.json.encode({"odd": {"mode": "chat", **entry}, "gpt-4o": good})
    assert distil_litellm(data)["openai"]["gpt-4o"] == ModelFacts(max_input_tokens=128_000)
