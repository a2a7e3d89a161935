"""What providers and local servers answer when they are asked for their models."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.catalogs.reported import LONGEST_ID, MOST_MODELS, read_model, read_models
from ullage.core.profiles import ModelFacts, Prices, PriceTier

OPENROUTER = {
    "id": "openai/gpt-6-astra",
    "canonical_slug": "openai/gpt-6-astra-20260901",
    "context_length": 1_050_000,
    "architecture": {"input_modalities": ["text", "image", "file"], "output_modalities": ["text"]},
    "pricing": {
        "prompt": "0.00001",
        "completion": "0.00005",
        "input_cache_read": "0.000001",
        "input_cache_write": "0.0000125",
        "web_search": "0.01",
        "overrides": [
            {"min_prompt_tokens": 272_000, "prompt": "0.00002", "completion": "0.000075"},
            {"utc_days": ["saturday"], "min_prompt_tokens": 1, "prompt": "0.000001"},
        ],
    },
    "top_provider": {"context_length": 1_050_000, "max_completion_tokens": 128_000, "is_moderated": True},
    "supported_parameters": ["include_reasoning", "reasoning", "tool_choice", "tools"],
}
ANTHROPIC = {
    "type": "model",
    "id": "claude-sonnet-5-5",
    "display_name": "Claude Sonnet 5.5",
    "max_input_tokens": 1_000_000,
    "max_tokens": 128_000,
    "capabilities": {"image_input": {"supported": True}, "thinking": {"supported": True}},
}
GEMINI = {
    "name": "models/gemini-2.5-pro",
    "inputTokenLimit": 1_048_576,
    "outputTokenLimit": 65_536,
    "supportedGenerationMethods": ["generateContent"],
    "thinking": True,
}
COPILOT = {
    "id": "gpt-5.5",
    "capabilities": {
        "type": "chat",
        "limits": {
            "max_context_window_tokens": 1_050_000,
            "max_prompt_tokens": 922_000,
            "max_output_tokens": 128_000,
        },
        "supports": {"tool_calls": True, "vision": True, "streaming": True},
    },
}
MISTRAL = {
    "id": "mistral-large-2512",
    "capabilities": {"completion_chat": True, "function_calling": True, "vision": False},
    "max_context_length": 262_144,
}


def test_openrouter_says_nearly_everything() -> None:
    assert read_model(OPENROUTER) == ModelFacts(
        context_window=1_050_000,
        max_output_tokens=128_000,
        reasoning=True,
        images=True,
        tools=True,
        prices=Prices(
            input=10.0,
            output=50.0,
            cache_read=1.0,
            cache_write=12.5,
            tiers=(PriceTier(above=272_000, input=20.0, output=75.0),),
        ),
    )


@pytest.mark.parametrize(
    ("item", "facts"),
    [
        (
            ANTHROPIC,
            ModelFacts(max_input_tokens=1_000_000, max_output_tokens=128_000, images=True, reasoning=True),
        ),
        (GEMINI, ModelFacts(max_input_tokens=1_048_576, max_output_tokens=65_536, reasoning=True)),
        (
            COPILOT,
            ModelFacts(
                context_window=1_050_000,
                max_input_tokens=922_000,
                max_output_tokens=128_000,
                images=True,
                tools=True,
            ),
        ),
        (MISTRAL, ModelFacts(context_window=262_144, images=False, tools=True)),
        (
            {"id": "m", "context_window": 131_072, "max_completion_tokens": 65_536},
            ModelFacts(context_window=131_072, max_output_tokens=65_536),
        ),
        (
            {"id": "kimi-k3", "context_length": 262_144, "supports_image_in": True, "supports_reasoning": True},
            ModelFacts(context_window=262_144, images=True, reasoning=True),
        ),
        ({"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 40_960}, ModelFacts(context_window=40_960)),
    ],
    ids=["anthropic", "gemini", "copilot", "mistral", "groq", "moonshot", "vllm"],
)
def test_each_shape_is_read(item: dict[str, Any], facts: ModelFacts) -> None:
    assert read_model(item) == facts


def test_a_local_server_s_window_is_what_it_allocated_and_not_what_was_trained() -> None:
    trained = {"id": "m", "meta": {"n_ctx_train": 262_144}}
    assert read_model(trained) == ModelFacts()
    assert read_model({"id": "m", "meta": {"n_ctx": 32_768, "n_ctx_train": 262_144}}).context_window == 32_768
    not_loaded = {"id": "m", "state": "not-loaded", "max_context_length": 131_072}
    assert read_model(not_loaded).context_window is None
    loaded = not_loaded | {"state": "loaded", "loaded_context_length": 4_096}
    assert read_model(loaded).context_window == 4_096


@pytest.mark.parametrize(
    ("pricing", "prices"),
    [
        ({"prompt": "0", "completion": "0"}, Prices(input=0.0, output=0.0)),
        ({"prompt": "-1", "completion": "-1"}, None),
        ({"input": 0.3, "output": 0.3}, None),
        ("cheap", None),
    ],
    ids=["free", "it depends", "another unit", "a word"],
)
def test_prices_are_read_where_they_are_per_token(pricing: Any, prices: Prices | None) -> None:
    assert read_model({"id": "m", "pricing": pricing}).prices == prices


@pytest.mark.parametrize("wrap", [lambda items: {"data": items}, lambda items: {"models": items}, lambda items: items])
def test_a_list_stands_under_data_or_models_or_alone(wrap: Any) -> None:
    payload = msgspec.json.encode(wrap([ANTHROPIC, GEMINI, {"id": "names-itself-only"}]))
    assert set(read_models(payload)) == {"claude-sonnet-5-5", "gemini-2.5-pro"}


def test_codex_calls_an_id_a_slug() -> None:
    assert set(read_models(b'{"models": [{"slug": "gpt-5.3-codex", "context_window": 400000}]}')) == {"gpt-5.3-codex"}


def test_what_is_kept_of_one_answer_is_bounded() -> None:
    items = [{"id": f"m{number}", "context_length": 4_096} for number in range(MOST_MODELS + 10)]
    items.insert(0, {"id": "x" * (LONGEST_ID + 1), "context_length": 4_096})
    assert len(read_models(msgspec.json.encode(items))) == MOST_MODELS


@pytest.mark.parametrize("payload", [b"", b"<html>", b"[" * 100_000, b'{"data": 5}', b'{"data": [5, {"id": 7}]}'])
def test_any_answer_can_be_read(payload: bytes) -> None:
    assert read_models(payload) == {}


@given(st.binary(max_size=200))
def test_no_answer_ever_raises(payload: bytes) -> None:
    assert isinstance(read_models(payload), dict)
