"""What one source says of one model: `None` and a price that is missing mean that it does not say."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Source = Literal["litellm", "genai-prices", "provider"]
"""Who says it: LiteLLM's catalogue, genai-prices' data, or the provider's own list of models. The first one decides."""


class PriceTier(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Prices of the whole request once its prompt has more than `above` tokens; `None` where the price stays as it is."""

    above: int
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None


class Prices(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """USD per million tokens, by the parts of a usage. A known 0 is free. `tiers` go upward."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    tiers: tuple[PriceTier, ...] = ()


class ModelFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a source says of a model, in tokens, USD and yes or no.

    `context_window` is the limit on input and output together. `max_input_tokens` is the longest prompt: some sources mean the
    window by it, some a limit below the window; which, `resolve_profile` decides. `cache_minimum_tokens` is the shortest prefix
    that the provider caches.
    """

    context_window: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    reasoning: bool | None = None
    images: bool | None = None
    tools: bool | None = None
    prices: Prices | None = None
    cache_minimum_tokens: int | None = None


class Layer(Struct, frozen=True, kw_only=True):
    """The facts of one source. `matched` is the id they stand under there; `exact` is false where that is not the very model
    that was asked for, at this provider. `as_of` says how old they are: a date, or a version."""

    source: Source
    facts: ModelFacts
    exact: bool
    matched: str
    as_of: str | None = None
