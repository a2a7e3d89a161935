"""What a provider's own list of models says, in the shapes in which providers and local servers answer `/v1/models`.

OpenAI, Ollama and most others name models only. The places below are those of Anthropic, Google, OpenRouter, Groq, Mistral,
Moonshot, GitHub Copilot, vLLM, llama.cpp and LM Studio. llama.cpp's `n_ctx_train` and LM Studio's `max_context_length` are what
the model was trained for, which a server seldom allocates: they are not read.
"""

from __future__ import annotations

from typing import Any

from ullage.core.profiles import ModelFacts, Prices, PriceTier
from ullage.core.wire.jsontext import decode

from .values import a_bool, a_price, a_token_count

MOST_MODELS = 5_000
"""Models that are kept of one provider."""

LONGEST_ID = 300
"""Characters of an id; a longer one is none."""

_WINDOWS = (
    "context_length",
    "context_window",
    "max_model_len",
    "loaded_context_length",
    "meta.n_ctx",
    "capabilities.limits.max_context_window_tokens",
)
_TRAINED_OR_SERVED = "max_context_length"
_INPUTS = ("max_input_tokens", "inputTokenLimit", "capabilities.limits.max_prompt_tokens")
_OUTPUTS = (
    "top_provider.max_completion_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_output_length",
    "outputTokenLimit",
    "capabilities.limits.max_output_tokens",
)
_FLAGS = {
    "reasoning": ("capabilities.thinking.supported", "thinking", "supports_reasoning"),
    "images": (
        "capabilities.image_input.supported",
        "capabilities.vision",
        "capabilities.supports.vision",
        "supports_image_in",
        "supports_image_input",
    ),
    "tools": ("capabilities.function_calling", "capabilities.supports.tool_calls", "supports_tools"),
}
# Lists whose members say what a model can: the list, and the member to look for.
_LISTS = {
    "reasoning": (("supported_parameters", "reasoning"),),
    "images": (("architecture.input_modalities", "image"), ("input_modalities", "image")),
    "tools": (("supported_parameters", "tools"),),
}
# OpenRouter's prices, USD per token as text.
_PRICES = {
    "input": "prompt",
    "output": "completion",
    "cache_read": "input_cache_read",
    "cache_write": "input_cache_write",
}
_BOUND = "min_prompt_tokens"
_PER_MILLION = 1_000_000


def read_models(payload: bytes) -> dict[str, ModelFacts]:
    """What the answer says of each model, by its id; models of which it says nothing are left out. Never raises."""
    body = decode(payload)
    if isinstance(body, dict):
        body = body.get("data", body.get("models"))
    found: dict[str, ModelFacts] = {}
    for item in body if isinstance(body, list) else ():
        model = _model_id(item)
        facts = read_model(item) if model else ModelFacts()
        if facts != ModelFacts():
            found[model] = facts
        if len(found) >= MOST_MODELS:
            break
    return found


def read_model(item: dict[str, Any]) -> ModelFacts:
    """The facts of one entry of a list of models."""
    prices = _prices(item.get("pricing"))
    return ModelFacts(
        context_window=_first_count(item, _windows_of(item)),
        max_input_tokens=_first_count(item, _INPUTS),
        # Anthropic's name of it; where others write `max_tokens`, it may be anything.
        max_output_tokens=_first_count(item, (*_OUTPUTS, *(("max_tokens",) if "max_input_tokens" in item else ()))),
        reasoning=_flag(item, "reasoning"),
        images=_flag(item, "images"),
        tools=_flag(item, "tools"),
        prices=prices if prices != Prices() else None,
    )


def _model_id(item: Any) -> str:
    """The id that requests name; Google puts `models/` before it, Codex calls it a slug."""
    if not isinstance(item, dict):
        return ""
    for key in ("id", "slug", "name"):
        model = item.get(key)
        if isinstance(model, str):
            model = model.removeprefix("models/")
            return model if 0 < len(model) <= LONGEST_ID else ""
    return ""


def _windows_of(item: dict[str, Any]) -> tuple[str, ...]:
    """Where the window stands. An entry with a `state` is LM Studio's, whose largest window is that of the training."""
    return _WINDOWS if "state" in item else (*_WINDOWS, _TRAINED_OR_SERVED)


def _first_count(item: dict[str, Any], places: tuple[str, ...]) -> int | None:
    return next((count for place in places if (count := a_token_count(_at(item, place))) is not None), None)


def _flag(item: dict[str, Any], name: str) -> bool | None:
    for place in _FLAGS[name]:
        flag = a_bool(_at(item, place))
        if flag is not None:
            return flag
    for place, member in _LISTS[name]:
        members = _at(item, place)
        if isinstance(members, list):
            return member in members
    return None


def _at(item: Any, place: str) -> Any:
    for name in place.split("."):
        item = item.get(name) if isinstance(item, dict) else None
    return item


def _prices(pricing: Any) -> Prices:
    if not isinstance(pricing, dict):
        return Prices()
    overrides = pricing.get("overrides")
    tiers = [tier for tier in map(_tier, overrides if isinstance(overrides, list) else ()) if tier is not None]
    return Prices(**_parts(pricing), tiers=tuple(sorted(tiers, key=lambda tier: tier.above)))


def _tier(override: Any) -> PriceTier | None:
    """A price for long prompts; prices of certain hours or days are not told apart here."""
    if not isinstance(override, dict) or any(key.startswith("utc_") for key in override):
        return None
    above, parts = a_token_count(override.get(_BOUND)), _parts(override)
    return PriceTier(above=above, **parts) if above is not None and parts else None


def _parts(pricing: dict[str, Any]) -> dict[str, float]:
    prices = {part: a_price(pricing.get(name), _PER_MILLION) for part, name in _PRICES.items()}
    return {part: price for part, price in prices.items() if price is not None}
