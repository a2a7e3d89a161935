"""The models of the published outcomes as a router knows them: records, prices of the catalogues, capability rows."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ullage.core.routing.cache_terms import token_prices
from ullage.core.routing.filtering import Candidate, make_candidate
from ullage.core.routing.models import ModelRecord

from .routing_data import STRONG, WEAK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ullage.core.profiles import Layer
    from ullage.core.spend.prices import CallPrices

    from .routing_data import RoutingSet

_TOKENS = 1_000  # of a prompt, where a tier of prices has to be chosen


def _record(
    provider: str, model: str, window: int | None = None, output: int | None = None, *, reasoning: bool | None = None
) -> ModelRecord:
    return ModelRecord(
        provider=provider, id=model, context_window=window, max_output_tokens=output, reasoning=reasoning
    )


RECORDS: Mapping[str, ModelRecord] = MappingProxyType(
    {
        "gpt-5": _record("openai", "gpt-5", 400_000, 128_000, reasoning=True),
        "gpt-5-mini": _record("openai", "gpt-5-mini", 400_000, 128_000, reasoning=True),
        "sonnet-4": _record("anthropic", "claude-sonnet-4-0", 200_000, 64_000, reasoning=True),
        "sonnet-4-5": _record("anthropic", "claude-sonnet-4-5", 200_000, 64_000, reasoning=True),
        STRONG: _record("openai", STRONG, 128_000, 4_096, reasoning=False),
        WEAK: _record("together", WEAK, 32_768, 4_096, reasoning=False),
        "codegemma-7b": _record("google", "codegemma-7b"),
        "gemma-2-9b-it": _record("google", "gemma-2-9b-it"),
        "llama-3.1-8b-instruct": _record("meta", "llama-3.1-8b-instruct"),
        "llama-3.1-nemotron-51b-instruct": _record("nvidia", "llama-3.1-nemotron-51b-instruct"),
        "llama-3.3-nemotron-super-49b-v1": _record("nvidia", "llama-3.3-nemotron-super-49b-v1"),
        "llama3-chatqa-1.5-70b": _record("nvidia", "llama3-chatqa-1.5-70b"),
        "llama3-chatqa-1.5-8b": _record("nvidia", "llama3-chatqa-1.5-8b"),
        "mistral-7b-instruct-v0.3": _record("mistral", "mistral-7b-instruct-v0.3"),
        "qwen2.5-7b-instruct": _record("qwen", "qwen2.5-7b-instruct"),
    }
)
"""Windows and longest answers as their makers publish them, in tokens. Of the nine open models nobody says them for the service
that answered."""


def find_candidates(data: RoutingSet, layers: Callable[[str, str], tuple[Layer, ...]]) -> tuple[Candidate, ...]:
    """What the router knows of the models of a set, in their order.

    Prices play no part in a set that does not know what an answer cost. A model that has no record here is one of its own name.
    """
    records = [RECORDS.get(model, _record("unknown", model)) for model in data.models]
    return tuple(
        make_candidate(record, layers=() if data.unit == "calls" else layers(record.provider, record.id))
        for record in records
    )


def list_prices(candidates: Sequence[Candidate]) -> tuple[CallPrices | None, ...]:
    """The prices of each in USD per million tokens, `None` where none is known."""
    return tuple(token_prices(candidate.price, _TOKENS) for candidate in candidates)


def by_price(candidates: Sequence[Candidate]) -> list[int] | None:
    """The places of the candidates, the cheapest first; `None` where not all have a price. Of equal prices the first stays so."""
    prices = list_prices(candidates)
    costs = [price.input + price.output for price in prices if price is not None]
    return sorted(range(len(costs)), key=costs.__getitem__) if len(costs) == len(prices) else None
