"""LiteLLM's catalogue of models, distilled: language models only, tokens and USD per million, by provider.

Fields as in the file of litellm 1.110.2. Costs are per token there. A cost for long prompts has the bound in its name
(`_above_200k_tokens`), or stands in `tiered_pricing`. `max_tokens` is not read: in older files it means the input or the output.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ullage.core.errors import InputError
from ullage.core.profiles import ModelFacts, Prices, PriceTier

from .values import a_bool, a_price, a_token_count

if TYPE_CHECKING:
    from collections.abc import Iterable

LITELLM: Final = "litellm"
"""The name of this source."""

# Kinds of models that take a conversation; an alias has the kind of the row it stands for.
_MODES = frozenset({"chat", "responses", "completion"})
_COSTS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
}
_PART_OF = {cost: part for part, cost in _COSTS.items()}
_ABOVE = re.compile(r"(?P<cost>.+)_above_(?P<thousands>\d+)k_tokens")
_PER_MILLION = 1_000_000

_DECODER = msgspec.json.Decoder(dict[str, dict[str, Any]])


def distil_litellm(data: bytes) -> dict[str, dict[str, ModelFacts]]:
    """What the catalogue says of each provider's models, by the id that is sent to the provider.

    Raises `InputError` if this is not the catalogue, or one without any model.
    """
    try:
        rows = _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise InputError(f"LiteLLM's catalogue cannot be read: {error}.") from error
    rows.pop("sample_spec", None)
    found: dict[str, dict[str, ModelFacts]] = {}
    for key, row in rows.items():
        target = rows.get(row["alias_of"], {}) if isinstance(row.get("alias_of"), str) else row
        facts = read_row(target)
        provider = _provider(key, target)
        if provider and facts != ModelFacts():
            _put(found, provider, key, facts)
    if not found:
        raise InputError("LiteLLM's catalogue holds no model.")
    return found


def read_row(row: dict[str, Any]) -> ModelFacts:
    """The facts of one entry; nothing if it is no language model."""
    if row.get("mode") not in _MODES:
        return ModelFacts()
    prices = _prices(row)
    return ModelFacts(
        max_input_tokens=a_token_count(row.get("max_input_tokens")),
        max_output_tokens=a_token_count(row.get("max_output_tokens")),
        reasoning=a_bool(row.get("supports_reasoning")),
        images=a_bool(row.get("supports_vision")),
        tools=a_bool(row.get("supports_function_calling")),
        prices=prices if prices != Prices() else None,
        cache_minimum_tokens=a_token_count(row.get("prompt_cache_min_tokens")),
    )


def _provider(key: str, row: dict[str, Any]) -> str:
    """The id of the provider. Vertex has one id for each maker, Bedrock puts a shape of pictures before some keys."""
    name = row.get("litellm_provider")
    if not isinstance(name, str):
        return ""
    first, slash, _ = key.partition("/")
    if name.startswith("vertex_ai"):
        return "vertex_ai"
    return first if slash and first == name.partition("_converse")[0] else name


def _put(found: dict[str, dict[str, ModelFacts]], provider: str, key: str, facts: ModelFacts) -> None:
    """Files the facts under the model's own id; of two keys for one model, `provider/model` has the word."""
    prefix, slash, model = key.partition("/")
    full = bool(slash) and prefix == provider
    models = found.setdefault(provider, {})
    if full:
        models[model] = facts
    else:
        models.setdefault(key, facts)


def _prices(row: dict[str, Any]) -> Prices:
    base = {part: a_price(row.get(cost), _PER_MILLION) for part, cost in _COSTS.items()}
    steps = row.get("tiered_pricing")
    if base["input"] is None and isinstance(steps, list):
        return _from_steps(steps)
    above: dict[int, dict[str, float]] = {}
    for name, cost in row.items():
        match = _ABOVE.fullmatch(name)
        part = _PART_OF.get(match["cost"]) if match else None
        bound = a_token_count(f"{match['thousands']}000") if match else None
        price = a_price(cost, _PER_MILLION)
        if part is not None and bound is not None and price is not None:
            above.setdefault(bound, {})[part] = price
    return Prices(**base, tiers=_tiers(above.items()))


def _from_steps(steps: list[Any]) -> Prices:
    """Prices as a list of ranges of prompt tokens; the first one is the base."""
    found = []
    for step in steps:
        bounds = step.get("range") if isinstance(step, dict) else None
        if not isinstance(bounds, list) or not bounds:
            return Prices()
        prices = {part: a_price(step.get(cost), _PER_MILLION) for part, cost in _COSTS.items()}
        found.append((a_token_count(bounds[0]), {part: price for part, price in prices.items() if price is not None}))
    if not found:
        return Prices()
    above = [(bound, prices) for bound, prices in found[1:] if bound is not None]
    return Prices(**found[0][1], tiers=_tiers(above))


def _tiers(above: Iterable[tuple[int, dict[str, float]]]) -> tuple[PriceTier, ...]:
    return tuple(PriceTier(above=bound, **prices) for bound, prices in sorted(above, key=lambda item: item[0]))
